"""Strings and brackets by words of 64 bytes: the same as byte by byte, wherever runs cross the edges of words."""

from __future__ import annotations

import random

import numpy as np
import pytest

from splitscan.framing.frames import as_units
from splitscan.framing.json import JsonFormat, Shape
from splitscan.framing.json.structure import last_before, positions, structure, unescaped
from splitscan.framing.words import masks_of
from splitscan.testing import laws

SIZES = (1, 63, 64, 65, 127, 128, 129, 500)


def texts(symbols: str, seed: int, count: int = 60) -> list[bytes]:
    """Random bytes in runs of up to 200, so that some fill whole words."""
    chance = random.Random(seed)
    return [
        "".join(chance.choice(symbols) * chance.choice((1, 1, 2, 3, 63, 64, 65, 200)) for _ in range(12)).encode()
        for _ in range(count)
    ]


RUNS_AT_EDGES = [b"a" * start + b"\\" * run + b'"' + b"a" * 70 for start in range(55, 68) for run in (1, 2, 3, 64, 65)]


@pytest.mark.parametrize("data", [*texts('\\\\"a', 1), *RUNS_AT_EDGES])
def test_what_is_escaped_is_told_by_the_whole_run_before_it(data: bytes) -> None:
    quotes, backslashes = masks_of(as_units(data, 1, False), (ord('"'), ord("\\")))
    expected, run = [], 0
    for at, symbol in enumerate(data):
        if symbol == ord('"') and run % 2 == 0:
            expected.append(at)
        run = run + 1 if symbol == ord("\\") else 0
    assert positions(unescaped(quotes, backslashes)).tolist() == expected


@pytest.mark.parametrize("size", SIZES)
def test_positions_are_those_of_the_bits_however_many_there_are(size: int) -> None:
    for share in (0, 3, 60, 100):
        data = bytes(1 if (at * 7) % 100 < share else 0 for at in range(size))
        (bits,) = masks_of(as_units(data, 1, False), (1,))
        assert positions(bits).tolist() == [at for at in range(size) if data[at]]
        asked = np.arange(size)
        assert last_before(bits, asked).tolist() == [data.rfind(1, 0, at) for at in range(size)]


@pytest.mark.parametrize("data", texts('{}[]"x ', 2))
@pytest.mark.parametrize("in_string", [False, True])
def test_depths_are_those_of_counting(data: bytes, in_string: bool) -> None:
    found = structure(as_units(data, 1, False)).assume(in_string=in_string)
    depth, quoted, depths, steps = 0, in_string, [], []
    for at, symbol in enumerate(data):
        depths.append(depth)
        quoted ^= symbol == ord('"')
        if not quoted and symbol in b"{}[]":
            after = depth + (1 if symbol in b"{[" else -1)
            steps.append((at, depth, after))
            depth = after
    assert (found.net, found.ends_in_string) == (depth, quoted)
    assert found.depths_before(np.arange(len(data))).tolist() == depths
    assert min(after for _, _, after in [(0, 0, 0), *steps]) <= found.lowest_level <= 0
    for level in {found.lowest_level, 0, 2}:
        edges = found.down_to(level)
        known = list(zip(edges.at.tolist(), edges.before.tolist(), edges.after.tolist(), strict=True))
        assert set(known) <= set(steps)
        assert [step for step in steps if min(step[1:]) <= level] == [step for step in known if min(step[1:]) <= level]


@pytest.mark.parametrize("space", [" ", "\n", "\t", "\r\n", " \t", "\x0b", " \x00"])
@pytest.mark.parametrize("before", ['"a":', '"a":[', '"a":[1,', '"a":1', '"a":"b,"', "{}", "x"])
@pytest.mark.parametrize("length", [0, 1, 40, 63, 64, 65, 300])
def test_a_brace_is_judged_by_what_is_before_any_white_space(space: str, before: str, length: int) -> None:
    for indent in (0, 50):
        text = "[" + " " * indent + "{" + before + space * length + "{}}, {}"
        for shape in (Shape.ARRAY, Shape.VALUES):
            laws.check_fast_path_law(JsonFormat(shape=shape), text.encode())
