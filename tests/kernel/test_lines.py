from __future__ import annotations

import random

import pytest

splitscan_kernel = pytest.importorskip("splitscan_kernel")

from tests.counting import at_most_cpu_seconds  # noqa: E402
from tests.kernel.lines_cases import differences, random_case  # noqa: E402

CASES, SEEDS = 3000, range(8)


@pytest.mark.parametrize("seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])])
def test_lines_are_found_as_the_reference_finds_them(seed):
    assert list(differences(CASES, seed)) == []


def test_the_cases_have_what_is_hard():
    """Each of these is met by many of the cases that the test above compares."""
    chances = [random.Random(seed) for seed in SEEDS]
    cases = [random_case(chance) for chance in chances for _ in range(CASES // 2)]
    for is_met in (
        lambda case: b"\xef\xbf\xbd" in case.data.decode("utf-8", "replace").encode() and case.encoding == "UTF-8",
        lambda case: case.encoding.startswith("UTF-16") and len(case.data) % 2 == 1,
        lambda case: case.escape and b"\\\\\n" in case.data,
        lambda case: case.delimiter == "||" and b"|||" in case.data,
        lambda case: case.delimiter is None and case.data.endswith(b"\r") and not case.at_end,
    ):
        assert sum(map(bool, map(is_met, cases))) >= 3


def test_arguments_that_make_no_grammar_are_refused():
    lines = splitscan_kernel.Lines
    for make in (
        lambda: lines(b"", None),
        lambda: lines(b"a\\", b"\\"),
        lambda: lines("§".encode("utf-16-le"), None, 2, False),
    ):
        with pytest.raises(splitscan_kernel.Unsupported):
            make()
    with pytest.raises(ValueError, match="positions in data"):
        lines(None, None).frame(b"abc", 2, 1, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", [b"\\" * 4_000_000, b"\\\n" * 2_000_000, b"\r" * 4_000_000, b"|" * 4_000_001, b"|a" * 2_000_000]
)
def test_hostile_runs_are_framed_in_linear_time(data):
    """In a tenth of a second; in quadratic time it would be minutes."""
    with at_most_cpu_seconds(60):
        for lines in (splitscan_kernel.Lines(None, b"\\"), splitscan_kernel.Lines(b"|a|", b"\\")):
            starts, stops, _, _ = lines.frame(data, 0, len(data), False)
            assert len(starts) == len(stops)
