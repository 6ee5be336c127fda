"""CSV files as people have them, generated over the space of dialects, with what must be read from them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

WORDS = (
    "alpha", "Berlin", "sold out", "north", "Müller", "O'Neil", "blue", "pending", "Acme Ltd.", "São Paulo", "n-1", "x",
    "open", "closed", "New York", "warranty", "spare part", "left", "right", "Zürich",
)  # fmt: skip
HEADINGS = (
    "id", "name", "city", "amount", "created_at", "note", "status", "Unit Price", "qty", "comment", "country", "email",
)  # fmt: skip


@dataclass(frozen=True)
class CorpusFile:
    """One file.

    Attributes:
        kind: What is special about it.
        data: Its bytes.
        records: What is read from it, the header not among them.
        header: The names, if it has any.
    """

    kind: str
    data: bytes
    records: list[list[str]]
    header: list[str] | None


@dataclass(frozen=True)
class _Style:
    sep: str = ","
    quote: str = '"'
    escape: str = '"'
    line_end: str = "\n"
    quotes_all: bool = False
    after_sep: str = ""

    def field(self, value: str) -> str:
        special = any(mark in value for mark in (self.sep, self.quote, "\n", "\r")) or value != value.strip()
        if not (special or self.quotes_all):
            return value
        return self.quote + value.replace(self.quote, self.escape + self.quote) + self.quote

    def line(self, values: list[str]) -> str:
        return f"{self.sep}{self.after_sep}".join(map(self.field, values)) + self.line_end


def corpus(files: int, seed: int) -> Iterator[CorpusFile]:
    """So many files; the same for the same seed."""
    for number in range(files):
        draw = random.Random(seed * 1_000_003 + number)
        yield _file(draw)


def _file(draw: random.Random) -> CorpusFile:
    sep = draw.choices([",", ";", "\t", "|", "~", "\x01"], [54, 19, 14, 9, 2, 2])[0]
    quote = "'" if draw.random() < 0.04 else '"'
    style = _Style(
        sep,
        quote,
        "\\" if draw.random() < 0.08 else quote,
        draw.choices(["\n", "\r\n", "\r"], [60, 37, 3])[0],
        draw.random() < 0.15,
    )
    if style.sep != "\t" and draw.random() < 0.04:
        style = replace(style, after_sep=" ", quotes_all=True)
    columns = _columns(draw, decimal_comma=sep == ";" and draw.random() < 0.6)
    rows = draw.choices([draw.randint(3, 30), draw.randint(30, 400), draw.randint(400, 2500)], [4, 5, 1])[0]
    records = [[make(draw, number) for make in columns] for number in range(rows)]
    header = draw.sample(HEADINGS, len(columns)) if draw.random() < 0.88 else None
    kind, before, after = _special(draw, style, records, header)
    text = before + (style.line(header) if header else "") + "".join(map(style.line, records)) + after
    if draw.random() < 0.2:
        text = text.removesuffix(style.line_end)
    return CorpusFile(kind, _encoded(draw, text), records, header)


def _columns(draw: random.Random, *, decimal_comma: bool) -> list[Callable[[random.Random, int], str]]:
    point = "," if decimal_comma else "."
    makers: list[Callable[[random.Random, int], str]] = [
        lambda draw, number: str(1000 + number),
        lambda draw, number: draw.choice(WORDS),
        lambda draw, number: f"{draw.randint(0, 9999)}{point}{draw.randint(0, 99):02d}",
        lambda draw, number: f"20{draw.randint(10, 26)}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}",
        lambda draw, number: f"2026-11-{draw.randint(1, 28):02d} {draw.randint(0, 23):02d}:15:0{draw.randint(0, 9)}",
        lambda draw, number: draw.choice(["true", "false"]),
        lambda draw, number: "" if draw.random() < 0.4 else draw.choice(WORDS),
        lambda draw, number: f"user{number}@example.org",
        _note,
        _note,
        _note,
    ]
    chosen = draw.sample(range(len(makers)), draw.randint(2, 8))
    return [makers[i] for i in chosen]


def _note(draw: random.Random, number: int) -> str:
    words = [draw.choice(WORDS) for _ in range(draw.randint(1, 6))]
    text = " ".join(words)
    if draw.random() < 0.25:
        text = text.replace(" ", ", ", 1)
    if draw.random() < 0.2:
        text = text.replace(words[0], f'"{words[0]}"', 1)
    if draw.random() < 0.15:
        text = text.replace(" ", "\n", 1)
    return text.strip() or "x"


def _special(
    draw: random.Random, style: _Style, records: list[list[str]], header: list[str] | None
) -> tuple[str, str, str]:
    """What is odd about a file: its kind, what comes before the table, and what after it. May change records."""
    chance = draw.random()
    if chance < 0.08:
        return *_preamble(draw, style, len(header or "")), ""
    if chance < 0.10:
        return "comments", "# exported by a tool" + style.line_end, ""
    if chance < 0.12 and len(records) > 20:
        for _ in range(max(1, len(records) // 100)):
            records[draw.randrange(len(records))].append("extra")
        return "ragged", "", ""
    if chance < 0.14:
        return "blank lines", "", style.line_end * draw.randint(1, 3)
    if chance < 0.16 and style.sep != "\t":
        return "excel", f"sep={style.sep}{style.line_end}", ""
    return ("blanks before quotes" if style.after_sep else "plain"), "", ""


def _preamble(draw: random.Random, style: _Style, names: int) -> tuple[str, str]:
    """Lines before a table; those of some programs have as many separators as the table."""
    if names > 3 and draw.random() < 0.5:
        lines = [f"Account{style.sep}12345{style.sep * (names - 2)}", style.sep * (names - 1)][: draw.choice([1, 2])]
        return "padded preamble", "".join(line + style.line_end for line in lines)
    lines = ["Report of sales", "Created 2026-11-23", ""][: draw.choice([1, 2, 3])]
    return "preamble", "".join(line + style.line_end for line in lines)


def _encoded(draw: random.Random, text: str) -> bytes:
    chance = draw.random()
    if chance < 0.10:
        return b"\xef\xbb\xbf" + text.encode()
    if chance < 0.13:
        return text.encode("utf-16")
    if chance < 0.15:
        return text.encode("cp1252")
    return text.encode()
