"""The laws catch trackers that are wrong in one place: every mutant here is the real source with one line changed."""

import contextlib
import inspect

import pytest
from tests.race_law import check_race_law

from splitscan.ranges import ByteKeyRangeTracker, OffsetRangeTracker, byte_key, contract
from splitscan.testing.range_laws import check_chunk_claim_law, check_tracker_law

POSITIONS = [-3, 7, 10, 13, 16, 19, 22, 30]
KEYS = [b"", b"b", b"c", b"ca", b"d", b"h", b"k", b"k\x00", b"z"]


def mutant(module, right, wrong):
    source = inspect.getsource(module)
    assert source.count(right) == 1, f"{right!r} is found {source.count(right)} times"
    namespace = {"__name__": "mutant"}
    exec(compile(source.replace(right, wrong), module.__file__, "exec"), namespace)
    return namespace["OffsetRangeTracker" if module is contract else "ByteKeyRangeTracker"]


def check_offsets(make_tracker):
    check_tracker_law(make_tracker, 10, 22, POSITIONS, split_positions=range(8, 25))
    check_chunk_claim_law(make_tracker, 10, 22, POSITIONS[2:])
    check_race_law(make_tracker, 0, 30, [7, 13, 16, 22])


def check_keys(make_tracker):
    check_tracker_law(make_tracker, b"c", b"k", KEYS)
    check_chunk_claim_law(make_tracker, b"c", b"k", KEYS[2:])
    check_race_law(make_tracker, b"a", b"k", [b"b", b"ca", b"d", b"h"])


@pytest.mark.slow
def test_the_trackers_themselves_keep_the_laws():
    check_offsets(OffsetRangeTracker)
    check_keys(ByteKeyRangeTracker)


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("if position >= self._stop:", "if position > self._stop:", "not the split points in it"),
        ("not self._last < position <", "not self._last <= position <", "was granted"),
        ("< position < self._stop:", "< position <= self._stop:", "was granted"),
        ("if not self._last < position < self._stop:", "if True:", "no split that gives a record away"),
        (
            "            if not self._last < position < self._stop:\n",
            "            self._split_points_returned += self._last < position < self._stop\n            if True:\n",
            "a refused split changed the tracker",
        ),
        ("            return 0.0", "            return 0.5", "an unstarted tracker has consumed"),
        ("if position < self._start:", "if False:", "it must raise"),
        ("position < self._last:", "False:", "it must raise"),
        ("            self._stop = position\n", "", "the range after the split"),
        ("            self._stop = position\n", "            self._stop = position + 1\n", "the range after the split"),
        ("                self._done = True\n                return False", "                return False", "not done"),
        ("or self._last is None:", "or False:", "TypeError"),
        ("                self._last = position\n                return True", "                return 0", "follows"),
        ("/ (stop - self._start)", "/ (stop - self._start) + 0.5", "progress"),
        ("/ (stop - self._start)", "/ -(stop - self._start)", "progress"),
        ("/ (stop - self._start)", "% (stop - self._start)", "progress"),
        ("searchsorted(self._stop)", "searchsorted(self._stop, side='right')", "count"),
        ("self._split_points_returned += claimed", "self._split_points_returned += 1", "state"),
        ("if claimed < starts.size:", "if claimed == 0:", "state"),
        ("self._last = int(starts[min(claimed, starts.size - 1)])", "self._last = first", "state"),
    ],
)  # fmt: skip
def test_the_laws_catch_a_wrong_offset_tracker(right, wrong, complaint):
    with pytest.raises((AssertionError, TypeError)) as caught:
        check_offsets(mutant(contract, right, wrong))
    assert complaint in f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("or key < self._stop", "or key <= self._stop", "not the split points in it"),
        ("if not (self._last < key and", "if not (self._last <= key and", "was granted"),
        (
            "(self._last < key and self._is_before_stop(key))",
            "(self._last < key and (not self._stop or key <= self._stop))",
            "was granted",
        ),
        ("if key < self._start:", "if False:", "it must raise"),
        ("key < self._last:", "False:", "it must raise"),
        ("            self._stop = key\n", "", "the range after the split"),
        ("                self._done = True\n                return False", "                return False", "not done"),
        ("bisect_left(record_starts, self._stop)", "bisect_left(record_starts, self._stop + b'\\0')", "count"),
        ("self._split_points_returned += claimed", "self._split_points_returned += count", "state"),
        ("if claimed < count:", "if False:", "state"),
        ("min(claimed, count - 1)", "0", "state"),
    ],
)
def test_the_laws_catch_a_wrong_byte_key_tracker(right, wrong, complaint):
    with pytest.raises(AssertionError) as caught:
        check_keys(mutant(byte_key, right, wrong))
    assert complaint in str(caught.value)


def without_lock(make_tracker):
    def make(start, stop):
        tracker = make_tracker(start, stop)
        tracker._lock = contextlib.nullcontext()
        return tracker

    return make


@pytest.mark.parametrize(
    ("make_tracker", "start", "stop", "positions"),
    [(OffsetRangeTracker, 0, 30, [7, 13, 16, 22]), (ByteKeyRangeTracker, b"a", b"k", [b"b", b"ca", b"d", b"h"])],
)
def test_a_tracker_without_a_lock_gives_one_record_to_two_readers(make_tracker, start, stop, positions):
    check_tracker_law(without_lock(make_tracker), start, stop, positions)  # alone it is right
    with pytest.raises(AssertionError, match="one after the other they get"):
        check_race_law(without_lock(make_tracker), start, stop, positions)


@pytest.mark.slow
@pytest.mark.parametrize("module", [contract, byte_key])
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "        with self._lock:\n            if self._",
            "        if True:\n            if self._",
        ),
        (
            "        with self._lock:\n            last, stop, done = self._last, self._stop, self._done",
            "        last, stop, done = self._last, self._stop, self._done",
        ),
    ],
    ids=["an early method", "progress"],
)
def test_one_method_that_forgets_the_lock_is_found(module, right, wrong):
    source = inspect.getsource(module)
    where = source.rindex(right)  # the split, or the progress query
    head, tail = source[:where], source[where:].replace(right, wrong, 1)
    namespace = {"__name__": "mutant"}
    exec(compile(head + tail, module.__file__, "exec"), namespace)
    if module is contract:
        case = (namespace["OffsetRangeTracker"], 0, 30, [7, 13, 16, 22])
    else:
        case = (namespace["ByteKeyRangeTracker"], b"a", b"k", [b"b", b"ca", b"d", b"h"])
    with pytest.raises(AssertionError, match="one after the other they get"):
        check_race_law(*case)
