"""Which record format files have, where nobody says: by their names, else by the first bytes of the first of them.

Files that hold no records are known by the same, and texts of two or four bytes for each character.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

from splitscan.blocks import FileMetadata
from splitscan.content.codecs.formats import named_after
from splitscan.errors import SourceError, SplitscanError, UsageError, Where, bad_option
from splitscan.formats.contract import Contradiction
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import RawSample, wide_without_mark
from splitscan.formats.first_bytes import HEAD_BYTES, TOLD_BY_FIRST_BYTES, XML, beginning_of, log_text, other_text
from splitscan.formats.registry import (
    DEFAULT_FORMAT,
    KNOWN,
    endings,
    options_of,
    parse_options,
    record_format,
    resolve_format,
)
from splitscan.options import ReadOptions
from splitscan.options.files import FileOptions
from splitscan.options.table import by_spellings, declared_options
from splitscan.reading.contents import open_file
from splitscan.reading.own_formats import OwnFormat
from splitscan.redaction import redact
from splitscan.scans.files import Paths, as_paths

F = TypeVar("F", bound=str | OwnFormat)

_NAMED_FILES = 100  # of a directory or glob whose own name says nothing
_TEXT, _LOG = "text", "log"
_OF_RECORDS = frozenset({"recordPattern", "recordStart", "recordContinues", "logFormat"})
_ZONE = "timezone"
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
    "dBASE": "save it as CSV, as LibreOffice and ogr2ogr do",
}
_OTHERS: Mapping[str, str] = {
    "parquet": "Parquet", "pq": "Parquet", "orc": "ORC", "avro": "Avro", "xlsx": "Excel", "xls": "Excel",
    "xlsm": "Excel", "feather": "Feather", "arrow": "Feather", "sqlite": "SQLite", "db": "SQLite",
    "z": "compressed with compress", "dbf": "dBASE",
}  # fmt: skip
_MAGIC: Sequence[tuple[bytes, str]] = (
    (b"PAR1", "Parquet"), (b"ORC", "ORC"), (b"Obj\x01", "Avro"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel"),
    (b"ARROW1\0\0", "Feather"), (b"SQLite format 3\0", "SQLite"), (b"%PDF-", "PDF"),
    (rb"[\x03\x30\x31\x43\x63\x83\x8b\xcb\xf5](?s:.)[\x01-\x0c][\x01-\x1f](?s:.{28})(?=[A-Za-z_]\w{0,9}\0)(?s:.{11})[A-Z@+]",
     "dBASE"),
)  # fmt: skip
_BLANKS = b"\xff\xfe\xef\xbb\xbf\0 \t\r\n"  # and marks, in any encoding
_ZIP, _EXCEL_PART = b"PK\x03\x04", b"[Content_Types].xml"
_SHOWN_BYTES = 16
_MANY_COLUMNS = 4  # that lines of a log have not by chance
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


class NamedFormat(NamedTuple):
    """Record format and options by the names of files."""

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
        raise bad_option(
            "files of several kinds are no one scan",
            f"{redact(first)} and {redact(other)}",
            "read them one after the other, choose some with pathGlobFilter=*.csv, or give a "
            "format that reads all of them (recordFormat; --format; format= in Python)",
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
    """Refuse the beginning of a file that is no text."""
    if head.startswith(_ZIP):
        kind = "Excel" if _EXCEL_PART in head else _ARCHIVE
        raise not_records(path, kind, f"its first bytes are {_ZIP!r}")
    for magic, kind in _MAGIC:
        if re.match(magic, head):
            raise not_records(path, kind, f"its first bytes are {head[:_SHOWN_BYTES]!r}")


def about_beginning(format: str, head: bytes, encoding: str, given: Collection[str] = ()) -> str | None:
    """Objection of the first bytes of a file to its encoding and format, be that said by its name or by the user."""
    wanted = _wide_encoding(head, encoding)
    if wanted is not None and _marked(head) is not None:
        return f"begins with the mark of {wanted}: it probably wants option encoding={wanted}"
    if wanted is not None:
        return f"has many bytes that are zero: it is no text in {encoding}, and perhaps wants option encoding={wanted}"
    is_lines = format == _TEXT or (format == _LOG and not _OF_RECORDS.intersection(given))
    if is_lines or (format == DEFAULT_FORMAT and "sep" not in given):
        log = log_text(head)
        if log is not None:
            read = f"lines of a {format}" if format == _LOG else format
            return f"looks like {log.kind}, and is read as {read}: {log.hint}"
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


def _wide_encoding(head: bytes, encoding: str) -> str | None:
    """The encoding of bytes that are no text of one byte for a character, if *encoding* is one; else ``None``."""
    if _is_wide(encoding):
        return None
    return _marked(head) or (wide_without_mark(head) if 0 in head else None)


def _marked(head: bytes) -> str | None:
    return next((name for mark, name in _WIDE_MARKS if head.startswith(mark)), None)


def misread(encoding: str, head: bytes) -> Contradiction | None:
    """The contradiction of text that is in another encoding than it would be read as; ``None`` if it is not."""
    wanted = _wide_encoding(head, encoding)
    if wanted is None:
        return None
    return Contradiction(
        f"the file is text in {wanted}, and would be read as {encoding}",
        repr(head[:_SHOWN_BYTES]),
        {"encoding": wanted},
        f"set encoding={wanted} (on the command line -o encoding={wanted}); or encoding={encoding} to read it like "
        "this all the same",
    )


def _is_wide(encoding: str) -> bool:
    return encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32", "utf16", "utf32"))


def lenient(encoding: str) -> str:
    """The encoding in which a sample is looked at: no byte of it is wrong."""
    return encoding if _is_wide(encoding) else "latin-1"


def find_format(paths: Paths, format: F | None, raw: Mapping[str, Any]) -> tuple[F | str, dict[str, Any]]:
    r"""The record format of a scan, and its options with those that the names of files say.

    A format that is given stands. Else the endings of the paths decide, in front of one that names a compression; then,
    where they say nothing (directories, ``.txt``, no ending), those of the files that are there; then the first bytes
    of the first file that has some: JSON, XML, or CSV for all others. If options were given that only CSV has, first
    bytes decide nothing. Where no file is there it is CSV, too.

    Raises:
        UsageError: ``[not-records]`` for files that are no records, or need options to be some; ``[bad-option]`` where
            names say different things, or XML comes without ``rowTag``: the hint names elements that may be meant.
    """
    if format is not None:
        if isinstance(format, str):
            _check_required(paths, resolve_format(format), raw)
        return format, dict(raw)
    kind = kind_of(as_paths(paths)) or _kind_inside(paths, raw) or NamedFormat(DEFAULT_FORMAT, {})
    _check_required(paths, kind.format, raw)
    known = by_spellings(options_of(kind.format))
    given = {known[name.lower()].name for name in raw if name.lower() in known}
    if "dialect" in given:  # which takes the name of a file as a hint
        return kind.format, dict(raw)
    return kind.format, {**{name: value for name, value in kind.options.items() if name not in given}, **raw}


def about_name(path: str, head: bytes, format: str, *, is_end: bool) -> str | None:
    """Note of the first bytes of a file whose name alone says its format, and that are of another; ``None`` if not.

    Args:
        path: The file.
        head: Its first bytes.
        format: The format that its name says.
        is_end: Whether these are all.
    """
    if format not in _BY_NAME_ALONE or _ending(path) not in endings():
        return None
    begins = other_text(head)
    other = begins.format if begins is not None else DEFAULT_FORMAT if _is_table(head, is_end=is_end) else None
    if other in (None, format):
        return None
    kind = "a table" if begins is None else begins.kind
    return (
        f"is read as {format}, as its name says, and begins like {kind}: "
        f"recordFormat={other} reads it, and recordFormat={format} says that {format} is meant"
    )


def about_names(paths: Paths, format: str, raw: Mapping[str, Any]) -> str | None:
    """Path and note of the first file that has some bytes; see :func:`about_name`."""
    if format not in _BY_NAME_ALONE:
        return None
    found = _first_head(paths, raw)
    if found is None:
        return None
    file, head = found
    note = about_name(file.path, head, format, is_end=len(head) >= file.size_bytes)
    return None if note is None else f"{redact(file.path)} {note}"


_BY_NAME_ALONE = (_TEXT, "json")  # XML is not read without an option


def _is_table(head: bytes, *, is_end: bool) -> bool:
    """True if a head is a table of CSV beyond doubt: under names, or of many columns."""
    if log_text(head) is not None:
        return False
    found = find_dialect([RawSample(head, 0, is_end=is_end)], {})
    is_divided = found.is_clear and found.settings["sep"].is_sure and found.columns > 1
    return is_divided and (found.settings["header"].is_sure or found.columns >= _MANY_COLUMNS)


def _kind_inside(paths: Paths, raw: Mapping[str, Any]) -> NamedFormat | None:
    """Format by the names of the files that are there, or by the first bytes of one of them."""
    try:
        files = as_paths(paths).listed(_file_options(raw).files)[0][:_NAMED_FILES]
    except SourceError:
        return None  # whoever reads the files is told
    named = kind_of([file.path for file in files])
    if named is not None or (first := _first_head(paths, raw)) is None:
        return named
    file, head = first
    found = beginning_of(head)
    if found is None or _is_for_csv(raw, found.format or _TEXT):
        return None
    if found.format is None:
        raise UsageError(
            f"the file looks like {found.kind}, which is no record format",
            Where(redact(file.path)),
            seen=f"its first bytes are {head[:40]!r}",
            fix=found.hint,
            code="not-records",
        )
    return NamedFormat(found.format, {})


def _is_for_csv(raw: Mapping[str, Any], format: str) -> bool:
    """True if an option was given that CSV has, and the other format has not."""
    csv, other = (by_spellings(options_of(name)) for name in (DEFAULT_FORMAT, format))
    return any(name.lower() in csv and name.lower() not in other for name in raw)


def _check_required(paths: Paths, format: str, raw: Mapping[str, Any]) -> None:
    """Refuse options without one that is required and whose value the files can tell: the hint names some."""
    for name, candidates_in in KNOWN[format].candidates.items():
        spellings = {spelling for spelling, option in by_spellings(options_of(format)).items() if option.name == name}
        if any(given.lower() in spellings and value is not None for given, value in raw.items()):
            continue
        first = _first_head(paths, raw)
        path, found = (None, ()) if first is None else (redact(first[0].path), candidates_in(first[1]))
        raise bad_option(
            f"record format {format} needs option {name}",
            f"no {name}; elements below the root: {', '.join(found) or 'none in the first bytes'}",
            "give the name of the elements that are records"
            + (f", perhaps {name}={found[0]}" if found else "; or read lines as text with recordFormat=text"),
            Where(path),
        )


def _file_options(raw: Mapping[str, Any]) -> ReadOptions:
    """Options of lines of text, with those of the user that say which files are read, whatever the format."""
    known = {*by_spellings(declared_options(FileOptions)), _ZONE, "time_zone"}
    return parse_options(_TEXT, {name: value for name, value in raw.items() if name.lower() in known})


def _first_head(paths: Paths, raw: Mapping[str, Any]) -> tuple[FileMetadata, bytes] | None:
    """The first file that has some bytes, and the first bytes of what it holds: none if it cannot be read as text.

    ``None`` without such a file. Whoever reads the files is told why.
    """
    options = _file_options(raw)
    try:
        file = next((each for each in as_paths(paths).listed(options.files)[0] if each.size_bytes), None)
    except SourceError:
        return None
    if file is None:
        return None
    try:
        with closing(open_file(file, options.files, record_format(options))) as source:
            return file, bytes(source.read_at(0, HEAD_BYTES))
    except SplitscanError:
        return file, b""
