"""Names of months and days, and symbols of numbers, by locale: those of Java, from ``tools/LocaleNames.java``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

ENGLISH = "en-US"
"""The locale that nobody has to name."""

LANGUAGES = (
    "ar", "bn", "de", "en", "es", "fr", "hi", "id", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr", "ur", "zh",
)  # fmt: skip
"""Languages of the locales that are known."""

_BLANKS = " \t"
_IN_PAIRS = re.compile(r"[+-]?[0-9]{1,2}(,[0-9]{2})+,[0-9]{3}(\.[0-9]*)?")


@dataclass(frozen=True)
class NumberSymbols:
    """How a locale writes decimals, where that is not how the United States do.

    Attributes:
        decimal: Stands before the fraction.
        grouping: Stands between groups of digits.
        minus: Stands before negative numbers; an ASCII minus is read, too.
        zero: The first of ten digits; ASCII digits are read, too.
        pairs: Whether groups have two digits, all but the last one.
    """

    decimal: str
    grouping: str
    minus: str
    zero: str
    pairs: bool

    def in_english(self, text: str) -> str | None:
        """A number as it is written in English; ``None`` for a text with symbols that the locale does not have.

        Example:
            >>> symbols_of("de").in_english("-1.234,5")
            '-1,234.5'
            >>> symbols_of("hi").in_english("12,34,567")
            '1234567'
        """
        text = text.strip(_BLANKS)
        text = "-" + text.removeprefix(self.minus) if text.startswith(self.minus) else text
        symbols = {chr(ord(self.zero) + digit): str(digit) for digit in range(10)}
        symbols |= {".": "", ",": "", self.grouping: ",", self.decimal: "."}
        written = [symbols.get(each, each) for each in text]
        if "" in written:
            return None
        plain = "".join(written)
        return plain.replace(",", "") if self.pairs and _IN_PAIRS.fullmatch(plain) else plain


def find_locale(tag: str) -> str | None:
    """The locale of a tag as Java spells it; ``None`` for one that is not known.

    Example:
        >>> find_locale("de_at"), find_locale("de-XX")
        ('de-AT', None)
    """
    wanted = tag.replace("_", "-").lower()
    if wanted == ENGLISH.lower():
        return ENGLISH
    return next((known for known in _table() if known.lower() == wanted), None)


def names_of(locale: str) -> Mapping[str, tuple[str, ...]]:
    """Names of months (``MMM``, ``MMMM``; alone ``LLL``, ``LLLL``), days (``E``, ``EEEE``) and half days (``a``)."""
    return {letters: tuple(names) for letters, names in _described(locale).items() if isinstance(names, list)}


def symbols_of(locale: str) -> NumberSymbols | None:
    """Symbols of numbers; ``None`` where they are those of the United States."""
    if locale == ENGLISH:
        return None
    found = _symbols(locale)
    return None if found == _symbols(ENGLISH) else found


@cache
def _symbols(locale: str) -> NumberSymbols:
    said = _described(locale)
    return NumberSymbols(**{name: said[name] for name in NumberSymbols.__dataclass_fields__})


@cache
def _described(locale: str) -> dict[str, Any]:
    return _table()[locale.partition("-")[0]] | _table()[locale]


@cache
def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads((files(__package__) / "locales.json").read_text("utf-8"))
    return table
