"""A scan of a table is narrowed and explained as one of files is."""

import pytest

from splitscan.errors import UsageError
from splitscan.tables import table_scan


def test_a_limit_ends_reading_and_counting(people):
    scan = people("id").select("id")
    assert scan.limit(3).to_arrow().to_pydict() == {"id": [0, 1, 2]}
    assert [scan.limit(rows).count() for rows in (0, 3, 5000)] == [0, 3, 1000]
    assert scan.limit(5000).to_arrow().num_rows == 1000
    assert scan.limit(2).select("name").to_arrow().shape == (2, 1)


def test_a_limit_of_no_rows_reads_nothing(people, monkeypatch):
    monkeypatch.delattr(table_scan, "read_pieces")
    assert people().limit(0).to_arrow().num_rows == 0


def test_what_is_open_is_closed_when_the_limit_is_reached(people, monkeypatch):
    closed = []

    def read(*_):
        try:
            yield from real(*_)
        finally:
            closed.append(True)

    real = table_scan.read_pieces
    monkeypatch.setattr(table_scan, "read_pieces", read)
    assert people(batch_rows=10).limit(15).to_arrow().num_rows == 15
    assert closed == [True]


@pytest.mark.parametrize("rows", [-1, 1.5, "3", None])
def test_a_limit_is_a_number_of_rows(people, rows):
    with pytest.raises(UsageError, match="bad-limit"):
        people().limit(rows)


def test_an_explanation_says_which_task_reads_which_keys(people):
    lines = str(people("id", min_partitions=2).explain()).splitlines()
    assert lines[0].startswith('table "people" of sqlite:')
    assert [line.split(":")[0] for line in lines[2:]] == ["task 0", "task 1"]
