"""What both trackers share."""

import pytest

from splitscan.errors import UsageError
from splitscan.ranges import ByteKeyRangeTracker, OffsetRangeTracker, RangeTracker

from .calls import claim


@pytest.mark.parametrize("tracker", [OffsetRangeTracker(0, 1), ByteKeyRangeTracker(b"", b"")], ids=["offset", "key"])
def test_both_trackers_are_range_trackers_whose_bounds_cannot_be_set(tracker):
    assert isinstance(tracker, RangeTracker)
    for name in ("start_position", "stop_position", "done", "split_points_consumed"):
        with pytest.raises(AttributeError):
            setattr(tracker, name, 0)


def test_a_refused_claim_can_be_caught_as_a_value_error():
    with pytest.raises(ValueError, match="split point") as caught:
        OffsetRangeTracker(0, 1).try_return_record_at(False, 0)
    assert isinstance(caught.value, UsageError)


def test_a_tracker_prints_its_state():
    tracker = OffsetRangeTracker(0, 10)
    seen = [repr(tracker)]
    claim(tracker, 3)
    seen.append(repr(tracker))
    tracker.mark_done()
    seen.append(repr(tracker))
    assert seen == [
        "OffsetRangeTracker(0, 10) <unstarted, last None>",
        "OffsetRangeTracker(0, 10) <started, last 3>",
        "OffsetRangeTracker(0, 10) <done, last 3>",
    ]
