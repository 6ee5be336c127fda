"""Watching a job costs what is new, not what was seen before."""

import pytest

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.storage import open_storage
from splitscan.jobs.ledger import LedgerBlock
from splitscan.jobs.reports import Monitor, Phase
from splitscan.jobs.staging import REPORTS_PER_FOLDER, OutputPart, PartProgress, PartReport, Staging, report_folders

FILE = FileMetadata("/in/a.csv", 10_000, 0, "1", "a.csv")
PARTS = [OutputPart(number, ((0, BlockMetadata(FILE, number, number + 1, number)),)) for number in range(5000)]


class CountingStorage:
    """A storage in memory that counts what is asked of it."""

    root = "memory"

    def __init__(self):
        self.names = {}
        self.listed = self.read = 0

    def list_names(self, folder=""):
        self.listed += 1
        return sorted(self.names.get(folder, {}))

    def read_bytes(self, name):
        self.read += 1
        folder, _, last = name.rpartition("/")
        return self.names[folder][last]

    def write_bytes_atomic(self, name, data):
        folder, _, last = name.rpartition("/")
        self.names.setdefault(folder, {})[last] = data


def report(part, **changes):
    (file_index, block), *_ = part.blocks
    values = {"rows": 2, "rejects": 1, "missing": False, **changes}
    line = LedgerBlock(
        file_index, block.index, block.start, block.stop, block.start, block.stop, values["rows"], values["rejects"],
        "", missing=values["missing"],
    )  # fmt: skip
    return PartReport(part.number, (line,), dropped=1, examples=(f"reject {part.number}",))


@pytest.fixture
def staging():
    return Staging(CountingStorage(), "job")


@pytest.fixture
def told():
    return []


@pytest.fixture
def monitor(told):
    watching = Monitor(told.append)
    watching.begin(5000, 5000)
    watching.watch(report_folders(PARTS))
    return watching


def test_a_poll_reads_what_is_new_and_lists_only_where_something_is_missing(monitor, staging, told):
    storage = staging.storage
    for count in range(0, 5000, 100):
        for part in PARTS[count : count + 100]:
            staging.write_report(part, report(part))
        storage.listed = storage.read = 0
        monitor.poll(staging)
        assert storage.read == 100
        assert storage.listed <= 3  # the folder that fills, a look at the next, and what tasks are at
        assert told[-1].blocks_done == count + 100
    assert (told[-1].rows, told[-1].rejects, told[-1].bytes_done) == (10_000, 5000, 5000)
    storage.listed = storage.read = 0
    monitor.poll(staging)
    assert (storage.listed, storage.read) == (0, 0)


def test_what_a_task_is_at_counts_until_its_report_is_there(monitor, staging, told):
    staging.write_report(PARTS[0], report(PARTS[0]))
    staging.write_progress(PARTS[0].name, PartProgress(1, 1, 2, 1, 1))  # told before the report
    staging.write_progress(PARTS[1].name, PartProgress(700, 0, 30, 4, 3))
    monitor.poll(staging)
    assert (told[-1].bytes_done, told[-1].blocks_done, told[-1].rows, told[-1].rejects) == (701, 1, 32, 5)
    staging.write_progress(PARTS[1].name, PartProgress(900, 0, 40, 4, 3))
    monitor.poll(staging)
    assert (told[-1].bytes_done, told[-1].rows) == (901, 42)
    staging.write_report(PARTS[1], report(PARTS[1]))
    monitor.poll(staging)
    assert (told[-1].bytes_done, told[-1].blocks_done, told[-1].rows) == (2, 2, 4)


def test_a_job_ends_early_by_what_tasks_tell_while_they_read(staging):
    checked = []
    watching = Monitor(None)
    watching.begin(5000, 5000, lambda *counts: checked.append(counts[:3]))
    watching.watch(report_folders(PARTS))
    staging.write_progress(PARTS[3].name, PartProgress(700, 0, 30, 4, 3))
    watching.poll(staging)
    assert checked == [(30, 4, 3)]


@pytest.mark.parametrize("damaged", [b"", b"[1, 2", b"[1, 2]", b'{"a": 1}', b'["x", 1, 1, 1, 1]'])
def test_half_a_word_of_a_task_counts_as_none(damaged, monitor, staging, told):
    staging.write_progress(PARTS[0].name, PartProgress(700, 0, 30, 4, 3))
    (folder,) = staging.storage.names
    staging.storage.names[folder][f"{PARTS[0].name}.json"] = damaged
    monitor.poll(staging)
    assert (told[-1].bytes_done, told[-1].rows) == (0, 0)


def test_half_a_report_is_looked_at_again(monitor, staging, told):
    staging.write_report(PARTS[0], report(PARTS[0]))
    whole = staging.storage.read_bytes(staging.report_name(PARTS[0]))
    staging.storage.write_bytes_atomic(staging.report_name(PARTS[0]), whole[:20])
    monitor.poll(staging)
    assert told[-1].blocks_done == 0
    staging.storage.write_bytes_atomic(staging.report_name(PARTS[0]), whole)
    monitor.poll(staging)
    assert told[-1].blocks_done == 1


def test_a_report_of_an_earlier_run_that_is_read_again_does_not_count(monitor, staging, told):
    staging.write_report(PARTS[0], report(PARTS[0], rows=0, missing=True))
    monitor.poll(staging)
    assert told[-1].blocks_done == 0
    monitor.finish([report(PARTS[0])])
    monitor.tell(Phase.CHECK)
    assert (told[-1].blocks_done, told[-1].rows) == (1, 2)


def test_what_tasks_tell_themselves_counts_once(monitor, staging, told):
    for part in PARTS[:10]:
        staging.write_report(part, report(part))
    monitor.poll(staging)
    monitor.finish([report(part) for part in PARTS[:20]])
    monitor.tell(Phase.CHECK)
    assert (told[-1].blocks_done, told[-1].rows) == (20, 40)


def test_reports_are_shared_out_over_folders(tmp_path):
    assert PARTS[REPORTS_PER_FOLDER - 1].folder != PARTS[REPORTS_PER_FOLDER].folder
    staging = Staging(open_storage(tmp_path), "job")
    for part in PARTS[:3]:
        staging.write_report(part, report(part))
    assert staging.list_reports(PARTS[0].folder) == {part.name for part in PARTS[:3]}


def test_the_seconds_of_each_phase_are_noted_and_progress_is_handed_on():
    told, now = [], iter([0.0, 1.0, 3.0, 7.0, 7.5])
    watching = Monitor(told.append, lambda: next(now))
    for phase in (Phase.PLAN, Phase.READ, Phase.READ, Phase.PUBLISH, Phase.DONE):
        watching.tell(phase)
    assert watching.seconds == {"planning": 1.0, "reading": 6.0, "publishing": 0.5}
    assert [progress.phase for progress in told][:2] == [Phase.PLAN, Phase.READ]
