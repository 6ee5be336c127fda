"""Scans of messages of Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from splitscan.streaming.messages import MessageScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class KafkaScan(MessageScan):
    """A scan of messages of Kafka, in this process or on Spark; see :func:`scan_kafka`.

    ``select`` and ``limit`` narrow it; ``to_arrow``, ``to_batches`` and ``count`` run it here; ``to_spark`` runs it in
    parallel. No broker is asked before one of those is called.
    """

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """A DataFrame of the rows; what there is, is looked up when Spark plans it, and read in parallel."""
        from splitscan.spark.registration import messages_to_spark  # noqa: PLC0415 - Spark is optional

        return messages_to_spark(self, spark)

    def count(self, spark: SparkSession | None = None) -> int:
        return super().count() if spark is None else self.to_spark(spark).count()


def scan_kafka(
    servers: str, format: str | None = None, schema: str | pa.Schema | None = None, **options: Any
) -> KafkaScan:
    """Describe a scan of the messages that topics of Kafka hold; see ``docs/kafka.md``.

    Args:
        servers: ``host:port`` of brokers, separated by commas.
        format: Record format of the values, as ``"json"``; ``None`` for the column ``value`` with bytes as they are.
        schema: Columns of the values, and of what is beside them, as DDL text or an Arrow schema.
        options: ``subscribe="topic"`` or another choice of topics, ``starting_offsets``, ``ending_offsets``,
            ``metadata_columns`` and others, by their Spark names or snake_case twins; those of the client library as
            ``**{"kafka.security.protocol": ...}``.

    Raises:
        UsageError: If an option is unknown or has no meaning.
        SchemaError: ``[no-schema]`` if the values have columns, and no schema says which.
    """
    return KafkaScan({"kafka.bootstrap.servers": servers, **options}, format, schema)
