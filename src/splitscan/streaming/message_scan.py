"""A bounded scan of messages, as a user holds it: schema, ranges, and reading in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from splitscan.formats.decoding.ddl import as_schema
from splitscan.messages import MessageSpec, make_message_spec, scan_messages
from splitscan.messages.kafka import KafkaCluster, MessageRange, cut_ranges
from splitscan.messages.options import parse_kafka_options
from splitscan.redaction import redact
from splitscan.scan.framework import OnReject
from splitscan.scan.rows import Rows
from splitscan.streaming.messages import MessagePlanner


class MessageScan(Rows):
    """Describes a scan of the messages that are there when it is read; no broker is asked before.

    Args:
        options: Options of Kafka and of the record format, by name.
        format: Record format of the values; ``None`` for bytes as they are.
        schema: Columns of the values, as DDL text or an Arrow schema.

    Raises:
        UsageError: If an option is unknown or has no meaning.
        SchemaError: ``[no-schema]`` if the values have columns, and no schema says which.
    """

    def __init__(
        self, options: Mapping[str, Any], format: str | None = None, schema: str | pa.Schema | None = None
    ) -> None:
        self._options, self._format = dict(options), format
        kafka, others = parse_kafka_options(options, streams=False)
        self._spec: MessageSpec = make_message_spec(kafka, format, others, as_schema(schema))

    def __repr__(self) -> str:
        servers = redact(str(self._options.get("kafka.bootstrap.servers")))
        return f"<{type(self).__name__} servers: {servers}; values: {self._format or 'bytes'}; {self.schema.names}>"

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that were given, with the record format among them."""
        return self._options if self._format is None else {**self._options, "recordFormat": self._format}

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows."""
        return self._spec.schema

    def ranges(self) -> list[MessageRange]:
        """What there is now, by topic and partition, as tasks would read it. The cluster is asked again by each call.

        Raises:
            SourceError: If the cluster does not answer.
        """
        kafka = self._spec.kafka
        found = MessagePlanner(KafkaCluster(kafka), kafka).bounded()
        return cut_ranges(found, kafka.min_partitions, kafka.max_records_per_partition)

    def to_batches(self, on_reject: OnReject | None = None) -> Iterator[pa.RecordBatch]:
        """Read what there is now in this process, by topic, partition and offset."""
        yield from scan_messages(self._spec, self.ranges(), on_reject)

    def to_arrow(self) -> pa.Table:
        """Read what there is now into one table."""
        return pa.Table.from_batches(self.to_batches(), schema=self.schema)
