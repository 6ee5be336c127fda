"""Copybooks as trees of items: their columns, statements and clauses, in time linear in the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from splitscan.errors import UsageError
from splitscan.formats.cobol.nodes import Picture, parse_picture

MOST_ITEMS = 100_000
"""A copybook with more of them is refused."""

USAGES = {
    "DISPLAY": "display", "COMP": "binary", "COMP-0": "binary", "COMP-4": "binary", "COMP-5": "binary",
    "BINARY": "binary", "COMP-1": "float", "COMP-2": "double", "COMP-3": "packed", "PACKED-DECIMAL": "packed",
    "COMP-3U": "unsigned packed", "COMP-9": "little binary", "NATIONAL": "national",
}  # fmt: skip
"""How values are stored, by the words for it; ``COMPUTATIONAL`` is written for ``COMP`` as well."""

_WORD = re.compile(r""""(?:[^"]|"")*"?|'(?:[^']|'')*'?|[^\s"']+""")
_NAME = re.compile(r"[A-Za-z0-9_:#$@-]+")
_UNKNOWN_USAGES = {"COMP-6", "COMP-7", "COMP-8", "COMP-X", "COMP-N", "COMP-10", "INDEX", "POINTER", "DISPLAY-1"}
_REFUSED = {
    "SYNC": "SYNC inserts bytes that depend on the machine: write them as FILLER",
    "SYNCHRONIZED": "SYNC inserts bytes that depend on the machine: write them as FILLER",
    "COPY": "COPY names another file: put its text in this place",
    "RENAMES": "leave level 66 out: RENAMES adds no bytes",
    "REPLACE": "REPLACE is for compilers: put the replaced text in this place",
}
_PASSED = {"SKIP1", "SKIP2", "SKIP3", "EJECT"}


class Word(NamedTuple):
    """A word of a copybook, and where it is, counted from 1."""

    text: str
    line: int
    column: int

    @property
    def upper(self) -> str:
        """As keywords are written."""
        return self.text.upper()

    def refuse(self, rule: str, fix: str) -> NoReturn:
        """Say that it is wrong.

        Raises:
            UsageError: ``[bad-copybook]``.
        """
        raise UsageError(
            f"copybook, line {self.line}, column {self.column}: {rule}", seen=repr(self.text[:60]), fix=fix,
            code="bad-copybook",
        )  # fmt: skip


class Occurs(NamedTuple):
    """How often an item comes: as often as the value of *depending* says, where that is given."""

    least: int
    most: int
    depending: Word | None


@dataclass(slots=True)
class Item:
    """One item of a copybook.

    Attributes:
        word: Its name, as it is written, or what stands where that is left out.
        name: Its name; ``None`` for FILLER.
        usage: How it is stored; ``None`` where nothing says so.
        is_separate: Whether its sign has a byte of its own, in front or after the digits.
        redefines: The item whose bytes it has.
    """

    level: int
    word: Word
    name: str | None
    picture: Picture | None = None
    usage: str | None = None
    is_separate: bool = False
    occurs: Occurs | None = None
    redefines: Word | None = None
    children: list[Item] = field(default_factory=list)


def parse_copybook(text: str, first: int | None = 6, last: int = 72) -> list[Item]:
    r"""Parse a copybook.

    Args:
        text: The copybook.
        first: How many columns in front of each line are no text; ``None`` if all of a line is text.
        last: The last column that is.

    Returns:
        The items that are in no other.

    Raises:
        UsageError: ``[bad-copybook]``, with line and column.

    Example:
        >>> (item,) = parse_copybook("       01 R.\n          05 A PIC 9(3) COMP-3.\n")
        >>> [(child.name, child.usage) for child in item.children]
        [('A', 'packed')]
    """
    roots: list[Item] = []
    inside: list[Item] = []
    count = 0
    for statement in _statements(_words(text, first, last)):
        item = _Statement(statement, is_fixed=first is not None).item()
        if item is None:
            continue
        count += 1
        if count > MOST_ITEMS:
            item.word.refuse(f"a copybook has at most {MOST_ITEMS} items", "split it")
        while inside and inside[-1].level >= item.level:
            inside.pop()
        siblings = inside[-1].children if inside else roots
        if siblings and siblings[0].level != item.level:
            item.word.refuse(
                f"level {item.level} stands beside items of level {siblings[0].level}", "give them one level"
            )
        if inside and (inside[-1].picture is not None or inside[-1].usage in {"float", "double"}):
            item.word.refuse("an item with a picture has no items inside", "correct the level")
        siblings.append(item)
        inside.append(item)
    if not roots:
        Word("", 1, 1).refuse("there is no item in it", "give a copybook such as 01 R. 05 A PIC X(3).")
    return roots


class _Line(NamedTuple):
    """A line, with those that continue it: its text, and which columns its parts are of."""

    text: str
    parts: list[tuple[int, int, int]]  # place in the text, line, column

    def word(self, text: str, place: int) -> Word:
        start, line, column = self.parts[bisect_right(self.parts, (place, 1 << 60, 0)) - 1]
        return Word(text, line, column + place - start)


def _lines(text: str, first: int | None, last: int) -> Iterator[_Line]:
    """The lines, those that are continued together."""
    texts: list[str] = []
    parts: list[tuple[int, int, int]] = []
    length = 0
    for number, raw in enumerate(text.expandtabs(1).splitlines(), 1):
        shown = raw if first is None else raw[first:last]
        mark = shown[:1] if first == 6 else ""
        if mark in {"*", "/"} and mark:
            continue
        if mark in {"D", "d"} and shown[1:2].isspace():
            Word(shown.strip(), number, 7).refuse("a line for debugging is not read", "remove it, or the D in column 7")
        if mark == "-" and texts:
            before = texts[-1] = texts[-1] if _is_open(texts[-1]) else texts[-1].rstrip()
            length = parts[-1][0] + len(before)
            rest = shown[1:].lstrip()
            rest = rest[1:] if _is_open(before) else rest
            parts.append((length, number, first + 1 + len(shown) - len(rest) if first is not None else 1))
            texts.append(rest)
            length += len(rest)
            continue
        if texts:
            yield _Line("".join(texts), parts)
        texts, parts, length = [shown], [(0, number, 1 + (first or 0))], len(shown)
    yield _Line("".join(texts), parts or [(0, 1, 1)])


def _is_open(text: str) -> bool:
    """True if a literal does not end in a text."""
    found = _WORD.findall(text)
    last = found[-1] if found else ""
    return last[:1] in {'"', "'"} and (len(last) < 2 or last[-1] != last[0])


def _words(text: str, first: int | None, last: int) -> Iterator[Word]:
    for line in _lines(text, first, last):
        previous = ""
        for match in _WORD.finditer(line.text):
            word = line.word(match[0], match.start())
            if word.text.startswith("*") and previous not in {"PIC", "PICTURE", "IS"}:
                break  # a comment
            if word.text[0] in {'"', "'"} and (len(word.text) < 2 or word.text[-1] != word.text[0]):
                word.refuse("a literal does not end in its line", "close it, or continue it with - in column 7")
            previous = word.upper
            yield word


def _statements(words: Iterator[Word]) -> Iterator[list[Word]]:
    """The words of each statement; a full stop at the end of a word ends it."""
    statement: list[Word] = []
    for word in words:
        if not statement and word.upper.rstrip(".") in _PASSED:
            continue
        text = word.text.rstrip(",;") if word.text[0] not in {'"', "'"} else word.text
        ends = text.endswith(".")
        text = text[:-1] if ends else text
        if text:
            statement.append(word._replace(text=text))
        if ends and statement:
            yield statement
            statement = []
    if statement:
        statement[-1].refuse("a statement does not end", "end it with a full stop")


class _Statement:
    """Reads one statement."""

    def __init__(self, words: list[Word], *, is_fixed: bool) -> None:
        self._words = words
        self._next = 0
        self._is_fixed = is_fixed

    def item(self) -> Item | None:
        """The item; ``None`` for the values of one."""
        first = self._take()
        level = self._level(first)
        if level == 88:
            return None
        name = self._peek()
        word = first if name is None or name.upper in _CLAUSES else self._take()
        item = Item(level, word, None)
        if word is not first and word.upper != "FILLER":
            if not _NAME.fullmatch(word.text):
                word.refuse("this is no name of an item", "names are letters, digits and hyphens")
            item.name = word.text.replace("-", "_").replace(":", "")
        while self._peek() is not None:
            clause = self._take()
            if clause.upper in _REFUSED:
                clause.refuse(f"{clause.upper} is not read", _REFUSED[clause.upper])
            read = _CLAUSES.get(clause.upper)
            if read is None:
                clause.refuse("this clause is not known", "correct it, or remove it if it says nothing of the bytes")
            read(self, item, clause)
        if item.picture is not None and item.usage in {"float", "double"}:
            word.refuse("COMP-1 and COMP-2 have no picture", "remove the picture")
        return item

    def _level(self, first: Word) -> int:
        """The level number that a statement begins with; 77 is another 1."""
        if first.upper in _REFUSED:
            named = self._words[1].text if len(self._words) > 1 else ""
            first.refuse(f"{first.upper} {named} is not read".replace("  ", " "), _REFUSED[first.upper])
        if not re.fullmatch(r"[0-9]{1,2}", first.text):
            columns = "; set truncateComments=false if all columns are text" if self._is_fixed else ""
            first.refuse("a statement begins with a level number", f"correct it{columns}")
        level = int(first.text)
        if level == 66:
            first.refuse("level 66 is not read", _REFUSED["RENAMES"])
        if level not in {77, 88} and not 1 <= level <= 49:
            first.refuse("levels are 01 to 49, and 77", "correct the level")
        return 1 if level == 77 else level

    def _peek(self) -> Word | None:
        return self._words[self._next] if self._next < len(self._words) else None

    def _take(self) -> Word:
        word = self._peek()
        if word is None:
            self._words[-1].refuse("something is missing after this", "complete the clause")
        self._next += 1
        return word

    def _skip(self, *words: str) -> bool:
        """Go past one of some words."""
        word = self._peek()
        found = word is not None and word.upper in words
        self._next += found
        return found

    def _number(self) -> int:
        word = self._take()
        if not re.fullmatch(r"[0-9]{1,9}", word.text):
            word.refuse("a whole number belongs here", "correct it")
        return int(word.text)

    # ------------------------------------------------------------ the clauses

    def picture(self, item: Item, clause: Word) -> None:
        self._skip("IS")
        word = self._take()
        try:
            item.picture = parse_picture(word.upper)
        except ValueError as error:
            word.refuse(str(error), "correct the picture")

    def usage(self, item: Item, clause: Word) -> None:
        if clause.upper == "USAGE":
            self._skip("IS")
            clause = self._take()
        name = clause.upper.replace("COMPUTATIONAL", "COMP")
        if name not in USAGES:
            clause.refuse(f"USAGE {name} is not read", f"these are: {', '.join(USAGES)}")
        item.usage = USAGES[name]

    def sign(self, item: Item, clause: Word) -> None:
        if clause.upper == "SIGN":
            self._skip("IS")
            clause = self._take()
        if clause.upper not in {"LEADING", "TRAILING"}:
            clause.refuse("SIGN is LEADING or TRAILING", "correct it")
        item.is_separate = self._skip("SEPARATE")
        self._skip("CHARACTER")

    def occurs(self, item: Item, clause: Word) -> None:
        least = most = self._number()
        if self._skip("TO"):
            most = self._number()
        self._skip("TIMES")
        depending = None
        while self._peek() is not None:
            if self._skip("DEPENDING"):
                self._skip("ON")
                depending = self._take()
                while self._skip("OF", "IN"):
                    self._take()
            elif self._skip("ASCENDING", "DESCENDING", "INDEXED"):
                self._skip("KEY")
                self._skip("IS", "BY")
                self._names()
            else:
                break
        if depending is not None and least == most:
            least = 0
        if not least <= most or most < 1 or (least < most and depending is None):
            clause.refuse("OCCURS is n, or n TO m DEPENDING ON an item", "correct the numbers")
        item.occurs = Occurs(least, most, depending)

    def _names(self) -> None:
        while (word := self._peek()) is not None and word.upper not in _CLAUSES and word.upper not in _OF_OCCURS:
            self._next += 1

    def redefines(self, item: Item, clause: Word) -> None:
        item.redefines = self._take()

    def value(self, item: Item, clause: Word) -> None:
        self._skip("IS", "ARE")
        self._skip("ALL")
        if self._take().upper in {"X", "N", "Z"}:
            self._take()  # the literal after its letter

    def justified(self, item: Item, clause: Word) -> None:
        self._skip("RIGHT")

    def blank(self, item: Item, clause: Word) -> None:
        self._skip("WHEN")
        self._take()

    def nothing(self, item: Item, clause: Word) -> None:
        """A clause that says nothing of the bytes."""


_OF_OCCURS = {"DEPENDING", "ASCENDING", "DESCENDING", "INDEXED"}
_S = _Statement
_CLAUSES: dict[str, Callable[[_Statement, Item, Word], None]] = {
    "PIC": _S.picture, "PICTURE": _S.picture, "USAGE": _S.usage, "SIGN": _S.sign, "LEADING": _S.sign,
    "TRAILING": _S.sign, "OCCURS": _S.occurs, "REDEFINES": _S.redefines, "VALUE": _S.value, "VALUES": _S.value,
    "JUSTIFIED": _S.justified, "JUST": _S.justified, "BLANK": _S.blank, "EXTERNAL": _S.nothing, "GLOBAL": _S.nothing,
}  # fmt: skip
_CLAUSES |= {name: _S.usage for usage in (*USAGES, *_UNKNOWN_USAGES)
             for name in (usage, usage.replace("COMP", "COMPUTATIONAL"))}  # fmt: skip
