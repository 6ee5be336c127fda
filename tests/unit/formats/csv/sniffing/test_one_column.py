"""Files of one column: a first line that is like the others is one of them, and never certain to be a name."""

from __future__ import annotations

import pytest

from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import Confidence, RawSample


def header_of(lines, end="\n"):
    text = "".join(line + end for line in lines)
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], {}).settings["header"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "lines",
    [
        "Paris Rome Oslo Lima Quito", "Paris Rome Oslo Rome Lima Rome Oslo", "amber birch cedar birch cedar birch",
        "Ohio NY NJ CA TX", "Smith Ann-Marie Jean-Luc Mary-Ann Jo-Ann", "AB1 AB12 AB13 AB14 AB15", "Al No Yes No",
        "Joe Nan None Na", "Norway NA NO NULL", "maybe yes no yes", "Tim True False True", "x-1 y-22 z-33 a-44",
        "deadbeef cafebabe 12345678 0badf00d", "Jan Feb Mar", "Bonn Rome Oslo Lima", "b.txt a.csv c.csv d.csv",
        '"Paris" "Rome" "Oslo" "Lima"', "A1 B2 C3 D4", "one two", "a bb bb bb bb bb cc",
    ],
)  # fmt: skip
def test_a_word_above_words_is_a_record(lines, end):
    found = header_of(lines.split(), end)
    assert (found.value, found.confidence is Confidence.CERTAIN) == (False, False)


@pytest.mark.parametrize(
    "lines",
    [
        "id B2 C3 D4", "mail c@d.org e@f.org g@h.org", "host 10.0.0.1 10.0.0.2 10.0.0.3", "url http://a.b/c http://a.b/d",
        "state " + "NY NJ CA TX " * 3, "kind " + "a b c " * 5, "file " + "a.csv b.csv c.csv d.csv e.csv f.csv " * 2,
    ],
)  # fmt: skip
def test_a_word_above_texts_of_another_kind_is_a_likely_name(lines):
    found = header_of(lines.split())
    assert (found.value, found.confidence) == (True, Confidence.LIKELY)


@pytest.mark.parametrize("lines", ["n 1 2 3", "day 2020-01-01 2020-01-02", "time 10:00 11:30 12:15", "price 1.5 2.5"])
def test_a_word_above_numbers_dates_or_times_is_a_name(lines):
    found = header_of(lines.split())
    assert (found.value, found.confidence) == (True, Confidence.CERTAIN)
