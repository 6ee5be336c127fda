"""A newcomer's first file: read right without an option, or refused with what to do; never read wrong."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.unit.formats.csv.sniffing.corpus import CorpusFile, corpus
from tests.unit.formats.csv.sniffing.odd_corpus import KINDS, REFUSED, odd_corpus

import splitscan as ss
from splitscan.errors import SchemaError

FILES = 520
FEW = 40
ASKED = "asked for its character set"
VARIANTS = 14  # of every odd kind


def outcome(path, file: CorpusFile) -> str:
    """What becomes of a file that is read with ``dialect=auto`` alone."""
    path.write_bytes(file.data)
    try:
        scan = ss.scan_csv(path, dialect="auto")
    except SchemaError as error:
        if "knows: encoding=windows-1252 reads" in str(error):
            return ASKED
        return f"refused as {error.reason_code}"
    names = scan.schema.names
    batches = scan.to_arrow().to_pylist()
    found = [[row[name] or "" for name in names] for row in batches]
    width = len(names)
    wanted = [(record + [""] * width)[:width] for record in file.records]
    if file.header is not None and found[:1] == [file.header] and found[1:] == wanted:
        return "header as data"
    if found != wanted:
        return "wrong"
    return "right" if names == (file.header or [f"_c{column}" for column in range(width)]) else "wrong names"


@pytest.mark.slow
def test_no_file_is_read_wrong(tmp_path):
    outcomes = Counter(outcome(tmp_path / f"{number}.csv", file) for number, file in enumerate(corpus(FEW, seed=7)))
    assert set(outcomes) <= {"right", "header as data", "refused as dialect-unclear", ASKED}, outcomes


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.large) for seed in (21, 24))])
def test_at_least_97_of_100_files_are_read_right_or_name_their_character_set(tmp_path, seed):
    outcomes: Counter[str] = Counter()
    kinds: Counter[tuple[str, str]] = Counter()
    for number, file in enumerate(corpus(FILES, seed)):
        result = outcome(tmp_path / f"{number}.csv", file)
        outcomes[result] += 1
        kinds[file.kind, result] += 1
    assert outcomes["right"] + outcomes[ASKED] >= 0.97 * FILES, (outcomes, kinds)
    assert not set(outcomes) - {"right", "header as data", "refused as dialect-unclear", ASKED}, (outcomes, kinds)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_what_looks_like_what_it_is_not_is_read_right_or_refused(tmp_path, seed):
    kinds: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for number, file in enumerate(odd_corpus(VARIANTS if seed > 1 else 1, seed)):
        kinds[file.kind][outcome(tmp_path / f"{number}.csv", file)] += 1
    for kind, outcomes in kinds.items():
        assert set(outcomes) <= {"right", "refused as dialect-unclear"}, (kind, outcomes)
        wanted = "refused as dialect-unclear" if kind in REFUSED else "right"
        assert outcomes[wanted] >= 0.97 * sum(outcomes.values()), (kind, outcomes)
