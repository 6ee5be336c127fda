"""CSV files in which something looks like what it is not, each kind in any number of variants."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping

from tests.unit.formats.csv.sniffing.corpus import HEADINGS, CorpusFile

Rows = list[list[str]]
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
PLACES = ("Paris", "Rome", "Oslo", "Lima", "Quito", "New York", "Cairo", "Bonn", "Tallinn", "San José", "St. Ives")
LANDS = ("France", "Italy", "Norway", "Peru", "Ecuador", "Egypt", "Germany", "Estonia", "Costa Rica", "England")
PLAIN = ("alpha", "beta", "north", "south", "open", "closed", "blue", "green", "left", "right")
MARKS = (
    "# exported by a tool",
    "# unit: m, s, kg",
    "#;;;",
    '# by "me',
    '# a, "lone quote',
    "# 5\" pipes, 3' long",
    "#",
)


def odd_corpus(variants: int, seed: int) -> Iterator[CorpusFile]:
    """So many files of every kind; the same for the same seed. ``records`` is empty where none must be read."""
    for kind, make in KINDS.items():
        for number in range(variants):
            draw = random.Random(f"{kind} {seed} {number}")
            header, rows, text = make(draw)
            if make is not _long_value:  # which has line ends in values
                text = text.replace("\n", draw.choice(["\n", "\n", "\r\n", "\r"]))
            yield CorpusFile(kind, (b"\xef\xbb\xbf" if draw.random() < 0.1 else b"") + text.encode(), rows, header)


Made = tuple[list[str] | None, Rows, str]


def _text(rows: Rows, sep: str, end: str = "\n") -> str:
    return "".join(sep.join(map(_quoted(sep), row)) + end for row in rows)


def _quoted(sep: str) -> Callable[[str], str]:
    return lambda value: (
        '"' + value.replace('"', '""') + '"' if any(mark in value for mark in (sep, '"', "\n", "\r")) else value
    )


def _sep(draw: random.Random) -> str:
    return draw.choice([",", ";", "\t", "|"])


def _table(draw: random.Random, columns: int, rows: int) -> tuple[list[str], Rows]:
    """A header, and records of a number, words and a fraction."""
    names = draw.sample(HEADINGS, columns)
    makers = [lambda n: str(100 + n), *[lambda n: draw.choice(PLAIN)] * (columns - 2), lambda n: f"{n}.{n % 7}5"]
    return names, [[make(n) for make in makers] for n in range(rows)]


def _long_value(draw: random.Random) -> Made:
    """A quoted value that is longer than a sample, of prose with separators and line ends, anywhere in the file."""
    sep = _sep(draw)
    names, rows = _table(draw, draw.randint(3, 5), draw.choice([3, 30, 300, 6000]))
    line = f"word{sep} and so{sep} on" + draw.choice([" ", "\n", "\r\n", ' "said" '])
    place = draw.choice([0, 1, len(rows) // 2, len(rows) - 1])
    rows[place][1] = (line * (draw.choice([70, 150, 900]) * 1024 // len(line))).strip()
    if draw.random() < 0.5:
        for row in rows[: draw.randint(1, 20)]:
            row[1] = row[1] if len(row[1]) > 99 else f"two\n{row[1]}"
    header = names if draw.random() < 0.8 else None
    return header, rows, _text([*([names] if header else []), *rows], sep)


def _labels(draw: random.Random) -> Made:
    """Names of columns that are years, dates or numbers in order, above measures."""
    sep, count = _sep(draw), draw.randint(2, 12)
    first = draw.choice([1960, 1999, 2010])
    labels = draw.choice([
        [str(first + i) for i in range(count)],
        [str(first + 5 * i) for i in range(count)],
        [str(first + count - i) for i in range(count)],
        [f"2024-{i + 1:02d}-01" for i in range(count)],
        [f"{i + 1}/1/20" for i in range(count)],
        [str(400 + 10 * i) for i in range(count + 2)],
        [str(i) for i in range(count + 2)],
    ])  # fmt: skip
    texts = draw.choice([["Country Name", "Country Code"], ["region"], ["sample"], ["Series", "Unit", "Place"]])

    def measure() -> str:
        return draw.choice([f"{draw.randint(0, 900)}.{draw.randint(0, 99):02d}", f"{draw.random():.4f}", ""])

    rows = []
    for number in range(draw.choice([4, 12, 60, 200])):
        own = [f"{draw.choice(LANDS)} {number}", *(draw.choice(("ABW", "AGO", "ALB")) for _ in texts[1:])]
        rows.append([*own, *(measure() for _ in labels)])
        rows[-1][-1] = rows[-1][-1] or "1.5"
    return [*texts, *labels], rows, _text([[*texts, *labels], *rows], sep)


def _frame_of_pandas(draw: random.Random) -> Made:
    """A header of numbers from 0 on, with an empty name above the numbers of the rows."""
    count = draw.randint(3, 9)
    rows = [[str(n), *(f"{draw.random():.3f}" for _ in range(count))] for n in range(draw.randint(5, 80))]
    header = ["", *map(str, range(count))]
    return ["_c0", *header[1:]], rows, _text([header, *rows], ",")


def _dates_with_commas(draw: random.Random) -> Made:
    """Dates as people write them, in files of another separator of which some records lack the last fields."""
    sep = draw.choice([";", "\t", "|"])
    names, rows = _table(draw, draw.randint(3, 7), draw.choice([10, 40, 200]))
    short = draw.choice([0, 0.05, 0.1])
    for number, row in enumerate(rows):
        day = draw.randint(1, 28)
        month = draw.choice(MONTHS)
        row[0] = draw.choice([f"{month} {day}, 2023"] * 3 + [f"{month[:3]} {day}, 2023"]) if number else "May 1, 2023"
        row[-1] = f"{number},{draw.randint(10, 99)}" if draw.random() < 0.7 else row[-1]
    for row in draw.sample(rows, int(short * len(rows))):
        del row[-1]
    return names, rows, _text([names, *rows], sep)


def _one_column(draw: random.Random) -> Made:
    """One column of texts, or of numbers and dates, with commas in them."""
    make = draw.choice([
        lambda n: f"{draw.choice(PLACES)}, {draw.choice(LANDS)}",
        lambda n: f"{draw.choice(PLACES)}, {'North, ' * (n % 5 == 0)}{draw.choice(LANDS)}",
        lambda n: f"{draw.choice(MONTHS)} {draw.randint(1, 28)}, 20{n % 90 + 10}",
        lambda n: f"{n},{draw.randint(10, 99)}",
        lambda n: f"{n + 1},{draw.randint(100, 999)}",
        lambda n: f"Smith, {draw.choice(PLAIN)} {n}",
    ])  # fmt: skip
    name = draw.choice(["city", "Place of birth", "value", "name"])
    rows = [[make(n)] for n in range(draw.choice([5, 30, 200]))]
    return [name], rows, "\n".join([name, *(row[0] for row in rows), ""])


def _comments_above(draw: random.Random) -> Made:
    """Comments with separators or a lone quote in them, above the header and among the records."""
    sep = _sep(draw)
    names, rows = _table(draw, draw.randint(2, 6), draw.choice([5, 40, 300]))
    lines = [draw.choice(MARKS) for _ in range(draw.randint(1, 5))]
    if draw.random() < 0.4:
        lines.append("# " + sep.join(f"note {i}" for i in range(len(names))))  # as many fields as the table
    header = names if draw.random() < 0.85 else None
    body = _text([names] if header else [], sep) + _text(rows[:3], sep)
    if draw.random() < 0.3:
        body += "# in the middle\n"
    if header is None and len(lines[-1].split(sep)) == len(names):
        lines.append("# the end")
    return header, rows, "\n".join(lines) + "\n" + body + _text(rows[3:], sep)


def _marked_header(draw: random.Random) -> Made:
    """A header that begins with a mark, below comments or none."""
    sep = draw.choice([",", "\t", ";"])
    names, rows = _table(draw, draw.randint(2, 6), draw.choice([5, 40, 300]))
    names[0] = "#" + names[0]
    lines = [draw.choice(MARKS[:2]) for _ in range(draw.choice([0, 0, 1, 3]))]
    return names, rows, "".join(line + "\n" for line in lines) + _text([names, *rows], sep)


def _narrow_header(draw: random.Random) -> Made:
    """A header with fewer names than every record, or with more: no name can be given to a field."""
    sep = _sep(draw)
    names, rows = _table(draw, draw.randint(3, 8), draw.choice([8, 40, 300]))
    names = draw.choice([names[1:], names[:-1], [*names, "extra"], names[:2], names[len(names) // 2 :]])
    if len(names) in (1, len(rows[0])):
        names = [f"n{i}" for i in range(len(rows[0]) - 1)]
    return None, [], _text([names, *rows], sep)


def _trailing_separator(draw: random.Random) -> Made:
    """Every record ends with a separator, the header does not."""
    sep = _sep(draw)
    names, rows = _table(draw, draw.randint(2, 8), draw.choice([8, 40, 300]))
    return None, [], _text([names], sep) + _text(rows, sep, f"{sep}\n")


def _header_of_another_separator(draw: random.Random) -> Made:
    """A line above the records that names their columns, written with another separator."""
    sep, other = draw.sample([",", ";", "\t"], 2)
    names, rows = _table(draw, draw.randint(2, 6), draw.choice([5, 40]))
    return None, [], _text([[name.split(" ")[0] for name in names]], other) + _text(rows, sep)


KINDS: Mapping[str, Callable[[random.Random], Made]] = {
    "a value longer than a sample": _long_value,
    "years, dates and numbers as names": _labels,
    "numbers from 0 on as names": _frame_of_pandas,
    "dates with commas, ragged": _dates_with_commas,
    "one column with commas": _one_column,
    "comments with separators and quotes": _comments_above,
    "a header that begins with a mark": _marked_header,
    "a header too narrow or too wide": _narrow_header,
    "a separator at the ends of records only": _trailing_separator,
    "a header with another separator": _header_of_another_separator,
}
REFUSED = tuple(KINDS)[-3:]
"""Kinds that must be refused."""
