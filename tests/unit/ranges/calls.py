"""What tests of trackers ask of one: to claim, to show all its state, to refuse a call and stay as it is."""

import pytest

from splitscan.errors import UsageError


def claim(tracker, *positions):
    return [tracker.try_return_record_at(True, p) for p in positions]


def state(tracker):
    """All that it remembers."""
    return dict(vars(tracker))


def refuses(tracker, rule, call, *arguments):
    before = state(tracker)
    with pytest.raises(UsageError, match=rule) as caught:
        call(*arguments)
    assert state(tracker) == before
    assert caught.value.seen
    assert caught.value.fix
    return caught.value
