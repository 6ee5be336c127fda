"""Streams for Spark: of directories, and of messages, which batch queries read as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from splitscan.errors import UsageError, bad_option
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.registry import named_format
from splitscan.messages import MessageSpec, make_message_spec, scan_messages
from splitscan.messages.kafka import KafkaCluster, MessageRange, TopicPartition, cut_ranges
from splitscan.messages.spec import parse_kafka_options
from splitscan.options.stream import StreamOptions
from splitscan.reading.block_documents import for_tasks
from splitscan.reading.spec import ScanSpec
from splitscan.scans import ScanPlanner
from splitscan.spark.frames import pack_payload, read_payload
from splitscan.spark.session import arrow_schema, for_spark, in_task_zone, in_zone, machine_zone, spark_schema
from splitscan.streaming import Limits, StreamPlanner, read_offset
from splitscan.streaming.messages import (
    MessageOffset,
    MessagePlanner,
    read_message_offset,
    window_ranges,
)
from splitscan.streaming.planning import ANY

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ModuleNotFoundError:  # 4.0 and 4.1: no stream is read, but the readers of streams are imported with all others
    _KNOWN = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Stands in for PySpark's."""

    class ReadLimit:  # type: ignore[no-redef]
        """Stands in for PySpark's."""

    ReadAllAvailable = ReadMaxBytes = ReadMaxFiles = ReadMaxRows = ReadLimit  # type: ignore[misc,assignment]
else:
    _KNOWN = True


def check_streams(why_python: str | None = None) -> None:
    """Make sure that this PySpark can read streams of a source whose batches are limited.

    Args:
        why_python: Why the connector does not read the stream, if it was asked.

    Raises:
        UsageError: ``[needs-newer-spark]`` if it cannot.
    """
    if not _KNOWN:
        raise UsageError(
            "streams that Python reads need PySpark 4.2 or newer: older ones cannot limit a batch of a Python source",
            seen=f"readStream with PySpark {pyspark.__version__}" + (f"; {why_python}" if why_python else ""),
            fix=("" if why_python else "call splitscan.register(spark), for the connector to read it; or ")
            + "use PySpark 4.2 or newer, or run 'splitscan watch' or scheduled ingests, which need no stream",
            code="needs-newer-spark",
        )


class SplitscanStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the windows of one query in the planner's process, and reads their partitions in workers.

    Spark makes it in two processes and pickles it to others, and may never call ``stop``: making it has no effect, and
    the planner comes to life with the first question.

    Args:
        scan: What is followed.
        spec: What every task must know.
        options: How it is followed.
    """

    def __init__(self, scan: ScanPlanner, spec: ScanSpec, options: StreamOptions) -> None:
        self._scan = scan
        self._spec = spec
        self._options = options
        self._zone = machine_zone()
        self._planner: StreamPlanner | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Offset of a new query; Spark asks twice."""
        return self._plan().initial().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 -- Spark's name
        """A sign that windows are limited; what the limits are, the planner knows. Spark shows it in no place."""
        limits = self._plan().limits
        if limits.blocks < ANY or limits.files < ANY:
            return ReadMaxFiles(limits.files if limits.files < ANY else limits.blocks)
        return ReadAllAvailable() if limits.size_bytes == ANY else ReadMaxBytes(limits.size_bytes)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Plan the next window; *start* itself when there is nothing to read. ``Trigger.Once`` knows no limit."""
        position = read_offset(start)
        end = self._plan().latest(position, Limits() if isinstance(limit, ReadAllAvailable) else None)
        return start if end == position else end.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 -- Spark's name
        """The backlog, which Spark shows as ``sources[0].latestOffset`` of its progress."""
        return self._plan().report()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of the windows between two offsets, from the window log alone."""
        windows = self._plan().windows(read_offset(start), read_offset(end))
        self._spec = for_tasks(in_zone(self._spec, self._zone))
        return [InputPartition(pack_payload(task)) for window in windows for task in window.tasks()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task. Spark makes up a partition without a value when there is none."""
        if partition.value is not None:
            yield from for_spark(read_payload(in_task_zone(self._spec, self._zone), partition.value))

    def commit(self, end: dict[str, Any]) -> None:
        """All windows up to *end* were read; Spark says so with the next batch, or in the next run."""
        self._plan().commit(read_offset(end))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        """Plan only what is there now."""
        self._plan().freeze()

    def stop(self) -> None:
        """End the thread that lists files. Spark calls this after errors only, and kills the process otherwise."""
        if self._planner is not None:
            self._planner.close()
            self._planner = None

    def _plan(self) -> StreamPlanner:
        if self._planner is None:
            self._planner = StreamPlanner(self._scan, self._options)
        return self._planner

    def __getstate__(self) -> dict[str, Any]:
        """State for workers: threads and open logs stay behind."""
        return {**self.__dict__, "_planner": None}


class MessageSource:
    """Messages of Kafka under the options of a user.

    Options are checked where a schema is asked for or given: in ``load``, or with the first action.

    Pickling: plain values only.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._format, others = named_format(None, options)
        self._raw = {key: value for key, value in others.items() if key.lower() != "source"}

    def schema(self) -> StructType:
        """The columns for which the user gave none.

        Raises:
            SchemaError: ``[no-schema]`` if the record format does not say it.
        """
        return spark_schema(self._spec(None, streams=None).schema)

    def reader(self, schema: StructType) -> MessagesReader:
        """The reader of a bounded range."""
        return MessagesReader(self._spec(schema, streams=False))

    def stream_reader(self, schema: StructType) -> MessagesStreamReader:
        """The reader of a stream."""
        return MessagesStreamReader(self._spec(schema, streams=True))

    def _spec(self, schema: StructType | None, *, streams: bool | None) -> MessageSpec:
        """The description of a read, of a stream, or of what both have: no option that only one takes is validated."""
        raw = self._raw
        if streams is None:
            of_one = ("startingoffsets", "endingoffsets")
            raw = {key: value for key, value in raw.items() if key.lower() not in of_one}
        kafka, others = parse_kafka_options(raw, streams=bool(streams))
        wanted = None if schema is None else arrow_schema(schema)
        spec = make_message_spec(kafka, self._format, others, wanted)
        missing = [] if wanted is None else [name for name in spec.schema.names if name not in wanted.names]
        if wanted is not None and missing:  # Spark's schema is final: nothing that is added could reach it
            raise bad_option(
                f"column {missing[0]!r} is asked for, and is not in the schema",
                f"schema {format_ddl(wanted)}",
                "add it to the schema where you want it",
            )
        return spec


class MessagesReader(DataSourceReader):
    """Plans one bounded read in the planner's process, and reads its partitions in workers.

    Args:
        spec: What every task must know.
    """

    def __init__(self, spec: MessageSpec) -> None:
        self._spec = spec
        self._zone = machine_zone()

    def partitions(self) -> list[InputPartition]:
        """Ask the cluster once, and cut what there is."""
        kafka = self._spec.kafka
        return _partitions(self._spec, MessagePlanner(KafkaCluster(kafka), kafka).bounded())

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one block. Spark makes up a partition without a value when there is none."""
        yield from _read(self._spec, partition, self._zone)


class MessagesStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the windows of one query in the planner's process, and reads their partitions in workers.

    What a window reads stands in the offsets that Spark logs, and nowhere else: no ``stateLocation`` is needed.

    Args:
        spec: What every task must know.
    """

    def __init__(self, spec: MessageSpec) -> None:
        self._spec = spec
        self._zone = machine_zone()
        self._planner: MessagePlanner | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Before everything; where each partition begins, the first window says."""
        return MessageOffset().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 -- Spark's name
        """A sign of whether windows are limited; by how much, the planner knows."""
        limit = self._spec.kafka.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Plan the next window; *start* itself when there is nothing to read. ``Trigger.Once`` knows no limit."""
        position = read_message_offset(start)
        end = self._plan().latest(position, limited=not isinstance(limit, ReadAllAvailable))
        return start if end is position else end.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 -- Spark's name
        """The backlog, which Spark shows as ``sources[0].latestOffset`` of its progress."""
        return {"backlogOffsets": self._plan().backlog}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of the window between two offsets, from these alone."""
        return _partitions(self._spec, window_ranges(read_message_offset(start), read_message_offset(end)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one block. Spark makes up a partition without a value when there is none."""
        yield from _read(self._spec, partition, self._zone)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing: where the stream is, Spark's checkpoint says, and nothing is committed to Kafka."""

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        """Plan only what is there now."""
        self._plan().freeze()

    def _plan(self) -> MessagePlanner:
        if self._planner is None:
            self._planner = MessagePlanner(KafkaCluster(self._spec.kafka), self._spec.kafka)
        return self._planner

    def __getstate__(self) -> dict[str, Any]:
        """State for workers: connections stay behind."""
        return {**self.__dict__, "_planner": None}


def _partitions(spec: MessageSpec, ranges: Sequence[MessageRange]) -> list[InputPartition]:
    blocks = cut_ranges(ranges, spec.kafka.min_partitions, spec.kafka.max_records_per_partition)
    return [InputPartition((*block.source, block.start, block.stop)) for block in blocks]


def _read(spec: MessageSpec, partition: InputPartition, zone: str) -> Iterator[pa.RecordBatch]:
    if partition.value is not None:
        spec = replace(spec, values=in_task_zone(spec.values, zone))
        topic, number, start, stop = partition.value
        yield from for_spark(scan_messages(spec, [MessageRange(TopicPartition(topic, number), start, stop)]))
