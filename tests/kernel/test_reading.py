"""The kernel reads whole files as the reference does: of any dialect, with any bytes, at any cut."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings
from tests.cuts import some

pytest.importorskip("splitscan_kernel")

from tests.kernel import reading_cases
from tests.kernel.two_loops import both
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
    reading_cases.check_cobol: ("rescued", "short-record", "cut-off block", "missing-segment", "bad-value"),
}


@pytest.mark.thin(2)
@pytest.mark.parametrize("check", MET, ids=lambda check: check.__name__)
def test_files_are_read_as_the_reference_reads_them(check: Callable[[int], Counter[str]]) -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(check(seed))
    assert met["kernel"] > 0.7 * CASES, met  # the others are refused, or read by Python alone
    if CASES >= 100:
        assert all(met[situation] for situation in (*ALWAYS, *MET[check])), met


def given_up(path: Path, **options: object) -> list[tuple[int, int, str]]:
    """Rejects of a file, by both loops, in all its blocks."""
    scan = ss.scan(str(path), **options)
    answers = [both(scan.spec, block) for block in scan.plan()]
    return [(reject.offset, reject.length_bytes, reject.code) for _, _, rejects in answers for reject in rejects]


DAMAGED = b'{"d":[]} x {"d":[{"a":1},{}], "m":"long enough"} 1\n{"d":[{}], "m":[{"d":[7]}]}'


@pytest.mark.parametrize("most", [1, 2, 5])
def test_what_lies_around_arrays_is_of_any_length_where_it_is_damaged(most: int, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(DAMAGED)
    options = {"format": "json", "recordPath": "$.d[*]", "schema": pa.schema([("a", pa.int64())])}
    damaged = [DAMAGED.index(b":[{"), DAMAGED.rindex(b":[{}")]
    wanted = [(at, 2, "record-too-long" if most < 2 else "bad-json") for at in damaged]
    elements = [(DAMAGED.index(b'{"a"'), 7), (DAMAGED.index(b"{}"), 2), (DAMAGED.rindex(b"{}"), 2)]
    wanted += [(*element, "record-too-long") for element in elements if element[1] > most]
    for read_bytes in some(range(1, len(DAMAGED) + 2)):
        found = given_up(tmp_path / "f", maxRecordBytes=most, readBytes=read_bytes, **options)
        assert [(at, code) for at, _, code in found] == sorted((at, code) for at, _, code in wanted), read_bytes


@pytest.mark.thin(10)
@pytest.mark.parametrize("encoding", ["UTF-16BE", "UTF-32LE"])
@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "x"])
@pytest.mark.parametrize("line_sep", [None, "\r\n", "\n", "\r", "\r\r\n"])
def test_a_record_that_is_given_up_has_the_part_of_a_code_unit_that_ends_the_file(
    encoding: str, end: str, line_sep: str | None, tmp_path: Path
) -> None:
    codec = resolve_encoding(encoding)
    whole = codec.encode("abc" + (line_sep or "\n") + "a" + end)
    lines = {"header": False, "schema": pa.schema([("a", pa.string())]), "encoding": encoding}
    if line_sep is not None:
        lines["lineSep"] = line_sep
    for part in range(codec.unit_bytes):
        data = whole + codec.encode("\n")[:part]
        (tmp_path / "f").write_bytes(data)
        for block_bytes in (len(data), len(data) // 2, codec.unit_bytes):
            found = given_up(
                tmp_path / "f", format="csv", maxRecordBytes=1, readBytes=7, blockBytes=block_bytes, **lines
            )
            ends = end in ("\r", "\n", "\r\n") if line_sep is None else end.endswith(line_sep)
            assert sum(found[-1][:2]) == (len(whole) if ends else len(data)), (part, block_bytes, found)


@pytest.mark.thin(2)
@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-32BE"])
@pytest.mark.parametrize("rest", [" ", "\n", " \n\t", "\n #x\n "])
def test_blanks_and_a_part_of_a_code_unit_at_the_end_are_of_the_block_before_them(
    encoding: str, rest: str, tmp_path: Path
) -> None:
    codec = resolve_encoding(encoding)
    schema = pa.schema([("a", pa.string()), ("b", pa.string())])
    for part in range(codec.unit_bytes):
        data = codec.encode("a b\nc d\n" + rest) + codec.encode('"')[:part]
        (tmp_path / "f").write_bytes(data)
        for block_bytes in some(range(1, len(data) + 1, 3)):
            given_up(
                tmp_path / "f", format="csv", header=False, sep=r"\s+", encoding=encoding, schema=schema, comment="#",
                lineSep="\n", blockBytes=block_bytes, readBytes=7,
            )  # fmt: skip


@pytest.mark.thin(6)
@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"])
@pytest.mark.parametrize("text", ["--></r", "--></r>", "<r/> x <r a='", "<r><a></r>\r</r", "<r>\r", "<r/><r></r>"])
def test_a_part_of_a_code_unit_is_no_text_of_xml(encoding: str, text: str, tmp_path: Path) -> None:
    codec = resolve_encoding(encoding)
    schema = pa.schema([("a", pa.string())])
    for part in range(codec.unit_bytes):
        data = codec.encode(text) + codec.encode(">")[:part]
        (tmp_path / "f").write_bytes(data)
        for most in (1, 100):
            given_up(
                tmp_path / "f", format="xml", rowTag="r", encoding=encoding, schema=schema, maxRecordBytes=most,
                blockBytes=-(-len(data) // 3), readBytes=7,
            )  # fmt: skip


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


@pytest.mark.thin(15)
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
