"""Contract of decoders: names of types, faults, columns; and the decoder of records by the kernel."""

# Over 400 lines: faults could stand alone, and then every block would read one module more.

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeAlias, overload, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.arrays import flag_array, number_array, numbers_of, text_array, text_scalar
from splitscan.engine import kernel
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.rescue import Rescue, tail_of
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, as_bytes, frames_of, native_charset, records_in_utf8
from splitscan.protocols import QuickProtocol

_NAMES = {
    pa.string(): "string", pa.binary(): "binary", pa.bool_(): "boolean", pa.int8(): "tinyint", pa.int16(): "smallint",
    pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float", pa.float64(): "double", pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp", pa.timestamp("us"): "timestamp_ntz",
}  # fmt: skip
FIELD_COUNT = "field-count"

BAD_VALUE = "bad-value"

NULL_IN_NOT_NULL = "null-in-not-null"
"""Codes of faults that more than one place finds."""

SHOWN_CHARACTERS = 40
"""Of a value, in a reason."""

Words: TypeAlias = tuple[pa.Array, pa.Array]
"""Codes and reasons of faults, as large strings: together they may be longer than 2 GiB."""

_NO_LIMIT = (1 << 62) - 1

_SIMPLE = rf"^[ -&(-\[\]-~]{{0,{SHOWN_CHARACTERS}}}$"  # needs no escape in quotes, and is not cut

BAD_VALUE_NUMBER = 2
"""The kernel's number of the only reason that is not structural."""

Finish = Callable[[Sequence[pa.Array], Any], Sequence[pa.Array]]


def type_name(kind: pa.DataType) -> str:
    """Spark's name of a type."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return "struct<" + ", ".join(f"{quoted_name(f.name)}: {type_name(f.type)}{not_null(f)}" for f in kind) + ">"
    if pa.types.is_list(kind):
        return f"array<{type_name(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{type_name(kind.key_type)}, {type_name(kind.item_type)}>"
    return _NAMES.get(kind, str(kind))


def not_null(field: pa.Field) -> str:
    """DDL of a column that has no nulls."""
    return "" if field.nullable else " NOT NULL"


def quoted_name(name: str) -> str:
    """A name as DDL has it: in back quotes, unless it is a word."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else "`" + name.replace("`", "``") + "`"


def format_ddl(schema: pa.Schema) -> str:
    """Write a schema in Spark's DDL: the inverse of ``splitscan.formats.decoding.ddl.parse_ddl``.

    Example:
        >>> format_ddl(pa.schema([pa.field("id", pa.int64(), nullable=False), ("a b", pa.list_(pa.string()))]))
        'id bigint NOT NULL, `a b` array<string>'
    """
    return ", ".join(f"{quoted_name(f.name)} {type_name(f.type)}{not_null(f)}" for f in schema)


class Fault(NamedTuple):
    """A record that breaks a rule.

    Attributes:
        record: Its index in the frames.
        code: Stable reason, a heading of ``docs/errors.md``.
        reason: One sentence for people; names the column where there is one.
        structural: Whether the bytes are wrong, whatever columns are asked for; else only a value is.
    """

    record: int
    code: str
    reason: str
    structural: bool


class FaultTemplate(NamedTuple):
    """Text of all faults of one kind; only the value that was seen differs.

    Attributes:
        code: As of a :class:`Fault`.
        before: What the reason says before that which was seen.
        after: And after it.
        quotes: Whether that which was seen is a value, which is shown in quotes and cut.
        structural: As of a :class:`Fault`.
    """

    code: str
    before: str
    after: str = ""
    quotes: bool = False
    structural: bool = True

    def fault(self, record: int, seen: str | int = "") -> Fault:
        """The fault of a record.

        Example:
            >>> FaultTemplate("field-count", "the record has ", " fields").fault(7, 3).reason
            'the record has 3 fields'
        """
        shown = quoted(str(seen)) if self.quotes else seen
        return Fault(record, self.code, f"{self.before}{shown}{self.after}", self.structural)


class Faults(Sequence[Fault]):
    """Faults as columns, in record order, at most one of each record; put into words where somebody looks at them.

    Args:
        records: The records they are of.
        kinds: For each, the number of its wording.
        seen: For each, what was seen, as a large string.
        wordings: What is said of those of one kind.

    Thread safety: immutable.
    """

    def __init__(
        self,
        records: npt.NDArray[np.int64],
        kinds: npt.NDArray[np.int64],
        seen: pa.Array,
        wordings: Sequence[FaultTemplate],
    ) -> None:
        self.records = records
        self.kinds, self.seen, self.wordings = kinds, seen, wordings

    @classmethod
    def of(cls, faults: Iterable[Fault]) -> Faults:
        """Faults that are in words already, in any order; reasons are made valid UTF-8.

        Example:
            >>> Faults.of([Fault(7, "b", "x", True), Fault(2, "a", "y", False)]).records.tolist()
            [2, 7]
        """
        rows = sorted(faults)
        numbers: dict[FaultTemplate, int] = {}
        kinds = [
            numbers.setdefault(FaultTemplate(code, "", structural=structural), len(numbers))
            for _, code, _, structural in rows
        ]
        seen = pa.array([fault.reason.encode("utf-8", "backslashreplace") for fault in rows], pa.large_binary())
        records = np.array([fault.record for fault in rows], dtype=np.int64)
        return cls(records, np.array(kinds, dtype=np.int64), seen.cast(pa.large_string()), tuple(numbers))

    @classmethod
    def alike(cls, records: npt.NDArray[np.int64], wording: FaultTemplate) -> Faults:
        """Faults of one kind, of which nothing else was seen."""
        nothing = pa.repeat(_NOTHING, len(records))
        return cls(records, np.zeros(len(records), dtype=np.int64), nothing, (wording,))

    @classmethod
    def first_of(cls, *parts: Faults) -> Faults:
        """Faults of some parts together; of a record that has some in several parts, that of the first part."""
        if not parts:
            return NO_FAULTS
        starts = np.cumsum([0, *(len(part.wordings) for part in parts)]).tolist()
        records, first = np.unique(np.concatenate([part.records for part in parts]), return_index=True)
        kinds = np.concatenate([part.kinds + start for part, start in zip(parts, starts, strict=False)])
        seen = pa.concat_arrays([part.seen for part in parts]).take(number_array(first))
        return cls(records, kinds[first], seen, [wording for part in parts for wording in part.wordings])

    @cached_property
    def structural(self) -> npt.NDArray[np.bool_]:
        """Which of them are structural."""
        return np.array([wording.structural for wording in self.wordings], dtype=np.bool_)[self.kinds]

    @cached_property
    def words(self) -> Words:
        """The codes and reasons of all of them."""
        return _put_together(self.wordings, self.kinds, self.seen)

    def moved(self, places: npt.NDArray[np.int64]) -> Faults:
        """Move faults to other records: each number becomes the place in *places* that it is the index of."""
        return Faults(places[self.records], self.kinds, self.seen, self.wordings)

    def made_structural(self, records: npt.NDArray[np.int64]) -> Faults:
        """Faults, of which those of some records are structural now."""
        both = [*self.wordings, *(wording._replace(structural=True) for wording in self.wordings)]
        kinds = self.kinds + len(self.wordings) * np.isin(self.records, records)
        return Faults(self.records, kinds, self.seen, both)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Fault]:
        codes, reasons = self.words
        columns = (self.records.tolist(), codes.to_pylist(), reasons.to_pylist(), self.structural.tolist())
        return map(Fault, *columns)

    @overload
    def __getitem__(self, index: int) -> Fault: ...

    @overload
    def __getitem__(self, index: slice) -> Faults: ...

    def __getitem__(self, index: int | slice) -> Fault | Faults:
        if isinstance(index, slice):
            return Faults(self.records[index], self.kinds[index], self.seen[index], self.wordings)
        place = range(len(self))[index]
        return next(iter(self[place : place + 1]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))

    __hash__ = None  # type: ignore[assignment]  # as of a list


_NONE = np.empty(0, dtype=np.int64)
_NOTHING = text_scalar("")
NO_FAULTS = Faults(_NONE, _NONE, pa.nulls(0, pa.large_string()), ())


@dataclass(frozen=True, slots=True)
class Decoded:
    """Columns of framed records.

    Attributes:
        columns: The wanted data columns in the wanted order, one row per framed record; faulty fields are null.
        rows: Number of rows (there may be no columns).
        faults: What is wrong with which record.
        rescued: Per record, what does not fit its columns, as JSON; ``None`` where that is not asked for.
    """

    columns: list[pa.Array]
    rows: int
    faults: Faults = field(default_factory=lambda: NO_FAULTS)
    rescued: pa.Array | None = None

    def head(self, rows: int) -> Decoded:
        """The first rows."""
        rescued = None if self.rescued is None else self.rescued.slice(0, rows)
        faults = self.faults[: int(np.searchsorted(self.faults.records, rows))]
        return Decoded([column.slice(0, rows) for column in self.columns], rows, faults, rescued)


def wrong_value(column: str, kind: str, written: str = "") -> FaultTemplate:
    """Text about values that are not of their column's type.

    Args:
        column: Its name; it is cut as the value is.
        kind: Spark's name of the type.
        written: How values of the column are written, if that is to be said.
    """
    return FaultTemplate(
        BAD_VALUE, f"column {quoted(column)}: ", f"{_is_no(kind)}{written}", quotes=True, structural=False
    )


def bad_value(column: str, text: str, kind: pa.DataType) -> str:
    """Fault of a value that is not of its column's type.

    Example:
        >>> bad_value("n", "x" * 50, pa.int64())
        "column 'n': 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is no bigint"
    """
    return wrong_value(column, type_name(kind)).fault(0, text).reason


def is_no(text: str, kind: str) -> str:
    """That a text is not a value of a type, whose name is given."""
    return quoted(text) + _is_no(kind)


def _is_no(kind: str) -> str:
    return f" is no {kind}"


def quoted(text: str) -> str:
    """A value in quotes, as far as it is shown."""
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")


class Decoder(Protocol, metaclass=QuickProtocol):
    """Turns framed records of one file into columns.

    Guarantees: one row per record, in order; a row does not depend on its neighbours.
    """

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode the records of *frames*, whose positions are relative to *data*."""


class Parsed(NamedTuple):
    """Records that were found and decoded in one go.

    Attributes:
        frames: Where they are, and where the next one starts.
        decoded: Their columns.
        stopped_long: Whether the next record is longer than allowed.
    """

    frames: Frames
    decoded: Decoded
    stopped_long: bool


@runtime_checkable
class Parser(Decoder, Protocol):
    """A decoder that also finds records."""

    def parse(self, data: memoryview, *, stop: int, at_end: bool, max_record_bytes: int) -> Parsed | None:
        """Find and decode the complete records that start before *stop*.

        Args:
            data: Bytes from a record start on.
            stop: Position in *data*: a record that starts there, or later, is left.
            at_end: Whether the file ends with *data*.
            max_record_bytes: Longest content of a record: before a longer one this stops.

        Returns:
            The records; ``None`` if they have to be found by the format, and then decoded.
        """


class FaultKind(NamedTuple):
    """Key of the kernel's faults that are put into the same words.

    Attributes:
        number: Of the reason.
        column: Name of the column whose value it is, or empty.
        type_name: Spark's name of the type that was expected, or empty.
    """

    number: int
    column: str
    type_name: str


Word = Callable[[FaultKind], FaultTemplate]


def can_cross(column: pa.Field) -> bool:
    """True if the names in a column reach the kernel whole: Arrow's C interface ends them at a null character."""
    kind = column.type
    return "\0" not in column.name and all(can_cross(kind.field(index)) for index in range(kind.num_fields))


class ReferenceDecoder(Decoder, Protocol):
    """A decoder of the reference engine that the kernel may stand in for."""

    @property
    def fields(self) -> Sequence[pa.Field]:
        """The columns."""

    @property
    def encoding(self) -> Encoding:
        """Of the file."""

    @property
    def rescues(self) -> bool:
        """True if there is a column of what does not fit."""


def decoder_by_kernel(parser_in: Callable[[ModuleType], Any], reference: ReferenceDecoder, word: Word) -> Decoder:
    """A decoder that reads by the kernel, or the reference where there is no kernel, or it cannot.

    Args:
        parser_in: Makes the parser; the kernel's own error ``Unsupported`` says that there is none.
        reference: The definition.
        word: Says what is wrong with records.
    """
    module = kernel()
    if module is None or not all(can_cross(column) for column in reference.fields):
        return reference
    try:
        parser = parser_in(module)
    except module.Unsupported:
        return reference
    return NativeDecoder(parser, reference, reference.encoding, word, rescues=reference.rescues)


def parser_rules(rules: Rules, own_rules: Mapping[str, Rules], rescue: Rescue | None) -> dict[str, object]:
    """Rules of values for the native parsers: how those of columns are written, and what is kept of the unfit."""
    return {
        "rules": vars(rules),
        "own_rules": {name: vars(each) for name, each in own_rules.items()},
        "rescue": None if rescue is None else (tail_of(rescue.path), rescue.wanted),
    }


def framed_in_utf8(data: memoryview, frames: Frames, encoding: Encoding) -> tuple[bytes, bytes, bytes]:
    """Records in UTF-8, as the kernel takes them: bytes, where each record starts in them, and where it stops."""
    whole, offset, _ = as_bytes(data)
    spans = (frames.starts + offset).tobytes(), (frames.stops + offset).tobytes()
    if encoding.codec == "utf-8":
        return whole, *spans
    charset = native_charset(encoding)
    if charset is not None:
        in_utf8: tuple[bytes, bytes, bytes] = charset.transcode(whole, *spans)
        return in_utf8
    records = list(records_in_utf8(data, frames, encoding))
    lengths = np.array([len(record) for record in records], dtype=np.int64)
    stops = np.cumsum(lengths + 1) - 1
    return b"\n".join([*records, b""]), (stops - lengths).tobytes(), stops.tobytes()


@dataclass(frozen=True)
class NativeDecoder:
    """Decodes the records of one file by the kernel.

    Args:
        parser: The kernel's parser of the format, for these columns.
        reference: Decodes the records that the kernel leaves undecided, to the same columns.
        encoding: Of the file.
        word: Says what is wrong with records.
        malformed_code: Why records are malformed that are.
        rescues: Whether the last column is what does not fit.
        reads_raw: Whether the parser finds records in the encoding of the file, and converts them itself.
        finish: What is still to be done to the columns, given the numbers of fields of odd records.

    Thread safety: immutable; calls run beside each other.
    """

    parser: Any
    reference: Decoder
    encoding: Encoding
    word: Word
    malformed_code: str = ""
    rescues: bool = False
    reads_raw: bool = False
    finish: Finish | None = None

    def parse(self, data: memoryview, *, stop: int, at_end: bool, max_record_bytes: int) -> Parsed | None:
        """Find and decode the records that start before *stop*, in one go.

        Returns:
            ``None`` if they must be found before they can be decoded: by a codec of Python, or because something is
            no text or a record may be too long.
        """
        whole, start, end = as_bytes(data)
        is_utf8 = self.reads_raw or self.encoding.codec == "utf-8"
        charset = None if is_utf8 else native_charset(self.encoding)
        if charset is not None:
            text = charset.whole(whole, start, end, start + stop, at_end)
            if text is None:
                return None
            most = max_record_bytes // self.encoding.unit_bytes  # no text in UTF-8 is shorter than its number of units
            found = self.parser.parse(text, 0, len(text), text.stop, at_end, _NO_LIMIT, most)
            if found.stopped == "long":
                return None  # in UTF-8; its own bytes may be few enough
            starts, stops, next_start = text.locate(found.starts, found.stops, found.next_start)
        elif is_utf8 or self._is_ascii(data):
            found = self.parser.parse(whole, start, end, start + stop, at_end, _NO_LIMIT, max_record_bytes)
            starts, stops, next_start = found.starts, found.stops, found.next_start
        else:
            return None
        frames = frames_of(starts, stops, found.malformed, next_start, self.malformed_code)
        return Parsed(frames, self._decoded(found, data, frames), found.stopped == "long")

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        found = self.parser.parse_framed(*framed_in_utf8(data, frames, self.encoding))
        return self._decoded(found, data, frames)

    def _is_ascii(self, data: memoryview) -> bool:
        return self.encoding.unit_bytes == 1 and bytes(data).isascii()

    def _decoded(self, found: Any, data: memoryview, frames: Frames) -> Decoded:
        batch = pa.record_batch(found.batch)
        columns: list[pa.Array] = batch.columns
        if self.finish is not None:
            columns = list(self.finish(columns, found.counts))
        rescued = columns.pop() if self.rescues else None
        faults = found.faults
        broken = NO_FAULTS if faults is None else kernel_faults(pa.record_batch(faults), self.word)
        decoded = Decoded(columns, found.rows, broken, rescued)
        return self._decide(decoded, found.undecided, data, frames) if found.undecided else decoded

    def _decide(self, decoded: Decoded, undecided: list[int], data: memoryview, frames: Frames) -> Decoded:
        """Put in the records that only the reference can read."""
        where = np.array(undecided, dtype=np.int64)
        malformed = {
            number: frames.malformed[record] for number, record in enumerate(undecided) if record in frames.malformed
        }
        some = Frames(frames.starts[where], frames.stops[where], frames.next_start, malformed)
        read = self.reference.decode(data, some)
        faults = Faults.first_of(read.faults.moved(where), decoded.faults)
        order = np.arange(decoded.rows)
        order[where] = decoded.rows + np.arange(len(where))
        spliced = [_splice(one, other, order) for one, other in zip(decoded.columns, read.columns, strict=True)]
        rescued = decoded.rescued
        if rescued is not None and read.rescued is not None:
            rescued = _splice(rescued, read.rescued, order)
        return replace(decoded, columns=spliced, faults=faults, rescued=rescued)


def kernel_faults(found: pa.RecordBatch, word: Word) -> Faults:
    """Faults of the kernel.

    Args:
        found: The kernel's: a row for each, with record, number of the reason, column, what was seen, name of the type.
            Columns and types are dictionaries.
        word: What is said of those of one kind; asked once for each.
    """
    named, typed = found["column"], found["type"]
    reasons = numbers_of(found["code"])
    shape = (int(reasons.max()) + 1, len(named.dictionary), len(typed.dictionary))
    each = np.ravel_multi_index((reasons, numbers_of(named.indices), numbers_of(typed.indices)), shape)
    alike = number_array(each).dictionary_encode()
    wordings = [
        word(FaultKind(int(number), named.dictionary[column].as_py(), typed.dictionary[type_].as_py()))
        for number, column, type_ in zip(*np.unravel_index(numbers_of(alike.dictionary), shape), strict=True)
    ]
    return Faults(numbers_of(found["record"]), numbers_of(alike.indices).astype(np.int64), found["seen"], wordings)


def _put_together(wordings: Sequence[FaultTemplate], kind_of: npt.NDArray[np.int64], seen: pa.Array) -> Words:
    """Codes and reasons: each wording around what was seen."""
    if not wordings:
        return seen, seen
    in_quotes = np.array([wording.quotes for wording in wordings], dtype=np.bool_)[kind_of]
    if in_quotes.all():
        seen = _quoted(seen)
    elif in_quotes.any():
        seen = pc.if_else(flag_array(in_quotes), _quoted(seen), seen)
    codes, before, after = zip(*((wording.code, wording.before, wording.after) for wording in wordings), strict=True)
    reasons = pc.binary_join_element_wise(_each(before, kind_of), seen, _each(after, kind_of), _NOTHING)
    return _as_array(_each(codes, kind_of), len(seen)), reasons


def _each(texts: Sequence[str], kind_of: npt.NDArray[np.int64]) -> pa.Array | pa.Scalar:
    """The text of each kind; where all kinds have the same, that one."""
    if len(set(texts)) == 1:
        return text_scalar(texts[0])
    return text_array(texts).take(number_array(kind_of))


def _as_array(texts: pa.Array | pa.Scalar, rows: int) -> pa.Array:
    return pa.repeat(texts, rows) if isinstance(texts, pa.Scalar) else texts


_QUOTE = text_scalar("'")


def _quoted(texts: pa.Array) -> pa.Array:
    """Apply :func:`quoted` to each."""
    all_quoted = pc.binary_join_element_wise(_QUOTE, texts, _QUOTE, _NOTHING)
    odd = pc.invert(pc.match_substring_regex(texts, _SIMPLE))
    if not pc.any(odd).as_py():
        return all_quoted
    exact = [quoted(text) for text in texts.filter(odd).to_pylist()]
    return pc.replace_with_mask(all_quoted, odd, text_array(exact))


def _splice(column: pa.Array, others: pa.Array, order: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
    return pc.take(pa.concat_arrays([column, others.cast(column.type)]), number_array(order))
