"""The native engine reads CSV as the reference does, whatever the dialect, the bytes and the cuts."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings

pytest.importorskip("splitscan_kernel")

import splitscan_kernel
from tests.counting import at_most_cpu_seconds
from tests.kernel import csv_framing, csv_parsing
from tests.kernel.csv_cases import native
from tests.kernel.native_faults import native_faults

import splitscan as ss
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.framing.encodings import resolve_encoding

CASES = 15 * settings().max_examples  # fewer in make check


def test_framing_gives_what_the_reference_gives() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(csv_framing.check_case(seed))
    assert all(met[situation] for situation in ("told", "open", "malformed", "unfinished", "comment", "wide")), met


def test_parsing_gives_what_the_slow_path_gives() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(csv_parsing.check_case(seed))
    situations = ("long", "invalid", "rescued", "field-count", "bad-value", "unclosed-quote", "field-too-long")
    assert all(met[situation] for situation in situations), met


UTF_8 = resolve_encoding("UTF-8")
RFC = CsvGrammar(UTF_8, escape='"', multi_line=True)
ESCAPED = CsvGrammar(UTF_8, escape="\\")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dialect", "unit"),
    [
        (RFC, b'a,"b\n'),
        (RFC, b'"'),
        (RFC, b'a"'),
        (ESCAPED, b'"\\\\'),
        (ESCAPED, b"\n"),
        (ESCAPED, b"\r"),
        (RFC, b","),
        (RFC, b"\xff"),
        (RFC, b'\xe2"",'),
        (CsvGrammar(UTF_8, trim_leading=True), b" "),
        (CsvGrammar(UTF_8, trim_leading=True), b' "'),
        (CsvGrammar(UTF_8, comment="#", line_sep="@@"), b"#@"),
        (CsvGrammar(UTF_8, sep="||", line_sep="|-"), b"|"),
    ],
)
def test_hostile_bytes_are_read_in_linear_time(dialect: CsvGrammar, unit: bytes) -> None:
    """In a second or two; in quadratic time it would be minutes at the speed of memory, and hours at that of a loop."""
    data, csv = unit * (8_000_000 // len(unit)), native(dialect)
    parser = splitscan_kernel.CsvParser.arrays(csv, pa.schema([("columns", pa.list_(pa.string()))]), max_fields=1 << 40)
    with at_most_cpu_seconds(60):
        starts, stops, _, _ = csv.frame(data, 0, len(data), True)
        csv.summarise(data, 0, len(data), b"x", b"", 0)
        csv.last_split_point(data)
        parsed = parser.parse(data, 0, len(data), len(data), True, 1 << 40, 1 << 40)
        framed = parser.parse_framed(data, starts, stops)
        assert parsed.rows == framed.rows


def test_without_columns_only_records_that_end_inside_quotes_are_faults() -> None:
    parser = splitscan_kernel.CsvParser.frames(native(ESCAPED))
    parsed = parser.parse(b'a,b\n"c\n\nd', 0, 9, 9, True, 9, 9)
    assert (parsed.rows, parsed.stopped, parsed.malformed) == (3, "end", [1])
    assert [(record, code) for record, code, *_ in native_faults(parsed)] == [(1, 3)]
    assert pa.record_batch(parsed.batch).num_rows == 3


def test_faults_of_columns_with_a_long_name_have_it_once_and_show_little_of_it(tmp_path: Path) -> None:
    name, count = "n" * 2**20, 2**11 + 2  # once for each fault it would be more than an array of texts can hold
    path = tmp_path / "long.csv"
    path.write_text("x\n" * count, encoding="utf-8")
    schema = pa.schema([(name, pa.int64())])
    rejects: list[ss.Reject] = []
    rows = ss.scan_csv(path, schema=schema, header=False).to_batches(on_reject=rejects.append)
    assert sum(batch.num_rows for batch in rows) == len(rejects) == count
    assert {reject.reason for reject in rejects} == {f"column {'n' * 40 + '...'!r}: 'x' is no bigint"}


def test_any_bytes_are_read() -> None:
    draw = random.Random(7)
    for dialect in (RFC, ESCAPED, CsvGrammar(UTF_8, trim_leading=True, comment="#", sep="||")):
        parser = splitscan_kernel.CsvParser(
            native(dialect),
            pa.schema([("a", pa.int32()), ("b", pa.string())]),
            names=["a", "b"],
            wanted=[0, 1],
            least=1,
        )
        for _ in range(200):
            data = draw.randbytes(draw.randint(0, 700))
            parsed = parser.parse(data, 0, len(data), len(data), True, 1 << 40, 1 << 40)
            pa.record_batch(parsed.batch).validate(full=True)
            assert (parsed.rows, parsed.next_start) == native(dialect).count(data, 0, len(data), True)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"sep": '"'}, "of their own"),
        ({"quote": "\n"}, "of their own"),
        ({"comment": '"'}, "of their own"),
        ({"sep": ",", "line_sep": ",\n"}, "neither"),
        ({"sep": "a\n"}, "no line ends"),
    ],
)
def test_settings_that_contradict_each_other_are_not_supported(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        native(CsvGrammar(resolve_encoding("UTF-8"), **settings))
