"""Faults as columns: what is wrong is put into words only where somebody looks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from splitscan.formats.decoding.contract import (
    BAD_VALUE,
    FIELD_COUNT,
    NO_FAULTS,
    Fault,
    Faults,
    FaultTemplate,
    wrong_value,
)

BAD = 2  # of the kinds here
RAW = [
    (1, BAD, "n", "a", "bigint"),
    (4, 1, "", "3", ""),
    (7, BAD, "it's", "c", "date"),
    (8, BAD, "n", "d", "bigint"),
]
FAULTS = [
    Fault(1, BAD_VALUE, "column 'n': 'a' is no bigint", False),
    Fault(4, FIELD_COUNT, "the record has 3 fields", True),
    Fault(7, BAD_VALUE, "column \"it's\": 'c' is no date", False),
    Fault(8, BAD_VALUE, "column 'n': 'd' is no bigint", False),
]


def faults_of(rows: list[tuple[int, int, str, str, str]]) -> Faults:
    """Faults that are not in words yet, one wording for all of a kind."""
    kinds = list(dict.fromkeys((number, column, name) for _, number, column, _, name in rows))
    wordings = tuple(
        wrong_value(column, name) if number == BAD else FaultTemplate(FIELD_COUNT, "the record has ", " fields")
        for number, column, name in kinds
    )
    records = np.array([record for record, *_ in rows], np.int64)
    each = np.array([kinds.index((number, column, name)) for _, number, column, _, name in rows], np.int64)
    return Faults(records, each, pa.array([seen for *_, seen, _ in rows], pa.large_string()), wordings)


def test_only_the_faults_that_somebody_looks_at_are_put_into_words(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[int] = []
    words = Faults.words.func
    monkeypatch.setattr(Faults, "words", property(lambda self: said.append(len(self)) or words(self)))
    faults = faults_of(RAW)
    assert (len(faults), faults.records.tolist()) == (4, [1, 4, 7, 8])
    assert faults.structural.tolist() == [False, True, False, False]
    assert faults.moved(np.arange(9) * 2).records.tolist() == [2, 8, 14, 16]
    assert said == []
    assert list(faults[1:2]) == FAULTS[1:2]
    assert (faults[2], faults[-1], faults[1:][1]) == (FAULTS[2], FAULTS[3], FAULTS[2])
    assert said == [1] * 4


def test_faults_in_words_have_the_same_columns() -> None:
    faults = Faults.of(reversed(FAULTS))
    assert faults == FAULTS == faults_of(RAW)
    assert (faults.records.tolist(), faults.structural.tolist()) == ([1, 4, 7, 8], [False, True, False, False])
    assert faults.words[0].to_pylist() == [fault.code for fault in FAULTS]
    assert faults.words[1].to_pylist() == [fault.reason for fault in FAULTS]
    assert Faults.of([Fault(0, "c", "a \udcff", True)])[0].reason == "a \\udcff"
    assert (len(NO_FAULTS), list(NO_FAULTS), NO_FAULTS.words[0].to_pylist()) == (0, [], [])


def test_of_faults_in_several_parts_the_first_counts() -> None:
    own = Faults.alike(np.array([0, 4, 8]), FaultTemplate("null", "nothing"))
    faults = faults_of(RAW)
    nothing = [Fault(record, "null", "nothing", True) for record in (0, 4, 8)]
    assert Faults.first_of(faults, own, NO_FAULTS) == [nothing[0], *FAULTS]
    assert Faults.first_of(NO_FAULTS, own, faults) == [nothing[0], FAULTS[0], nothing[1], FAULTS[2], nothing[2]]
    assert Faults.first_of(NO_FAULTS, NO_FAULTS) == []
    assert Faults.first_of() == []


@pytest.mark.parametrize("faults", [Faults.of(FAULTS), faults_of(RAW), NO_FAULTS])
def test_faults_are_a_sequence(faults: Faults) -> None:
    same = list(faults)
    assert [faults[place] for place in range(-len(same), len(same))] == same * 2
    assert list(reversed(faults)) == same[::-1]
    assert all((faults.index(fault), faults.count(fault)) == (place, 1) for place, fault in enumerate(same))
    assert Fault(99, "c", "r", True) not in faults
    for place in (len(same), len(same) + 4, -len(same) - 1):
        with pytest.raises(IndexError):
            faults[place]


def test_words_have_room_for_more_than_two_gibibytes() -> None:
    of_kernel = faults_of(RAW)
    alike = Faults.alike(np.array([0, 4]), FaultTemplate("null", "nothing"))
    for faults in (of_kernel, alike, Faults.of(FAULTS), NO_FAULTS, Faults.first_of(of_kernel, alike)):
        assert [column.type for column in (faults.seen, *faults.words)] == [pa.large_string()] * 3


@pytest.mark.large
def test_words_of_more_than_two_gibibytes_are_put_together() -> None:
    long, count = "w" * 2**20, 2**11 + 2
    faults = Faults.alike(np.arange(count), FaultTemplate("c", long))
    assert faults.words[1][count - 1].as_py() == long
    assert faults[-1] == Fault(count - 1, "c", long, True)


def test_the_name_of_a_column_is_cut_as_a_value_is() -> None:
    wording = wrong_value("it's" + "n" * 50, "int")
    assert wording.fault(0, "x").reason == f"column {'it' + chr(39) + 's' + 'n' * 36 + '...'!r}: 'x' is no int"


def test_faults_are_made_structural() -> None:
    faults = faults_of(RAW)
    made = faults.made_structural(np.array([8, 3, 1]))
    assert made == [fault._replace(structural=fault.record != 7) for fault in FAULTS]
    assert faults == FAULTS
    assert NO_FAULTS.made_structural(np.array([1])) == []


@pytest.mark.parametrize(
    "seen",
    [
        "", "x", "it's", 'say "x"', "it's \"x\"", "a\\b", "a\nb", "\t", "\x7f", "\0", "é", "\u2028", "\U0001f600",
        "~ []^", "x" * 40, "x" * 41, "é" * 41, "\n" * 40, "a" * 39 + "'b", "$", "a\n",
    ],
)  # fmt: skip
def test_values_are_shown_as_one_by_one(seen: str) -> None:
    wording, as_it_is = wrong_value("n", "int"), FaultTemplate(FIELD_COUNT, "the record has ", " fields")
    faults = faults_of([(0, BAD, "n", "plain", "int"), (5, BAD, "n", seen, "int"), (6, 1, "", seen, "")])
    assert list(faults) == [wording.fault(0, "plain"), wording.fault(5, seen), as_it_is.fault(6, seen)]
    shown = seen if len(seen) <= 40 else seen[:40] + "..."
    assert faults[1].reason == f"column 'n': {shown!r} is no int"
    assert faults[2].reason == f"the record has {seen} fields"
