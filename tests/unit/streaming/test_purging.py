"""Dead streams are found by what no checkpoint names, and nothing else is touched."""

import json
import os
import time

import pytest

from splitscan.errors import StreamError, UsageError
from splitscan.streaming.status import delete_stream, find_dead_streams

from .following import Stream, write

DAY_SECONDS = 86_400


def follow(folder, state, name):
    """A query that has read a file; returns the id of its stream."""
    write(folder / "in" / "a", b"1\n")
    stream = Stream(folder / "in", state)
    stream.drain()
    offsets = folder / name / "offsets"
    offsets.mkdir(parents=True, exist_ok=True)
    lines = ("v1", "{}", json.dumps(stream.position.to_json(), separators=(",", ":")))
    (offsets / "0").write_text("\n".join(lines))
    return stream.position.stream


def grow_old(state):
    moment = time.time() - 2 * DAY_SECONDS
    for path in state.rglob("*"):
        os.utime(path, (moment, moment))


def names(dead):
    return [each.stream for each in dead]


def test_what_no_checkpoint_names_is_found_and_deleted(tmp_path):
    state = tmp_path / "state"
    streams = [follow(tmp_path, state, name) for name in ("one", "other", "dead")]
    grow_old(state)
    checkpoints = [str(tmp_path / "one"), str(tmp_path / "other")]
    (dead,) = find_dead_streams(str(state), checkpoints)
    assert (dead.stream, dead.size_bytes > 0, 47 < dead.idle_hours < 49) == (streams[2], True, True)
    delete_stream(dead)
    assert find_dead_streams(str(state), checkpoints) == []
    assert sorted(path.name for path in state.iterdir()) == sorted(streams[:2])


def test_what_is_young_stays(tmp_path):
    state = tmp_path / "state"
    follow(tmp_path, state, "one")
    young = follow(tmp_path, state, "young")
    grow_old(state)
    os.utime(next((state / young).iterdir()))
    assert find_dead_streams(str(state), [str(tmp_path / "one")]) == []
    assert names(find_dead_streams(str(state), [str(tmp_path / "one")], least_age_hours=0)) == [young]


def test_every_offset_of_a_checkpoint_counts(tmp_path):
    """A checkpoint may be rolled back to any of them."""
    state = tmp_path / "state"
    follow(tmp_path, state, "one")
    (tmp_path / "one" / "offsets" / "0").rename(tmp_path / "one" / "offsets" / "1")
    follow(tmp_path, state, "one")
    grow_old(state)
    assert find_dead_streams(str(state), [str(tmp_path / "one")]) == []


def test_a_checkpoint_that_holds_its_state_needs_no_other(tmp_path):
    state = tmp_path / "ck" / "splitscan"
    dead = follow(tmp_path, state, "gone")
    follow(tmp_path, state, "ck")
    grow_old(state)
    assert names(find_dead_streams(str(tmp_path / "ck"))) == [dead]


def test_without_a_checkpoint_or_with_a_wrong_one_nothing_is_dead(tmp_path):
    state = tmp_path / "state"
    follow(tmp_path, state, "one")
    with pytest.raises(UsageError, match="no checkpoint"):
        find_dead_streams(str(state))
    with pytest.raises(UsageError, match="a checkpoint must name"):
        find_dead_streams(str(state), [str(tmp_path / "one"), str(tmp_path / "misspelt")])
    with pytest.raises(StreamError, match=r"\[no-stream\]"):
        find_dead_streams(str(tmp_path / "one"))
