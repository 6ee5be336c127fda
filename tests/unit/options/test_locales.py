"""Locales: their names and symbols, as the table has them that Java wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import splitscan.options.locales
from splitscan.options.locales import LANGUAGES, find_locale, names_of, symbols_of

TABLE = json.loads(Path(splitscan.options.locales.__file__).with_name("locales.json").read_text("utf-8"))


def test_the_languages_that_messages_list_are_those_of_the_table() -> None:
    assert {tag for tag in TABLE if "-" not in tag} == set(LANGUAGES)
    assert {tag.partition("-")[0] for tag in TABLE} == set(LANGUAGES)


def test_every_locale_has_every_name_once() -> None:
    for locale in TABLE:
        assert find_locale(locale) == locale
        counts = {letters: len({name.lower() for name in names}) for letters, names in names_of(locale).items()}
        assert counts == {"MMM": 12, "MMMM": 12, "LLL": 12, "LLLL": 12, "E": 7, "EEEE": 7, "a": 2}, locale


@pytest.mark.parametrize(
    ("locale", "text", "english"),
    [
        ("de", "-1.234,5", "-1,234.5"), ("de", " +1,5\t", "+1.5"), ("de", "1:5", "1:5"),
        ("de-CH", "1\u2019234.5", "1,234.5"), ("de-CH", "1,5", None),
        ("fr", "1\u202f234,5", "1,234.5"), ("fr", "1 234,5", "1 234.5"), ("fr", "1.5", None),
        ("fr", "1,5", "1.5"), ("ar-EG", "\u061c-\u0661\u066c\u0662\u0663\u0664\u066b\u0665", "-1,234.5"),
        ("ar-EG", "-12\u066b5", "-12.5"), ("ar-EG", "1,5", None), ("hi", "1,23,45,678.5", "12345678.5"),
        ("hi", "1,234,567", "1,234,567"), ("hi", "123,45,678", "123,45,678"), ("hi", "1,23,45", "1,23,45"),
        ("hi", "-1,23,456.", "-123456."), ("hi", "1,23,456.5,5", "1,23,456.5,5"), ("bn", "১২,৩৪,৫৬৭", "1234567"),
        ("ur", "\u200e-5", "-5"), ("ru", "1\u00a0234,5e2", "1,234.5e2"),
    ],
)  # fmt: skip
def test_a_number_in_the_symbols_of_a_locale_is_one_in_english(locale: str, text: str, english: str | None) -> None:
    symbols = symbols_of(locale)
    assert symbols is not None
    assert symbols.in_english(text) == english


@pytest.mark.parametrize("locale", ["en-US", "en", "en-GB", "es-MX", "ja", "zh-TW", "ko"])
def test_locales_with_the_symbols_of_the_united_states_need_none(locale: str) -> None:
    assert symbols_of(locale) is None
