"""Ledgers that are gone: what they name is never read again, and files of ours that none names are told of."""

import shutil

import pytest

from splitscan.errors import IngestError
from splitscan.jobs import destination, verify
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.ledger_files import ledger_name
from splitscan.jobs.settings import IngestSettings, Layout
from splitscan.jobs.steps import IngestTarget, plan_ingest

KINDS = {
    "flat": {},
    "partitioned": {"partition_by": ("text",)},
    "jobs": {"layout": Layout.JOBS},
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def settings(request):
    return request.param


@pytest.fixture
def out(tmp_path, make_scan, run, settings):
    """A destination with three jobs, each of which has rejected a record."""
    for names in (["a"], ["a", "b"], ["a", "b", "c"]):
        run(make_scan(names, rows=3, bad=1), tmp_path / "out", **settings)
    return tmp_path / "out"


def remove(out, *numbers):
    """Remove ledgers, and those in the folders of jobs too."""
    for number in numbers:
        (out / ledger_name(number)).unlink()
        for ledger in out.glob(f"splitscan_job={number:08d}/_ledger.jsonl"):
            ledger.unlink()


def replace(out, number, change):
    """Change the bytes of a ledger, and take away the one in the folder of the job."""
    data = (out / ledger_name(number)).read_bytes()
    remove(out, number)
    (out / ledger_name(number)).write_bytes(change(data))


def rename(out, number, name):
    data = (out / ledger_name(number)).read_bytes()
    remove(out, number)
    (out / "_splitscan/ledger" / name).write_bytes(data)


DAMAGES = {
    "the newest is gone": lambda out: remove(out, 3),
    "the two newest are gone": lambda out: remove(out, 2, 3),
    "the first is gone": lambda out: remove(out, 1),
    "one in the middle is gone": lambda out: remove(out, 2),
    "all are gone": lambda out: remove(out, 1, 2, 3),
    "all are gone, and their folder": lambda out: (remove(out, 1, 2, 3), (out / "_splitscan/ledger").rmdir()),
    "our folder is gone": lambda out: (remove(out, 1, 2, 3), shutil.rmtree(out / "_splitscan")),
    "the newest is empty": lambda out: replace(out, 3, lambda data: b""),
    "the newest is cut short": lambda out: replace(out, 3, lambda data: data[: len(data) // 2]),
    "the newest lacks its last line": lambda out: replace(out, 3, lambda data: data[: data[:-1].rindex(b"\n") + 1]),
    "the newest has another's content": lambda out: replace(
        out, 3, lambda data: (out / ledger_name(2)).read_bytes()
    ),
    "the newest was set aside": lambda out: rename(out, 3, "00000003.jsonl.bak"),
    "the newest has a temporary name": lambda out: rename(out, 3, ".00000003.jsonl.tmp"),
    "the newest has the next number": lambda out: rename(out, 3, "00000004.jsonl"),
}  # fmt: skip


@pytest.mark.thin(10)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_a_missing_ledger_names_is_not_read_again(out, make_scan, run, seen, settings, damage):
    damage(out)
    before = seen(out)
    for names in (["a", "b", "c"], ["a", "b", "c", "d"]):
        with pytest.raises(IngestError) as caught:
            run(make_scan(names, rows=3, bad=1), out, **settings)
        assert caught.value.reason_code == "ledger-damaged"
    with pytest.raises(IngestError, match=r"\[ledger-damaged\]"):
        plan_ingest(FileSource(make_scan(["a"])), IngestTarget(out, IngestSettings(**settings)))
    assert {problem.code for problem in verify(out).problems} & {"ledger-damaged", "stray-file"}
    assert seen(out) == before


def test_where_the_ledger_is_restored_the_next_ingest_goes_on(out, make_scan, run, settings):
    data = (out / ledger_name(3)).read_bytes()
    remove(out, 3)
    with pytest.raises(IngestError, match="restore the ledgers from a backup"):
        run(make_scan(["a", "b", "c", "d"], rows=3), out, **settings)
    (out / ledger_name(3)).write_bytes(data)
    assert run(make_scan(["a", "b", "c", "d"], rows=3), out, **settings).files == 1
    assert verify(out, deep=True).ok


def test_a_missing_ledger_of_a_job_without_rows_is_missed_for_its_rejects(tmp_path, make_scan, run):
    out = tmp_path / "out"
    run(make_scan(["a"], rows=3), out)
    run(make_scan(["a", "b"], rows=0, bad=2, mode="DROPMALFORMED"), out, max_reject_ratio=1)
    remove(out, 2)
    with pytest.raises(IngestError, match=r"_splitscan/rejects/part-.*\n.*one such file"):
        run(make_scan(["a", "b"], mode="DROPMALFORMED"), out, max_reject_ratio=1)


def test_a_file_that_was_copied_from_another_destination_is_told_and_may_be_removed(out, make_scan, run, settings):
    other = out.with_name("other")
    run(make_scan(["a", "b", "c", "x"], rows=3), other)
    copy = shutil.copy(next(other.glob("part-*-00000000-*.parquet")), out)
    with pytest.raises(IngestError, match="a file that was copied here may be removed") as caught:
        run(make_scan(["y"], rows=3), out, **settings)
    assert caught.value.reason_code == "ledger-damaged"
    assert caught.value.where.path == copy
    (out / copy).unlink()
    assert run(make_scan(["y"], rows=3), out, **settings).files == 2


FOREIGN = [
    "notes.txt", "_SUCCESS", ".part.crc", "rows.parquet", "part-0.parquet", "part-x.parquet", "_metadata",
    "part-00000-3f2a9c1e-6b7d-4c8e-9f10-2a3b4c5d6e7f-c000.snappy.parquet", "kind=x/part-0.parquet",
    "_splitscan/rejects/part-x.rejects", "_splitscan/ledger/notes.txt", "_splitscan/ledger/.00000009.jsonl.tmp",
]  # fmt: skip


def test_files_of_others_hinder_no_ingest(out, make_scan, run, settings):
    for name in FOREIGN:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("of somebody else")
    assert run(make_scan(["a", "b", "c", "d"], rows=3), out, **settings).files == 1
    assert all((out / name).read_text() == "of somebody else" for name in FOREIGN)


def test_a_job_that_is_published_while_another_one_looks_is_none_without_a_ledger(out, make_scan, run, monkeypatch):
    real = destination.written_by_jobs

    def publishing(storage):
        listed = real(storage)
        monkeypatch.undo()
        run(make_scan(["a", "b", "c", "d"], rows=3), out)
        return listed

    monkeypatch.setattr(destination, "written_by_jobs", publishing)
    plan = plan_ingest(FileSource(make_scan(["a", "b", "c", "d"], rows=3)), IngestTarget(out))
    assert (plan.paths, plan.files_skipped) == ((), 4)
