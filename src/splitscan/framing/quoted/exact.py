"""The exact CSV framer, one record at a time, for bytes whose quotes are not all structural.

A possessive regular expression per dialect matches one record at C speed; nothing here depends on parity.
Encodings of more than one byte per unit take the reference state machine instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from splitscan.framing.frames import Buffer, Frames
from splitscan.framing.quoted.dialect import Dialect, overlaps
from splitscan.framing.quoted.reference import QuotedReferenceFramer

UNCLOSED_QUOTE = "unclosed-quote"


@dataclass(frozen=True, slots=True)
class Patterns:
    """Compiled expressions for one dialect (single-byte units only)."""

    record: re.Pattern[bytes]
    closed_record: re.Pattern[bytes]
    field: re.Pattern[bytes]
    terminator: re.Pattern[bytes]
    sep: bytes
    comment: bytes | None
    universal: bool


@lru_cache(maxsize=64)
def patterns(dialect: Dialect) -> Patterns:
    """Compile the grammar of *dialect*."""
    encode = dialect.encoding.encode
    sep = encode(dialect.sep)
    universal = dialect.line_sep is None
    terminator = rb"\r\n|\n|\r" if dialect.line_sep is None else re.escape(encode(dialect.line_sep))
    sep_pattern = re.escape(sep) + _no_terminator_inside(sep, dialect)
    if len(sep) == 1 and universal:
        plain = rb"[^" + sep_pattern + rb"\r\n]*+"
    else:
        plain = rb"(?:(?!" + sep_pattern + rb"|" + terminator + rb")[\s\S])*+"
    if dialect.quote is None:
        closed = opened = b"(?P<body>(?!))"
    else:
        quote = re.escape(encode(dialect.quote))
        body, lone_escape = _quoted_body(dialect, quote)
        space = _leading_space(dialect, sep_pattern + rb"|" + terminator)
        start = space + quote + rb"(?P<body>" + body + rb")"
        closed = start + quote + rb"(?P<junk>" + plain + rb")"
        opened = space + quote + body + lone_escape + rb"\Z"
    one_closed = rb"(?:" + _unnamed(closed) + rb"|" + plain + rb")"
    one = rb"(?:" + _unnamed(closed) + rb"|" + _unnamed(opened) + rb"|" + plain + rb")"
    # An unclosed field must not be read as a plain one by the closed pattern: a quote at a field's start forbids it.
    guard = b"" if dialect.quote is None else _guard(dialect, sep_pattern + rb"|" + terminator)
    strict = rb"(?:" + _unnamed(closed) + rb"|" + guard + plain + rb")"
    return Patterns(
        record=re.compile(one + rb"(?:" + sep_pattern + one + rb")*+"),
        closed_record=re.compile(strict + rb"(?:" + sep_pattern + strict + rb")*+"),
        field=re.compile(rb"(?:" + closed + rb"|(?P<plain>" + guard + plain + rb"))" if dialect.quote else one_closed),
        terminator=re.compile(terminator),
        sep=sep,
        comment=None if dialect.comment is None else encode(dialect.comment),
        universal=universal,
    )


def _no_terminator_inside(sep: bytes, dialect: Dialect) -> bytes:
    """Behind a separator: refuses it where a terminator begins inside it."""
    line_sep = b"" if dialect.line_sep is None else dialect.encoding.encode(dialect.line_sep)
    shared = overlaps(tuple(sep), tuple(line_sep))
    return b"".join(rb"(?!" + re.escape(line_sep[k:]) + rb")" for k in shared)


def _quoted_body(dialect: Dialect, quote: bytes) -> tuple[bytes, bytes]:
    if dialect.doubled:
        return rb"[^" + quote + rb"]*+(?:" + quote * 2 + rb"[^" + quote + rb"]*+)*+", b""
    if dialect.escape is None:
        return rb"[^" + quote + rb"]*+", b""
    escape = re.escape(dialect.encoding.encode(dialect.escape))
    other = rb"[^" + quote + escape + rb"]*+"
    return other + rb"(?:" + escape + rb"[\s\S]" + other + rb")*+", rb"(?:" + escape + rb")?+"


def _leading_space(dialect: Dialect, delimiters: bytes) -> bytes:
    return rb"(?:(?!" + delimiters + rb")[\x00-\x20])*+" if dialect.trim_leading else b""


def _guard(dialect: Dialect, delimiters: bytes) -> bytes:
    quote = re.escape(dialect.encoding.encode(dialect.quote or ""))
    return rb"(?!" + _leading_space(dialect, delimiters) + quote + rb")"


def _unnamed(pattern: bytes) -> bytes:
    return pattern.replace(b"(?P<body>", b"(?:").replace(b"(?P<junk>", b"(?:")


@dataclass(slots=True)
class _Found:
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    malformed: dict[int, str] = field(default_factory=dict)
    next_start: int = 0

    def frames(self) -> Frames:
        starts = np.array(self.starts, dtype=np.int64)
        stops = np.array(self.stops, dtype=np.int64)
        return Frames(starts, stops, self.next_start, self.malformed, regular=False)


def frame_exactly(data: Buffer, dialect: Dialect, *, at_end: bool, enough_bytes: int) -> Frames:
    """Frame records one by one until at least *enough_bytes* bytes are dealt with or *data* runs out."""
    if dialect.encoding.unit_bytes > 1:
        return _frame_by_reference(data, dialect, at_end=at_end)
    return _RecordLoop(bytes(data), dialect, at_end).run(enough_bytes)


class _RecordLoop:
    """Cursor over one buffer; each step deals with a blank line, a comment or a record."""

    def __init__(self, data: bytes, dialect: Dialect, at_end: bool) -> None:
        self.data = data
        self.dialect = dialect
        self.at_end = at_end
        self.patterns = patterns(dialect)
        self.found = _Found()

    def run(self, enough_bytes: int) -> Frames:
        found = self.found
        while found.next_start < min(enough_bytes, len(self.data)) and self._step():
            pass
        return found.frames()

    def _step(self) -> bool:
        """Deal with what starts at the cursor; False when it is incomplete."""
        start = self.found.next_start
        is_comment = self.patterns.comment is not None and self.data.startswith(self.patterns.comment, start)
        if is_comment or not self.dialect.multi_line:
            stop, malformed = self._line_stop(start), None
            if not is_comment and stop > start and not self._closes(start, stop):
                malformed = UNCLOSED_QUOTE
        else:
            match = self.patterns.record.match(self.data, start)
            stop, malformed = (match.end() if match else start), None
            if stop == len(self.data) and not self._closes(start, stop):
                return False
        following = self._behind_terminator(stop)
        if following is None:
            return False
        if stop > start and not is_comment:
            if malformed:
                self.found.malformed[len(self.found.starts)] = malformed
            self.found.starts.append(start)
            self.found.stops.append(stop)
        self.found.next_start = following
        return True

    def _line_stop(self, start: int) -> int:
        match = self.patterns.terminator.search(self.data, start)
        return match.start() if match else len(self.data)

    def _closes(self, start: int, stop: int) -> bool:
        match = self.patterns.closed_record.match(self.data, start, stop)
        return match is not None and match.end() == stop

    def _behind_terminator(self, stop: int) -> int | None:
        """Offset behind the terminator at *stop*, or None while that is undecided."""
        if stop == len(self.data):
            return stop if self.at_end else None
        match = self.patterns.terminator.match(self.data, stop)
        if match is None:
            return None
        undecided = self.patterns.universal and match.group() == b"\r" and match.end() == len(self.data)
        return None if undecided and not self.at_end else match.end()


def ends_inside_quotes(data: Buffer, dialect: Dialect) -> bool:
    """Whether *data*, an unfinished record that is no comment, stops inside quotes (and not at one of them)."""
    if dialect.encoding.unit_bytes == 1:
        match = patterns(dialect).closed_record.match(data)
        return match is None or match.end() < len(data)
    framer = QuotedReferenceFramer(dialect)
    for byte in bytes(data):
        framer.push(byte)
    return framer.inside_quotes


def _frame_by_reference(data: Buffer, dialect: Dialect, *, at_end: bool) -> Frames:
    framer = QuotedReferenceFramer(dialect)
    for byte in bytes(data):
        framer.push(byte)
    if at_end:
        framer.finish()
    found = _Found(next_start=framer.settled)
    settled = [record for record in framer.records if record[0] < framer.settled]
    found.starts = [start for start, _ in settled]
    found.stops = [stop for _, stop in settled]
    found.malformed = dict.fromkeys((i for i in framer.malformed if i < len(settled)), UNCLOSED_QUOTE)
    return found.frames()


def split_fields(record: bytes, dialect: Dialect) -> list[tuple[bytes, bool]]:
    """Split one record's content into fields: the value's bytes, and whether it was quoted.

    Doubled quotes and escapes in quoted fields are resolved. A quoted field with something behind its closing
    quote (other than white space) is returned as it stands, quotes included, as not quoted. An unclosed one
    is everything behind its opening quote.

    Example:
        >>> from splitscan.framing.encodings import resolve_encoding
        >>> split_fields(b'1,"x y",', Dialect(resolve_encoding("UTF-8")))
        [(b'1', False), (b'x y', True), (b'', False)]
    """
    compiled = patterns(dialect)
    fields: list[tuple[bytes, bool]] = []
    position = 0
    while True:
        match = compiled.field.match(record, position)
        if match is None:  # a quote that never closes
            opening = record.index(dialect.encoding.encode(dialect.quote or ""), position)
            fields.append((unescape(record[opening + 1 :], dialect), True))
            return fields
        fields.append(_value(match, dialect))
        position = match.end()
        if position >= len(record) or not record.startswith(compiled.sep, position):
            return fields
        position += len(compiled.sep)


def _value(match: re.Match[bytes], dialect: Dialect) -> tuple[bytes, bool]:
    if dialect.quote is None or match.group("plain") is not None:
        return match.group(), False
    if match.group("junk").strip(bytes(range(0x21))):
        return match.group(), False
    return unescape(match.group("body"), dialect), True


def unescape(body: bytes, dialect: Dialect) -> bytes:
    """Resolve doubled quotes and escapes of a quoted field's content.

    An escape in front of the quote or of another escape disappears; in front of anything else it is data.
    """
    quote = dialect.encoding.encode(dialect.quote or "")
    if dialect.doubled:
        return body.replace(quote * 2, quote)
    if dialect.escape is None:
        return body
    escape = dialect.encoding.encode(dialect.escape)
    return re.sub(re.escape(escape) + rb"([" + re.escape(quote + escape) + rb"])", rb"\1", body)
