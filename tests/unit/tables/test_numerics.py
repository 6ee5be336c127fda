"""Numbers as PostgreSQL sends them: each is the decimal that was sent, however batches are cut."""

import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.tables.columns import MOST_SHORT_DIGITS, decimals


def sent(value):
    """What ``numeric_send`` makes of a decimal, digit by digit."""
    if value is None:
        return None
    sign, digits, exponent = value.as_tuple()
    whole = "".join(map(str, digits)).rjust(-exponent, "0")
    before, behind = whole[: len(whole) + exponent], whole[len(whole) + exponent :]
    before = before.rjust(-(-len(before) // 4) * 4, "0")
    text = before + behind.ljust(-(-len(behind) // 4) * 4, "0")
    groups = [int(text[start : start + 4]) for start in range(0, len(text), 4)]
    weight = len(before) // 4 - 1
    while groups and groups[0] == 0:
        del groups[0]
        weight -= 1
    while groups and groups[-1] == 0:
        del groups[-1]
    negative = 0x4000 if sign and groups else 0
    return struct.pack(f">Hhhh{len(groups)}h", len(groups), weight if groups else 0, negative, -exponent, *groups)


@st.composite
def numbers(draw):
    precision = draw(st.integers(1, MOST_SHORT_DIGITS))
    scale = draw(st.integers(0, precision))
    unscaled = draw(st.lists(st.none() | st.integers(-(10**precision) + 1, 10**precision - 1), max_size=12))
    values = [None if number is None else Decimal(number).scaleb(-scale) for number in unscaled]
    return pa.decimal128(precision, scale), values, draw(st.integers(0, len(values)))


@given(numbers())
def test_all_numbers_of_all_declared_digits_are_what_was_sent(case):
    kind, values, cut = case
    array = pa.array([sent(value) for value in values], pa.binary())
    assert decimals(array, kind).to_pylist() == values
    assert decimals(array[:cut], kind).to_pylist() + decimals(array[cut:], kind).to_pylist() == values


@pytest.mark.parametrize("values", [[], [Decimal("0.00")], [None, Decimal("0.00"), None, Decimal("0.00")], [None]])
def test_numbers_without_any_digits_are_what_was_sent(values):
    array = pa.array([sent(value) for value in values], pa.binary())
    assert decimals(array, pa.decimal128(5, 2)).to_pylist() == values


@pytest.mark.parametrize(
    ("value", "precision", "scale"),
    [("1000", 3, 0), ("0.125", 5, 2), ("10", 3, 2), ("0.0001", 3, 2), ("1E+18", 18, 0), ("100000", 5, 0), ("1", 2, 2)],
)
def test_more_digits_than_declared_are_an_error(value, precision, scale):
    number = Decimal(value)
    array = pa.array([sent(Decimal(0)), sent(number.quantize(1) if number > 1 else number)])
    with pytest.raises(pa.ArrowInvalid, match=rf"more digits than decimal128\({precision}, {scale}\)"):
        decimals(array, pa.decimal128(precision, scale))


@pytest.mark.parametrize("sign", [0xC000, 0xD000, 0xF000])
def test_what_is_no_number_is_an_error(sign):
    with pytest.raises(pa.ArrowInvalid, match="NaN or infinity"):
        decimals(pa.array([None, struct.pack(">HhHh", 0, 0, sign, 0)]), pa.decimal128(5, 2))
