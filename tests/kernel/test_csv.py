"""The native engine reads CSV as the reference does, whatever the dialect, the bytes and the cuts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

pytest.importorskip("splitscan_kernel")

from tests.counting import at_most_cpu_seconds
from tests.kernel import csv_framing
from tests.kernel.csv_cases import native

import splitscan as ss
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.csv.reference import CsvReferenceFraming
from splitscan.formats.framing.encodings import resolve_encoding

CASES = 15 * settings().max_examples  # fewer in make check
OPEN_AT_A_CUT = (212, 236, 542)  # seeds of what few cases meet


def test_framing_gives_what_the_reference_gives() -> None:
    met: Counter[str] = Counter()
    for seed in {*range(CASES), *OPEN_AT_A_CUT}:
        met.update(csv_framing.check_case(seed))
    assert all(met[situation] for situation in ("told", "open", "malformed", "unfinished", "comment", "wide")), met


@pytest.mark.thin(12)
@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"])
@pytest.mark.parametrize("text", ['"é\n""', '"é\n""\r', '"é\n"a\n"', '"\n\n"\n"'])
@pytest.mark.parametrize("line_sep", [None, "\n", "\r\n"])
def test_a_part_of_a_code_unit_makes_no_record_longer(encoding: str, text: str, line_sep: str | None) -> None:
    dialect = CsvGrammar(resolve_encoding(encoding), escape='"', multi_line=True, line_sep=line_sep)
    csv, reference = native(dialect), CsvReferenceFraming(dialect)
    whole = dialect.encoding.encode(text)
    for part in range(dialect.encoding.unit_bytes):
        data = whole + b'"\0\0'[:part]
        for longest in range(len(data) + 2):
            found = np.frombuffer(csv.open_starts(data, 0, len(data), longest), "<i8").tolist()
            assert found == reference.open_starts(data, longest).tolist(), (part, longest)
            assert found == reference.open_starts(whole, longest).tolist(), (part, longest)


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
def test_hostile_bytes_are_read_in_linear_time(tmp_path: Path, dialect: CsvGrammar, unit: bytes) -> None:
    """In a second or two; in quadratic time it would be minutes at the speed of memory, and hours at that of a loop."""
    data, csv = unit * (8_000_000 // len(unit)), native(dialect)
    with at_most_cpu_seconds(60):
        csv.frame(data, 0, len(data), True)
        csv.summarise(data, 0, len(data), b"x", b"", 0)
        csv.last_split_point(data)
    path = tmp_path / "hostile.csv"
    path.write_bytes(data)
    options = {
        "sep": dialect.sep, "escape": dialect.escape or "", "multiLine": dialect.multi_line, "comment": dialect.comment,
        "lineSep": dialect.line_sep, "ignoreLeadingWhiteSpace": dialect.trim_leading, "columnsArray": True,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    with at_most_cpu_seconds(60):
        ss.scan_csv(path, header=False, maxColumns=1_000_000, maxRecordBytes=1 << 24, **given).to_arrow()


@pytest.mark.slow
def test_faults_of_columns_with_a_long_name_have_it_once_and_show_little_of_it(tmp_path: Path) -> None:
    name, count = "n" * 2**20, 2**11 + 2  # once for each fault it would be more than an array of texts can hold
    path = tmp_path / "long.csv"
    path.write_text("x\n" * count, encoding="utf-8")
    schema = pa.schema([(name, pa.int64())])
    rejects: list[ss.Reject] = []
    rows = ss.scan_csv(path, schema=schema, header=False).to_batches(on_reject=rejects.append)
    assert sum(batch.num_rows for batch in rows) == len(rejects) == count
    assert {reject.reason for reject in rejects} == {f"column {'n' * 40 + '...'!r}: 'x' is no bigint"}


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
