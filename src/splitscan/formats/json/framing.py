"""JSON values as records: one after the other, or the elements of one array, over any number of lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from splitscan.errors import RecordError, bad_option
from splitscan.formats.framing.contract import UNFINISHED_RECORD, Need, Preamble, Skipping, Splittability
from splitscan.formats.framing.encodings import MAX_BOM_BYTES, UTF_8, Encoding, detect_bom
from splitscan.formats.framing.frames import (
    Buffer,
    CountedRecords,
    Frames,
    NativeFraming,
    Offsets,
    Passing,
    PassingFinder,
    Summary,
    native_framing,
)
from splitscan.formats.json.envelope import JsonEnvelope
from splitscan.formats.json.outside import Outside
from splitscan.formats.json.paths import BACKSLASH, SPACE, EnvelopeColumn, RecordPath
from splitscan.formats.json.reference import (
    LOOSE_STATE,
    JsonReferenceFramer,
    JsonReferenceFraming,
    JsonShape,
    separators,
)
from splitscan.sizes import MIB

_MARKS = b'{}[]",:\\'
_WHITE = bytes(sorted(SPACE))
LONGEST_HEAD_BYTES = 16 * MIB
"""The first array below a path begins within so many bytes: every reader of a part of the file looks at them."""

_LONGEST_INDENT = 256  # white space before a record, beyond which lines are not told apart by it


@dataclass(frozen=True)
class JsonFormat:
    r"""Records are JSON values, wherever their lines end.

    The head of the file tells whether it is one array, whose elements are the records, or values one after the other
    (JSON Lines, concatenated or pretty-printed). With a path the records are the elements of the arrays below it, in
    every document of the file. Files are split through a boundary index.

    Args:
        encoding: UTF-8, or another one whose lower half is ASCII.
        shape: Known once the head of the file was read.
        path: To the arrays whose elements are the records; ``None`` for values and one array.
        indent: White space before the first record in its line; ``None`` where it shares the line with the array's
            bracket. A line that begins like this is where reading goes on after a record that never ends.

        envelope: Columns from around the arrays below the path; where records are does not depend on them.

    Raises:
        UsageError: If the encoding has more than one byte per unit, or is not UTF-8 and the path has other letters than
            those of ASCII.

    Thread safety: immutable.
    Pickling: plain values only.

    Example:
        >>> format = JsonFormat().preamble(b'[{"a": 1},\n {"a": "}"}]', at_end=True).format
        >>> frames = format.frame(b'{"a": 1},\n {"a": "}"}]', at_end=True)
        >>> frames.starts.tolist(), frames.stops.tolist()
        ([0, 11], [8, 21])
    """

    name = "json"
    splittability = Splittability.CONTEXT
    unit_bytes = 1
    unfinished_code = UNFINISHED_RECORD

    encoding: Encoding = UTF_8
    shape: JsonShape = JsonShape.UNKNOWN
    indent: bytes | None = b""
    path: RecordPath | None = None
    envelope: tuple[EnvelopeColumn, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not reads_values(self.encoding):
            raise bad_option(
                "JSON values over several lines are read in UTF-8 and in encodings that extend ASCII byte by byte",
                f"encoding={self.encoding.name}, multiLine=true",
                "convert the file to UTF-8; with multiLine=false, JSON Lines are read in every encoding",
            )
        if self.path is not None and self.encoding is not UTF_8 and not str(self.path).isascii():
            seen = f"encoding={self.encoding.name}, recordPath={self.path}"
            raise bad_option("names of recordPath beyond ASCII are found in UTF-8", seen, "convert the file to UTF-8")

    def needs_head(self, start: int) -> bool:
        """Always: the shape of the file matters everywhere."""
        return True

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Skip byte order mark, white space and an array's bracket; find out the shape."""
        if len(head) < MAX_BOM_BYTES and not at_end:
            return Need.AFTER
        _, start = detect_bom(head, self.encoding)
        if self.path is not None:
            return self._first_array(head, start, at_end=at_end)
        first = start + _leading_space(head[start:])
        if first == len(head) and not at_end:
            return Need.AFTER
        is_array = head[first : first + 1] == b"[" and self.shape is not JsonShape.VALUES
        data_start = first + 1 if is_array else start
        record = data_start + _leading_space(head[data_start:])
        if record == len(head) and not at_end:
            return Need.AFTER
        if self.shape is not JsonShape.UNKNOWN:
            return Preamble(data_start, self)
        shape = JsonShape.ARRAY if is_array else JsonShape.VALUES
        return Preamble(data_start, replace(self, shape=shape, indent=_indent(head[start:record], is_array=is_array)))

    def _first_array(self, head: bytes, start: int, *, at_end: bool) -> Preamble | Need:
        """Find where the first array below the path begins."""
        found, has_null = _first_array(head, start, self.path) if self.path else (None, False)
        if found is not None:
            return Preamble(start + found, replace(self, shape=JsonShape.BELOW))
        if not at_end:
            if len(head) >= LONGEST_HEAD_BYTES:
                raise RecordError(
                    f"the first array of recordPath begins within {LONGEST_HEAD_BYTES} bytes",
                    seen=f"none in {len(head)} bytes; recordPath={self.path}",
                    fix="check the names of recordPath; for a file that has more before the array, put it after it",
                    code="record-path-not-found",
                )
            return Need.AFTER
        content = head.rstrip(bytes(separators(JsonShape.VALUES)))
        if has_null or len(content) <= start:
            return Preamble(len(head), replace(self, shape=JsonShape.BELOW))
        return Preamble(len(content) - 1, replace(self, shape=JsonShape.NOWHERE))

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        return self._framing.frame(data, at_end=at_end)

    def count(self, data: Buffer) -> CountedRecords:
        return self._framing.count(data)

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        if self._is_below:
            below = self._framing.gap_bytes(data, at_end=at_end)
            return Need.AFTER if below is None else below
        gap = _gap(self.known_shape).match(data)
        length = gap.end() if gap else 0
        return Need.AFTER if length == len(data) and not at_end else length

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets | None:
        if self._is_below:  # brackets tell where a record ends that is given up: none inside of it is one
            return None
        return self._framing.open_starts(data, longest_bytes)

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """The next line that begins as the line of the first record did: with the same white space, and ``{``.

        Below a path, where the brackets of the record close.
        """
        if self._is_below:
            return Passing(self._framing).resume_after(data, at_end=at_end)
        if (line := _record_line(self.indent).search(data)) is not None:
            return line.end() - 1
        return len(data) if at_end else None

    def droppable(self, data: Buffer) -> int:
        """All that cannot be the beginning of such a line."""
        if self._is_below:
            return self.drop(data)[0]
        longest = len(b"\n {") if self.indent is None else len(self.indent) + len(b"\n{")
        return max(0, len(data) - longest)

    def drop(self, data: Buffer) -> tuple[int, Skipping]:
        """Drop what says nothing of where reading goes on."""
        return Passing(self._framing).drop(data) if self._is_below else (self.droppable(data), self)

    def never_ends(self, data: Buffer) -> bool:
        """True if the file ends with *data* outside of the arrays, and is damaged there."""
        return self._is_below and Passing(self._framing).never_ends(data)

    def reference_framer(self) -> JsonReferenceFramer:
        return JsonReferenceFramer(self.known_shape, self.path)

    @property
    def known_shape(self) -> JsonShape:
        """Shape by the head of the file; values one after the other, if nobody has read it."""
        return JsonShape.VALUES if self.shape is JsonShape.UNKNOWN else self.shape

    def envelope_reader(self) -> JsonEnvelope | None:
        """A new reader of what is around the arrays, if any of it is a column."""
        return JsonEnvelope(self.path, self.envelope, self.encoding) if self.envelope and self.path else None

    # ---------------------------------------------------------------- context

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        symbols = before[-1:] + after
        for position in range(len(symbols)):
            if symbols[position] != BACKSLASH:
                return position + 1 - len(before[-1:])
        return Need.AFTER

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Follow strings and brackets under each assumption about the state at the start."""
        return self._framing.summarise(data, before, after, mark)

    def state_after(self, data: Buffer) -> int:
        """Read *data* from a record boundary to its end."""
        rest = memoryview(data)[self.frame(data, at_end=False).next_start :]
        if self._is_below and bytes(rest[:1]) in (b"]", b":"):
            return LOOSE_STATE
        run = self.summarise(rest, b"", b"", 0).run(0)
        return JsonReferenceFraming(self.known_shape, self.path).state_after(rest) if run is None else run.state

    @property
    def block_head(self) -> dict[str, Any]:
        """Head of a file for the kernel's block reader."""
        indent = None if self.indent is None else self.indent.decode()
        return {"values": {"shape": self.known_shape.name.lower(), "indent": indent}}

    @property
    def _is_below(self) -> bool:
        return self.shape is JsonShape.BELOW

    @property
    def _framing(self) -> PassingFinder:
        return framing_of(self.known_shape, self.path)


def reads_values(encoding: Encoding) -> bool:
    """True if values over several lines are read in an encoding: in those that extend ASCII byte by byte."""
    return encoding.unit_bytes == 1 and all(encoding.tells_apart(bytes([mark])) for mark in _MARKS)


def framing_of(shape: JsonShape, path: RecordPath | None = None) -> PassingFinder:
    """Finder of the records of a shape: the kernel where it is installed, else the reference."""
    return _native_framing(shape, path) or JsonReferenceFraming(shape, path)


def _native_framing(shape: JsonShape, path: RecordPath | None) -> NativeFraming | None:
    steps = path.steps if path is not None and shape is JsonShape.BELOW else None
    return native_framing("Json", shape.name.lower(), steps)


def _first_array(head: bytes, start: int, path: RecordPath) -> tuple[int | None, bool]:
    """Offset at which reading begins in a file with a path, ``None`` without one; and whether there is a null at it."""
    if (framing := _native_framing(JsonShape.BELOW, path)) is not None:
        found: tuple[int | None, bool] = framing.native.first_array(head, start, len(head))
        return found
    outside = Outside(path)
    for at, byte in enumerate(head[start:]):
        if (back := outside.push(byte)) is not None:
            return at + 1 - back, False
    return None, outside.place.has_null


@lru_cache(maxsize=8)
def _gap(shape: JsonShape) -> re.Pattern[bytes]:
    return re.compile(b"[" + re.escape(bytes(sorted(separators(shape)))) + b"]*+")


@lru_cache(maxsize=64)
def _record_line(indent: bytes | None) -> re.Pattern[bytes]:
    """The beginning of a line where a record may begin; ``None`` where no record shows how much white space it has."""
    return re.compile(rb"\n ?\{" if indent is None else b"\n" + re.escape(indent) + rb"\{")


def _leading_space(text: bytes) -> int:
    return len(text) - len(text.lstrip(_WHITE))


def _indent(head: bytes, *, is_array: bool) -> bytes | None:
    """White space between the last line feed and the first record; ``None`` if that line also has the bracket."""
    line = head.rpartition(b"\n")[2]
    if is_array and b"[" in line:
        return None
    return line if len(line) <= _LONGEST_INDENT else b""
