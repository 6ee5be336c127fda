"""Random dialects and bytes for the tests of the native engine: special characters meet often in them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import splitscan_kernel

from splitscan.formats.csv.grammar import CsvGrammar, native_settings
from splitscan.formats.csv.options import BLANK_RUNS, BLANKS
from splitscan.formats.framing.encodings import Encoding, resolve_encoding

SEPARATORS = (",", ",", ",", ",", ";", "\t", " ", "||", "~|", "aba", "§", "::", "\x00", BLANK_RUNS, BLANK_RUNS)
LINE_SEPARATORS = (None, None, None, None, "\n", "\n", "\r\n", "\r", "|", "@#", "@@", "a@a", "@#*")
OVERLAPPING = (("aba", "a@a"), ("~|", "|-"), ("ab@", "b@#"), ("::", ":-"))  # the end of one may begin the other
ENCODINGS = ("UTF-8", "UTF-8", "UTF-8", "UTF-8", "ISO-8859-1", "UTF-16LE", "UTF-16BE", "UTF-32BE")
QUOTING = (('"', '"'), ('"', '"'), ('"', "\\"), ('"', "\\"), ('"', None), ("'", "'"), ("'", "/"), (None, "\\"))
LONG_QUOTING = (("«", "«"), ("«", "¬"), ("†", "†"), ("†", "\\"), ('"', "¬"), ("«", None), ("†", "§"), (None, "«"))
OTHERS = "é©„†«¡"  # some begin as marks do
TORN = (b"\xff", b"\xe2\x82", b"\xe2\x80", b"\xc2", b"\xab", b"\0")  # of characters in UTF-8, and what is none


def random_dialect(random: random.Random, encodings: Sequence[str] = ENCODINGS) -> CsvGrammar:
    """A dialect that the options allow and the native engine supports."""
    while True:
        sep, line_sep = random.choice(SEPARATORS), random.choice(LINE_SEPARATORS)
        if random.random() < 0.1:
            sep, line_sep = random.choice(OVERLAPPING)
        encoding = resolve_encoding(random.choice(encodings))
        comment = random.choice([None, None, None, None, "#", "#", "¡"])
        quote, escape = random.choice(QUOTING if random.random() < 0.7 else LONG_QUOTING)
        marks = BLANKS if sep == BLANK_RUNS else (sep,)
        if line_sep is not None and any(mark in line_sep or line_sep in mark for mark in marks):
            continue
        if comment is not None and comment in sep + (line_sep or ""):
            continue
        special = random.choice([None, None, "^", "", "¿"]) if escape not in {None, quote} else None
        written = (sep, quote, escape, special, comment)
        if escape == sep or not _written_in(encoding, "".join(mark for mark in written if mark)):
            continue
        return CsvGrammar(
            encoding, sep, quote, escape, comment, line_sep,
            multi_line=random.random() < 0.6, trim_leading=random.random() < 0.3 and sep != BLANK_RUNS,
            escape_escape=None if quote is None else special, skips_values=random.random() < 0.1,
        )  # fmt: skip


def _written_in(encoding: Encoding, text: str) -> bool:
    """Whether an encoding has all characters of a text."""
    return text.encode(encoding.codec, "ignore").decode(encoding.codec) == text


def native(dialect: CsvGrammar) -> splitscan_kernel.Csv:
    """The same dialect for the native engine."""
    return splitscan_kernel.Csv(**native_settings(dialect))


def written_sep(random: random.Random, dialect: CsvGrammar) -> str:
    """A separator of the dialect as a file has it."""
    return random.choice([" ", "   ", "\t", " \t"]) if dialect.runs else dialect.sep


def random_data(random: random.Random, dialect: CsvGrammar, most_fields: int = 12) -> bytes:
    """Bytes that are more or less CSV; some are no text in the encoding."""
    special = _special(dialect)
    style = random.random()
    parts = []
    for _ in range(random.randint(0, most_fields)):
        parts.append(_field(random, dialect, special, style))
        parts.append(random.choice(_ends(dialect)))
    data = dialect.encoding.encode("".join(parts))
    if random.random() < 0.15 and data:  # any byte anywhere, and units that are cut off
        at = random.randrange(len(data))
        data = data[:at] + random.choice([*TORN, b"\x80\r", b"\xf0\x9f\x98"]) + data[at:]
    return data[: random.randint(0, len(data))] if random.random() < 0.2 else data


def orderly_data(random: random.Random, dialect: CsvGrammar) -> bytes:
    """Lines as a careful writer writes them, long enough to be passed many bytes at a time, with a few odd things."""
    quote, sep, end = (
        dialect.quote or '"',
        written_sep(random, dialect),
        dialect.line_sep or random.choice(["\n", "\r\n"]),
    )
    values = [
        "ab", "1234567890" * random.randint(1, 9), "", f"{quote}a{sep}b{quote}", f"{quote}x\ny{quote}", quote * 2,
        f"{quote}he said {quote * 2}hi{quote * 3}", quote + "z" * random.randint(0, 200) + quote,
    ]  # fmt: skip
    lines = [sep.join(random.choices(values, k=random.randint(1, 5))) + end for _ in range(random.randint(1, 25))]
    text = "".join(lines)
    for _ in range(random.randint(0, 3)):
        at = random.randrange(len(text) + 1)
        text = (
            text[:at]
            + random.choice([quote, quote * 2, "\r", "\n", dialect.comment or "#", "\\", f"a{quote}", sep])
            + text[at:]
        )
    return dialect.encoding.encode(text)


def mixed_data(random: random.Random, dialect: CsvGrammar) -> bytes:
    """Lines in good order with values of all types, and among them lines that are in none; some cross each border."""
    end = dialect.line_sep or random.choice(["\n", "\n", "\r\n"])
    special, share = _special(dialect), random.choice([0, 0, 0.03, 0.2, 0.5])
    most, count = random.randint(1, 4), random.choice([3, 12, 12, 40])
    parts = []
    for _ in range(random.randint(1, count)):
        if random.random() < share:
            parts.append(_field(random, dialect, special, random.random()))
            parts.append(random.choice([*_ends(dialect), end]))
            continue
        fields = most if random.random() < 0.95 else random.randint(1, 5)
        parts.append(written_sep(random, dialect).join(_value(random, dialect, end) for _ in range(fields)) + end)
        if random.random() < 0.03:
            sign = dialect.comment or "#"
            parts.append(random.choice([end, sign, f"{sign} a{end}"]))
    data = dialect.encoding.encode("".join(parts))
    if random.random() < 0.001:
        data *= 1 + (70_000 // max(1, len(data)))  # more than columns are filled with at a time
    if random.random() < 0.1:
        at = random.randrange(len(data) + 1)
        data = data[:at] + random.choice([*TORN, b"\r", b'"']) + data[at:]
    return data[: random.randint(0, len(data))] if random.random() < 0.2 else data


def _value(random: random.Random, dialect: CsvGrammar, end: str) -> str:
    """A value of some type as a careful writer writes it."""
    digits = str(random.getrandbits(random.choice([3, 12, 30, 53, 64])))
    value = random.choice([
        digits, "-" + digits, digits[:2] + "." + digits[2:], f"-0.{digits}", "2024-02-29", "1999-12-31 23:59:59",
        f"2024-01-31T10:30:00.{digits[:6]}", "", "", "true", "é" * random.randint(1, 3), "a" * random.randint(1, 90),
        "NaN", "1e5", " 1", "0" * random.randint(1, 20), "2024-13-01", "2023-02-30 10:00:00",
        "1970-01-01 1:0 Asia/Oral",
    ])  # fmt: skip
    if random.random() < 0.6:
        return value.replace(dialect.sep, "").replace(end, "")
    inside = ["", "", "", written_sep(random, dialect), end if dialect.multi_line else "", dialect.quote or ""]
    return quoted(value + random.choice(inside) + random.choice(["", "", "z", dialect.quote or ""]), dialect)


def _special(dialect: CsvGrammar) -> list[str]:
    quote, escape, line_sep = dialect.quote or '"', dialect.escape or "\\", dialect.line_sep or "\n"
    return [
        quote,
        quote,
        quote,
        escape,
        dialect.escape_escape or "a",
        dialect.sep,
        *dialect.sep_marks,
        line_sep,
        *line_sep,
        "\n",
        "\r",
        dialect.comment or "#",
        " ",
        "a",
        *(other for other in OTHERS if _written_in(dialect.encoding, other)),
    ]


def _ends(dialect: CsvGrammar) -> list[str]:
    line_sep = dialect.line_sep or "\n"
    if (dialect.sep, line_sep) in OVERLAPPING:
        return [dialect.sep] * 2 + [line_sep] * 2 + [dialect.sep + line_sep[1:], dialect.sep + line_sep[2:]]
    seps = [" ", "  ", "\t", " \t "] if dialect.runs else [dialect.sep] * 4
    return seps + [line_sep] * 3 + [line_sep * 2, "\r\n" if dialect.line_sep is None else "", "", "\r"]


def _field(random: random.Random, dialect: CsvGrammar, special: list[str], style: float) -> str:
    kind = random.random()
    if kind < 0.25:
        return random.choice(["", "a", "12", "-0.5", " a", "b ", " ", "\t", "x" * random.randint(0, 90), "é", "true"])
    raw = "".join(random.choices(special, k=random.randint(0, 6)))
    if style < 0.5:
        raw = raw.replace("\r", "").replace("\n", "")
    if kind < 0.75:
        blanks = random.choice(["", "", "", " ", "\t ", "\0"])
        return random.choice(["", "", "", " "]) + quoted(raw, dialect) + blanks
    return raw


def quoted(value: str, dialect: CsvGrammar) -> str:
    """A value as a quoted field; where quotes cannot be written, they are dropped."""
    quote, escape = dialect.quote, dialect.escape
    if quote is None:
        return value
    if escape is None:
        return quote + value.replace(quote, "") + quote
    if escape != quote:
        special = escape if dialect.escape_escape is None else dialect.escape_escape
        value = value.replace(escape, special + escape)
    return quote + value.replace(quote, escape + quote) + quote
