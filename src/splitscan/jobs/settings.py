"""How an ingest writes: its settings, its partitions, and the names of folders and files, as Hive and Spark have."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from splitscan.errors import IngestError, SchemaError, UsageError, Where, bad_option
from splitscan.formats.decoding.contract import BAD_VALUE
from splitscan.sizes import MIB, count_of

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The value of a null in the name of a folder."""

JOB_COLUMN = "splitscan_job"
"""The column that readers see where every job has a folder of its own."""

_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f") | {chr(code) for code in range(0x20)}  # what Spark escapes, and NUL
_MOST_NAME_BYTES = 255  # of a folder, on any file system

_JOB_DIGITS = 16  # jobs of one destination with the same digits would write over each other: 64 bits rule that out
_LAST_SEQUENCE = 99_999_999  # of a job: later jobs have lower numbers in the names of carriers
_JOB_FILE = re.compile(r"part-[0-9a-f]{16}(-[0-9a-f]+)+(\.\w+)?\.(parquet|rejects)")


class Layout(enum.Enum):
    """Layout of the jobs in a plain folder."""

    FLAT = "flat"
    JOBS = "jobs"


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The columns whose values choose a row's folder.

    Attributes:
        columns: Their names, outermost folder first; none for files that all lie in one folder.
        in_files: Whether the columns are in the files too. Without that, an empty text is a null.
        layout: Whether these folders lie side by side for all jobs, or in a folder of each job.

    Pickling: plain values only.
    """

    columns: tuple[str, ...] = ()
    in_files: bool = False
    layout: Layout = Layout.FLAT

    def file_schema(self, schema: pa.Schema) -> pa.Schema:
        """The columns that files have, of all columns of the rows."""
        return pa.schema([column for column in schema if self.is_in_files(column.name)])

    def is_in_files(self, column: str) -> bool:
        """Return whether files have a column."""
        return self.in_files or column not in self.columns

    def folder_of(self, values: Sequence[str | None]) -> str:
        """Spell the folder of a combination of values, with a slash at its end.

        Raises:
            IngestError: ``[partition-value]`` if a value is too long for the name of a folder.

        Example:
            >>> Partitioning(("day", "kind")).folder_of(["2024-01-02", "a/b=1"])
            'day=2024-01-02/kind=a%2Fb%3D1/'
            >>> Partitioning(("kind",)).folder_of([None]), Partitioning().folder_of([])
            ('kind=__HIVE_DEFAULT_PARTITION__/', '')
        """
        return "".join(map(_folder, self.columns, values))

    def values_of(self, name: str) -> Mapping[str, str | None]:
        """Read the values back from the name of a file.

        Example:
            >>> Partitioning(("kind",)).values_of("kind=a%2Fb/part-0.parquet")
            {'kind': 'a/b'}
        """
        folders = name.split("/")[: len(self.columns)]
        texts = [folder.partition("=")[2] for folder in folders]
        values = [None if text == NULL_FOLDER else unquote(text) for text in texts]
        return dict(zip(self.columns, values, strict=True))

    def check(self, schema: pa.Schema) -> None:
        """Make sure that rows of a schema can be partitioned like this: ``[partition-column]`` if not."""
        clash = [name for name in schema.names if name.casefold() == JOB_COLUMN]
        if clash and self.layout is Layout.JOBS:
            raise _bad_partitioning(
                f"column {clash[0]}, and layout=jobs, whose folders give readers a column of that name",
                "give the column another name, or ingest into a destination with layout=flat",
            )
        for name in self.columns:
            kind = schema.field(name).type if name in schema.names else None
            if kind is None:
                raise _bad_partitioning(
                    f"no column {name!r}; there are {', '.join(schema.names)}", "name columns of the schema"
                )
            if not _has_one_spelling(kind):
                raise _bad_partitioning(
                    f"column {name} is {kind}",
                    "partition by texts, whole numbers, dates or booleans, whose values every engine spells alike",
                )
            if name.startswith(("_", ".")):
                raise _bad_partitioning(
                    f"column {name}: engines skip folders of such names", "give the column another name"
                )
        if len(set(self.columns)) < len(self.columns):
            raise _bad_partitioning(f"{', '.join(self.columns)}: a column twice", "name each column once")
        if self.columns and not self.file_schema(schema).names:
            raise _bad_partitioning(
                "all columns", "leave one column that is not partitioned by, or the files have none"
            )


def choose_partitioning(wanted: tuple[str, ...] | None, there: Partitioning, where: str) -> Partitioning:
    """The partitioning of a destination that has one: ``[destination-schema]`` if the user wants another one."""
    if wanted is None or wanted == there.columns:
        return there
    wants, has = (", ".join(some) or "none" for some in (wanted, there.columns))
    raise SchemaError(
        "all jobs of one destination have the same partition columns, in the same order", Where(path=where),
        f"{wants}\n         but the destination has: {has}",
        "leave out partition_by, or ingest into another destination", "destination-schema",
    )  # fmt: skip


def job_folder(sequence: int) -> str:
    """Name of the folder of a job, with a slash at its end: without a ``=`` in it Spark would pass it over.

    Example:
        >>> job_folder(12)
        'splitscan_job=00000012/'
    """
    return f"{JOB_COLUMN}={sequence:08d}/"


def is_in_job_folder(name: str) -> bool:
    """Return whether a file lies in the folder of some job."""
    return name.startswith(f"{JOB_COLUMN}=")


def is_partition_folder(name: str) -> bool:
    """Return whether a folder of this name may hold data of ours: ``column=value``, and nothing that engines skip.

    Example:
        >>> is_partition_folder("day=2024-01-02"), is_partition_folder(".."), is_partition_folder("_splitscan")
        (True, False, False)
    """
    return "=" in name and not name.startswith(("_", ".", "="))


def _folder(column: str, value: str | None) -> str:
    name = f"{_escape(column)}={NULL_FOLDER if value is None else _escape(value)}"
    if len(name.encode()) > _MOST_NAME_BYTES:
        raise IngestError(
            "a value of a partition column is too long for the name of a folder", Where(column=column),
            f"{name[:80]}... of {len(name.encode())} bytes, of which {_MOST_NAME_BYTES} are possible",
            "partition by another column", "partition-value",
        )  # fmt: skip
    return f"{name}/"


def _escape(text: str) -> str:
    if text == NULL_FOLDER:  # readers take it for a text if a character is escaped
        return f"%5F{text[1:]}"
    return "".join(f"%{ord(character):02X}" if character in _ESCAPED else character for character in text)


def _has_one_spelling(kind: pa.DataType) -> bool:
    is_one = pa.types.is_string, pa.types.is_signed_integer, pa.types.is_date32, pa.types.is_boolean
    return any(test(kind) for test in is_one)


def _bad_partitioning(seen: str, fix: str) -> UsageError:
    return UsageError("rows cannot be partitioned by these columns", seen=seen, fix=fix, code="partition-column")


def parquet_name(job_id: str, part: str, compression: str, suffix: str = ".parquet") -> str:
    """Name of the Parquet file of a part: it depends on the job and the blocks only.

    Example:
        >>> parquet_name("0123456789abcdef", "00000012-00003", "zstd")
        'part-0123456789abcdef-00000012-00003.zstd.parquet'
    """
    codec = "" if compression == "none" else f".{compression}"
    return f"{job_prefix(job_id)}{part}{codec}{suffix}"


def job_prefix(job_id: str) -> str:
    """Prefix of the names of all Parquet files of a job."""
    return f"part-{job_id[:_JOB_DIGITS]}-"


def is_job_file(name: str) -> bool:
    """Return whether a file is called as the data files and rejects of jobs are.

    Example:
        >>> is_job_file("part-0123456789abcdef-00000012-00003.zstd.parquet"), is_job_file("part-0.parquet")
        (True, False)
    """
    return _JOB_FILE.fullmatch(name) is not None


def carrier_name(folder: str, sequence: int) -> str:
    """Name of a file without rows that tells readers the columns: it sorts before all others, and the newest first.

    Example:
        >>> carrier_name("day=2024-01-02/", 3)
        'day=2024-01-02/part-0-columns-99999996.parquet'
    """
    return f"{folder}part-0-columns-{_LAST_SEQUENCE - sequence:08d}.parquet"


def first_of(names: Iterable[str]) -> tuple[str, ...]:
    """The file that readers find first: by the whole path, and by folder after folder, where that is another one.

    Example:
        >>> first_of(["k=a/part-1", "k=a-b/part-2", "k=c/part-0"])
        ('k=a-b/part-2', 'k=a/part-1')
    """
    known = list(names)
    return tuple(sorted({min(known), min(known, key=lambda name: name.split("/"))})) if known else ()


class OnChanged(enum.Enum):
    """Policy for a file that was ingested before and has changed since."""

    FAIL = "fail"
    SKIP = "skip"
    REPLACE = "replace"


class SchemaEvolution(enum.Enum):
    """Policy for a column of the rows that the destination does not have."""

    FAIL = "failOnNewColumns"
    ADD = "addNewColumns"
    RESCUE = "rescue"
    NONE = "none"

    @property
    def keeps_columns(self) -> bool:
        """True if files are read by the columns that the destination has, whatever they bring."""
        return self in {SchemaEvolution.RESCUE, SchemaEvolution.NONE}


_DEFAULT_RATIO = 0.01
_DEFAULT_REJECTS = 10  # that a few records may have, so that one line does not stop a small file
_MOST_OF_FEW = 0.5  # but not most of them: then the options are wrong

_WIDENING = "addNewColumnsWithTypeWidening"  # Auto Loader has it, and Delta Lake and old files of a folder cannot
_CODECS = {"zstd", "snappy", "gzip", "lz4", "brotli", "none"}


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """Settings of an ingest, validated. Declared here once, for an ingest of files, of a table, and each of a watch.

    Attributes:
        max_rejects: Most records that may break a rule; ``None`` for no such limit.
        max_reject_ratio: Largest share of records that may break a rule, 0 to 1; ``None`` for no such limit. Without
            either limit it is 1 in 100, or 10 records if that is more, but never more than half.
        compression: Parquet codec: ``zstd``, ``snappy``, ``gzip``, ``lz4``, ``brotli`` or ``none``.
        row_group_bytes: A row group is closed when its rows, as Arrow, reach this size. Bounds a worker's memory.
        row_group_rows: Most rows in a row group, and in a portion of it.
        source_digests: Whether the ledger holds a digest of the source bytes of every block.
        on_changed: What to do with a file that was ingested before and has changed since: fail, skip it, or replace its
            rows in the same commit. A file that is gone is not removed.
        partition_by: Columns whose values choose the folder of a row (``day=2024-01-02/``), outermost first; none for
            one folder. ``None`` for what the destination has.
        layout: How the jobs of a plain folder lie in it: each in a folder of its own (``splitscan_job=00000012/``),
            which appears by one rename, or files side by side. ``None`` for what the destination has.
        schema_evolution_mode: What to do with a column of the rows that the destination does not have: fail, add it
            (with a null in rows that were there before), or read files by the columns of the destination and keep what
            else they have in ``rescuedDataColumn``, or nowhere.

    Raises:
        UsageError: ``[bad-option]`` if a value has no meaning.
    """

    max_rejects: int | None = None
    max_reject_ratio: float | None = None
    compression: str = "zstd"
    row_group_bytes: int = 32 * MIB
    row_group_rows: int = 1_000_000
    source_digests: bool = True
    on_changed: OnChanged = OnChanged.FAIL
    partition_by: tuple[str, ...] | None = None
    layout: Layout | None = None
    schema_evolution_mode: SchemaEvolution = SchemaEvolution.FAIL

    def __post_init__(self) -> None:
        self._require_whole("max_rejects", self.max_rejects, 0)
        self._require_whole("row_group_bytes", self.row_group_bytes, 1)
        self._require_whole("row_group_rows", self.row_group_rows, 1)
        ratio = self.max_reject_ratio
        if ratio is not None and not (isinstance(ratio, (int, float)) and math.isfinite(ratio) and 0 <= ratio <= 1):
            raise _bad("max_reject_ratio", ratio, "give a share from 0 to 1")
        if self.compression not in _CODECS or not (
            self.compression == "none" or pa.Codec.is_available(self.compression)
        ):
            raise _bad("compression", self.compression, f"give one of {', '.join(sorted(_CODECS))}")

    @classmethod
    def of(cls, *, replace_changed: bool = False, **named: Any) -> IngestSettings:
        """Build settings as users name them: enums by their texts, ``partition_by`` one column or several.

        ``replace_changed`` is the same as ``on_changed="replace"``. ``[bad-option]`` if a value has no meaning.
        """
        known = {each.name for each in fields(cls)}
        for name in named.keys() - known:
            raise bad_option(f"{name} is no setting of an ingest", name, f"name one of {', '.join(sorted(known))}")
        if named.get("schema_evolution_mode") == _WIDENING:
            raise bad_option(
                "types of columns that are there never change", f"schema_evolution_mode={_WIDENING}",
                "use addNewColumns with option rescuedDataColumn, which keeps what a column cannot hold; or "
                "another destination with a wider schema",
            )  # fmt: skip
        for name, kind in _ENUMS.items():
            if named.get(name) is not None or (name in named and name != "layout"):
                named[name] = _member(kind, name, named[name])
        if replace_changed and named.get("on_changed") is OnChanged.SKIP:
            raise _bad("on_changed", "skip", "give replace_changed or on_changed='skip', not both")
        if replace_changed:
            named["on_changed"] = OnChanged.REPLACE
        columns = named.get("partition_by")
        if columns is not None:
            named["partition_by"] = (columns,) if isinstance(columns, str) else tuple(columns)
        return cls(**named)

    def _require_whole(self, name: str, value: int | None, least: int) -> None:
        if value is None and name == "max_rejects":
            return
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise _bad(name, value, f"give a whole number, at least {least}")

    def check_budget(
        self,
        rows: int,
        rejects: int,
        dropped: int,
        examples: list[str],
        destination: str,
        lost: int = 0,
        *,
        guessed: bool = False,
    ) -> None:
        """Make sure that no more records broke a rule than allowed: ``[reject-budget]``.

        Values have to fit types that were *guessed* from a sample, unless a limit says how many need not.
        """
        misfits = [example for example in examples if example.endswith(f"[{BAD_VALUE}]")]
        if guessed and misfits and self.max_rejects is None and self.max_reject_ratio is None:
            rule, shown = "values do not fit the types that a sample showed", misfits
            count = f"{count_of(rejects, 'record')} broke a rule"
            fix = "leave sampleBytes and sampleFiles out, so that all values decide on the types; or give a schema, "
            fix += "raise inferBytes, or allow such records with max_rejects"
        elif limit := self._broken_limit(rows + dropped, rejects, rejects - lost):
            rule, shown, count = limit, examples, f"{rejects} of {rows + dropped} records"
            fix = (
                "compare the options with the file (`splitscan head` shows what they read), correct the records or the "
                "schema, or allow more with max_reject_ratio or max_rejects; what was read so far is kept for the next "
                "run"
            )
        else:
            return
        seen = "\n         ".join([f"{count}; the first:", *shown])
        raise IngestError(f"{rule}; nothing was published", Where(path=destination), seen, fix, "reject-budget")

    def _broken_limit(self, records: int, rejects: int, broken: int) -> str | None:
        if self.max_rejects is not None and rejects > self.max_rejects:
            return f"more records broke a rule than max_rejects={self.max_rejects} allows"
        if self.max_reject_ratio is not None and broken > self.max_reject_ratio * records:
            return f"a larger share of the records broke a rule than max_reject_ratio={self.max_reject_ratio} allows"
        is_default = self.max_rejects is None and self.max_reject_ratio is None
        few = min(_DEFAULT_REJECTS, _MOST_OF_FEW * records)
        if is_default and broken > max(few, _DEFAULT_RATIO * records):
            return "more records broke a rule than the default allows (1 in 100; up to 10 of few records, at most half)"
        return None


_ENUMS = {"on_changed": OnChanged, "layout": Layout, "schema_evolution_mode": SchemaEvolution}


def _member(kind: type[enum.Enum], name: str, value: object) -> enum.Enum:
    try:
        return kind(value)
    except ValueError:
        raise _bad(name, value, f"give one of {', '.join(each.value for each in kind)}") from None


def _bad(name: str, value: object, fix: str) -> UsageError:
    return bad_option(f"{name} has a value without meaning", repr(value)[:80], fix)
