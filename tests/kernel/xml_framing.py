"""What the native framing of XML must give, by the byte-at-a-time reference and by the scanner in Python."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import splitscan_kernel

from splitscan.formats.framing.encodings import Encoding, resolve_encoding
from splitscan.formats.framing.frames import Frames, NativeFraming
from splitscan.formats.xml.framing import ScannedXml
from splitscan.formats.xml.grammar import Symbols, symbols_of
from splitscan.formats.xml.reference import XmlReferenceFramer

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
    native, scanned = native_of(symbols), ScannedXml(symbols)
    for at_end in (True, False):
        frames = native.frame(data, at_end=at_end)
        same_frames(frames, scanned.frame(data, at_end=at_end))
    assert native.count(data) == scanned.count(data) == (len(frames), frames.next_start)
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
    starts, scanned = native.open_starts(rest, longest), ScannedXml(symbols).open_starts(rest, longest)
    if starts is None or scanned is None:
        assert starts is scanned is None
        return 0
    assert starts.tolist() == scanned.tolist()
    for one in starts.tolist():
        frames = native.frame(rest[one:], at_end=True)
        assert not len(frames) or frames.stops[0] > longest
    return len(starts)


def check_summaries(draw: random.Random, symbols: Symbols, data: bytes) -> int:
    """From every state, with any mark; how many of them are known."""
    width = symbols.encoding.unit_bytes
    cut = draw.randint(0, len(data) // width) * width
    before, piece = data[:cut], data[cut:]
    mark = draw.randint(-1, len(piece) + 1)
    native = native_of(symbols).summarise(piece, before, b"", mark)
    scanned = ScannedXml(symbols).summarise(piece, before, b"", mark)
    assert native == scanned, (cut, mark, list(zip(native.runs, scanned.runs, strict=True)))
    return sum(run is not None for run in native.runs)


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
    except AssertionError as error:
        raise AssertionError(f"{error}\n{situation}") from error
    return Counter(
        records=records, unfinished=is_open, nested=nested > 1, told=told, wide=symbols.encoding.unit_bytes > 1
    )
