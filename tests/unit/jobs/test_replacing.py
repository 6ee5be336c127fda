"""A corrected file takes the place of its first version: old rows leave and new ones come in one commit."""

import os
from collections import Counter
from dataclasses import replace

import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog

from splitscan.api.files import Scan
from splitscan.api.rejects import list_rejects
from splitscan.errors import IngestError, SourceChangedError, UsageError
from splitscan.jobs import replacing, verify
from splitscan.jobs.destination import open_destination
from splitscan.jobs.division import Runner
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.ledger_files import parse_ledger, read_ledgers, render_ledger
from splitscan.jobs.settings import IngestSettings, Layout, OnChanged, SchemaEvolution
from splitscan.jobs.steps import IngestTarget, plan_ingest, run_ingest

KINDS = ["flat", "jobs", "delta", "iceberg"]
SCHEMA = "id long, kind string"


class World:
    """A folder of sources, and a destination of one kind."""

    def __init__(self, folder, kind, partition_by):
        self.folder, self.kind, self.partition_by = folder / "in", kind, partition_by
        self.out = folder / "out"
        self.folder.mkdir()
        self._clock = 1_700_000_000

    def write(self, name, numbers, more=""):
        """Write a file of these ids; the kind of each says whether it is odd."""
        path = self.folder / f"{name}.csv"
        path.write_text("".join(f"{number},{'ab'[number % 2]}{more}\n" for number in numbers))
        self._clock += 1
        os.utime(path, (self._clock, self._clock))
        return path

    def source(self, schema=SCHEMA, **options):
        given = {"blockSize": 40, "taskSize": 200, "openCostInBytes": 0, **options}
        return FileSource(Scan.of(str(self.folder), "csv", schema, given))

    def delivery(self, on_changed=OnChanged.REPLACE, **settings):
        is_table = self.kind in {"delta", "iceberg"}
        layout = None if is_table else Layout(self.kind)
        return IngestTarget(
            self.out,
            IngestSettings(partition_by=self.partition_by, layout=layout, on_changed=on_changed, **settings),
            table=self.kind if is_table else None,
        )

    def ingest(self, on_changed=OnChanged.REPLACE, schema=SCHEMA, options=None, **settings):
        return run_ingest(self.source(schema, **(options or {})), self.delivery(on_changed, **settings), Runner())

    def rows(self):
        """All rows, as a reader who knows nothing of us finds them."""
        if self.kind == "delta":
            return DeltaTable(self.out).to_pyarrow_table()
        if self.kind == "iceberg":
            uri = f"sqlite:///{self.out}/iceberg.db"
            catalog = SqlCatalog("splitscan", uri=uri, warehouse=f"file://{self.out}")
            return catalog.load_table("splitscan.records").scan().to_arrow()
        return ds.dataset(self.out, format="parquet", partitioning="hive").to_table()

    def check(self, *ids):
        """Exactly these ids are there, ``verify`` agrees, and so do its figures."""
        assert Counter(self.rows()["id"].to_pylist()) == Counter(number for some in ids for number in some)
        report = verify(self.out, deep=True)
        assert (report.problems, report.notes) == ((), ())
        assert report.rows == sum(map(len, ids))
        assert report.files == len(ids)


@pytest.fixture(params=[(), ("kind",)], ids=["", "by-kind"])
def world(request, tmp_path, kind):
    return World(tmp_path, kind, request.param)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.mark.thin(3)
def test_the_rows_of_a_changed_file_are_replaced_and_those_beside_them_stay(world):
    for name, start in (("a", 0), ("b", 100), ("c", 200)):
        world.write(name, range(start, start + 20))
    world.ingest()
    world.write("b", range(500, 507))
    report = world.ingest()
    assert (report.files, report.files_replaced, report.files_skipped, report.rows) == (1, 1, 2, 7)
    world.check(range(20), range(500, 507), range(200, 220))
    assert world.ingest().nothing_to_do


@pytest.mark.thin(3)
def test_a_file_is_replaced_again_and_again_and_may_return_to_its_first_version(world):
    first = world.write("a", range(20))
    world.write("b", range(100, 120))
    world.ingest()
    kept, times = first.read_bytes(), first.stat().st_mtime
    world.write("a", range(50, 60))
    world.ingest()
    world.write("b", range(70, 75))
    world.ingest()
    world.check(range(50, 60), range(70, 75))
    first.write_bytes(kept)
    os.utime(first, (times, times))  # the very fingerprint of the first version: it is the newest all the same
    assert world.ingest().files_replaced == 1
    world.check(range(20), range(70, 75))


@pytest.mark.thin(3)
def test_new_files_come_in_the_same_commit_and_a_file_that_is_gone_stays(world):
    world.write("a", range(20))
    gone = world.write("b", range(100, 120))
    world.ingest()
    world.write("a", range(30, 50))
    world.write("c", range(200, 210))
    kept = gone.read_bytes()
    gone.unlink()
    report = world.ingest()
    assert (report.files, report.files_replaced) == (2, 1)
    gone.write_bytes(kept)
    os.utime(gone, (1_700_000_002, 1_700_000_002))
    world.check(range(30, 50), range(100, 120), range(200, 210))


@pytest.mark.thin(3)
def test_a_version_without_rows_takes_the_place_of_one_with_some_and_the_other_way_round(world):
    world.write("a", range(20))
    world.write("b", range(100, 103))
    world.ingest()
    world.write("a", [])
    world.ingest()
    world.check([], range(100, 103))
    world.write("a", range(7))
    world.ingest()
    world.check(range(7), range(100, 103))


@pytest.mark.thin(3)
def test_everything_may_be_replaced_at_once(world):
    for name in "ab":
        world.write(name, range(20))
    world.ingest()
    for name in "ab":
        world.write(name, range(20, 50))
    world.ingest()
    world.check(range(20, 50), range(20, 50))


@pytest.mark.thin(3)
def test_a_column_that_the_new_version_brings_is_null_in_the_rows_that_stay(world):
    world.write("a", range(20))
    world.write("b", range(100, 120))
    world.ingest()
    world.write("a", range(20), more=",7")
    world.ingest(schema=f"{SCHEMA}, more long", schema_evolution_mode=SchemaEvolution.ADD)
    world.check(range(20), range(100, 120))
    assert Counter(world.rows()["more"].to_pylist()) == {7: 20, None: 20}


@pytest.mark.thin(3)
def test_without_the_option_a_changed_file_is_refused_or_left_alone(world):
    world.write("a", range(20))
    world.ingest()
    world.write("a", range(5))
    with pytest.raises(SourceChangedError, match="replace_changed=True"):
        world.ingest(OnChanged.FAIL)
    assert world.ingest(OnChanged.SKIP).files_changed == 1
    assert Counter(world.rows()["id"].to_pylist()) == Counter(range(20))


def test_a_dry_run_says_what_would_be_replaced(world):
    world.write("a", range(20))
    world.ingest()
    path = world.write("a", range(5))
    plan = plan_ingest(world.source(), world.delivery())
    assert (plan.paths, plan.replaced, plan.changed) == ((str(path),), (str(path),), ())


@pytest.mark.thin(3)
def test_rejects_of_a_replaced_version_are_not_listed_any_more(world):
    path = world.write("a", range(20))
    path.write_text(path.read_text() + "x,a\n")
    other = world.write("b", range(20))
    other.write_text(other.read_text() + "y,b\n")
    world.ingest()
    assert [each.raw for each in list_rejects(world.out)] == [b"x,a", b"y,b"]
    path.write_text(path.read_text().replace("x,a", "21,a"))
    world.ingest()
    assert [each.raw for each in list_rejects(world.out)] == [b"y,b"]
    report = verify(world.out)
    assert (report.problems, report.rejects) == ((), 1)


@pytest.mark.thin(3)
def test_the_ledger_says_what_left_and_is_read_back(world):
    world.write("a", range(20))
    world.write("b", range(100, 120))
    world.ingest()
    world.write("a", range(5))
    world.ingest()
    _, ledger = read_ledgers(open_destination(world.out).place.destination)
    assert [(each.sequence, each.file_index) for each in ledger.replaced] == [(1, 0)]
    assert {each.into for each in ledger.removed} <= {"", *(each.name for each in ledger.written)}
    assert parse_ledger(render_ledger(ledger), "here") == ledger


@pytest.mark.parametrize("batch_rows", [1, 3, 7])
def test_rows_that_stay_are_found_wherever_batches_end(tmp_path, monkeypatch, batch_rows):
    monkeypatch.setattr(replacing, "_BATCH_ROWS", batch_rows)
    world = World(tmp_path, "flat", ())
    for name, start in (("a", 0), ("b", 100), ("c", 200), ("d", 300)):
        world.write(name, range(start, start + 5))
    world.ingest(options={"taskSize": 10_000})
    world.write("b", [1])
    world.write("d", [2])
    world.ingest()
    world.check(range(5), [1], range(200, 205), [2])


def test_readers_who_look_at_the_first_file_find_a_column_that_came_after_it_had_left(tmp_path):
    world = World(tmp_path, "flat", ("kind",))
    for name, kind in (("one", "a"), ("two", "b")):
        world.write(name, []).write_text(f"1,{kind}\n")
    world.ingest()
    world.write("one", []).write_text("22,z\n")
    world.ingest()
    world.write("three", []).write_text("3,z,7\n")
    world.ingest(schema=f"{SCHEMA}, more long", schema_evolution_mode=SchemaEvolution.ADD)
    assert Counter(world.rows()["more"].to_pylist()) == {7: 1, None: 2}


def test_rows_that_somebody_else_has_rewritten_are_refused_and_nothing_changes(tmp_path):
    world = World(tmp_path, "delta", ())
    world.write("a", range(20))
    world.write("b", range(100, 120))
    world.ingest()
    DeltaTable(world.out).optimize.compact(target_size=10**9)
    DeltaTable(world.out).delete("id = 3")
    world.write("a", range(5))
    with pytest.raises(IngestError) as raised:
        world.ingest()
    assert raised.value.reason_code == "rows-elsewhere"
    assert world.rows().num_rows == 39


def test_a_file_that_lies_there_after_it_has_left_is_a_stray(tmp_path):
    world = World(tmp_path, "flat", ())
    world.write("a", range(20))
    world.ingest()
    old = next(world.out.glob("*.parquet"))
    kept = old.read_bytes()
    world.write("a", range(5))
    world.ingest()
    assert not old.exists()
    old.write_bytes(kept)
    assert {problem.code for problem in verify(world.out).problems} == {"stray-file"}


def test_a_ledger_that_says_otherwise_than_those_before_it_is_told(tmp_path):
    world = World(tmp_path, "flat", ())
    world.write("a", range(20))
    world.write("b", range(100, 120))
    world.ingest()
    world.write("a", range(5))
    world.ingest()
    storage = open_destination(world.out).place.destination
    _, ledger = read_ledgers(storage)
    lying = replace(ledger, replaced=(replace(ledger.replaced[0], file_index=1),))
    storage.write_bytes_atomic("_splitscan/ledger/00000002.jsonl", render_ledger(lying))
    assert "not-accounted" in {problem.code for problem in verify(world.out).problems}


def test_two_answers_to_one_question_are_refused():
    assert IngestSettings.of(on_changed="fail", replace_changed=True).on_changed is OnChanged.REPLACE
    with pytest.raises(UsageError, match="not both"):
        IngestSettings.of(on_changed="skip", replace_changed=True)
