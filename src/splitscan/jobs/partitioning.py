"""Names of folders and files of rows: of a job and its parts, and of a partition, as Hive and Spark spell it."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa

from splitscan.errors import IngestError, SchemaError, UsageError, Where

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
            raise _bad(
                f"column {clash[0]}, and layout=jobs, whose folders give readers a column of that name",
                "give the column another name, or ingest into a destination with layout=flat",
            )
        for name in self.columns:
            kind = schema.field(name).type if name in schema.names else None
            if kind is None:
                raise _bad(f"no column {name!r}; there are {', '.join(schema.names)}", "name columns of the schema")
            if not _has_one_spelling(kind):
                raise _bad(
                    f"column {name} is {kind}",
                    "partition by texts, whole numbers, dates or booleans, whose values every engine spells alike",
                )
            if name.startswith(("_", ".")):
                raise _bad(f"column {name}: engines skip folders of such names", "give the column another name")
        if len(set(self.columns)) < len(self.columns):
            raise _bad(f"{', '.join(self.columns)}: a column twice", "name each column once")
        if self.columns and not self.file_schema(schema).names:
            raise _bad("all columns", "leave one column that is not partitioned by, or the files have none")


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
    if text == NULL_FOLDER:  # a text like any other: readers take it for one if a character is escaped
        return f"%5F{text[1:]}"
    return "".join(f"%{ord(character):02X}" if character in _ESCAPED else character for character in text)


def _has_one_spelling(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_signed_integer(kind) or types.is_date32(kind) or types.is_boolean(kind)
    )


def _bad(seen: str, fix: str) -> UsageError:
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
