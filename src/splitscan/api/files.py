"""Scans of record files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

import pyarrow as pa

from splitscan.formats.csv.sniffing.found import Dialect
from splitscan.formats.registry import named_format
from splitscan.options.table import plain_name
from splitscan.reading.block_scan import scan_blocks
from splitscan.reading.new_columns import OnNewColumns
from splitscan.reading.own_formats import OwnFormat, name_of_own
from splitscan.reading.rejects import OnReject, one_by_one
from splitscan.scans.checking import CheckReport, check_scan
from splitscan.scans.dialects import pin_dialect, sniff, tell_guesses
from splitscan.scans.files import FileTest, Paths, as_paths
from splitscan.scans.finding_format import find_format
from splitscan.scans.planner import ScanPlanner
from splitscan.scans.rows import Rows, as_html, as_text, facts
from splitscan.scans.schema import SchemaExplanation, explain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from splitscan.api.rejects import Rejects
    from splitscan.jobs import IngestReport
    from splitscan.options.signatures import (
        CobolKeywords,
        CsvKeywords,
        FixedKeywords,
        FixedWidthKeywords,
        JsonKeywords,
        LogKeywords,
        SlicesKeywords,
        TextKeywords,
        XmlKeywords,
    )
    from splitscan.rebalance.planning import PlanExplanation
    from splitscan.spark.operators import BatchFunction

_SNIFFED_BYTES = "256 MiB"  # read in less than a second by two cores


class Scan(ScanPlanner, Rows):
    """A scan of record files: an immutable description, of which nothing is read before one of its methods needs it.

    ``select``, ``where_files`` and ``limit`` narrow it; ``to_arrow``, ``to_batches`` and ``count`` run it in this
    process; ``to_spark`` and ``ingest`` run it in parallel. It is the planner of what it reads, too.

    Thread safety: immutable but for caches; share it freely.
    Pickling: yes; the list of files is not taken along.
    """

    def __repr__(self) -> str:
        return as_text(type(self).__name__, self._facts())

    def _repr_html_(self) -> str:
        return as_html(type(self).__name__, self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        """Facts known without a look at the files."""
        own = self.asked.own
        return facts(self.paths, self.options, self.names, None if own is None else name_of_own(own))

    def explain_schema(self) -> SchemaExplanation:
        """The schema of the rows, with where each column comes from, and where sampled files do not agree."""
        return explain(self.resolved, self.spec)

    def where(self, condition: str | FileTest) -> Self:
        """The older name of :meth:`where_files`. It chooses files and blocks, never single rows."""
        return self.where_files(condition)

    # ------------------------------------------------- reading, in process

    def to_batches(
        self, on_reject: OnReject | None = None, on_new_columns: OnNewColumns | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Read everything in this process: batches in file order, then offset order.

        Args:
            on_reject: Given each record that breaks a rule; without it a warning says how many are no rows.
            on_new_columns: Given, at the end, the columns that records have and no sample has shown; without it a
                warning names them.
        """
        self.warn()
        limit, portions = self.options.reading.limit, list(self.portions())
        if portions and limit != 0:  # else nothing has to be known of the columns
            take = None if on_reject is None else one_by_one(on_reject)
            yield from scan_blocks(self.spec, portions, limit, take, on_new_columns)

    @overload
    def rejects(self) -> Rejects: ...

    @overload
    def rejects(self, spark: SparkSession) -> DataFrame: ...

    def rejects(self, spark: SparkSession | None = None) -> Rejects | DataFrame:
        """The records that break a rule, as rows: where and why, how each begins, whether it is a row all the same.

        Reads everything, when rows are asked for; no value is kept of records that are whole. Columns:
        ``path``, ``line`` (from 1; null where records are no lines of text), ``offset``, ``length``, ``code`` (of
        ``docs/errors.md``), ``reason``, ``raw`` (the first bytes), ``delivered``. In mode FAILFAST the first one is an
        error, as for all other ways to read.

        Args:
            spark: The session whose tasks read: the rows are a DataFrame, in no order, and ``line`` is null where
                conditions leave out parts of a file. Without one this process reads, and the rows are in order.

        Raises:
            UsageError: ``[bad-limit]`` with a session, for a scan with a limit.
        """
        from splitscan.api.rejects import Rejects  # noqa: PLC0415 - loaded by who lists rejects

        if spark is None:
            return Rejects(self)
        from splitscan.spark.frames import rejects_frame  # noqa: PLC0415 - Spark is optional

        return rejects_frame(self, spark)

    def check(self) -> CheckReport:
        """Read everything and keep nothing: rows, broken records by code, and the types that would hold.

        All cores of this machine read. FAILFAST counts as PERMISSIVE here, and a limit does not count. If a value does
        not fit its type, the files are read once more to find types that hold.
        """
        return check_scan(self)

    def count(self, spark: SparkSession | None = None) -> int:
        """Number of rows, by framing alone where the mode allows it: no value is decoded.

        A warning says how many records are no rows, because they are too long or never end, and which is the first.

        Args:
            spark: The session whose tasks count the blocks; without one all cores of this machine do.
        """
        if spark is None:
            return self.count_rows()
        from splitscan.spark.frames import count_rows  # noqa: PLC0415 - Spark is optional

        return count_rows(self, spark)

    # ----------------------------------------------------------- on Spark

    def to_spark(
        self,
        spark: SparkSession,
        rebalance: bool | None = None,
        apply: BatchFunction | None = None,
        apply_schema: str | pa.Schema | None = None,
    ) -> DataFrame:
        """A DataFrame of the rows, read in parallel when Spark runs it.

        The files are listed, cut and, where the format needs it, indexed in this call.

        Args:
            spark: The session.
            rebalance: Whether tasks that have nothing left take over what others have not begun to read; by default
                option ``rebalance`` says so. See ``docs/rebalancing.md``.
            apply: A function over the batches of a task, as for ``mapInArrow``, that runs where they are read.
            apply_schema: DDL text or an Arrow schema: what *apply* returns.
        """
        from splitscan.spark.frames import to_spark  # noqa: PLC0415 - Spark is optional

        return to_spark(self, spark, rebalance, apply, apply_schema)

    def explain(self, spark: SparkSession | None = None, rebalance: bool | None = None) -> PlanExplanation:
        """The plan of ``to_spark``, without reading it: who reads, and which task begins with what.

        Args:
            spark: The session that says how many tasks run at a time; without one these are the cores of this machine.
            rebalance: Whether to rebalance; by default option ``rebalance`` says so.
        """
        if rebalance is None:
            rebalance = self.options.files.rebalance
        from splitscan.rebalance.planning import explain_plan  # noqa: PLC0415 - loaded by who explains

        if spark is None:
            return explain_plan(self, os.cpu_count() or 1, rebalance=rebalance)
        from splitscan.spark.choice import why_python  # noqa: PLC0415 - Spark is optional
        from splitscan.spark.indexing import spark_indexer  # noqa: PLC0415 - Spark is optional
        from splitscan.spark.jobs import default_parallelism  # noqa: PLC0415 - Spark is optional

        slots, indexer = default_parallelism(spark), spark_indexer(spark)
        plan = explain_plan(self, slots, rebalance=rebalance, indexer=indexer)
        reason = why_python(self, spark, rebalance=rebalance)
        reader = "the connector, in Spark's JVM" if reason is None else f"Python workers ({reason})"
        return replace(plan, reader=reader)

    def ingest(self, spark: SparkSession, destination: str, **options: Any) -> IngestReport:
        """Write the rows to Parquet, each exactly once, with a ledger; see :func:`splitscan.api.jobs.ingest`."""
        from splitscan.api.jobs import ingest  # noqa: PLC0415 - Spark is optional

        return ingest(self, spark, destination, **options)


def scan(
    paths: Paths, format: str | OwnFormat | None = None, schema: str | pa.Schema | None = None, **options: Any
) -> Scan:
    """Describe a scan.

    Args:
        paths: A path, or several: files, directories, globs, URIs.
        format: ``"csv"``, ``"text"``, ``"fixed"``, ``"fixed_width"``, ``"slices"``, ``"json"``, ``"log"``, ``"xml"``,
            or a format of your own: a reader, a reader context, a record format, or what makes one; see
            ``docs/extending.md``. Without it names of files decide, else first bytes; see ``docs/options.md``.
        schema: DDL text (``"id long, name string"``) or an Arrow schema; found in the data when not given.
        options: Options, by their Spark names or snake_case twins; see ``docs/options.md``.

    Raises:
        UsageError: If an option is unknown or has no meaning.
    """
    inputs = as_paths(paths)
    format, options = named_format(format, options)
    found, named = find_format(inputs, format, options)
    pinned, dialect = pin_dialect(inputs, found, named)
    tell_guesses(inputs, dialect, has_schema=schema is not None)
    return Scan.of(inputs, found, schema, pinned).by_name(format, named.keys() - options.keys())


def scan_csv(paths: Paths, schema: str | pa.Schema | None = None, **options: Unpack[CsvKeywords]) -> Scan:
    """Describe a scan of CSV files. With ``dialect="auto"`` samples of them are looked at now."""
    return scan(paths, "csv", schema, **options)


def sniff_csv(paths: Paths, **options: Unpack[CsvKeywords]) -> Dialect:
    r"""Find the dialect of CSV files in samples of up to eight of them, and the types of their columns in all data.

    Of more data than ``infer_bytes``, here 256 MiB, the types are found in a sample, and a warning says so.

    Args:
        paths: A path, or several: files, directories, globs, URIs.
        options: What is known already, as for :func:`scan_csv`: it is taken as it is, and narrows the search.

    Returns:
        The dialect, with confidence and evidence for every setting; ``doubts`` says what is not clear.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp(), "a.csv")
        >>> _ = path.write_text('id;note\n1;"a; b"\n2;x\n')
        >>> sniff_csv(path).options()
        {'sep': ';', 'escape': '"', 'header': True, 'multiLine': True}
    """
    found = sniff(paths, options)
    if not found.is_clear or not found.columns:
        return found
    given = set(map(plain_name, options))
    brief = {} if "inferbytes" in given else {"inferBytes": _SNIFFED_BYTES}
    typed = scan(paths, "csv", **{**options, **found.options(), **brief, "inferSchema": True, "dialect": "spark"})
    return replace(found, schema=typed.schema)


def scan_text(paths: Paths, **options: Unpack[TextKeywords]) -> Scan:
    """Describe a scan of lines, or of text records with any delimiter: one column ``value: string``."""
    return Scan.of(paths, "text", None, options)


def scan_fixed(paths: Paths, record_length: int, **options: Unpack[FixedKeywords]) -> Scan:
    """Describe a scan of records of *record_length* bytes: one column ``value: binary``."""
    return Scan.of(paths, "fixed", None, {"record_length": record_length, **options})


def scan_fixed_width(
    paths: Paths,
    layout: str | Sequence[Sequence[str | int]],
    schema: str | pa.Schema | None = None,
    **options: Unpack[FixedWidthKeywords],
) -> Scan:
    r"""Describe a scan of lines, or with ``record_length`` of equally long records, whose columns have fixed places.

    Args:
        paths: A path, or several: files, directories, globs, URIs.
        layout: ``"name start length type, ..."``, or a list of ``(name, start, length, type)``. Places count from 1:
            characters of a line, bytes of a record of a fixed length.
        schema: Some of the columns, with types of their own.
        options: As for :func:`scan`.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
        >>> _ = path.write_text("  1Oslo \n 12Rome \n")
        >>> scan_fixed_width(path, "id 1 3 int, city 4 5").to_arrow().to_pylist()
        [{'id': 1, 'city': 'Oslo'}, {'id': 12, 'city': 'Rome'}]
    """
    return Scan.of(paths, "fixed_width", schema, {"layout": layout, **options})


def scan_log(paths: Paths, schema: str | pa.Schema | None = None, **options: Unpack[LogKeywords]) -> Scan:
    r"""Describe a scan of log records: lines that begin with a pattern, each with the lines after it.

    Args:
        paths: A path, or several: files, directories, globs, URIs.
        schema: Some of the columns, with types of their own.
        options: As for :func:`scan`.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp(), "a.log")
        >>> _ = path.write_text("12 ERROR boom\n  at main\n13 INFO done\n")
        >>> pattern = r"(?P<id>\d+) (?P<level>\S+) (?P<text>(?s:.*))"
        >>> scan_log(path, "id int, level string", record_start=r"\d", record_pattern=pattern).to_arrow().to_pylist()
        [{'id': 12, 'level': 'ERROR'}, {'id': 13, 'level': 'INFO'}]
    """
    return Scan.of(paths, "log", schema, options)


def scan_cobol(
    paths: Paths, copybook: str, schema: str | pa.Schema | None = None, **options: Unpack[CobolKeywords]
) -> Scan:
    r"""Describe a scan of records that a copybook describes; code page cp037 if ``encoding`` says no other.

    Args:
        paths: A path, or several: files, directories, globs, URIs.
        copybook: Its path, or its text.
        schema: Some of the columns; numbers may have wider types.
        options: As for :func:`scan`.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp(), "a.dat")
        >>> _ = path.write_bytes(b"\xc1\xc2\x12\x3d")
        >>> text = "01 R. 05 NAME PIC X(2). 05 AMOUNT PIC S9V99 COMP-3."
        >>> scan_cobol(path, text, truncate_comments=False).to_arrow().to_pylist()
        [{'NAME': 'AB', 'AMOUNT': Decimal('-1.23')}]
    """
    return Scan.of(paths, "cobol", schema, {"copybook": copybook, **options})


def scan_slices(paths: Paths, **options: Unpack[SlicesKeywords]) -> Scan:
    """Describe a scan of raw byte slices: one column ``value: binary``."""
    return Scan.of(paths, "slices", None, options)


def scan_json(paths: Paths, schema: str | pa.Schema | None = None, **options: Unpack[JsonKeywords]) -> Scan:
    """Describe a scan of JSON: lines, or with ``multi_line=True`` values or one array over any number of lines."""
    return Scan.of(paths, "json", schema, options)


def scan_xml(paths: Paths, row_tag: str, schema: str | pa.Schema | None = None, **options: Unpack[XmlKeywords]) -> Scan:
    """Describe a scan of XML: every element named *row_tag* is a record."""
    return Scan.of(paths, "xml", schema, {"row_tag": row_tag, **options})
