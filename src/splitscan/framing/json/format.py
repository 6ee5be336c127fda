"""JSON values as records: one after the other, or the elements of one array, over any number of lines."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splitscan.errors import UsageError
from splitscan.framing.contract import Need, Preamble, Splittability
from splitscan.framing.encodings import MAX_BOM_BYTES, UTF_8, Encoding, detect_bom
from splitscan.framing.frames import NO_OFFSETS, Buffer, Counted, Frames, as_units
from splitscan.framing.json.exact import frame_exactly, state_behind
from splitscan.framing.json.fast import gap_garbage, gap_length, misplaced_braces, scan
from splitscan.framing.json.grammar import BACKSLASH, SPACE, UNFINISHED_RECORD, Shape, state_of
from splitscan.framing.json.reference import JsonReferenceFramer
from splitscan.framing.json.structure import Brackets, Nesting, structure
from splitscan.framing.summaries import Run, Summary

_EXACT_BYTES = 64 * 1024  # how far the exact framer goes before parity is tried again
_MARKS = b'{}[]",:\\'
_KNOWN_DEPTHS = 32  # start depths that a summary answers for; a deeper one is resolved by reading
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
            bracket. A line that begins like this is where reading goes on behind a record that never ends.

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

    encoding: Encoding = UTF_8
    shape: Shape = Shape.UNKNOWN
    indent: bytes | None = b""

    def __post_init__(self) -> None:
        if self.encoding.unit_bytes != 1 or not all(self.encoding.tells_apart(bytes([mark])) for mark in _MARKS):
            raise UsageError(
                "JSON values over several lines are read in UTF-8 and in encodings that extend ASCII byte by byte",
                seen=f"encoding={self.encoding.name}, multiLine=true",
                fix="convert the file to UTF-8; with multiLine=false, JSON Lines are read in every encoding",
                code="bad-option",
            )

    @property
    def name(self) -> str:
        """Short name for messages."""
        return "json"

    @property
    def splittability(self) -> Splittability:
        """Only what is before a bracket tells whether it is in a string, and how deep."""
        return Splittability.CONTEXT

    @property
    def unit_bytes(self) -> int:
        """Bytes per code unit."""
        return 1

    @property
    def unfinished_code(self) -> str:
        """Reject code of a record that never ends."""
        return UNFINISHED_RECORD

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
        is_array = head[first : first + 1] == b"[" and self.shape is not Shape.VALUES
        data_start = first + 1 if is_array else start
        record = data_start + _leading_space(head[data_start:])
        if record == len(head) and not at_end:
            return Need.AFTER
        if self.shape is not Shape.UNKNOWN:
            return Preamble(data_start, self)
        shape = Shape.ARRAY if is_array else Shape.VALUES
        return Preamble(data_start, replace(self, shape=shape, indent=_indent(head[start:record], is_array=is_array)))

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Find complete records; up to the first byte that JSON does not allow by parity, behind it one by one."""
        if not len(data):
            return Frames(NO_OFFSETS, NO_OFFSETS, 0)
        units = as_units(data, 1, False)
        found = scan(units, self._shape)
        starts, stops = found.starts, found.stops
        if found.bad is not None:
            stops = stops[: int(np.searchsorted(stops, found.bad, side="right"))]
            if not len(stops):
                return frame_exactly(data, self._shape, at_end=at_end, enough_bytes=_EXACT_BYTES)
        count = len(stops)
        last = int(stops[-1]) if count else 0
        gap = gap_length(units, last, self._shape)
        return Frames(starts[:count], stops, len(data) if gap is None else last + gap)

    def count_regular(self, data: Buffer) -> Counted | None:
        """Always ``None``: values are counted as slowly as they are found, and the boundary index has counted them."""
        return None

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        """Length of what separates records at the front of *data*."""
        gap = gap_length(as_units(data, 1, False), 0, self._shape)
        if gap is None:
            return len(data) if at_end else Need.AFTER
        return gap

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """The next line that begins as the line of the first record did: with the same white space, and ``{``."""
        raw = bytes(data)
        found = [(raw.find(line), len(line) - 1) for line in self._record_lines]
        positions = [at + length for at, length in found if at >= 0]
        if positions:
            return min(positions)
        return len(data) if at_end else None

    def droppable(self, data: Buffer) -> int:
        """All that cannot be the beginning of such a line."""
        return max(0, len(data) - max(len(line) for line in self._record_lines))

    def reference_framer(self) -> JsonReferenceFramer:
        """A new byte-at-a-time framer for the same records."""
        return JsonReferenceFramer(self._shape)

    @property
    def _shape(self) -> Shape:
        return Shape.VALUES if self.shape is Shape.UNKNOWN else self.shape

    @property
    def _record_lines(self) -> tuple[bytes, ...]:
        if self.indent is None:
            return b"\n{", b"\n {"
        return (b"\n" + self.indent + b"{",)

    # ---------------------------------------------------------------- context

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        """The first position that no backslash stands before."""
        symbols = before[-1:] + after
        for position in range(len(symbols)):
            if symbols[position] != BACKSLASH:
                return position + 1 - len(before[-1:])
        return Need.AFTER

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Follow strings and brackets under each assumption about the state at the start."""
        units = as_units(data, 1, False)
        runs: list[Run | None] = [None] * (2 * _KNOWN_DEPTHS)
        if len(units):
            seen = structure(units)
            for in_string in (False, True):
                if seen.break_of(in_string=in_string) is None:
                    found = seen.assume(in_string=in_string)
                    runs[int(in_string) :: 2] = self._runs(found, before, mark, in_string=in_string)
        return Summary(len(data), tuple(runs))

    def _runs(self, found: Nesting, before: bytes, mark: int, *, in_string: bool) -> list[Run | None]:
        """One run per start depth."""
        edges = found.down_to(found.lowest_level)
        low = min(0, int(edges.after.min())) if len(edges.after) else 0
        misplaced = misplaced_braces(found, found.openers)
        if len(misplaced) and _ends_well(before) and not found.units[: int(misplaced[0])].tobytes().strip(_WHITE):
            misplaced = misplaced[1:]  # what is before it is not in this piece
        top = int(found.depths_before(misplaced).max()) if len(misplaced) else low - 1
        is_real = low < 0 or not in_string  # at depth 0 only loose records have strings
        base = self._base_run(found, edges, low, mark) if is_real else None
        runs: list[Run | None] = []
        for depth in range(_KNOWN_DEPTHS):
            state = state_of(depth + found.net, in_string=found.ends_in_string)
            if depth < -low or depth + top > 0:
                runs.append(None)
            elif depth == -low:
                runs.append(base)
            else:
                runs.append(Run(state, None, None, None, 0))
        return runs

    def _base_run(self, found: Nesting, edges: Brackets, low: int, mark: int) -> Run | None:
        """The run that comes down to depth 0; ``None`` if something there is no separator."""
        starts = edges.at[edges.opens & (edges.before == low)]
        stops = edges.at[~edges.opens & (edges.after == low)] + 1
        lows = stops if low else np.concatenate([np.zeros(1, dtype=np.int64), stops])
        highs = starts if len(starts) == len(lows) else np.append(starts, len(found.units))
        if gap_garbage(found.units, lows, highs, self._shape) is not None:
            return None
        state = state_of(found.net - low, in_string=found.ends_in_string)
        if not len(starts):
            return Run(state, None, None, None, 0)
        marked = int(np.searchsorted(starts, mark))
        at_mark = int(starts[marked]) if marked < len(starts) else None
        return Run(state, int(starts[0]), int(starts[-1]), at_mark, len(starts))

    def state_after(self, data: Buffer) -> int:
        """Read *data* from a record boundary to its end."""
        rest = memoryview(data)
        while step := self.frame(rest, at_end=False).next_start:
            rest = rest[step:]
        return state_behind(rest, self._shape)


def _leading_space(text: bytes) -> int:
    return len(text) - len(text.lstrip(_WHITE))


def _indent(head: bytes, *, is_array: bool) -> bytes | None:
    """White space between the last line feed and the first record; ``None`` if that line also has the bracket."""
    line = head.rpartition(b"\n")[2]
    if is_array and b"[" in line:
        return None
    return line if len(line) <= _LONGEST_INDENT else b""


def _ends_well(before: bytes) -> bool:
    """Whether a brace may follow *before*, as far as its last byte that is no white space tells."""
    return before.rstrip(_WHITE)[-1:] in (b"[", b",", b":")
