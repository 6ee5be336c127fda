from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.errors import UsageError
from splitscan.sizes import GIB, KIB, MIB, format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0), ("12", 12), ("10b", 10), ("1k", KIB), ("1 KB", KIB), ("1KiB", KIB), ("128m", 128 * MIB),
        ("128 MiB", 128 * MIB), ("2g", 2 * GIB), ("1T", 1024 * GIB), ("  7 mb  ", 7 * MIB), ("1.5k", 1536),
        ("0.5", 0), ("1.9", 1), (10, 10),
    ],
)  # fmt: skip
def test_a_size_is_bytes_or_a_number_with_a_binary_unit(text: str | int, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "many", "-1", "1 pb", "1.m", ".5m", "1,5k", "1 m b", "0x10", "1e3", True])
def test_anything_else_is_refused_with_the_name_of_the_option(text: str) -> None:
    with pytest.raises(UsageError, match=re.escape("option blockSize is not a size [bad-option]")) as caught:
        parse_size(text, "blockSize")
    assert f"seen:  {text!r}" in str(caught.value)
    assert "fix:   write bytes or a unit, e.g. 64 MiB" in str(caught.value)


def test_fractions_are_exact_where_floats_are_not() -> None:
    assert parse_size("9007199254740993") == 2**53 + 1
    assert parse_size("1.1k") == 1126
    assert parse_size("0.29k") == 296


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"), (1023, "1023 B"), (KIB, "1.0 KiB"), (1536, "1.5 KiB"), (MIB, "1.0 MiB"),
        (3 * GIB, "3.0 GiB"), (1024 * GIB, "1.0 TiB"), (5000 * 1024 * GIB, "5000.0 TiB"), (-1536, "-1.5 KiB"),
    ],
)  # fmt: skip
def test_sizes_are_printed_in_the_largest_unit_that_fits(size_bytes: int, text: str) -> None:
    assert format_size(size_bytes) == text


@given(st.integers(0, 2**60))
def test_what_is_printed_can_be_parsed_and_is_off_by_rounding_only(size_bytes: int) -> None:
    parsed = parse_size(format_size(size_bytes))
    assert abs(parsed - size_bytes) <= size_bytes * 0.051 + 1
