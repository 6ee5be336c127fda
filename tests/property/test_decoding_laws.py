"""Decoding: both engines give the same rows, and a row does not depend on its neighbours."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from splitscan.formats.csv.decoder import CsvDecoder, CsvLayout
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.decoding.contract import Decoded
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.values import Rescue
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.framing.frames import Frames
from splitscan.options import BlankAs

from .csv_strategies import dialects, quote_field, separators

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
KINDS = (
    pa.string(), pa.string(), pa.binary(), *INTEGERS, pa.float32(), pa.float64(), pa.decimal128(5, 2),
    pa.decimal128(38, 10), pa.decimal128(10, 0), pa.bool_(), pa.date32(), pa.time64("us"), pa.timestamp("us", "UTC"),
    pa.timestamp("us"),
)  # fmt: skip
NUMBERS = (
    "0", "1", "-1", "+1", "127", "128", "-128", "-129", "32768", "2147483648", "9223372036854775808", "00012", "1.5",
    "-0.0", ".5", "5.", "1e3", "1E-2", "1e400", "NaN", "nan", "Inf", "-Inf", "inf", "Infinity", "+Inf", "0x1F", " 1",
    "1 ", "\t1", "1_000", "123.455", "999.995", "1234.5", "12345678901234567890123456789", "1d", "1f", "--1", "+",
    "e5", "1e", "0.1", "16777217", "3.4e39", "true", "FALSE", " true", "t", "1\xa0", "-0", "9" * 19,
    "0.30000000000000004", "4.9e-324",
)  # fmt: skip
TIMES = (
    "10:11:12.5", "1:2", "T7", "24:00:00", " 11:59 PM", "12:00am ", "1:2:3Z", "\t1:2:3.\x1f", "7 AM", "\xa01:2",
    "2020-01-31", "2020-02-30", "2020-1-1", "2020", "2020-02", "0000-01-01", "0001-01-01", "9999-12-31", "1582-10-10",
    "2020-01-01T00:00:00", "2020-01-01 10:11:12", "2020-01-01 10:11", "2020-01-01 10", "2020-01-01T101112",
    "2020-01-01 10:11:12.5", "2020-01-01 10:11:12.1234567", "2020-01-01T10:11:12Z", "2020-01-01T10:11:12+01:00",
    "2020-01-01 24:00:00", "2020-01-01 23:59:60", "2021-03-28 02:30:00", "2021-10-31 02:30:00", " 2020-01-01",
    "20200101", "31/01/2020", "12:00:00", "2020-01-01 10:11:12 UTC", "1677-01-01 00:00:00", "9999-12-31 23:59:59",
)  # fmt: skip
TEXTS = (
    "",
    "a",
    "b c",
    "é",
    "\ufeff",
    "NA",
    "null",
    "\\",
    "\\\\",
    "\\n",
    "EMPTY",
    " x",
    "x ",
    "\0",
    "#",
    "\u2028",
    "\x1f",
)
EASY = {
    "time64": ("10:20", "1:2:3", " 10:20:30.5", "T7", "11:59 PM", "24:00"),
    "int": ("1", "-5", "42"), "float": ("1.5", "-2"), "bool": ("true", "False"), "date": ("2020-01-31",),
    "timestamp": ("2020-01-31 10:11:12", "2020-01-01"), "decimal": ("1", "-3"), "string": TEXTS, "binary": TEXTS,
}  # fmt: skip
ZONES = ("UTC", "Europe/Berlin", "+02:00", "America/New_York")


@dataclass
class Case:
    """A decoder and a file for it."""

    decoder: CsvDecoder
    data: bytes


@st.composite
def cases(draw: Any) -> Case:
    dialect = draw(dialects(encodings=["UTF-8", "UTF-8", "UTF-8", "ISO-8859-1", "UTF-16LE", "windows-1252"]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    wanted = draw(st.lists(st.sampled_from(range(len(kinds))), unique=True))
    null_value = draw(st.sampled_from(["", "", "NA", "0", "\\N"]))
    decoder = CsvDecoder(
        dialect,
        draw(layouts(kinds, wanted)),
        Rules(
            time_zone=draw(st.sampled_from(ZONES)),
            nan_value=draw(st.sampled_from(["NaN", "NaN", "nix"])),
            date_format=draw(st.sampled_from([None, None, "dd/MM/yyyy"])),
            timestamp_format=draw(st.sampled_from([None, None, "yyyy-MM-dd HH:mm:ss"])),
            exact_numbers=draw(st.sampled_from([False, False, True])),
            locale=draw(st.sampled_from(["en-US", "en-US", "de"])),
        ),
        null_value,
        draw(st.sampled_from(["", "EMPTY", null_value])),
        dialect.trim_leading,
        draw(st.sampled_from([False, False, True])),
        draw(st.sampled_from([None, None, 10])),
        draw(st.sampled_from([None, None, Rescue("f.csv", 5), Rescue("f.csv", 4, wanted=False)])),
    )
    text = draw(texts_for(decoder))
    data = text.encode(dialect.encoding.codec, "replace")
    if dialect.encoding.unit_bytes == 1 and draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.sampled_from([b"\xff", b"\xe2\x82", b"\xf0\x9f", b"\xc3"])) + data[at:]
    return Case(decoder, data)


@st.composite
def layouts(draw: Any, kinds: list[pa.DataType], wanted: list[int]) -> CsvLayout:
    """Columns; some with rules of their own, some that the schema does not have."""
    others = [i for i in range(len(kinds)) if i not in wanted]
    unmatched = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    for index in unmatched:
        kinds[index] = pa.string()
    indexes = st.sampled_from(range(len(kinds)))
    own = draw(st.none() | st.dictionaries(indexes, st.sampled_from(BlankAs)))
    patterns = Rules(date_format="yyyy/MM/dd", timestamp_format="dd.MM.yyyy", timestamp_ntz_format="yyyyMMdd")
    rules = [i for i, kind in enumerate(kinds) if pa.types.is_temporal(kind) and draw(st.integers(0, 4)) == 0]
    defaulted = [i for i, kind in enumerate(kinds) if pa.types.is_integer(kind) and draw(st.booleans())]
    return CsvLayout(
        tuple("abcd"[: len(kinds)]),
        tuple(kinds),
        tuple(wanted),
        least=draw(st.sampled_from([None, None, 1])),
        unmatched=tuple(unmatched),
        rules=dict.fromkeys(rules, patterns),
        blanks=own or {},
        defaults={i: pa.scalar(7, kinds[i]) for i in defaulted},
    )


@st.composite
def texts_for(draw: Any, decoder: CsvDecoder) -> str:
    """Rows that mostly fit the columns; most are written as the dialect wants it."""
    dialect, kinds = decoder.dialect, decoder.layout.kinds
    hard = draw(st.booleans())
    rows = []
    for _ in range(draw(st.integers(1, 7))):
        count = draw(st.sampled_from([len(kinds)] * 9 + [1, len(kinds) + 1]))
        row = [draw(fields_for(kinds[i] if i < len(kinds) else pa.string(), decoder, hard)) for i in range(count)]
        rows.append(draw(st.sampled_from(separators(dialect))).join(row))
        rows += draw(st.sampled_from([[]] * 9 + [[""], ["#c"], ['#"x']]))
    line_sep = dialect.line_sep or draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return line_sep.join(rows) + draw(st.sampled_from(["", line_sep]))


@st.composite
def fields_for(draw: Any, kind: pa.DataType, decoder: CsvDecoder, hard: bool) -> str:
    dialect = decoder.dialect
    value = draw(st.sampled_from((*_values(kind, hard), "", decoder.null_value)))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        value += draw(
            st.sampled_from(
                ["", "", "\n", "\r\n", "\r", separators(dialect)[0], '"', dialect.quote or "", dialect.escape or ""]
            )
        )
    special = [*separators(dialect), dialect.quote or dialect.sep, "\n", "\r", dialect.line_sep or "\n"]
    is_special = any(mark in value for mark in special)
    if dialect.quote is not None and draw(st.sampled_from([is_special] * 9 + [True, False])):
        return quote_field(value, dialect)
    for mark in special if draw(st.integers(0, 19)) else ():
        value = value.replace(mark, "")
    return value


def _values(kind: pa.DataType, hard: bool) -> tuple[str, ...]:
    name = next(name for name in EASY if name in str(kind) or (name == "float" and kind == pa.float64()))
    if not hard or name in {"string", "binary"}:
        return EASY[name]
    return TIMES if name in {"date", "time64", "timestamp"} else NUMBERS


def chunks_of(case: Case) -> list[tuple[memoryview, Frames]]:
    data, position, chunks = memoryview(case.data), 0, []
    while position < len(data):
        frames = QuotedFormat(case.decoder.dialect).frame(data[position:], at_end=True)
        if not frames.next_start:
            break
        if len(frames):
            chunks.append((data[position : position + frames.next_start], frames))
        position += frames.next_start
    return chunks


def shown(decoded: Decoded) -> tuple[list[list[str]], int, list[Any]]:
    arrays = decoded.columns if decoded.rescued is None else [*decoded.columns, decoded.rescued]
    columns = [[repr(value) for value in column.to_pylist()] for column in arrays]
    return columns, decoded.rows, [(fault.record, fault.code, fault.structural) for fault in decoded.faults]


@given(case=cases(), draw=st.data())
def test_a_row_does_not_depend_on_its_neighbours(case: Case, draw: st.DataObject) -> None:
    decoder = case.decoder
    for data, frames in chunks_of(case):
        if len(frames) < 2:
            continue
        count = draw.draw(st.integers(1, len(frames) - 1))
        cut = int(frames.starts[count])
        head = frames.head(count, cut)
        moved = {index - count: code for index, code in frames.malformed.items() if index >= count}
        tail = Frames(frames.starts[count:] - cut, frames.stops[count:] - cut, frames.next_start - cut, moved)
        columns, rows, faults = shown(decoder.decode(data[:cut], head))
        more, more_rows, more_faults = shown(decoder.decode(data[cut:], tail))
        both = [one + other for one, other in zip(columns, more, strict=True)]
        moved_faults = [(record + count, *rest) for record, *rest in more_faults]
        assert (both, rows + more_rows, faults + moved_faults) == shown(decoder.decode(data, frames))


@given(
    rows=st.lists(st.lists(st.text('a",;\n\r é\\', max_size=6), min_size=2, max_size=2), min_size=1, max_size=6),
    sep=st.sampled_from([",", ";"]),
)
def test_quoted_text_is_what_python_writes(rows: list[list[str]], sep: str) -> None:
    file = io.StringIO()
    csv.writer(file, delimiter=sep, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(rows)
    dialect = CsvGrammar(resolve_encoding("UTF-8"), sep=sep, escape='"', multi_line=True)
    layout = CsvLayout(("a", "b"), (pa.string(), pa.string()), (0, 1))
    decoder = CsvDecoder(dialect, layout, null_value="\0", empty_value="")
    data = memoryview(file.getvalue().encode())
    decoded = decoder.decode(data, QuotedFormat(dialect).frame(data, at_end=True))
    assert [list(row) for row in zip(*(column.to_pylist() for column in decoded.columns), strict=True)] == rows


@given(lines=st.lists(st.text("ab\\ é,'", max_size=5), min_size=1, max_size=5), draw=st.data())
def test_unquoted_text_is_what_python_reads(lines: list[str], draw: st.DataObject) -> None:
    text = "\n".join(line or "-" for line in lines)
    width = max(line.count(",") for line in lines) + 1
    dialect = CsvGrammar(resolve_encoding("UTF-8"), escape='"', multi_line=draw.draw(st.booleans()))
    layout = CsvLayout(tuple(map(str, range(width))), (pa.string(),) * width, tuple(range(width)))
    data = memoryview(text.encode())
    decoded = CsvDecoder(dialect, layout, null_value="\0").decode(data, QuotedFormat(dialect).frame(data, at_end=True))
    expected = [row + [None] * (width - len(row)) for row in csv.reader(io.StringIO(text))]
    found = [list(row) for row in zip(*(column.to_pylist() for column in decoded.columns), strict=True)]
    assert [[value or "" for value in row] for row in found] == [[value or "" for value in row] for row in expected]
    short = [index for index, row in enumerate(csv.reader(io.StringIO(text))) if len(row) != width]
    assert [fault.record for fault in decoded.faults] == short
    assert np.all([len(column) == decoded.rows for column in decoded.columns])
