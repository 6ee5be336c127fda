"""What the native inference of XML must give: the union of the parts of every record, by the reference engine."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
from tests.kernel.json_inferring import check_members
from tests.kernel.xml_cases import MARKUP, ODD_TAGS, TEXTS, mutated, random_decoder, random_records

from splitscan.formats.framing.encodings import UTF_8
from splitscan.formats.framing.frames import Frames
from splitscan.formats.xml.decoder import XmlDecoder
from splitscan.formats.xml.format import XmlMembers
from splitscan.formats.xml.reference import XmlReferenceFramer, symbols_of

_NAMES = ["a", "a", "b", "x:a", "_n", "_VALUE", "é"]
_ATTRIBUTES = ["n", "n", "x:n", "VALUE", "é"]
_NUMBERS = ["007", "+5", "9223372036854775808", "9" * 38, "9" * 39, "0.1", ".5", "5.", "1e400", "+", "1d", "2020-1-2"]


def _element(draw: random.Random, name: str, levels: int = 0) -> str:
    names = {draw.choice(_ATTRIBUTES) for _ in range(draw.choice([0, 0, 1, 2]))}
    attributes = "".join(f" {each}='{_text(draw)}'" for each in names)
    inside = [_text(draw) if draw.random() < 0.5 else "" for _ in range(draw.choice([1, 1, 2]))]
    if levels < 3:
        inside += [_element(draw, draw.choice(_NAMES), levels + 1) for _ in range(draw.choice([0, 1, 2, 4]))]
    if draw.random() < 0.05:
        depth = draw.randrange(45, 60)  # on both sides of the bound
        inside.append("<a>" * depth + "1" + "</a>" * depth)
    if draw.random() < 0.1:
        inside.append(draw.choice([*MARKUP, *ODD_TAGS]))
    draw.shuffle(inside)
    return f"<{name}{attributes}>{''.join(inside)}</{name}>"


def _text(draw: random.Random) -> str:
    return draw.choice([*TEXTS, *_NUMBERS]).replace("'", "")


def frames_of(decoder: XmlDecoder, data: bytes) -> Frames:
    """All records by the reference framer."""
    framer = XmlReferenceFramer(symbols_of(decoder.own.row_tag, UTF_8))
    for byte in data:
        framer.push(byte)
    framer.finish()
    starts, stops = (np.array([record[i] for record in framer.records], dtype=np.int64) for i in (0, 1))
    return Frames(starts, stops, len(data) if framer.unfinished is None else framer.unfinished)


def check_case(seed: int) -> Counter[str]:
    """One case of XML."""
    draw = random.Random(seed)
    decoder = random_decoder(draw)
    flags = ("prefers_decimal", "prefer_date", "exclude_attribute", "ignore_namespace")
    own = replace(decoder.own, **{name: draw.random() < 0.5 for name in flags if draw.random() < 0.5})
    if draw.random() < 0.3:
        data = random_records(draw, decoder)
    else:
        text = "".join(_element(draw, own.row_tag) for _ in range(draw.randrange(8)))
        data = mutated(draw, text.encode()) if draw.random() < 0.1 else text.encode()
    return check_members(draw, XmlMembers(own, decoder.rules), data, frames_of(decoder, data))
