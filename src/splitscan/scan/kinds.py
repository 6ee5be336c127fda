"""Record formats by the names of files, and files that hold no records, by name or first bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from splitscan.content.codecs.formats import named_after
from splitscan.errors import UsageError, Where
from splitscan.formats.first_bytes import TOLD_BY_FIRST_BYTES, XML, other_text
from splitscan.formats.registry import DEFAULT_FORMAT, endings
from splitscan.redaction import redact

_ARCHIVE = "a ZIP archive"
_ITS_FILES = "set archivePathFilter=* (on the command line -o 'archivePathFilter=*'): the files in it are read"
_INSTEAD: Mapping[str, str] = {
    "Parquet": "spark.read.parquet, or any reader of Parquet",
    "ORC": "spark.read.orc",
    "Avro": "spark.read.format('avro')",
    "Excel": "save the sheet as CSV, or read it with pandas.read_excel",
    "Feather": "pyarrow.feather",
    "SQLite": "read its tables in Python, by ss.scan_table('sqlite:///FILE', TABLE, KEY)",
    _ARCHIVE: _ITS_FILES,
    "compressed with compress": "gzip -dc FILE | splitscan ... -, which reads what it holds",
    "PDF": "save its tables as CSV first",
}
_OTHERS: Mapping[str, str] = {
    "parquet": "Parquet", "pq": "Parquet", "orc": "ORC", "avro": "Avro", "xlsx": "Excel", "xls": "Excel",
    "xlsm": "Excel", "feather": "Feather", "arrow": "Feather", "sqlite": "SQLite", "db": "SQLite",
    "z": "compressed with compress",
}  # fmt: skip
_MAGIC: Sequence[tuple[bytes, str]] = (
    (b"PAR1", "Parquet"), (b"ORC", "ORC"), (b"Obj\x01", "Avro"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel"),
    (b"ARROW1\0\0", "Feather"), (b"SQLite format 3\0", "SQLite"), (b"%PDF-", "PDF"),
)  # fmt: skip
_BLANKS = b"\xff\xfe\xef\xbb\xbf\0 \t\r\n"  # and marks, in any encoding
_ZIP, _EXCEL_PART = b"PK\x03\x04", b"[Content_Types].xml"


class NamedFormat(NamedTuple):
    """Record format and options by the names of files.

    Attributes:
        format: Name of the record format.
        options: Its options that follow from the name.
    """

    format: str
    options: Mapping[str, str]


def kind_of(paths: Sequence[str]) -> NamedFormat | None:
    """The record format that the names of files say; ``None`` where they say nothing. Names without a say are left out.

    Raises:
        UsageError: ``[not-records]`` for a name of a file that holds no text, ``[bad-option]`` where names say
            different things.

    Example:
        >>> kind_of(["in/a.json.gz"]).format, kind_of(["in/"]), kind_of(["a.psv"]).options
        ('json', None, {'sep': '|'})
    """
    known = {ending: NamedFormat(*found) for ending, found in endings().items()}
    kinds: dict[str, NamedFormat] = {}
    for path in paths:
        ending = _ending(path)
        if ending in _OTHERS:
            raise not_records(path, _OTHERS[ending], "its name")
        if ending in known:
            kinds[path] = known[ending]
    first = next(iter(kinds), None)
    if first is None:
        return None
    other = next((path for path in kinds if kinds[path] != kinds[first]), None)
    if other is not None:
        raise UsageError(
            "files of several kinds are no one scan",
            seen=f"{redact(first)} and {redact(other)}",
            fix="read them one after the other, choose some with pathGlobFilter=*.csv, or give a "
            "format that reads all of them (recordFormat; --format; format= in Python)",
            code="bad-option",
        )
    return kinds[first]


def separator_of(path: str) -> str | None:
    r"""The separator that the name of a file says, if any.

    Example:
        >>> separator_of("in/a.TSV.gz"), separator_of("a.csv")
        ('\t', None)
    """
    known = endings().get(_ending(path))
    return None if known is None else known[1].get("sep")


def not_records(path: str, kind: str, seen: str) -> UsageError:
    """The error for a file that is of another kind."""
    return UsageError(
        f"the file is {kind}, and splitscan reads text and records of bytes",
        Where(path),
        seen=seen,
        fix=_fix(path, kind),
        code="not-records",
    )


def _fix(path: str, kind: str) -> str:
    """How to read a file of another kind."""
    instead = _INSTEAD[kind]
    if kind == _ARCHIVE and _ending(path) == "zip":
        return _ITS_FILES
    if kind == _ARCHIVE:
        return f"give it a name that ends in .zip, and {_ITS_FILES}"
    return instead if " " in instead else f"use {instead}"


def check_beginning(path: str, head: bytes) -> None:
    """Refuse the beginning of a file that is no text.

    Raises:
        UsageError: ``[not-records]``.
    """
    if head.startswith(_ZIP):
        kind = "Excel" if _EXCEL_PART in head else _ARCHIVE
        raise not_records(path, kind, f"its first bytes are {_ZIP!r}")
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            raise not_records(path, kind, f"its first bytes are {magic!r}")


def about_kind(format: str, head: bytes) -> str | None:
    """Objection of the first bytes of a file to its format, be that said by its name or by the user."""
    begins = other_text(head)
    if format == XML.format and head.strip(_BLANKS) and b"<" not in head:
        return f"has no element in its first {len(head):,} bytes, and is read as {format}"
    if begins is None or format not in {DEFAULT_FORMAT, *TOLD_BY_FIRST_BYTES} - {begins.format}:
        return None
    return f"begins like {begins.kind}, and is read as {format}: {begins.hint}"


def _ending(path: str) -> str:
    """The last part of a name, in lower case, without one that names a compression."""
    name = path.rstrip("/").rsplit("/", 1)[-1].split("?", 1)[0].lower()
    if named_after(name) is not None:
        name = name.rpartition(".")[0]
    return name.rpartition(".")[2] if "." in name else ""
