"""The kernel reads whole files as the reference does: of any dialect, with any bytes, at any cut."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

pytest.importorskip("splitscan_kernel")

from tests.kernel import reading_cases
from tests.kernel.value_cases import KINDS

import splitscan as ss
from splitscan.formats.framing.encodings import SINGLE_BYTE_CODECS, resolve_encoding

CASES = 3 * settings().max_examples  # fewer in make check
ALWAYS = ("records", "wide", "failed", "record-too-long")
MET = {
    reading_cases.check_csv: ("rescued", "field-count", "bad-value", "unclosed-quote", "field-too-long"),
    reading_cases.check_json: ("rescued", "bad-json", "bad-value", "not-an-object"),
    reading_cases.check_json_below: ("rescued", "bad-json", "not-an-array", "record-path-not-found"),
    reading_cases.check_xml: ("rescued", "bad-xml", "bad-value"),
    reading_cases.check_width: ("rescued", "short-record", "bad-value"),
    reading_cases.check_text: (),
    reading_cases.check_cobol: ("rescued", "short-record", "bad-value"),
}


@pytest.mark.parametrize("check", MET, ids=lambda check: check.__name__)
def test_files_are_read_as_the_reference_reads_them(check: Callable[[int], Counter[str]]) -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(check(seed))
    assert met["kernel"] > 0.7 * CASES, met  # the others are refused, or read by Python alone
    if CASES >= 100:
        assert all(met[situation] for situation in (*ALWAYS, *MET[check])), met


def test_records_of_a_copybook_are_the_rows_that_they_were_made_of() -> None:
    assert sum(reading_cases.check_cobol_values(seed)["records"] for seed in range(CASES)) > CASES


@pytest.mark.slow
@pytest.mark.parametrize("check", [reading_cases.check_csv_values, reading_cases.check_json_values])
def test_texts_are_what_the_reference_makes_of_them(check: Callable[[int], Counter[str]]) -> None:
    met: Counter[str] = Counter()
    for seed in range(150):
        met.update(check(seed))
    assert met["kernel"] > 100
    kinds = {str(kind) for kind in KINDS if str(kind) not in {"null", "list<item: int32>"}}
    if check is reading_cases.check_csv_values:
        assert all(met[kind] for kind in kinds), met
    assert met["bad-value"]
    assert met["zone"]


HARD = (b"ab\n", bytes(range(256)), b"\x00a\x7f\x80\xbf\xc0\xc2\xe0\xa0\x9f\xed\xf0\x90\x8f\xf4\xf8\xff\n")


@pytest.mark.parametrize("name", ["UTF-8", "US-ASCII", *sorted(SINGLE_BYTE_CODECS)])
def test_bytes_become_the_text_that_pythons_codec_makes_of_them(name: str, tmp_path: Path) -> None:
    draw = random.Random(name)
    plain = [b"a line of text"] * 600  # by which it is known for text
    data = b"\n".join([*plain, *(bytes(draw.choices(draw.choice(HARD), k=draw.randrange(12))) for _ in range(1000))])
    (tmp_path / "f").write_bytes(data)
    found = ss.scan(str(tmp_path / "f"), format="text", encoding=name, lineSep="\n").to_arrow()["value"].to_pylist()
    lines = data.split(b"\n")
    expected = [line.decode(resolve_encoding(name).codec, "replace") for line in (lines if lines[-1] else lines[:-1])]
    assert found == expected
