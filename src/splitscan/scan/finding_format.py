"""Which record format files have, where nobody says: by their names, else by the first bytes of the first of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, overload

from splitscan.blocks import FileMetadata
from splitscan.errors import SourceError, SplitscanError, UsageError, Where
from splitscan.formats.first_bytes import HEAD_BYTES, beginning_of
from splitscan.formats.registry import DEFAULT_FORMAT, KNOWN, options_of, parse_options, record_format, resolve_format
from splitscan.options import ReadOptions
from splitscan.options.files import FileOptions
from splitscan.options.table import by_spellings, declared_options
from splitscan.read.contents import open_file
from splitscan.redaction import redact
from splitscan.scan.files import Paths, as_paths
from splitscan.scan.kinds import NamedFormat, kind_of
from splitscan.scan.own_formats import OwnFormat

_NAMED_FILES = 100  # of a directory or glob whose own name says nothing
_ZONE = "timezone"


@overload
def find_format(paths: Paths, format: str | None, raw: Mapping[str, Any]) -> tuple[str, dict[str, Any]]: ...


@overload
def find_format(
    paths: Paths, format: str | OwnFormat | None, raw: Mapping[str, Any]
) -> tuple[str | OwnFormat, dict[str, Any]]: ...


def find_format(
    paths: Paths, format: str | OwnFormat | None, raw: Mapping[str, Any]
) -> tuple[str | OwnFormat, dict[str, Any]]:
    r"""The record format of a scan, and its options with those that the names of files say.

    A format that is given stands. Else the endings of the paths decide, in front of one that names a compression; then,
    where they say nothing (directories, ``.txt``, no ending), those of the files that are there; then the first bytes
    of the first file that has some: JSON, XML, or CSV for all others. If options were given that only CSV has, first
    bytes decide nothing. Where no file is there it is CSV, too.

    Args:
        paths: As the user gave them.
        format: As the user gave it; ``None`` if he did not.
        raw: Options, as the user wrote them.

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


def _kind_inside(paths: Paths, raw: Mapping[str, Any]) -> NamedFormat | None:
    """Format by the names of the files that are there, or by the first bytes of one of them."""
    options = _file_options(raw)
    try:
        files = as_paths(paths).listed(options.files)[0][:_NAMED_FILES]
        named = kind_of([file.path for file in files])
        if named is not None:
            return named
        for file in files:
            if file.size_bytes:
                return _kind_of_beginning(file, _head(file, options), raw)
    except SourceError:
        pass  # whoever reads the files is told
    return None


def _kind_of_beginning(file: FileMetadata, head: bytes, raw: Mapping[str, Any]) -> NamedFormat | None:
    found = beginning_of(head)
    if found is None or _is_for_csv(raw, found.format or "text"):
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
    """Refuse options without one that is required and whose value the files can tell: the hint names some.

    Raises:
        UsageError: ``[bad-option]``.
    """
    for name, candidates_in in KNOWN[format].candidates.items():
        spellings = {spelling for spelling, option in by_spellings(options_of(format)).items() if option.name == name}
        if any(given.lower() in spellings and value is not None for given, value in raw.items()):
            continue
        path, found = _candidates(paths, _file_options(raw), candidates_in)
        raise UsageError(
            f"record format {format} needs option {name}",
            Where(path),
            seen=f"no {name}; elements below the root: {', '.join(found) or 'none in the first bytes'}",
            fix="give the name of the elements that are records"
            + (f", perhaps {name}={found[0]}" if found else "; or read lines as text with recordFormat=text"),
            code="bad-option",
        )


def _candidates(
    paths: Paths, options: ReadOptions, candidates_in: Callable[[bytes], Sequence[str]]
) -> tuple[str | None, Sequence[str]]:
    """Values that the first file with some bytes shows, and its path; whatever it is, the option is missing."""
    try:
        file = next((file for file in as_paths(paths).listed(options.files)[0] if file.size_bytes), None)
    except SourceError:
        return None, ()
    return (None, ()) if file is None else (redact(file.path), candidates_in(_head(file, options)))


def _file_options(raw: Mapping[str, Any]) -> ReadOptions:
    """Options of lines of text, with those of the user that say which files are read, whatever the format."""
    known = {*by_spellings(declared_options(FileOptions)), _ZONE, "time_zone"}
    return parse_options("text", {name: value for name, value in raw.items() if name.lower() in known})


def _head(file: FileMetadata, options: ReadOptions) -> bytes:
    """The first bytes of what a file holds; none where it cannot be read as text: whoever reads it says why."""
    try:
        with closing(open_file(file, options.files, record_format(options))) as source:
            return bytes(source.read_at(0, HEAD_BYTES))
    except SplitscanError:
        return b""
