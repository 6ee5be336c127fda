"""Random files of columns at fixed places."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
from tests.kernel import value_cases

from splitscan.formats.fixed.format import Field
from splitscan.formats.framing.encodings import resolve_encoding

_ENCODINGS = ["UTF-8", "UTF-8", "UTF-8", "ISO-8859-1", "windows-1252", "UTF-16LE", "UTF-32BE", "GBK", "US-ASCII"]
_EXTRA = ["", "", "", " ", "\t", "é", "☃", "\u00a0", "\x85", "𝄞", "\x00", "NULL", "-"]
_LINE_SEPS = [None, None, None, "\n", "|", "@#", "\r\n"]
NOTHING_LEFT = 1 << 40


class Columns:
    """A layout, and how its columns are written."""

    def __init__(self, draw: random.Random) -> None:
        count = draw.randint(0, 5)
        self.cases = [value_cases.random_case(draw) for _ in range(count)]
        self.layout, place = [], draw.choice([1, 1, 1, 3])
        for number in range(max(count, 1)):
            length = draw.choice([1, 3, 8, 10, 26])
            self.layout.append(Field(f"c{number}", place, length))
            place = max(1, place + length + draw.choice([0, 0, 1, -2, -length]))
        draw.shuffle(self.layout)
        kept = [case for case in self.cases if not (pa.types.is_nested(case.kind) or pa.types.is_null(case.kind))]
        self.fields = tuple(pa.field(each.name, case.kind) for each, case in zip(self.layout, kept, strict=False))
        self.cases = kept[: len(self.fields)]

    def line(self, draw: random.Random) -> str:
        """A record of characters."""
        symbols = [" "] * max(each.stop for each in self.layout)
        for each, case in zip(self.layout, self.cases, strict=False):
            (text,) = value_cases.random_texts(draw, case, 1)
            text = (text or draw.choice(_EXTRA)).replace("\n", " ").replace("\r", " ")
            text = draw.choice([text.ljust(each.length), text.rjust(each.length), text])[: each.length]
            symbols[each.start - 1 : each.start - 1 + len(text)] = text
        line = "".join(symbols)
        if draw.random() < 0.1:
            line = value_cases.mutated(draw, line)
        return line[: draw.randint(0, len(line))] if draw.random() < 0.15 else line


def random_case(draw: random.Random) -> tuple[Columns, dict[str, Any], bytes]:
    """Columns, the options that say where they are, and a file of them."""
    columns, encoding = Columns(draw), resolve_encoding(draw.choice(_ENCODINGS))
    options: dict[str, Any] = {
        "layout": ", ".join(f"{each.name} {each.start} {each.length}" for each in columns.layout),
        "nullValue": draw.choice(["", "", "NULL", "-", " -", "é"]),
        "ignoreLeadingWhiteSpace": draw.random() < 0.7,
        "ignoreTrailingWhiteSpace": draw.random() < 0.7,
        "encoding": encoding.name,
    }
    lines = [columns.line(draw) for _ in range(draw.choice([0, 1, 2, 5, 12, 50]))]
    if draw.random() < 0.4:
        length = max(each.stop for each in columns.layout) + draw.choice([0, 0, 1, 3])
        data = b"".join(line.encode(encoding.codec, "replace")[:length].ljust(length) for line in lines)
        return columns, {**options, "recordLength": length}, damaged(draw, data)
    line_sep = draw.choice(_LINE_SEPS)
    if encoding.longest_bytes > 1 and line_sep not in {None, "\n", "\r\n"}:
        line_sep = None
    text = "".join(line + (line_sep or draw.choice(["\n", "\n", "\r\n", "\r"])) for line in lines)
    data = damaged(draw, text.encode(encoding.codec, "replace"))
    return columns, {**options, "lineSep": line_sep}, data


def damaged(draw: random.Random, data: bytes) -> bytes:
    """The same, or with other bytes in it, or without its end."""
    if data and draw.random() < 0.25:
        for _ in range(draw.randint(1, 4)):
            at = draw.randint(0, len(data) - 1)
            data = data[:at] + bytes([draw.choice([0, 10, 13, 32, 0x80, 0xC3, 0xE2, 0xFF])]) + data[at + 1 :]
    return data[: draw.randint(0, len(data))] if draw.random() < 0.3 else data
