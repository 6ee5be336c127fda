from __future__ import annotations

import pytest

from splitscan.errors import UsageError
from splitscan.formats.csv.options import CsvOptions, HeaderMapping
from splitscan.formats.registry import parse_options


def csv(**raw) -> CsvOptions:
    parsed = parse_options("csv", raw).format
    assert isinstance(parsed, CsvOptions)
    return parsed


def refused(**raw) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse_options("csv", raw)
    assert caught.value.reason_code == "bad-option"
    return caught.value


@pytest.mark.parametrize(
    ("value", "sep"),
    [
        (";", ";"), ("~|", "~|"), ("||", "||"), ("\t", "\t"), (r"\t", "\t"), (r"a\tb", "a\tb"), (r"\'", "'"),
        (r"\b", "\b"), (r"\f", "\f"), ("\u0001", "\u0001"), (r"\u0001", "\u0001"), (r"\u00E9|", "é|"), ("é", "é"),
    ],
)  # fmt: skip
def test_a_separator_has_any_number_of_characters_and_sparks_escapes(value, sep):
    assert csv(sep=value).sep == sep


def test_a_backslash_as_separator_is_written_twice_and_needs_another_escape():
    assert csv(sep=r"\\", escape='"').sep == "\\"
    assert csv(sep=r"\\", quote="").sep == "\\"
    assert refused(sep=r"\\").rule == "options sep and escape contradict each other"


@pytest.mark.parametrize("value", ["\\", r"a\x", "a\\", "\\\n", r"\u1", r"\ud800", "", 5], ids=repr)
def test_a_separator_that_cannot_be_understood_is_refused(value):
    assert refused(sep=value).rule.startswith("option sep takes one character or more; ")


@pytest.mark.parametrize(
    ("raw", "pair"),
    [
        ({"sep": "\n"}, "sep and lineSep"),
        ({"sep": "a\rb"}, "sep and lineSep"),
        ({"sep": r"\r"}, "sep and lineSep"),
        ({"quote": "\n"}, "quote and lineSep"),
        ({"escape": "\r"}, "escape and lineSep"),
        ({"comment": "\n"}, "comment and lineSep"),
        ({"sep": '"'}, "sep and quote"),
        ({"sep": '|"'}, "sep and quote"),
        ({"sep": "|", "escape": "|"}, "sep and escape"),
        ({"sep": "|", "lineSep": "|"}, "sep and lineSep"),
        ({"sep": "|", "lineSep": "||"}, "sep and lineSep"),
        ({"sep": "||", "lineSep": "|"}, "sep and lineSep"),
        ({"lineSep": '"'}, "quote and lineSep"),
        ({"lineSep": 'x"y'}, "quote and lineSep"),
        ({"lineSep": "\\n"}, "escape and lineSep"),
        ({"lineSep": "#\n", "comment": "#"}, "comment and lineSep"),
        ({"comment": ","}, "comment and sep"),
        ({"comment": "b", "sep": "ab"}, "comment and sep"),
        ({"comment": '"'}, "comment and quote"),
        ({"comment": "\\"}, "comment and escape"),
        ({"comment": '"', "escape": '"'}, "comment and quote"),
        ({"charToEscapeQuoteEscaping": "x", "escape": '"'}, "charToEscapeQuoteEscaping and escape"),
        ({"charToEscapeQuoteEscaping": "x", "escape": ""}, "charToEscapeQuoteEscaping and escape"),
        ({"charToEscapeQuoteEscaping": "\0", "escape": '"'}, "charToEscapeQuoteEscaping and escape"),
        ({"charToEscapeQuoteEscaping": ","}, "charToEscapeQuoteEscaping and sep"),
        ({"charToEscapeQuoteEscaping": '"'}, "charToEscapeQuoteEscaping and quote"),
        ({"charToEscapeQuoteEscaping": "#", "comment": "#"}, "charToEscapeQuoteEscaping and comment"),
        ({"charToEscapeQuoteEscaping": "\n"}, "charToEscapeQuoteEscaping and lineSep"),
        ({"charToEscapeQuoteEscaping": "@", "lineSep": "@#"}, "charToEscapeQuoteEscaping and lineSep"),
        ({"headerMapping": "byName", "header": False}, "headerMapping and header"),
        ({"headerMapping": "byName", "header": True, "enforceSchema": True}, "headerMapping and enforceSchema"),
    ],
)
def test_options_that_cannot_be_told_apart_are_refused(raw, pair):
    error = refused(**raw)
    assert error.rule == f"options {pair} contradict each other"
    assert all(f"{name}=" in error.seen for name in pair.split(" and "))
    assert error.fix


@pytest.mark.parametrize(
    "raw",
    [
        {"escape": '"'},
        {"quote": "'", "escape": "'"},
        {"sep": '"', "quote": ""},
        {"lineSep": '"', "quote": ""},
        {"lineSep": "\\", "quote": ""},
        {"comment": "\\", "quote": ""},
        {"lineSep": "\r\n"},
        {"lineSep": "|\n|"},
        {"sep": "ab", "lineSep": "bc"},
        {"charToEscapeQuoteEscaping": "\\"},
        {"charToEscapeQuoteEscaping": "^"},
        {"charToEscapeQuoteEscaping": "\\u0000"},
        {"charToEscapeQuoteEscaping": "", "escape": '"'},
        {"charToEscapeQuoteEscaping": '"', "escape": '"'},
        {"comment": "#"},
        {"headerMapping": "byName", "header": True, "enforceSchema": False},
        {"sep": "\t", "ignoreLeadingWhiteSpace": True},
    ],
)
def test_dialects_that_have_a_meaning_are_accepted(raw):
    assert isinstance(csv(**raw), CsvOptions)


def test_constructing_a_contradiction_is_refused_too():
    with pytest.raises(UsageError, match="options sep and quote contradict each other"):
        CsvOptions(sep='"')


def test_a_contradiction_shows_both_values():
    assert str(refused(sep="|", lineSep="||")).splitlines() == [
        "options sep and lineSep contradict each other [bad-option]",
        "  seen:  sep='|', lineSep='||'",
        "  fix:   choose a separator and a line separator of which neither contains the other",
    ]


def test_a_contradiction_shows_choices_as_they_are_written():
    assert refused(headerMapping="BYNAME", header=False).seen == "headerMapping='byName', header=False"


def test_columns_are_matched_by_the_names_of_a_header_so_there_is_one():
    assert csv(headerMapping="byName").header


def test_two_handlings_of_stray_quotes_are_supported():
    skipping = csv(unescapedQuoteHandling="skip_value")
    assert skipping.unescaped_quote_handling.value == "SKIP_VALUE"
    for name in ("STOP_AT_CLOSING_QUOTE", "BACK_TO_DELIMITER", "RAISE_ERROR"):
        error = refused(unescapedQuoteHandling=name)
        assert error.rule == "option unescapedQuoteHandling takes STOP_AT_DELIMITER or SKIP_VALUE"
        assert "leave it out, or give SKIP_VALUE" in error.fix


@pytest.mark.parametrize(
    ("value", "locale"),
    [("en", "en"), ("en-US", "en-US"), ("en_GB", "en-GB"), ("EN-us", "en-US"), ("zh-hant-tw", "zh-Hant-TW")],
)
def test_locales_are_spelled_as_java_spells_them(value, locale):
    assert csv(locale=value).locale == locale


@pytest.mark.parametrize("value", ["de-XX", "", "eng", "fi", "de-", 1], ids=repr)
def test_other_locales_are_refused_with_those_that_are_known(value):
    error = refused(locale=value)
    assert error.rule == (
        "option locale takes one of ar, bn, de, en, es, fr, hi, id, it, ja, ko, nl, pl, pt, ru, tr, ur, zh, "
        "or one of their regions that Java has, such as de-AT"
    )
    assert error.fix == "read numbers, month and day names of other locales as text and convert them in Spark"


@pytest.mark.parametrize(("value", "mapping"), [("byName", HeaderMapping.NAME), ("BYPOSITION", HeaderMapping.POSITION)])
def test_headers_are_mapped_by_name_or_position(value, mapping):
    assert csv(headerMapping=value, header=True).header_mapping is mapping


@pytest.mark.parametrize(("value", "expected"), [(None, None), ("true", True), (False, False)])
def test_a_schema_that_is_enforced_explicitly_can_be_told_from_the_default(value, expected):
    assert csv(enforceSchema=value).enforce_schema is expected
