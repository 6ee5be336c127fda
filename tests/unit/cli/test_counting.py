"""``splitscan count`` tells how far it is, as soon as it takes long."""

import itertools
from contextlib import nullcontext

import pytest

from splitscan.api.files import Scan
from splitscan.cli.reading import count_rows
from splitscan.cli.terminal import ShowsProgress

RECORDS = 3000


class Told(ShowsProgress):
    """Keeps what it is told."""

    def __init__(self):
        self.all = []

    def show(self, progress):
        self.all.append((progress.phase.value, progress.bytes_done, progress.bytes_total))


@pytest.fixture
def files(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text('1,"a\nb"\n' * RECORDS)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "least"),
    [({"multiLine": True}, 6), ({"multiLine": True, "mode": "DROPMALFORMED"}, 1), ({}, 1)],
    ids=str,
)
def test_row_12_counting_tells_of_every_byte_on_the_way(files, options, least):
    planner = Scan.of(str(files), "csv", "a string, b string", {"blockSize": 4096, **options})
    told, seconds = Told(), itertools.count(step=2.0)
    count_rows(planner, lambda: next(seconds), lambda: nullcontext(told))
    size = sum(file.stat().st_size for file in files.iterdir())
    done = [each[1] for each in told.all]
    assert told.all[-1] == ("reading", size, size)
    assert done == sorted(done)
    assert len(done) >= least


def test_nothing_is_told_of_what_takes_less_than_a_second(files):
    told = Told()
    planner = Scan.of(str(files), "csv", "a string, b string", {"multiLine": True})
    assert count_rows(planner, lambda: 0.0, lambda: nullcontext(told)) == 3 * RECORDS
    assert told.all == []
