"""Tables of databases on Spark: as a DataFrame, behind the data source, and divided while tasks read them."""

from __future__ import annotations

import json
import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, TypeAlias, cast

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from splitscan.errors import bad_option
from splitscan.formats.decoding.ddl import as_schema
from splitscan.jobs.ledger import KeyRange
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.rebalance.claim_values import Chunk, ChunkStats, NextChunk, Segment
from splitscan.rebalance.client import Claims
from splitscan.spark.contexts import classic_context
from splitscan.spark.coordination import RegisteredScan, find_jvm, reachable, register_in_planner, register_scan
from splitscan.spark.jobs import default_parallelism, task_frame
from splitscan.spark.operators import BatchFunction, as_applied
from splitscan.spark.session import arrow_schema, check_interpreter, for_spark, spark_schema
from splitscan.spelling import from_plain, read_object, to_plain
from splitscan.tables import DatabaseScan, KeyPartition, TableSpec, TableVersion, key_pieces, read_pieces

_Register: TypeAlias = Callable[[Sequence[Segment], Sequence[tuple[int, int]]], RegisteredScan | None]

_READ_STRETCHES = 1024  # neighbouring chunks touch the same ones


@dataclass(frozen=True, slots=True)
class TableReading:
    """How the tasks of a table read it, for all of them: each gets its share of the keys beside it.

    Pickling: with the password. So it travels in functions and partitions of Spark's own, which nobody is shown, and
    never in the payload of a task; ``repr`` does not show it.

    Attributes:
        registered: The scan at the coordinator, where tasks claim what they read; ``None`` where that is planned.
    """

    spec: TableSpec = field(repr=False)
    version: TableVersion | None
    registered: RegisteredScan | None = None

    def read(self, share: Sequence[KeyRange] | int) -> Iterator[pa.RecordBatch]:
        """The rows of ranges of keys; or those of a partition by its number, chunk after chunk as it is claimed.

        Every run of a partition gives the same rows. The task must fail where the coordinator cannot say what comes
        next.
        """
        if self.registered is None:
            assert not isinstance(share, int)
            yield from read_pieces(self.spec, share, self.version)
        else:
            assert isinstance(share, int)
            with Claims(reachable(self.registered.address), self.registered.scan, share) as claims:
                yield from read_chunks(self.spec, self.version, claims.next)


def share_out_keys(
    stretches: Sequence[KeyPartition], partitions: int
) -> tuple[tuple[Segment, ...], tuple[tuple[int, int], ...]]:
    """The segments of a claim log, and the range of positions that each partition begins with.

    A coordinator gets keys that bound the stretches, and nothing else of table and database.
    """
    segments = tuple(_segment_of(stretch) for stretch in stretches)
    return segments, tuple(PositionSpace(segments).even_ranges(partitions))


def read_chunks(
    spec: TableSpec, version: TableVersion | None, next_chunk: NextChunk, clock: Callable[[], float] = time.monotonic
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition's chunks, over one connection and in one transaction.

    What the caller does with the rows of a chunk, until it asks for those of the next one, counts as its cost.
    """
    rows = size_bytes = 0  # of the latest chunk

    def pieces() -> Iterator[KeyRange]:
        nonlocal rows, size_bytes
        index, stats = 0, None
        while (chunk := next_chunk(index, stats)) is not None:
            claimed = clock()
            rows = size_bytes = 0
            yield from pieces_of(chunk, spec)
            stats = ChunkStats(clock() - claimed, rows, size_bytes)
            index += 1

    for batch in read_pieces(spec, pieces(), version):
        rows += batch.num_rows
        size_bytes += batch.nbytes
        yield batch


def pieces_of(chunk: Chunk, spec: TableSpec) -> Iterator[KeyRange]:
    """The ranges of keys of a chunk."""
    assert spec.key is not None
    assert spec.key.key_kind is not None
    return key_pieces(spec.key.key_kind, ((_stretch_of(piece.text), piece.start, piece.stop) for piece in chunk.pieces))


def _segment_of(stretch: KeyPartition) -> Segment:
    return Segment(stretch.length, json.dumps(to_plain(stretch), separators=(",", ":")), stretch.only_nulls)


@lru_cache(maxsize=_READ_STRETCHES)
def _stretch_of(text: str) -> KeyPartition:
    return from_plain(KeyPartition, read_object(text))


def table_to_spark(
    scan: DatabaseScan,
    spark: SparkSession,
    rebalance: bool | None = None,
    apply: BatchFunction | None = None,
    apply_schema: str | pa.Schema | None = None,
) -> DataFrame:
    """A DataFrame of the rows of a table, read in parallel by ranges of its keys.

    The table is planned in this call, and with ``snapshot=shared`` the version that is there now is the one that every
    action on the DataFrame reads, as long as it is to be had. The database must be reached from here and by workers.

    Raises:
        UsageError: If Spark's Python workers cannot import what they need, *apply* comes with a limit, or alone, or
            there is no key column to rebalance by.
        SourceError: If the database does not answer.
        SchemaError: If a column is not what is wanted, or Spark has no type for it.
    """
    check_interpreter(spark)
    applied = as_applied(apply, as_schema(apply_schema), scan.row_limit)
    schema = spark_schema(scan.schema if applied is None else applied.schema)
    _let_go()
    wanted = scan.options.rebalance if rebalance is None else rebalance
    register = partial(register_scan, spark) if wanted else None
    reading, shares = _share_out(scan, default_parallelism(spark), register)

    def read(payload: bytes) -> Iterator[pa.RecordBatch]:
        batches = reading.read(pickle.loads(payload))
        return for_spark(batches if applied is None else applied(batches))

    frame = task_frame(spark, [pickle.dumps(share) for share in shares], read, schema)
    if reading.version is not None:
        _keep(frame, reading.version)
    return frame if scan.row_limit is None else frame.limit(scan.row_limit)


# Versions of tables, each with a reference of the virtual machine to what all DataFrames made of one have in common.
_KEPT: list[tuple[Any, TableVersion]] = []


def _keep(frame: DataFrame, version: TableVersion) -> None:
    """Keep a version as long as Spark has a use for a DataFrame or for one that was made of it.

    Of Spark Connect nobody can know that: versions end with this process, or when nobody reads with them.
    """
    reference = None
    if classic_context(frame.sparkSession) is not None:
        with suppress(Py4JError):  # of platforms that let nobody look: kept as over Spark Connect
            gateway: Any = frame.sparkSession
            plan = cast("Any", frame)._jdf.queryExecution().analyzed()  # noqa: SLF001
            reference = gateway._jvm.java.lang.ref.WeakReference(plan.expressions().head().func())  # noqa: SLF001
    _KEPT.append((reference, version))


def _let_go() -> None:
    _KEPT[:] = [(used, version) for used, version in _KEPT if used is None or used.get() is not None]


def _share_out(
    scan: DatabaseScan, slots: int, register: _Register | None, watch: int | None = None
) -> tuple[TableReading, Sequence[Sequence[KeyRange] | int]]:
    """Share a table out: by numbers of partitions that claim, if *register* finds a coordinator; else by a plan."""
    if register is not None:
        segments, ranges = share_out_keys(scan.stretches(), max(slots, scan.options.min_partitions or 1))
        registered = register(segments, ranges)
        if registered is not None:
            return TableReading(scan.spec, scan.take_version(watch), registered), range(len(ranges))
    plan = scan.plan(slots, watch)
    return TableReading(plan.spec, plan.version), plan.tasks


class TableSource:
    """Source of rows of a table, for the data source."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = {key: value for key, value in options.items() if key.lower() != "source"}
        self._scan = DatabaseScan(self._options)

    def schema(self) -> StructType:
        """The columns as the database has them."""
        return spark_schema(self._scan.schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for Spark's final schema: its columns are all that is asked of the database."""
        wanted = arrow_schema(schema)
        if self._scan.options.columns is not None:
            return TableReader(DatabaseScan(self._options, wanted).select(*wanted.names))
        return TableReader(DatabaseScan(self._options, wanted))

    def stream_reader(self, schema: StructType) -> DataSourceStreamReader:
        """Refuse: nothing tells what is new in a table."""
        raise bad_option(
            "a table cannot be followed",
            "readStream with source=table",
            "read it with spark.read, as often as it is wanted",
        )


class TableReader(DataSourceReader):
    """Plans one query in the planner's process, and reads its partitions in workers."""

    def __init__(self, scan: DatabaseScan) -> None:
        self._scan = scan

    def partitions(self) -> list[InputPartition]:
        """Share the table out. A snapshot lives as long as the virtual machine that plans: this process ends soon."""
        register = register_in_planner if self._scan.options.rebalance else None
        reading, shares = _share_out(self._scan, os.cpu_count() or 1, register, find_jvm())
        return [InputPartition((reading, share)) for share in shares]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        reading, share = partition.value
        yield from for_spark(reading.read(share))
