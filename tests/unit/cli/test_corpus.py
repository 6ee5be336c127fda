"""A newcomer's first file: ``splitscan ingest FILE OUT`` and nothing else."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from datetime import date, datetime

import pyarrow.parquet as pq
import pytest
from tests.unit.formats.csv.sniffing.corpus import corpus

SEED = 1
SAMPLE = 40
REFUSED = re.compile(r"error: .*\[(?:dialect-unclear|reject-budget)\].*\n(.*\n)*  fix: ", re.MULTILINE)


def outcome(run, folder, number, file):
    """What becomes of a file: its rows as they are in Parquet, or a refusal that says what to do."""
    path, out = folder / f"{number}.csv", folder / f"{number}"
    path.write_bytes(file.data)
    code, _, said = run("ingest", path, out, "-q")
    if code != 0 and "[rejects-published]" not in said:
        assert REFUSED.search(said), said
        assert not list(out.glob("*.parquet"))
        return "refused"
    table = pq.read_table(out)
    found = [list(row.values()) for row in table.to_pylist()]
    width = len(table.column_names)
    wanted = [(record + [""] * width)[:width] for record in file.records]
    if file.header is not None and found[:1] == [file.header] and same(found[1:], wanted):
        return "header as data"
    names = file.header or [f"_c{column}" for column in range(width)]
    return "right" if table.column_names == names and same(found, wanted) else "wrong"


def same(found, wanted):
    """Whether values are what texts say, in the types that were found for their columns."""
    return len(found) == len(wanted) and all(map(says, itertools.chain(*found), itertools.chain(*wanted)))


def says(value, text):
    if value is None or isinstance(value, str):
        return (value or "") == text
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, datetime):
        return text.startswith(value.date().isoformat())
    return str(value) == text if isinstance(value, date) else type(value)(text) == value


@pytest.mark.slow
def test_the_command_alone_reads_a_file_right_or_refuses_it_with_a_hint(run, tmp_path, without_spark):
    outcomes = Counter(outcome(run, tmp_path, number, file) for number, file in enumerate(corpus(SAMPLE, SEED)))
    assert set(outcomes) <= {"right", "refused", "header as data"}, outcomes
    assert outcomes["right"] >= 0.9 * SAMPLE, outcomes
