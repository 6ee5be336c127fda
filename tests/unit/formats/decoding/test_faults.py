"""Faults of records, in order, and as columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from splitscan.formats.decoding.contract import (
    BAD_VALUE,
    FIELD_COUNT,
    Fault,
    Faults,
    FaultTemplate,
    wrong_value,
)

FAULTS = [
    Fault(1, BAD_VALUE, "column 'n': 'a' is no bigint", False),
    Fault(4, FIELD_COUNT, "the record has 3 fields", True),
    Fault(7, BAD_VALUE, "column \"it's\": 'c' is no date", False),
    Fault(8, BAD_VALUE, "column 'n': 'd' is no bigint", False),
]


def test_faults_have_columns() -> None:
    faults = Faults(reversed(FAULTS))
    assert faults == FAULTS
    assert (faults.records.tolist(), faults.structural.tolist()) == ([1, 4, 7, 8], [False, True, False, False])
    assert faults.words[0].to_pylist() == [fault.code for fault in FAULTS]
    assert faults.words[1].to_pylist() == [fault.reason for fault in FAULTS]
    assert [column.type for column in (*faults.words, *Faults().words)] == [pa.large_string()] * 4
    assert faults.moved(np.arange(9) * 2).records.tolist() == [2, 8, 14, 16]
    assert Faults([Fault(0, "c", "a \udcff", True)])[0].reason == "a \\udcff"
    assert (len(Faults()), list(Faults()), Faults().words[0].to_pylist()) == (0, [], [])


def test_of_faults_in_several_parts_the_first_counts() -> None:
    faults = Faults(FAULTS)
    nothing = [FaultTemplate("null", "nothing").fault(record) for record in (0, 4, 8)]
    own = Faults(nothing)
    assert Faults.first_of(faults, own, Faults()) == [nothing[0], *FAULTS]
    assert Faults.first_of(Faults(), own, faults) == [nothing[0], FAULTS[0], nothing[1], FAULTS[2], nothing[2]]
    assert Faults.first_of(Faults(), Faults()) == []
    assert Faults.first_of() == []


@pytest.mark.parametrize("faults", [Faults(FAULTS), Faults()])
def test_faults_are_a_sequence(faults: Faults) -> None:
    same = list(faults)
    assert [faults[place] for place in range(-len(same), len(same))] == same * 2
    assert list(reversed(faults)) == same[::-1]
    assert list(faults[1:3]) == same[1:3]
    assert all((faults.index(fault), faults.count(fault)) == (place, 1) for place, fault in enumerate(same))
    assert Fault(99, "c", "r", True) not in faults
    for place in (len(same), len(same) + 4, -len(same) - 1):
        with pytest.raises(IndexError):
            faults[place]


def test_the_name_of_a_column_is_cut_as_a_value_is() -> None:
    wording = wrong_value("it's" + "n" * 50, "int")
    assert wording.fault(0, "x").reason == f"column {'it' + chr(39) + 's' + 'n' * 36 + '...'!r}: 'x' is no int"


@pytest.mark.parametrize("seen", ["", "x", "it's", 'say "x"', "a\nb", "\0", "\u2028", "x" * 40, "x" * 41])
def test_a_value_is_shown_in_quotes_and_cut(seen: str) -> None:
    shown = seen if len(seen) <= 40 else seen[:40] + "..."
    assert wrong_value("n", "int").fault(5, seen).reason == f"column 'n': {shown!r} is no int"
    assert (
        FaultTemplate(FIELD_COUNT, "the record has ", " fields").fault(6, seen).reason
        == f"the record has {seen} fields"
    )
