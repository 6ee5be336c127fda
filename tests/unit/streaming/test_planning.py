from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from splitscan.streaming.planning import Limits, plan_window


@dataclass
class File:
    path: str
    lengths: list[int]
    indivisible: bool = False
    asked: list[int] = field(default_factory=list)


def small(count, length=1):
    return [File(f"small-{number:04d}", [length]) for number in range(count)]


def bounds():
    return st.none() | st.integers(1, 12)


works = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=8), max_size=6)


@given(st.integers(1, 4), works, works, bounds(), st.none() | st.integers(1, 40), bounds())
def test_no_limit_is_exceeded_and_no_window_is_empty(number, begun, fresh, blocks, size_bytes, files):
    begun = [File(f"b{index}", lengths) for index, lengths in enumerate(begun)]
    fresh = [File(f"f{index}", lengths) for index, lengths in enumerate(fresh)]
    picks = plan_window(number, begun, fresh, Limits.of(blocks, size_bytes, files))
    lengths = {file.path: file.lengths for file in begun + fresh}
    taken = [length for path, count in picks.items() for length in lengths[path][:count]]
    assert all(0 < count <= len(lengths[path]) for path, count in picks.items())
    assert bool(picks) == bool(begun or fresh)
    assert blocks is None or len(taken) <= blocks
    assert files is None or len(picks) <= files
    assert size_bytes is None or sum(taken) <= size_bytes or len(taken) == 1
    if blocks is size_bytes is files is None:
        assert picks == {path: len(every) for path, every in lengths.items()}


@given(works, works, st.integers(1, 12))
def test_a_threshold_of_blocks_is_used_up(begun, fresh, blocks):
    begun = [File(f"b{index}", lengths) for index, lengths in enumerate(begun)]
    fresh = [File(f"f{index}", lengths) for index, lengths in enumerate(fresh)]
    there = sum(len(file.lengths) for file in begun + fresh)
    for number in (1, 2):
        assert sum(plan_window(number, begun, fresh, Limits.of(blocks)).values()) == min(blocks, there)


def test_what_no_other_file_needs_goes_to_the_first():
    long, short = File("long", [1] * 100), File("short", [1])
    for number in (1, 2):
        assert plan_window(number, [long, short], [], Limits(blocks=20)) == {"long": 19, "short": 1}
        assert plan_window(number, [short, long], [], Limits(blocks=20)) == {"short": 1, "long": 19}
    assert plan_window(2, [long, File("other", [1] * 100)], [], Limits(blocks=20)) == {"long": 10, "other": 10}
    begun = [long, File("other", [1] * 100), File("third", [1] * 100)]
    assert plan_window(2, begun, small(2), Limits(blocks=5)) == {
        "long": 1, "other": 1, "third": 1, "small-0000": 1, "small-0001": 1,
    }  # fmt: skip


def windows_until_served(threshold, size_bytes=None):
    """Plan windows of a huge file, and new small files all the time; in which window was each served first?"""
    huge, arrived, first_served = File("huge", [10] * 10_000), [], {}
    begun = [huge]
    for number in range(1, 60):
        arrived += [File(f"new-{number}", [1])]
        picks = plan_window(number, begun, arrived, Limits.of(threshold, size_bytes))
        for path in picks:
            first_served.setdefault(path, number)
        huge.lengths = huge.lengths[picks.get("huge", 0) :]
        arrived = [file for file in arrived if file.path not in picks]
    return first_served, len(huge.lengths), len(arrived)


def test_neither_a_huge_file_nor_small_ones_starve():
    for threshold, size_bytes in ((1, None), (2, None), (7, None), (None, 1), (None, 15)):
        served, left, waiting = windows_until_served(threshold, size_bytes)
        assert left <= 10_000 - 25, (threshold, size_bytes)  # the huge file goes on
        assert waiting <= 30, (threshold, size_bytes)  # and so do the small ones
        assert served["huge"] <= 2


def test_one_huge_file_spans_windows():
    huge = File("huge", [10] * 7)
    taken = []
    for number in range(1, 5):
        count = plan_window(number, [huge] if taken else [], [] if taken else [huge], Limits(2)).get("huge", 0)
        taken.append(count)
        huge.lengths = huge.lengths[count:]
    assert taken == [2, 2, 2, 1]


def test_bytes_are_used_up_to_the_last_one():
    file = File("a", [10, 10, 10])
    assert [plan_window(1, [], [file], Limits(size_bytes=most))["a"] for most in (19, 20, 21, 30)] == [1, 2, 2, 3]


def test_an_indivisible_file_is_taken_whole_or_not_at_all():
    file, other = File("a", [5, 5, 5], indivisible=True), File("b", [5, 5], indivisible=True)
    assert plan_window(1, [], [file, other], Limits(size_bytes=4)) == {"a": 3}
    assert plan_window(1, [], [file, other], Limits(size_bytes=25)) == {"a": 3, "b": 2}
    assert plan_window(1, [], [file, other], Limits(size_bytes=24)) == {"a": 3}


def test_files_behind_the_limit_are_not_cut():
    class Lazy(File):
        @property
        def lengths(self):
            self.asked.append(1)
            return [1]

        @lengths.setter
        def lengths(self, value):
            pass

    crowd = [Lazy(f"{number}", []) for number in range(1000)]
    plan_window(1, [], crowd, Limits(blocks=3))
    assert not any(file.asked for file in crowd[4:])
