"""Faults that are put into words only where somebody looks at them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from splitscan.formats.decoding.contract import (
    BAD_VALUE,
    BAD_VALUE_NUMBER,
    FIELD_COUNT,
    Decoded,
    Fault,
    FaultKind,
    Wording,
    late_faults,
    wrong_value,
)

RAW = [
    (1, BAD_VALUE_NUMBER, "n", "a", "bigint"),
    (4, 1, "", "3", ""),
    (7, BAD_VALUE_NUMBER, "it's", "c", "date"),
    (8, BAD_VALUE_NUMBER, "n", "d", "bigint"),
]
FAULTS = [
    Fault(1, BAD_VALUE, "column 'n': 'a' is no bigint", False),
    Fault(4, FIELD_COUNT, "the record has 3 fields", True),
    Fault(7, BAD_VALUE, "column \"it's\": 'c' is no date", False),
    Fault(8, BAD_VALUE, "column 'n': 'd' is no bigint", False),
]


class Words:
    def __init__(self) -> None:
        self.asked: list[FaultKind] = []

    def __call__(self, kind: FaultKind) -> Wording:
        self.asked.append(kind)
        if kind.number == BAD_VALUE_NUMBER:
            return wrong_value(kind.column, kind.type_name)
        return Wording(FIELD_COUNT, "the record has ", " fields")


def test_only_the_faults_that_somebody_looks_at_are_put_into_words() -> None:
    word = Words()
    faults = late_faults(RAW, word)
    decoded = Decoded([pa.nulls(9)], 9, faults)
    assert (len(faults), decoded.broken.tolist(), word.asked) == (4, [1, 4, 7, 8], [])
    assert (decoded.structural.tolist(), word.asked) == ([False, True, False, False], [])
    assert decoded.head(7).broken.tolist() == [1, 4]
    assert word.asked == []
    assert list(faults[1:2]) == FAULTS[1:2]
    assert (faults[2], faults[-1], faults[1:][1]) == (FAULTS[2], FAULTS[3], FAULTS[2])
    assert set(word.asked) == {(1, "", ""), (2, "it's", "date"), (2, "n", "bigint")}


def test_what_is_said_of_a_kind_is_asked_once() -> None:
    word = Words()
    faults = late_faults(RAW, word)
    assert faults == FAULTS
    assert list(faults) == FAULTS
    assert len(word.asked) == 3


@pytest.mark.parametrize(
    "seen",
    [
        "", "x", "it's", 'say "x"', "it's \"x\"", "a\\b", "a\nb", "\t", "\x7f", "\0", "é", "\u2028", "\U0001f600",
        "~ []^", "x" * 40, "x" * 41, "é" * 41, "\n" * 40, "a" * 39 + "'b", "$", "a\n",
    ],
)  # fmt: skip
def test_values_are_shown_as_one_by_one(seen: str) -> None:
    wording = wrong_value("n", "int")
    raw = [(0, BAD_VALUE_NUMBER, "n", "plain", "int"), (5, BAD_VALUE_NUMBER, "n", seen, "int"), (6, 1, "", seen, "")]
    as_it_is = Wording(FIELD_COUNT, "<", ">")
    faults = late_faults(raw, lambda kind: wording if kind.number == BAD_VALUE_NUMBER else as_it_is)
    assert list(faults) == [wording.fault(0, "plain"), wording.fault(5, seen), as_it_is.fault(6, seen)]
    shown = seen if len(seen) <= 40 else seen[:40] + "..."
    assert faults[1].reason == f"column 'n': {shown!r} is no int"
    assert faults[2].reason == f"<{seen}>"
