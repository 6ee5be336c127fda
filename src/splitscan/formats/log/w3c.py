"""Extended logs of the W3C: fields between blanks, named by a line ``#Fields:``. They are CSV with such a header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import pyarrow as pa

from splitscan.errors import RecordError
from splitscan.formats.contract import FoundSchema, Head, Heads, Summaries
from splitscan.formats.csv.columns import unique_names
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.csv.options import BLANK_RUNS, CsvOptions, HeaderMapping
from splitscan.formats.framing.contract import Need, Preamble
from splitscan.formats.framing.encodings import MAX_BOM_BYTES, detect_bom
from splitscan.formats.log.options import LogOptions
from splitscan.formats.merge import merge_schemas
from splitscan.options.read import TypedOptions

_DIRECTIVE = b"#Fields:"
_BLANKS = b" \t"
_LINE = re.compile(rb"([^\r\n]*)(?:\r\n|[\r\n])?")
_MOST_BLANKS = 4096  # before a directive that is cut off
_LONGEST_BYTES = 64 << 20  # of a line that is held, to see whether it is another directive

_TYPES = {
    "date": pa.date32(),
    "sc-status": pa.int32(),
    "sc-bytes": pa.int64(),
    "cs-bytes": pa.int64(),
    "time-taken": pa.float64(),  # whole milliseconds of IIS, parts of seconds of CloudFront
}


@dataclass(frozen=True)
class W3cFormat(QuotedFormat):
    """Records are lines of fields; directives in the head of a file name the columns."""

    name = "w3c"

    names_of_file: tuple[str, ...] = ()

    def needs_head(self, start: int) -> bool:
        return True

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Read the directives before the first record; the last ``#Fields:`` of them counts.

        Raises:
            RecordError: If a record comes before any.
        """
        if len(head) < MAX_BOM_BYTES and not at_end:
            return Need.AFTER
        encoding, start = detect_bom(head, self.dialect.encoding)
        names: tuple[str, ...] = ()
        while start < len(head):
            line = _LINE.match(head, start)
            content = b"" if line is None else line[1].strip(_BLANKS)
            if content and not content.startswith(b"#"):
                if names:
                    break
                raise RecordError(
                    "no line #Fields: stands before the first record",
                    seen=repr(content[:80].decode("utf-8", "replace")),
                    fix="put the line '#Fields: ...' that names the columns at the head of the file, or read it as csv "
                    r"with sep=\s+ and a schema",
                    code="bad-header",
                )
            stop = len(head) if line is None else line.end()
            if stop == len(head) and not at_end:
                return Need.AFTER
            if content.startswith(_DIRECTIVE):
                names = _names(encoding.text(content))
            start = stop
        if start == len(head) and not at_end:
            return Need.AFTER
        return Preamble(
            start, replace(self, dialect=replace(self.dialect, encoding=encoding), names_of_file=names), names
        )

    def other_columns(self, data: bytes, *, at_end: bool) -> tuple[int | None, bytes]:
        cut = len(data) if at_end else max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        position = data.find(_DIRECTIVE, 0, cut)
        while position >= 0:
            begin = max(data.rfind(b"\n", 0, position), data.rfind(b"\r", 0, position)) + 1
            line = _LINE.match(data, position)
            said = b"" if line is None else line[1]
            is_first = not data[begin:position].strip(_BLANKS)
            if is_first and _names(self.encoding.text(said.strip(_BLANKS))) != self.names_of_file:
                return position, b""
            position = data.find(_DIRECTIVE, position + len(said), cut)
        rest = data[cut:]
        first = rest[: len(_DIRECTIVE) + _MOST_BLANKS].lstrip(_BLANKS)[: len(_DIRECTIVE)]
        is_open = _DIRECTIVE.startswith(first) and len(rest) <= _LONGEST_BYTES
        return None, rest if is_open else b"_"  # in the middle of a line of another kind


def _names(directive: str) -> tuple[str, ...]:
    return tuple(directive.removeprefix(_DIRECTIVE.decode()).split())


@lru_cache(maxsize=64)
def csv_of(own: LogOptions) -> CsvOptions:
    """The dialect of CSV that these files are in."""
    typed = {each.name: getattr(own, each.name) for each in fields(TypedOptions)}
    return CsvOptions(
        sep=BLANK_RUNS,
        quote='"',
        escape='"',
        comment="#",
        header=True,
        header_mapping=HeaderMapping.NAME,
        null_value=own.null_value,
        **typed,
    )


def framing_of(own: LogOptions) -> W3cFormat:
    """The way to find records."""
    return W3cFormat(CsvGrammar.of(csv_of(own)), header=True)


def found_columns(heads: Heads) -> FoundSchema:
    """The columns that the heads of files name, each once."""
    found = heads.look_for_names(heads.chosen, _header, _KEPT_NAMES)
    types = [(file, pa.schema([_field(name) for name in unique_names(names)])) for file, names in found if names]
    merged = merge_schemas((file.path, schema) for file, schema in types)
    return FoundSchema(merged.schema, merged, max(len(heads.chosen), len(types)))


_KEPT_NAMES: Summaries[Sequence[str]] = Summaries("fields of W3C logs", lambda one, other: one or other, list, tuple)


def _header(head: Head) -> Sequence[str]:
    return head.preamble.header or ()


def _field(name: str) -> pa.Field:
    return pa.field(name, _TYPES.get(name.lower(), pa.string()))
