"""The law of a range tracker that threads share: every call takes effect at one instant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.interleaving import check_linearizable

from splitscan.ranges import RangeTracker


def check_race_law(
    make_tracker: Callable[[Any, Any], RangeTracker[Any]],
    start: Any,
    stop: Any,
    positions: Sequence[Any],
) -> int:
    """Check that every call of a tracker takes effect at one instant, whatever another thread calls meanwhile.

    Claims race with splits, splits with splits, and progress queries with both, under every schedule with one
    preemption (:mod:`tests.interleaving`). Presumes :func:`check_tracker_law`.

    Args:
        make_tracker: Makes a new tracker for a range.
        start: Where the range starts.
        stop: Where it stops.
        positions: At least four split points of the range, in strict order. Put them at uneven distances and the
            first after *start*, so that every state has a fraction of its own.

    Returns:
        How many schedules were run.

    Raises:
        AssertionError: If an interleaving gave what no order of the calls gives.
    """
    first, second, third, fourth = positions[:4]

    def make() -> RangeTracker[Any]:
        tracker = make_tracker(start, stop)
        assert tracker.try_return_record_at(True, first)
        return tracker

    def claim(position: Any) -> Callable[[RangeTracker[Any]], object]:
        return lambda tracker: tracker.try_return_record_at(True, position)

    def split(position: Any) -> Callable[[RangeTracker[Any]], object]:
        return lambda tracker: tracker.try_split_at_position(position)

    races: list[tuple[list[Callable[[RangeTracker[Any]], object]], ...]] = [
        ([claim(second)], [split(second)]),
        ([claim(third)], [split(second)]),
        ([claim(second)], [split(third)]),
        ([lambda tracker: tracker.try_return_record_at(False, third)], [split(second)]),
        ([split(second)], [split(third)]),
        ([split(third)], [split(third)]),
        (
            [lambda tracker: tracker.stop_position, lambda tracker: tracker.done],
            [split(fourth), claim(second), claim(fourth)],
        ),
        ([lambda tracker: tracker.fraction_consumed()] * 2, [claim(second), split(fourth), claim(third)]),
        ([lambda tracker: tracker.split_points_consumed], [claim(second), lambda tracker: tracker.mark_done()]),
    ]
    return sum(len(check_linearizable(make, one, other, _state)) for one, other in races)


def _state(tracker: RangeTracker[Any]) -> tuple[object, ...]:
    return (
        tracker.start_position, tracker.stop_position, tracker.fraction_consumed(), tracker.done,
        tracker.split_points_consumed,
    )  # fmt: skip
