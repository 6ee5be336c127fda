"""Contents side by side are those of the records, whatever divides them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.decoding import gather as module
from splitscan.decoding.gather import gather
from splitscan.framing.frames import Frames

CONTENTS = st.text("ab\n", max_size=4).map(str.encode)
DIVIDERS = st.sampled_from([b"", b"\n", b"\n", b"\n", b"\n", b"\r\n", b"a", b"\n" * 9])


def framed(head: bytes, records: list[tuple[bytes, bytes]]) -> tuple[bytes, Frames]:
    data, starts, stops = head, [], []
    for content, divider in records:
        starts.append(len(data))
        data += content
        stops.append(len(data))
        data += divider
    return data, Frames(np.array(starts, np.int64), np.array(stops, np.int64), len(data))


@given(
    head=st.sampled_from([b"", b"\n", b"ab"]),
    records=st.one_of(
        st.lists(st.tuples(CONTENTS, DIVIDERS), max_size=8),
        st.lists(st.tuples(st.sampled_from([b"", b"a", b"ab"]), st.just(b"\n")), max_size=8),
    ),
)
def test_what_divides_records_is_left_out_and_nothing_else(head: bytes, records: list[tuple[bytes, bytes]]) -> None:
    data, frames = framed(head, records)
    found = gather(memoryview(data), frames, pa.binary())
    found.validate(full=True)
    assert found.to_pylist() == [content for content, _ in records]


@pytest.mark.parametrize(
    ("records", "is_slow"),
    [
        ([(b"b", b"\n"), (b"b", b"\n"), (b"b", b"")], False),
        ([(b"b", b"\r\n"), (b"b", b"\n"), (b"b", b"")], True),
        ([(b"b", b""), (b"\nb", b"\na"), (b"b", b"")], True),
        ([(b"b", b"\n"), (b"\nb", b"\n"), (b"b", b"")], True),
    ],
)
def test_only_lines_that_end_alike_are_gathered_without_a_mask(
    records: list[tuple[bytes, bytes]], is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks: list[Frames] = []
    make = module._content_mask
    monkeypatch.setattr(
        module, "_content_mask", lambda region, frames, first: masks.append(frames) or make(region, frames, first)
    )
    data, frames = framed(b"", records)
    assert gather(memoryview(data), frames, pa.binary()).to_pylist() == [content for content, _ in records]
    assert bool(masks) is is_slow
