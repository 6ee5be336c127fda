"""What the native framing of XML must give, by the reference, which takes one symbol at a time."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import splitscan_kernel

from splitscan.formats.framing.encodings import Encoding, resolve_encoding
from splitscan.formats.framing.frames import Frames, NativeFraming, Run
from splitscan.formats.xml.reference import (
    SPACE,
    Symbols,
    XmlPlace,
    XmlReferenceFramer,
    XmlReferenceFraming,
    symbols_of,
)

MARKS = ("<r>", "</r>", "</r ", "<r a='1'", "/>", ">", "<r/>", "<!--", "-->", "--", "<![CDATA[", "]]>", "<?", "?>")
LETTERS = ("<", "'", '"', "<a ", "<!", "<!D", "[", "r", "x", " ", "\n", "\u2603", "</", "<rr>", "</rr>", "<r\t", "<é>")
TAGS = ("r", "r", "r", "x:r", "é", "row_tag")
ENCODINGS = ("UTF-8", "UTF-8", "UTF-16LE", "UTF-16BE", "UTF-32BE", "windows-1252")


def random_symbols(draw: random.Random) -> Symbols:
    """A row tag in an encoding."""
    return symbols_of(draw.choice(TAGS), resolve_encoding(draw.choice(ENCODINGS)))


def random_bytes(draw: random.Random, symbols: Symbols) -> bytes:
    """Marks of all kinds, whole and broken."""
    words = draw.choices(MARKS + LETTERS if draw.random() < 0.8 else MARKS[:3], k=draw.randrange(30))
    text = "".join(words).replace("r", symbols.row_tag) if symbols.row_tag != "r" else "".join(words)
    data = text.encode(symbols.encoding.codec, "ignore")
    return data[: len(data) - draw.choice([0, 0, 0, 1, 2])]


def native_of(symbols: Symbols) -> NativeFraming:
    """The kernel's framing."""
    encoding: Encoding = symbols.encoding
    return NativeFraming(splitscan_kernel.Xml(symbols.written_tag, encoding.unit_bytes, encoding.big_endian))


def same_frames(one: Frames, other: Frames) -> None:
    """Both found the same records, and the same tail."""
    found = [(each.starts.tolist(), each.stops.tolist(), each.next_start) for each in (one, other)]
    assert found[0] == found[1], found


def check_frames(symbols: Symbols, data: bytes) -> tuple[int, bool]:
    """All records, at the end of a file and before it; how many, and whether something is open."""
    native, expected = native_of(symbols), XmlReferenceFraming(symbols)
    for at_end in (True, False):
        frames = native.frame(data, at_end=at_end)
        same_frames(frames, expected.frame(data, at_end=at_end))
        assert native.gap_bytes(data, at_end=at_end) == expected.gap_bytes(data, at_end=at_end)
    assert native.count(data) == expected.count(data) == (len(frames), frames.next_start)
    reference = XmlReferenceFramer(symbols)
    for byte in data:
        reference.push(byte)
    reference.finish()
    frames = native.frame(data, at_end=True)
    assert reference.records == list(zip(frames.starts.tolist(), frames.stops.tolist(), strict=True))
    assert frames.next_start == (len(data) if reference.unfinished is None else reference.unfinished)
    return len(frames), reference.unfinished is not None


def check_open(draw: random.Random, symbols: Symbols, data: bytes) -> int:
    """Which elements do not end or are too long; complete records are between them."""
    native, longest = native_of(symbols), draw.choice([0, 9, 30, 1 << 30])
    begin = native.frame(data, at_end=False).next_start if longest > 100 else 0
    rest = data[begin:]
    starts, expected = native.open_starts(rest, longest), XmlReferenceFraming(symbols).open_starts(rest, longest)
    if starts is None or expected is None:
        assert starts is expected is None
        return 0
    assert starts.tolist() == expected.tolist()
    for one in starts.tolist():
        frames = native.frame(rest[one:], at_end=True)
        assert not len(frames) or frames.stops[0] > longest
    return len(starts)


def check_passing(draw: random.Random, symbols: Symbols, data: bytes) -> bool:
    """What a record or a mark that is given up ends at, whole and in pieces of any length; whether it ends."""
    width = symbols.encoding.unit_bytes
    native, expected = native_of(symbols), XmlReferenceFraming(symbols)
    rest = data[native.frame(data, at_end=True).next_start :] if draw.random() < 0.5 else data
    resume = expected.pass_over(rest, None).resume
    assert native.pass_over(rest, None).resume == resume, (rest, resume)
    step = draw.choice([1, 2, 3, 10])
    for framing in (native, expected):
        start, past = 0, None
        for stop in range(step, len(rest) + step, step):
            passed = framing.pass_over(rest[start:stop], past)
            start, past = start + passed.dropped_bytes, passed.past
            assert passed.resume in {None, passed.dropped_bytes}
            assert passed.is_open is (passed.resume is None)
            assert not start % width
            if passed.resume is not None:
                assert start == resume, (rest, step, start, resume)
                break
        else:
            assert resume is None, (rest, step, resume)
    return resume is not None


LEADING_IN = {
    (XmlPlace.TEXT, ""): "",
    (XmlPlace.COMMENT, ""): "<!-- ",
    (XmlPlace.CDATA, ""): "<![CDATA[ ",
    (XmlPlace.INSTRUCTION, ""): "<? ",
    (XmlPlace.CLOSING, ""): "</{} ",
    **{
        (place, quote): mark + quote
        for place, mark in ((XmlPlace.ROW, "<{} "), (XmlPlace.TAG, "<a "), (XmlPlace.DECLARATION, "<!d "))
        for quote in ("", '"', "'")
    },
}
"""What a place begins with, in the order of the numbers of places."""
DEEPEST = 2


def run_of(symbols: Symbols, place: tuple[XmlPlace, str], depth: int, data: bytes, mark: int) -> Run | None:
    """What a piece does to the reference that has come to a place, with so many row tags open."""
    row = place[0] is XmlPlace.ROW
    if not depth and (row or place[0] is XmlPlace.CLOSING):
        return None
    lead = "<{}>" * (depth - row) + LEADING_IN[place]
    before = symbols.encoding.encode(lead.format(*[symbols.row_tag] * lead.count("{}")))
    machine = XmlReferenceFramer(symbols)
    for symbol in symbols.each(before + data):
        machine.take(symbol)
    state = state_of(machine, symbols.of(before + data))
    if state >= 0 and machine.place is XmlPlace.CLOSING and not machine.depth:
        return None  # a record begins with this tag if nothing but white space follows in it
    starts = [start - len(before) for start in in_bytes(machine.starts, symbols) if start >= len(before)]
    marked = next((start for start in starts if start >= mark), None)
    is_gap = not depth and not machine.depth and not starts and state >= 0
    return Run(state, min(starts, default=None), max(starts, default=None), marked, len(starts), is_gap)


def in_bytes(positions: list[int], symbols: Symbols) -> list[int]:
    """Positions of symbols, as those of bytes."""
    return [position * symbols.encoding.unit_bytes for position in positions]


def state_of(machine: XmlReferenceFramer, seen: bytes) -> int:
    """The number of the place and depth; -1 where only what follows tells, or no summary has an answer."""
    place, depth = machine.place, machine.depth
    is_open = machine.is_in_mark and not machine.quote
    if is_open or depth > DEEPEST or (place is XmlPlace.CLOSING and seen[-1] not in SPACE):
        return -1
    quote = chr(machine.quote) if machine.quote else ""
    return list(LEADING_IN).index((place, quote)) + len(LEADING_IN) * depth


def check_summaries(draw: random.Random, symbols: Symbols, data: bytes) -> int:
    """From every state, with any mark; how many of them are known."""
    width = symbols.encoding.unit_bytes
    cut = draw.randint(0, len(data) // width) * width
    piece = data[cut:]
    mark = draw.randint(-1, len(piece) + 1)
    runs = native_of(symbols).summarise(piece, b"", b"", mark).runs
    states = [(place, depth) for depth in range(DEEPEST + 1) for place in LEADING_IN]
    expected = [run_of(symbols, place, depth, piece, mark) for place, depth in states]
    for state, run, wanted in zip(states, runs, expected, strict=True):
        assert run == wanted, (cut, mark, state, run, wanted)
    return sum(run is not None for run in runs)


def check_case(seed: int) -> Counter[str]:
    """One case of everything; how often which situation was met."""
    draw = random.Random(seed)
    symbols = random_symbols(draw)
    data = random_bytes(draw, symbols)
    situation: Any = (symbols.row_tag, symbols.encoding.name, data)
    try:
        records, is_open = check_frames(symbols, data)
        nested = check_open(draw, symbols, data)
        told = check_summaries(draw, symbols, data)
        passed = check_passing(draw, symbols, data)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{situation}") from error
    is_wide = symbols.encoding.unit_bytes > 1
    return Counter(records=records, unfinished=is_open, nested=nested > 1, told=told, passed=passed, wide=is_wide)
