"""CSV records as arrays of their fields: numpy over whole buffers, and an exact slow road beside it.

The slow road (:meth:`CsvDecoder.fields_of` record by record) is taken for single records whose quotes the fast one does
not understand. Both roads give the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.decoding.canonical import has_blank_edges
from splitscan.decoding.contract import FIELD_COUNT, Decoded, Fault
from splitscan.decoding.csv import SPACE, CsvDecoder
from splitscan.decoding.csv_judging import FIELD_TOO_LONG, describe_malformed
from splitscan.decoding.csv_parsing import interleave
from splitscan.decoding.utf8 import is_utf8
from splitscan.framing.frames import Frames
from splitscan.framing.quoted import Dialect
from splitscan.framing.quoted.fast import delimiters_overlap, find_quotes, find_sequence

_Integers = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CsvArrayDecoder:
    """Decodes CSV records whose fields have no names.

    A short record gives a short array. An element is what a text column would hold. Where only some elements are
    wanted, the array ends behind the last of them, and those between are empty texts.

    Args:
        csv: The dialect, and how fields become texts.
        kind: Type of the column, a list of strings.
        max_fields: Most fields in a record; one with more is broken, and its array is cut.
        elements: Indexes of the wanted elements; ``None`` for all.
        wanted: Whether the column is asked for at all.
    """

    csv: CsvDecoder
    kind: pa.DataType
    max_fields: int
    elements: tuple[int, ...] | None = None
    wanted: bool = True

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a broken one keeps the fields that it has."""
        if not len(frames):
            return Decoded([pa.array([], self.kind)] if self.wanted else [], 0)
        if self.csv.dialect.in_utf8 is not self.csv.dialect or not is_utf8(data):
            data, frames = self.csv.in_utf8(data, frames)
        fields = _Fields.find(data, frames, self.csv)
        slow = np.ones(len(frames), dtype=bool) if fields is None else fields.is_odd
        if fields is None or slow.all():
            return self._decode_slowly(data, frames, np.arange(len(frames)))
        fast = self._decode_fast(fields.without(slow), frames, np.flatnonzero(~slow))
        if not slow.any():
            return fast
        odd = self._decode_slowly(data, frames, np.flatnonzero(slow))
        where = np.flatnonzero(slow).tolist()
        columns = [interleave(one, where, other) for one, other in zip(fast.columns, odd.columns, strict=True)]
        faults = sorted([*fast.faults, *odd.faults], key=lambda fault: fault.record)
        return Decoded(columns, len(frames), faults)

    # -------------------------------------------------------------- fast road

    def _decode_fast(self, fields: _Fields, frames: Frames, records: _Integers) -> Decoded:
        faults = self._faults(frames, records, fields.counts)
        if self.csv.max_field_chars is not None:
            lengths = pc.fill_null(pc.utf8_length(fields.texts(self.csv, None)), 0).to_numpy()
            long = records[np.unique(fields.record[lengths > self.csv.max_field_chars])]
            for record in long.tolist():
                faults.setdefault(record, self._too_long(record))
        if not self.wanted:
            return Decoded([], len(records), _in_order(faults))
        kept = fields.head(self._most)
        values = kept.texts(self.csv, None if self.elements is None else np.isin(kept.ordinal, self.elements))
        offsets = np.zeros(len(records) + 1, dtype=np.int32)
        np.cumsum(kept.counts, out=offsets[1:])
        column = pa.ListArray.from_arrays(pa.array(offsets), values, type=self.kind)
        return Decoded([column], len(records), _in_order(faults))

    @property
    def _most(self) -> int:
        """Length of the longest array."""
        return self.max_fields if self.elements is None else min(self.max_fields, max(self.elements, default=-1) + 1)

    # -------------------------------------------------------------- slow road

    def _decode_slowly(self, data: memoryview, frames: Frames, records: _Integers) -> Decoded:
        starts, stops = frames.starts[records].tolist(), frames.stops[records].tolist()
        rows = [self.csv.fields_of(bytes(data[a:b])) for a, b in zip(starts, stops, strict=True)]
        faults = self._faults(frames, records, np.array([len(row) for row in rows]))
        limit = self.csv.max_field_chars
        if limit is not None:
            for record, row in zip(records.tolist(), rows, strict=True):
                if any(len(text or "") > limit for text in row):
                    faults.setdefault(record, self._too_long(record))
        chosen = None if self.elements is None else frozenset(self.elements)
        kept = [
            [text if chosen is None or index in chosen else "" for index, text in enumerate(row[: self._most])]
            for row in rows
        ]
        return Decoded([pa.array(kept, self.kind)] if self.wanted else [], len(rows), _in_order(faults))

    # ---------------------------------------------------------- both roads

    def _faults(self, frames: Frames, records: _Integers, counts: _Integers) -> dict[int, Fault]:
        faults = {}
        for index in np.flatnonzero(counts > self.max_fields).tolist():
            reason = f"the record has {counts[index]} fields where maxColumns={self.max_fields} are allowed"
            faults[int(records[index])] = Fault(int(records[index]), FIELD_COUNT, reason, True)
        if frames.malformed:
            here = frozenset(records.tolist())
            faults |= {row: describe_malformed(row, code) for row, code in frames.malformed.items() if row in here}
        return faults

    def _too_long(self, record: int) -> Fault:
        reason = f"a field is longer than maxCharsPerColumn={self.csv.max_field_chars}"
        return Fault(record, FIELD_TOO_LONG, reason, True)


@dataclass(frozen=True)
class CsvFrameDecoder:
    """CSV records of which nothing is wanted, where no schema says how many fields they have."""

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Report the records whose bytes have no structure."""
        malformed = [describe_malformed(record, code) for record, code in sorted(frames.malformed.items())]
        return Decoded([], len(frames), malformed)


def _in_order(faults: dict[int, Fault]) -> list[Fault]:
    return [faults[record] for record in sorted(faults)]


@dataclass(frozen=True)
class _Fields:
    """Where the fields of some records are.

    Attributes:
        units: The bytes.
        starts: First byte of each field, opening quotes included.
        stops: First byte behind each.
        record: Number of its record.
        ordinal: Number in its record.
        counts: Fields of every record.
        quoted: Whether it begins with a quote.
        is_odd: Records that must be taken apart one by one.
    """

    units: npt.NDArray[np.uint8]
    starts: _Integers
    stops: _Integers
    record: _Integers
    ordinal: _Integers
    counts: _Integers
    quoted: _Flags
    is_odd: _Flags

    @classmethod
    def find(cls, data: memoryview, frames: Frames, csv: CsvDecoder) -> _Fields | None:
        """Find the fields; ``None`` if separators can be told only by reading from the start of a record."""
        dialect = csv.dialect.in_utf8
        units = np.frombuffer(data, dtype=np.uint8)
        if dialect.is_ambiguous and delimiters_overlap(units, dialect):
            return None
        blank = (csv.trim_leading or csv.trim_trailing) and has_blank_edges(data, dialect)
        is_strict = frames.regular and not frames.malformed and not blank
        seps = _in_records(find_sequence(units, dialect.sep_units), frames, dialect)
        if is_strict:
            seps = seps[~_parity(_in_records(find_quotes(units, dialect), frames, dialect), len(units))[seps]]
        counts = np.diff(np.searchsorted(seps, frames.starts), append=len(seps)) + 1
        record = np.repeat(np.arange(len(frames)), counts)
        is_first = np.ones(len(record), dtype=bool)
        is_first[1:] = record[1:] != record[:-1]
        is_last = np.roll(is_first, -1)
        starts, stops = np.empty(len(record), dtype=np.int64), np.empty(len(record), dtype=np.int64)
        starts[is_first], stops[is_last] = frames.starts, frames.stops
        starts[~is_first], stops[~is_last] = seps + len(dialect.sep_units), seps
        ordinal = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
        quoted = np.zeros(len(starts), dtype=bool)
        is_odd = np.zeros(len(frames), dtype=bool)
        if dialect.quote_unit is not None:
            quoted = (starts < stops) & (units[np.minimum(starts, len(units) - 1)] == dialect.quote_unit)
        if not is_strict and dialect.quote_unit is not None:
            hits = np.flatnonzero(units == dialect.quote_unit)
            is_odd[np.maximum(np.searchsorted(frames.starts, hits, side="right") - 1, 0)] = True
        return cls(units, starts, stops, record, ordinal, counts, quoted, is_odd)

    def without(self, dropped: _Flags) -> _Fields:
        """The fields of the other records, these numbered anew."""
        if not dropped.any():
            return self
        keep = ~dropped[self.record]
        number = np.cumsum(~dropped) - 1
        return self._only(keep, number[self.record[keep]], self.counts[~dropped])

    def head(self, most: int) -> _Fields:
        """At most so many fields of every record."""
        if not len(self.counts) or int(self.counts.max()) <= most:
            return self
        keep = self.ordinal < most
        return self._only(keep, self.record[keep], np.minimum(self.counts, most))

    def _only(self, keep: _Flags, record: _Integers, counts: _Integers) -> _Fields:
        return _Fields(
            self.units, self.starts[keep], self.stops[keep], record, self.ordinal[keep], counts, self.quoted[keep],
            self.is_odd,
        )  # fmt: skip

    def texts(self, csv: CsvDecoder, chosen: _Flags | None) -> pa.Array:
        """The fields as texts; those that are not *chosen* are empty."""
        starts, stops = self.starts + self.quoted, self.stops - self.quoted
        if chosen is not None:
            stops = np.where(chosen, stops, starts)
        lengths = stops - starts
        mask = _mask_of(starts, stops, len(self.units))
        dropped, owners = self._escapes(mask, starts, csv)
        if len(dropped):
            mask[dropped] = False
            lengths -= np.bincount(owners, minlength=len(starts))
        offsets = np.zeros(len(starts) + 1, dtype=np.int32)
        np.cumsum(lengths, out=offsets[1:])
        is_plain = csv.null_value == csv.empty_value == "" and not (csv.trim_leading or csv.trim_trailing)
        valid = None
        if is_plain:  # what is empty is null
            valid = pa.py_buffer(
                np.packbits(lengths > 0 if chosen is None else (lengths > 0) | ~chosen, bitorder="little")
            )
        buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(self.units[mask])]
        texts = pa.Array.from_buffers(pa.string(), len(starts), buffers)
        if is_plain:
            return texts
        meant = self._meant(texts, csv)
        return meant if chosen is None else pc.if_else(pa.array(chosen), meant, "")

    def _escapes(self, mask: _Flags, starts: _Integers, csv: CsvDecoder) -> tuple[_Integers, _Integers]:
        """Bytes inside quotes that only say that the one behind them is data, and their fields."""
        dialect = csv.dialect.in_utf8
        special = dialect.quote_unit if dialect.doubled else dialect.escape_unit
        hits = np.flatnonzero((self.units == special) & mask) if special is not None else np.zeros(0, dtype=np.int64)
        owners = np.searchsorted(starts, hits, side="right") - 1
        hits, owners = hits[self.quoted[owners]], owners[self.quoted[owners]]
        begins = np.ones(len(hits), dtype=bool)
        begins[1:] = np.diff(hits) != 1
        rank = np.arange(len(hits))
        active = ((rank - np.maximum.accumulate(np.where(begins, rank, 0))) & 1) == 0  # every other one of a run
        following = self.units[np.minimum(hits + 1, len(self.units) - 1)]
        active &= (following == special) | (following == dialect.quote_unit)
        return hits[active], owners[active]

    def _meant(self, texts: pa.Array, csv: CsvDecoder) -> pa.Array:
        """What texts mean: trimmed, and with nulls and empty ones, as :meth:`CsvDecoder.fields_of` has them."""
        quoted = pa.array(self.quoted)
        if csv.trim_leading:
            texts = pc.if_else(quoted, texts, pc.utf8_ltrim(texts, characters=SPACE))
        if csv.trim_trailing:
            texts = pc.if_else(quoted, texts, pc.utf8_rtrim(texts, characters=SPACE))
        is_empty = pc.equal(texts, "")
        if csv.empty_value:
            texts = pc.if_else(pc.and_(quoted, is_empty), csv.empty_value, texts)
        is_null = pc.and_not(is_empty, quoted)
        return pc.if_else(pc.or_(is_null, pc.equal(texts, csv.null_value)), None, texts)


def _in_records(positions: _Integers, frames: Frames, dialect: Dialect) -> _Integers:
    """The positions that lie in records; between records only comments can hold any."""
    low, high = np.searchsorted(positions, [frames.starts[0], frames.stops[-1]])
    positions = positions[low:high]
    if dialect.comment is None:
        return positions
    owners = np.searchsorted(frames.starts, positions, side="right") - 1
    return positions[positions < frames.stops[owners]]


def _parity(positions: _Integers, length: int) -> _Flags:
    """For each byte, whether an odd number of the positions lies at or before it."""
    marks = np.zeros(length, dtype=np.uint8)
    marks[positions] = 1
    odd: _Flags = (np.cumsum(marks, dtype=np.uint8) & 1).view(np.bool_)
    return odd


def _mask_of(starts: _Integers, stops: _Integers, length: int) -> _Flags:
    """The bytes of disjoint, increasing ranges."""
    full = starts < stops
    edges = np.zeros(length + 1, dtype=np.int8)
    edges[starts[full]] = 1
    edges[stops[full]] -= 1
    mask: _Flags = np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)
    return mask
