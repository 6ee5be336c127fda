"""JSON values as records: one after the other, or the elements of one array, over any number of lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from splitscan.engine import kernel
from splitscan.errors import UsageError
from splitscan.formats.framing.contract import Need, Preamble, Splittability
from splitscan.formats.framing.encodings import MAX_BOM_BYTES, UTF_8, Encoding, detect_bom
from splitscan.formats.framing.frames import (
    Buffer,
    CountedRecords,
    Frames,
    NativeFraming,
    NestedRecordFinder,
    Offsets,
    Summary,
    native,
)
from splitscan.formats.json.reference import (
    BACKSLASH,
    SPACE,
    UNFINISHED_RECORD,
    JsonReferenceFramer,
    JsonReferenceFraming,
    JsonShape,
    separators,
)

_MARKS = b'{}[]",:\\'
_WHITE = bytes(sorted(SPACE))
_LONGEST_INDENT = 256  # white space before a record, beyond which lines are not told apart by it


@dataclass(frozen=True)
class JsonFormat:
    r"""Records are JSON values, wherever their lines end.

    The head of the file tells whether it is one array, whose elements are the records, or values one after the other
    (JSON Lines, concatenated or pretty-printed). Files are split through a boundary index.

    Args:
        encoding: UTF-8, or another one whose lower half is ASCII.
        shape: Known once the head of the file was read.
        indent: White space before the first record in its line; ``None`` where it shares the line with the array's
            bracket. A line that begins like this is where reading goes on after a record that never ends.

    Raises:
        UsageError: If the encoding has more than one byte per unit.

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

    def __post_init__(self) -> None:
        if not reads_values(self.encoding):
            raise UsageError(
                "JSON values over several lines are read in UTF-8 and in encodings that extend ASCII byte by byte",
                seen=f"encoding={self.encoding.name}, multiLine=true",
                fix="convert the file to UTF-8; with multiLine=false, JSON Lines are read in every encoding",
                code="bad-option",
            )

    def needs_head(self, start: int) -> bool:
        """Always: the shape of the file matters everywhere."""
        return True

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Skip byte order mark, white space and an array's bracket; find out the shape."""
        if len(head) < MAX_BOM_BYTES and not at_end:
            return Need.AFTER
        _, start = detect_bom(head, self.encoding)
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

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        return framing_of(self.known_shape).frame(data, at_end=at_end)

    def count(self, data: Buffer) -> CountedRecords:
        return framing_of(self.known_shape).count(data)

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        gap = _gap(self.known_shape).match(data)
        length = gap.end() if gap else 0
        return Need.AFTER if length == len(data) and not at_end else length

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets | None:
        return framing_of(self.known_shape).open_starts(data, longest_bytes)

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """The next line that begins as the line of the first record did: with the same white space, and ``{``."""
        if (line := _record_line(self.indent).search(data)) is not None:
            return line.end() - 1
        return len(data) if at_end else None

    def droppable(self, data: Buffer) -> int:
        """All that cannot be the beginning of such a line."""
        longest = len(b"\n {") if self.indent is None else len(self.indent) + len(b"\n{")
        return max(0, len(data) - longest)

    def reference_framer(self) -> JsonReferenceFramer:
        return JsonReferenceFramer(self.known_shape)

    @property
    def known_shape(self) -> JsonShape:
        """Shape by the head of the file; values one after the other, if nobody has read it."""
        return JsonShape.VALUES if self.shape is JsonShape.UNKNOWN else self.shape

    # ---------------------------------------------------------------- context

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        symbols = before[-1:] + after
        for position in range(len(symbols)):
            if symbols[position] != BACKSLASH:
                return position + 1 - len(before[-1:])
        return Need.AFTER

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Follow strings and brackets under each assumption about the state at the start."""
        return framing_of(self.known_shape).summarise(data, before, after, mark)

    def state_after(self, data: Buffer) -> int:
        """Read *data* from a record boundary to its end."""
        rest = memoryview(data)[self.frame(data, at_end=False).next_start :]
        run = self.summarise(rest, b"", b"", 0).run(0)
        return JsonReferenceFraming(self.known_shape).state_after(rest) if run is None else run.state

    @property
    def block_head(self) -> dict[str, Any]:
        """Head of a file for the kernel's block reader."""
        indent = None if self.indent is None else self.indent.decode()
        return {"values": {"is_array": self.known_shape is JsonShape.ARRAY, "indent": indent}}


def reads_values(encoding: Encoding) -> bool:
    """True if values over several lines are read in an encoding: in those that extend ASCII byte by byte."""
    return encoding.unit_bytes == 1 and all(encoding.tells_apart(bytes([mark])) for mark in _MARKS)


def framing_of(shape: JsonShape) -> NestedRecordFinder:
    """Finder of the records of a shape: the kernel where it is installed, else the reference."""
    return JsonReferenceFraming(shape) if kernel() is None else _native_framing(shape)


@lru_cache(maxsize=8)
def _native_framing(shape: JsonShape) -> NestedRecordFinder:
    return NativeFraming(native("Json", shape.name.lower()))


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
