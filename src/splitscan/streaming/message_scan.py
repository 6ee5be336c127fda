"""A bounded scan of messages, as a user holds it: schema, ranges, and reading in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import pyarrow as pa

from splitscan.errors import SchemaError
from splitscan.formats.decoding.ddl import as_schema
from splitscan.messages import MessageSpec, make_message_spec, scan_messages
from splitscan.messages.kafka import KafkaCluster, MessageRange, cut_ranges
from splitscan.messages.options import parse_kafka_options
from splitscan.redaction import redact
from splitscan.scan.rejects import OnReject
from splitscan.scan.rows import Rows, checked_limit, first_rows
from splitscan.streaming.messages import MessagePlanner


class MessageScan(Rows):
    """Describes a scan of the messages that are there when it is read; no broker is asked before.

    Args:
        options: Options of Kafka and of the record format, by name.
        format: Record format of the values; ``None`` for bytes as they are.
        schema: Columns of the values, as DDL text or an Arrow schema.
        selected: Names of the columns that are delivered; ``None`` for all.
        limit: Most rows that are delivered; ``None`` for all.

    Raises:
        UsageError: If an option is unknown or has no meaning.
        SchemaError: ``[no-schema]`` if the values have columns, and no schema says which.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        format: str | None = None,
        schema: str | pa.Schema | None = None,
        selected: tuple[str, ...] | None = None,
        limit: int | None = None,
    ) -> None:
        self._options, self._format, self._given = dict(options), format, as_schema(schema)
        self.selected, self.row_limit = selected, limit
        kafka, others = parse_kafka_options(options, streams=False)
        self._spec: MessageSpec = make_message_spec(kafka, format, others, self._given)
        missing = [name for name in selected or () if name not in self.full_schema.names]
        if missing:
            raise SchemaError(
                f"messages have no column {missing[0]!r}", seen=", ".join(self.full_schema.names),
                fix="select one of them, or name what is beside the value in metadataColumns", code="unknown-column",
            )  # fmt: skip

    def __repr__(self) -> str:
        servers = redact(str(self._options.get("kafka.bootstrap.servers")))
        return f"<{type(self).__name__} servers: {servers}; values: {self._format or 'bytes'}; {self.schema.names}>"

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that were given, with the record format among them."""
        return self._options if self._format is None else {**self._options, "recordFormat": self._format}

    @property
    def full_schema(self) -> pa.Schema:
        """Schema of the rows before columns are selected."""
        return self._spec.schema

    @property
    def schema(self) -> pa.Schema:
        full = self.full_schema
        return full if self.selected is None else pa.schema([full.field(name) for name in self.selected])

    def select(self, *columns: str) -> Self:
        """A scan of these columns only, in this order. The values are decoded whole, so that no row changes.

        Raises:
            SchemaError: ``[unknown-column]`` if there is no such column.
        """
        return type(self)(self._options, self._format, self._given, columns, self.row_limit)

    def limit(self, rows: int) -> Self:
        """A scan that stops after *rows* rows.

        Raises:
            UsageError: ``[bad-limit]`` if it is no whole number from 0 on.
        """
        return type(self)(self._options, self._format, self._given, self.selected, checked_limit(rows))

    def ranges(self) -> list[MessageRange]:
        """Offsets of now, by topic and partition, as tasks would read them. Each call asks the cluster again.

        Raises:
            SourceError: If the cluster does not answer.
        """
        kafka = self._spec.kafka
        found = MessagePlanner(KafkaCluster(kafka), kafka).bounded()
        return cut_ranges(found, kafka.min_partitions, kafka.max_records_per_partition)

    def to_batches(self, on_reject: OnReject | None = None) -> Iterator[pa.RecordBatch]:
        """Read what there is now in this process, by topic, partition and offset."""
        names = self.schema.names
        for batch in first_rows(lambda: scan_messages(self._spec, self.ranges(), on_reject), self.row_limit):
            yield batch if self.selected is None else batch.select(names)

    def count(self) -> int:
        """Number of rows of what there is now: messages are read, and no value is converted."""
        kafka = replace(self._spec.kafka, metadata_columns=())
        spec = MessageSpec(kafka, self._spec.values.select(()), pa.schema([]))
        batches = first_rows(lambda: scan_messages(spec, self.ranges()), self.row_limit)
        return sum(batch.num_rows for batch in batches)
