"""Ranges of keys: which keys they hold, and where in them a key lies."""

import pickle
from fractions import Fraction
from itertools import combinations, pairwise, product

import pytest

from splitscan.errors import UsageError
from splitscan.ranges import ByteKeyRange

# every shape that has bitten: prefixes of each other, zero bytes at the end, carries, long common prefixes
KEYS = sorted(
    bytes.fromhex(text)
    for text in (
        "00", "0000", "000001", "0001", "000100", "01", "0100", "010000", "0101", "0102", "02", "0f", "0fff", "0fffff",
        "10", "1000", "12", "7f", "7fff", "80", "8000", "80ff", "fe", "fe00", "feff", "ff", "ff00", "ffffff",
    )
)  # fmt: skip
FRACTIONS = [0.0, 1e-9, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.9, 0.99, 1 - 1e-9]


def as_number(key, width=40):
    return int.from_bytes(key.ljust(width, b"\0"), "big")


def test_reversed_bounds_are_refused():
    assert len(KEYS) == 28
    for low, high in combinations(KEYS, 2):
        with pytest.raises(UsageError, match="start <= stop"):
            ByteKeyRange(high, low)
        assert ByteKeyRange(low, high) == (low, high)
        assert ByteKeyRange(high, b"") == (high, b"")


@pytest.mark.parametrize(
    ("key_range", "key", "is_inside"),
    [
        (("", ""), "", True),
        (("", ""), "ffffff", True),
        (("", "12"), "", True),
        (("", "12"), "11ff", True),
        (("", "12"), "12", False),
        (("12", "34"), "", False),
        (("12", "34"), "11ff", False),
        (("12", "34"), "12", True),
        (("12", "34"), "1200", True),
        (("12", "34"), "33ff", True),
        (("12", "34"), "34", False),
        (("12", ""), "12", True),
        (("12", ""), "ff", True),
        (("12", ""), "11", False),
        (("12", "12"), "12", False),
        (("12", "1200"), "12", True),
        (("12", "1200"), "1200", False),
    ],
)
def test_a_range_contains_its_start_and_not_its_stop(key_range, key, is_inside):
    assert ByteKeyRange(*map(bytes.fromhex, key_range)).contains(bytes.fromhex(key)) is is_inside


def test_ranges_overlap_where_a_key_lies_in_both():
    ranges = [ByteKeyRange(low, high) for low, high in product([b"", *KEYS[::3]], repeat=2) if low <= high or not high]
    assert len(ranges) > 50
    for one, other in product(ranges, repeat=2):
        later_start = max(one.start, other.start)  # the smallest key that could be in both
        is_shared = one.contains(later_start) and other.contains(later_start)
        assert one.overlaps(other) is is_shared, (one, other)


@pytest.mark.parametrize(
    ("start", "stop", "fraction", "key"),
    [
        ("", "", 0.5, "80"),
        ("", "", 0.25, "40"),
        ("40", "c0", 0.5, "80"),
        ("6f", "91", 0.5, "80"),
        ("", "fe", 0.5, "7f"),
        ("300001", "4fffff0000", 0.5, "40"),
        ("12", "34", 0.5, "23"),
        ("61" * 100 + "61", "61" * 100 + "63", 0.5, "61" * 100 + "62"),
    ],
)
def test_a_key_at_a_fraction_is_exact_and_short(start, stop, fraction, key):
    assert ByteKeyRange(bytes.fromhex(start), bytes.fromhex(stop)).key_at(fraction) == bytes.fromhex(key)


def test_the_bounds_are_the_keys_at_zero_and_one():
    for low, high in combinations(KEYS, 2):
        assert (ByteKeyRange(low, high).key_at(0), ByteKeyRange(low, high).key_at(1)) == (low, high)
    assert ByteKeyRange(b"k", b"").key_at(1.0) == b""


@pytest.mark.parametrize("stop", [b"", b"\x00", b"\x00\x00", b"\x01", b"\xff"])
@pytest.mark.parametrize("fraction", [0, 1e-300, 0.1, 0.999])
def test_a_key_inside_a_range_is_never_empty_because_that_would_read_as_unbounded(stop, fraction):
    key = ByteKeyRange(b"", stop).key_at(fraction)
    assert key != b""
    assert not stop or key <= stop


def test_fractions_never_decrease_along_the_keys():
    for low, high in combinations([*KEYS, b""], 2):
        if low > high and high:
            continue
        key_range = ByteKeyRange(low, high)
        inside = [key for key in KEYS if key_range.contains(key)]
        fractions = [key_range.fraction_of(key) for key in inside]
        assert fractions == sorted(fractions)
        assert all(0.0 <= fraction <= 1.0 for fraction in fractions)


def test_keys_at_growing_fractions_never_decrease_stay_inside_and_map_back():
    round_trips = 0
    for low, high in combinations([b"", *KEYS, b""], 2):
        key_range = ByteKeyRange(low, high)
        keys = [key_range.key_at(fraction) for fraction in FRACTIONS]
        assert keys == sorted(keys), key_range
        if high and as_number(low) == as_number(high):
            assert set(keys) == {low or b"\0"}
            continue
        for fraction, key in zip(FRACTIONS, keys, strict=True):
            assert key_range.contains(key)
            assert key_range.fraction_of(key) == pytest.approx(fraction, abs=1e-14)
            round_trips += 1
    assert round_trips > 4000


@pytest.mark.parametrize("fraction", [0.5**20, 0.5**52, 1e-15, 1 - 2**-53])
@pytest.mark.parametrize(
    ("start", "stop"), [(b"", b""), (b"a", b"b"), (b"a" * 100, b"a" * 99 + b"b"), (b"\x00", b"\x01")]
)
def test_tiny_fractions_keep_their_precision(start, stop, fraction):
    key_range = ByteKeyRange(start, stop)
    key = key_range.key_at(fraction)
    assert key_range.contains(key)
    assert key_range.fraction_of(key) == pytest.approx(fraction, abs=1e-18, rel=1e-3)


@pytest.mark.parametrize("fraction", [0.5**100, 1e-30])
def test_fractions_below_the_resolution_give_the_start(fraction):
    assert ByteKeyRange(b"a", b"b").key_at(fraction) == b"a"


def test_fractions_of_prime_ranges_are_exact():
    short = ByteKeyRange(b"", bytes([47]))
    assert [short.fraction_of(bytes([i])) for i in range(48)] == [i / 47 for i in range(48)]
    long = ByteKeyRange(b"\xfd\xec", b"\xfd\xec\x53")
    assert [long.fraction_of(b"\xfd\xec" + bytes([i])) for i in range(84)] == [i / 83 for i in range(84)]


def test_long_common_prefixes_cost_no_precision():
    prefix = b"a" * 100
    assert ByteKeyRange(prefix + b"a", prefix + b"c").fraction_of(prefix + b"b") == 0.5


def test_bounds_that_are_equal_as_numbers_have_no_distance():
    key_range = ByteKeyRange(b"k", b"k\x00\x00")
    assert [key_range.fraction_of(key) for key in (b"k", b"k\x00", b"k\x00\x00")] == [0.0, 0.0, 0.0]
    assert key_range.key_at(0.5) == b"k"


@pytest.mark.parametrize("key", [b"\x11", b"\x34\x00", b"\xff", b""])
def test_a_key_outside_has_no_fraction(key):
    with pytest.raises(UsageError, match="must lie in its range"):
        ByteKeyRange(b"\x12", b"\x34").fraction_of(key)


@pytest.mark.parametrize("fraction", [-0.1, 1.0000001, float("nan")])
def test_a_fraction_must_lie_between_zero_and_one(fraction):
    with pytest.raises(UsageError, match="between 0 and 1"):
        ByteKeyRange(b"\x12", b"\x34").key_at(fraction)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 256, 1000])
def test_a_range_is_cut_into_pieces_in_strict_order(count):
    for start, stop in [(b"", b""), (b"a", b"b"), (b"", b"\x01"), (b"\x12", b""), (b"a", b"a\x00\x01")]:
        keys = ByteKeyRange(start, stop).split(count)
        assert len(keys) == count + 1
        assert (keys[0], keys[-1]) == (start, stop)
        assert all(low < high or not high for low, high in pairwise(keys))
        assert all(keys[1:-1])


def test_pieces_are_about_equally_wide():
    keys = ByteKeyRange(b"", b"").split(3)
    whole = ByteKeyRange(b"", b"")
    assert [whole.fraction_of(key) for key in keys[:-1]] == pytest.approx([0, 1 / 3, 2 / 3])
    assert ByteKeyRange(b"a", b"d").split(3) == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize(("start", "stop"), [(b"k", b"k\x00"), (b"k", b"k\x00\x00\x00"), (b"", b"\x00"), (b"k", b"k")])
def test_a_range_without_room_is_not_cut(start, stop):
    assert ByteKeyRange(start, stop).split(5) == [start, stop]


@pytest.mark.parametrize("count", [0, -1])
def test_a_range_is_not_cut_into_no_pieces(count):
    with pytest.raises(UsageError, match="1 piece or more"):
        ByteKeyRange(b"a", b"b").split(count)


def test_a_range_travels():
    key_range = ByteKeyRange(b"a", b"")
    copy = pickle.loads(pickle.dumps(key_range))
    assert copy == key_range
    assert type(copy) is ByteKeyRange


def test_exact_fractions_stay_exact():
    assert ByteKeyRange(b"", b"\x03").key_at(Fraction(1, 3)) == b"\x01"
