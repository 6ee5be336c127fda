"""``spark.read.format("splitscan")`` and ``spark.readStream``: the data source of Python."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from splitscan.blocks import FileMetadata
from splitscan.content.storage import locate, redact
from splitscan.errors import SchemaError, SourceMissingError, SplitscanError, UsageError, bad_option
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.registry import named_format
from splitscan.options.stream import StreamOptions, parse_stream_options
from splitscan.options.table import show_value
from splitscan.reading.block_documents import for_tasks
from splitscan.reading.spec import ScanSpec
from splitscan.scans import ScanPlanner
from splitscan.scans.dialects import pin_dialect, tell_guesses
from splitscan.scans.finding_format import find_format
from splitscan.scans.listing import list_files
from splitscan.spark.choice import advise
from splitscan.spark.frames import pack_payload, read_payload
from splitscan.spark.session import arrow_schema, for_spark, in_task_zone, in_zone, machine_zone, spark_schema

if TYPE_CHECKING:
    from splitscan.spark.stream import MessageSource
    from splitscan.spark.tables import TableSource

NAME = "splitscan"
_VIEW_INSTEAD = (
    "call splitscan.register(spark) for the connector, whose tables keep their options, or write CREATE TEMPORARY VIEW "
    f"name USING {NAME} OPTIONS (path '...', recordFormat '...')"
)
_OWN = ("path", "paths", "source")
_FILES = "files"
_ARTIFACTS = "SPARK_JOB_ARTIFACT_UUID"  # Spark's Python processes start in the folder of these artifacts
_NO_ARTIFACTS = "default"
_OTHERS = ("kafka", "table")


class SplitscanDataSource(DataSource):
    """Record files, messages of Kafka (``source=kafka``) or a table of a database (``source=table``) as a data source.

    Options are those of ``docs/options.md``; ``recordFormat`` names the format; without
    it names of files and first bytes decide. A schema that
    the user gives is the projection and the typing, as with Spark's own sources: by position, or by name with
    ``header=true`` and ``headerMapping=byName``. Names listed in ``metadataColumns``, partition columns and the corrupt
    record column are recognised in it.

    Options are checked and paths looked up when Spark creates the source: in ``load`` when the schema is to be found,
    with the first action when it is given. Files are listed when a query is planned, once per DataFrame.
    Spark creates, plans and reads in different processes, of which each looks paths up once; only plain values travel
    between them.

    Nothing is written: ``ingest`` does that, and Spark's own writers.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._refused: SplitscanError | None = None
        try:
            self._take(options)
        except SplitscanError as error:
            self._refused = error  # for whoever reads: Spark makes a source to write to in the same way

    def _take(self, options: Mapping[str, str]) -> None:
        _check_no_catalog_table(options)
        self._other = other_source(options)
        if self._other is not None:
            return
        self._paths = _paths(options)
        _check_absolute(self._paths)
        self._said, others = named_format(None, options)
        named = {key: value for key, value in others.items() if key.lower() not in _OWN}
        self._stream, raw = parse_stream_options(named)
        self._format, found = find_format(self._paths, self._said, raw)
        self._by_name = found.keys() - raw.keys()
        self._raw, self._sniffed = pin_dialect(self._paths, self._format, found)
        self._spec: ScanSpec | None = None
        self._is_advised = False
        self._found: Iterator[FileMetadata] | None = _look_up(self._paths, self._scan(pa.schema([])))

    @classmethod
    def name(cls) -> str:
        """The name behind ``format(...)`` and ``USING``."""
        return NAME

    def schema(self) -> StructType:
        """The schema for which the user gave none: found in the data, or what the database says.

        Raises:
            SplitscanError: If the options have no meaning, or a path names nothing; so do the readers.
            SchemaError: If no file has a record to take it from.
        """
        self._check_taken()
        if self._other is not None:
            return self._other.schema()
        if self._spec is not None:  # Spark asks again for a plan, and all is said
            return spark_schema(self._spec.schema)
        tell_guesses(self._paths, self._sniffed, has_schema=False)
        scan = self._scan(None)
        if self._found is not None and (files := list(self._found)):
            scan, self._found = scan.with_files(files), None
        self._spec = scan.spec  # travels on: planning must not look at other files
        self._is_advised = scan.is_advised
        return spark_schema(self._spec.schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for Spark's final schema.

        Raises:
            UsageError: If the schema leaves out what the options ask for.
            SchemaError: If it declares a metadata column with another type than it has.
        """
        self._check_taken()
        if self._other is not None:
            return self._other.reader(schema)
        if self._spec is None:  # nobody asked for a schema, and nothing is told yet
            tell_guesses(self._paths, self._sniffed, has_schema=True)
        return SplitscanReader(*self.for_schema(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 -- Spark's name
        """The stream reader for Spark's final schema.

        Raises:
            UsageError: If the schema leaves out what the options ask for, or there is no place for the stream's
                state, or PySpark is older than 4.2.
            SchemaError: If it declares a metadata column with another type than it has.
        """
        from splitscan.spark.stream import SplitscanStreamReader, check_streams  # noqa: PLC0415 - only streams need it

        check_streams()
        self._check_taken()
        if self._other is not None:
            return self._other.stream_reader(schema)
        return SplitscanStreamReader(*self.for_schema(schema), self.stream_options)

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:
        """There is none.

        Raises:
            UsageError: ``[read-only]``, always.
        """
        raise _read_only("df.write")

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: N802 -- Spark's
        """There is none.

        Raises:
            UsageError: ``[read-only]``, always.
        """
        raise _read_only("df.writeStream")

    def _check_taken(self) -> None:
        if self._refused is not None:
            raise self._refused

    @property
    def reads_other(self) -> bool:
        """True if it reads something else than files."""
        self._check_taken()
        return self._other is not None

    @property
    def stream_options(self) -> StreamOptions:
        """How files are followed; ``[bad-option]`` if an option of the scan has no meaning for a stream."""
        if self._sniffed is not None:
            rule = "option dialect=auto has no meaning for a stream: files that come later may look otherwise"
            fix = "run 'splitscan sniff' on files that are there, and give the options that it names"
            raise bad_option(rule, "readStream with dialect=auto", fix)
        return self._stream

    def for_schema(self, schema: StructType) -> tuple[ScanPlanner, ScanSpec]:
        """Scan of files by Spark's final schema, and its specification for every task.

        Raises:
            UsageError: If the schema leaves out what the options ask for.
            SchemaError: If it declares a metadata column with another type than it has.
        """
        wanted = arrow_schema(schema)
        if self._spec is not None and self._spec.schema.equals(wanted):
            scan = self._scan(self._spec.fields)
            return scan.without_advice() if self._is_advised else scan, self._spec
        scan = self._scan(wanted)
        self._check_columns(scan, wanted)
        added = [name for name in scan.spec.columns if name not in wanted.names]  # partition columns
        return scan, scan.spec.without(added)

    def __getstate__(self) -> dict[str, Any]:
        """State for the planner: it lists the files as they are then."""
        return {**self.__dict__, "_found": None}

    def _scan(self, schema: pa.Schema | None) -> ScanPlanner:
        return ScanPlanner.of(self._paths, self._format, schema, self._raw).by_name(self._said, self._by_name)

    @staticmethod
    def _check_columns(scan: ScanPlanner, wanted: pa.Schema) -> None:
        """Spark's schema is final: nothing that we add or leave out could reach it."""
        reading, own = scan.options.reading, scan.options.format
        by_name = own.is_flat and not own.is_positional
        if reading.columns is not None and not by_name:
            raise bad_option(
                "option columns has no meaning beside a schema: the schema says which columns there are",
                f"columns={','.join(reading.columns)}; schema {format_ddl(wanted)}",
                "leave out one of them, or set header=true and headerMapping=byName to choose columns by name",
            )
        missing = [name for name in reading.metadata_columns if name not in wanted.names]
        if missing:
            raise bad_option(
                f"metadata column {missing[0]!r} is not in the schema",
                f"metadataColumns={','.join(reading.metadata_columns)}; schema {format_ddl(wanted)}",
                "add it to the schema where you want it",
            )
        said = scan.options.schema
        for option, name, of in (
            ("rescuedDataColumn", said.rescued_data_column, "rescued data"),
            ("rejectReasonColumn", said.reject_reason_column, "reasons"),
        ):
            if name is not None and name not in wanted.names:
                raise bad_option(
                    f"the column of {of} is not in the schema: {name!r}",
                    f"{option}={name}; schema {format_ddl(wanted)}",
                    f"add it to the schema as: {name} string",
                )
        for given, ours in zip(wanted, scan.spec.schema, strict=False):
            if not given.equals(ours):
                raise SchemaError(
                    f"column {given.name!r} cannot be delivered as the schema declares it",
                    seen=format_ddl(pa.schema([given])),
                    fix=f"declare it as: {format_ddl(pa.schema([ours]))}",
                    code="bad-schema",
                )


class SplitscanReader(DataSourceReader):
    """Plans one query in the planner's process, and reads its partitions in workers.

    Args:
        scan: What is read.
        spec: What every task must know.
    """

    def __init__(self, scan: ScanPlanner, spec: ScanSpec) -> None:
        self._scan = scan
        self._spec = spec
        self._zone = machine_zone()

    def partitions(self) -> list[InputPartition]:
        """List, cut, index and pack. The index is made by threads of this process: it has no session.

        With option ``limit`` all blocks are one partition, which stops when it has enough. With ``rebalance`` a
        partition is what its tasks claim while they read; where no coordinator can be started, blocks are packed.
        """
        advise(self._spec)
        self._spec = for_tasks(in_zone(self._spec, self._zone))
        slots = os.cpu_count() or 1
        try:
            if self._spec.options.reading.limit is None:
                claimed = self._plan_claimed(slots) if self._spec.options.files.rebalance else None
                if claimed is not None:
                    return claimed
                tasks = self._scan.plan_tasks(slots)
                return [InputPartition(pack_payload(task)) for task in tasks]
            blocks = self._scan.plan()
        except SourceMissingError as error:
            raise path_not_found(error) from error
        return [InputPartition(pack_payload(blocks))] if blocks else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition. Spark makes up a partition without a value when there is none."""
        if partition.value is None:
            return
        spec = in_task_zone(self._spec, self._zone)
        if isinstance(partition.value, bytes):
            yield from for_spark(read_payload(spec, partition.value))
            return
        from splitscan.spark.coordination import read_claimed  # noqa: PLC0415 - loaded by who rebalances

        yield from for_spark(read_claimed(spec, partition.value))

    def _plan_claimed(self, slots: int) -> list[InputPartition] | None:
        """The partitions of a rebalanced scan; ``None`` if there can be no coordinator.

        Nobody tells a planner how many tasks the cluster runs at a time, so there are at least as many partitions as
        tasks of ``taskSize``: no more of the cluster stands idle than without rebalancing.
        """
        from splitscan.rebalance.planning import plan_rebalance  # noqa: PLC0415 - loaded by who rebalances
        from splitscan.spark.coordination import ClaimedPartition, register_in_planner  # noqa: PLC0415 - the same

        size_bytes = sum(file.size_bytes for file in self._scan.files())
        plan = plan_rebalance(self._scan, max(slots, -(-size_bytes // self._spec.options.files.task_bytes)))
        if plan is None:
            return []
        registered = register_in_planner(plan.segments, plan.ranges)
        if registered is None:
            return None
        claimed = (ClaimedPartition(registered, number, plan.secrets) for number in range(len(plan.ranges)))
        return [InputPartition(partition) for partition in claimed]


def _read_only(writing: str) -> UsageError:
    return UsageError(
        'format("splitscan") reads only', seen=f'{writing}.format("splitscan")',
        fix="read files into Parquet with scan.ingest(spark, destination) or splitscan ingest; write a DataFrame "
        f'with a format of Spark\'s own: {writing}.format("parquet")', code="read-only",
    )  # fmt: skip


def path_not_found(error: SourceMissingError) -> SourceMissingError:
    """Rename an error as Spark's users know it."""
    rule = error.rule if "PATH_NOT_FOUND" in error.rule else f"[PATH_NOT_FOUND] {error.rule}"
    return SourceMissingError(rule, error.where, error.seen, error.fix, error.reason_code)


def _check_no_catalog_table(options: Mapping[str, str]) -> None:
    """Refuse ``CREATE TABLE ... USING splitscan`` where Spark asks Python for the schema: it gives no options later."""
    lower = {key.lower(): value for key, value in options.items()}
    if lower.get("provider", "").lower() == NAME and "owner" in lower:
        raise UsageError(
            "splitscan cannot be the format of a table of the catalog", seen=f"CREATE TABLE ... USING {NAME}",
            fix=f"Spark passes no options to a Python data source when such a table is read: {_VIEW_INSTEAD}",
            code="no-catalog-table",
        )  # fmt: skip


def _look_up(paths: list[str], scan: ScanPlanner) -> Iterator[FileMetadata]:
    """Look paths up now; directories are listed as the iterator advances."""
    try:
        return list_files(paths, scan.options.files)
    except SourceMissingError as error:
        raise path_not_found(error) from error


def _paths(options: Mapping[str, str]) -> list[str]:
    """Paths given to ``load``: one path, or several as Spark passes them, a JSON list."""
    lower: dict[str, Any] = {key.lower(): value for key, value in options.items()}
    if lower.get("paths"):
        try:
            several = json.loads(lower["paths"])
        except ValueError:
            several = None
        if isinstance(several, list) and several and all(isinstance(path, str) for path in several):
            return several
        raise bad_option(
            "option paths is a JSON list of texts",
            repr(lower["paths"])[:200],
            'write it like ["/data/a", "/data/b"], or pass the paths to load()',
        )
    if lower.get("path"):
        return [lower["path"]]
    raise UsageError(
        "a scan needs a path", seen="neither option path nor option paths",
        fix="pass it to load(), or as option path. Of a table of the catalog Spark passes no options: "
        f"{_VIEW_INSTEAD}", code="no-path",
    )  # fmt: skip


def _check_absolute(paths: list[str]) -> None:
    """Refuse relative paths where Python runs in a folder of the session's artifacts: with Spark Connect it does.

    Spark's own readers would look in the working directory of the server, which no Python process of it is told.
    """
    if os.environ.get(_ARTIFACTS, _NO_ARTIFACTS) == _NO_ARTIFACTS:
        return
    for path in paths:
        if locate(path).is_local and not path.lower().startswith(("/", "file:")):
            raise UsageError(
                "a path of a session of Spark Connect is absolute", seen=repr(redact(path)),
                fix="write the absolute path that the server sees: its Python processes are not told in which "
                "directory it was started", code="bad-path",
            )  # fmt: skip


def other_source(options: Mapping[str, str]) -> MessageSource | TableSource | None:
    """Source of something else than files, if option ``source`` asks for it; ``None`` for files.

    Raises:
        UsageError: ``[bad-option]`` if there is no such source, or its options have no meaning.
    """
    lower = {key.lower(): value for key, value in options.items()}
    source = str(lower.get("source", _FILES)).strip().lower()
    if source == _FILES:
        return None
    if source not in _OTHERS:
        allowed = ", ".join((_FILES, *_OTHERS))
        raise bad_option(f"option source takes one of {allowed}", show_value(source), "name one of them")
    if source == "kafka":
        from splitscan.spark.stream import MessageSource  # noqa: PLC0415 - a scan of files needs no others

        return MessageSource(options)
    from splitscan.spark.tables import TableSource  # noqa: PLC0415

    return TableSource(options)
