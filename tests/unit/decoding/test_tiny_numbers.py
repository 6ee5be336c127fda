"""Numbers that Arrow's parsers of decimals must not see are found, wherever they stand, and read all the same."""

import uuid
from decimal import Decimal
from itertools import product
from pathlib import Path
from random import Random

import pytest

import splitscan as ss
from splitscan.decoding import tiny_numbers
from splitscan.decoding.tiny_numbers import has_tiny_number

MANTISSAS = ("1", "0", "9.5", ".5", "5.", "1" * 19, "0." + "3" * 17, "0." + "3" * 18, "0." + "3" * 36, "1" * 38)
EXPONENTS = ("e-1", "E-5", "e-19", "e-20", "e-019", "e-020", "E-99", "e-100", "e-400000000", "e5", "e+60")
AROUND = (
    (b"", b""),
    (b"", b"\n"),
    (b'{"v":', b"}"),
    (b"[1, ", b" ,2]"),
    (b'"', b'"'),
    (b"-", b","),
    (b"x\t+", b"\r\n"),
)


def decimals(number: str) -> int:
    exponent = Decimal(number).as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


@pytest.mark.parametrize(("before", "behind"), AROUND)
@pytest.mark.parametrize("is_json", [False, True])
def test_every_number_of_more_than_38_decimals_is_found(before: bytes, behind: bytes, is_json: bool) -> None:
    for mantissa, exponent in product(MANTISSAS, EXPONENTS):
        text = before + (mantissa + exponent).encode() + behind
        is_tiny = "-" in exponent and decimals(mantissa + exponent) > 38
        assert has_tiny_number(memoryview(text), is_json=is_json) >= is_tiny, text


def test_usual_numbers_and_words_are_not_found() -> None:
    harmless = b"1.5e-7,1.2345678901234567e-05,-3e-19,pre-2020,2020-01-31,the-99,1e5,e-60,.,1e--60"
    assert not has_tiny_number(memoryview(harmless))


def test_of_json_words_are_not_found() -> None:
    chance = Random(7)
    words = " ".join(f'"{uuid.UUID(int=chance.getrandbits(128), version=4)}"' for _ in range(20_000))
    assert has_tiny_number(memoryview(words.encode()))
    assert not has_tiny_number(memoryview(words.encode()), is_json=True)


@pytest.mark.parametrize("text", [rb'"1\u0065-60"', rb'"1e\u002d60"', rb'"1e-\u00360"', rb'"1\u0045-60"'])
def test_escapes_of_json_hide_no_number(text: bytes) -> None:
    assert has_tiny_number(memoryview(text), is_json=True)


def test_a_number_across_two_pieces_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny_numbers, "_CACHED_BYTES", 8)
    for filler in range(30):
        for space in (b" ", b"1", b"-"):
            text = b" " + space * filler + b" 1e-60"
            assert has_tiny_number(memoryview(text)), text


@pytest.mark.parametrize("number", ["1e-400000000", "0e-5000000", "-1E-2000000", "5e-50", "0." + "1" * 30 + "e-15"])
def test_they_are_read_as_zero(tmp_path: Path, number: str) -> None:
    csv, json = tmp_path / "a.csv", tmp_path / "a.json"
    csv.write_text(f"{number},x\n7.25,{number}\n")
    json.write_text(f'{{"v":{number},"l":["{number}"]}}\n{{"v":7.25}}\n')
    expected = [Decimal(0), Decimal("7.25")]
    for scan in (ss.scan_csv(str(csv), "v decimal(38,10), t string"), ss.scan_json(str(json), "v decimal(38,10)")):
        assert scan.to_arrow()["v"].to_pylist() == expected
    lists = ss.scan_json(str(json), "l array<decimal(9,3)>").to_arrow()["l"].to_pylist()
    assert lists == [[Decimal(0)], None]
