"""Small ingests into tables without Spark."""

from types import SimpleNamespace

import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError

from splitscan.api.files import Scan
from splitscan.jobs import IngestSettings, verify
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.steps import IngestTarget, plan_ingest, run_ingest
from splitscan.jobs.table import TableDestination
from splitscan.jobs.watching import Watch
from splitscan.options.stream import parse_stream_options


def read_delta(folder):
    return DeltaTable(folder.as_uri()).to_pyarrow_table()


def open_iceberg(folder):
    """The table of a destination with its own catalog, as another program opens it."""
    catalog = SqlCatalog("splitscan", uri=f"sqlite:///{folder}/iceberg.db", warehouse=f"file://{folder}")
    return catalog.load_table("splitscan.records")


def clean_log(out):
    """Let a Delta table forget what led to it."""
    handle = DeltaTable(out)
    handle.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
    handle = DeltaTable(out)
    handle.create_checkpoint()
    handle.cleanup_metadata()
    assert not (out / "_delta_log/00000000000000000000.json").exists()


def read_iceberg(folder):
    return open_iceberg(folder).scan().to_arrow()


def read_plain(folder):
    return ds.dataset(folder, format="parquet", partitioning="hive").to_table()


class Death(BaseException):
    """What happens to a process that is killed: nothing of it runs any more."""


def die_at(monkeypatch, ingest, scan, step):
    """Run a job that dies just before a step of its commit."""
    original = TableDestination.commit

    def commit(target, staging, ledger, announce):
        def mortal(name):
            if name == step:
                raise Death

        original(target, staging, ledger, mortal)

    with monkeypatch.context() as patched:
        patched.setattr(TableDestination, "commit", commit)
        with pytest.raises(Death):
            ingest(scan)


READERS = {"delta": read_delta, "iceberg": read_iceberg}


@pytest.fixture(params=sorted(READERS))
def table(request, tmp_path, runner):
    """A table of each format: ingest into it, and read its rows as its own library does."""
    out = tmp_path / "out"

    def ingest(scan, chosen=None, **settings):
        return run_ingest(FileSource(scan), IngestTarget(out, table=request.param, **settings), chosen or runner())

    def rows():
        try:
            found = READERS[request.param](out).to_pylist()
        except (TableNotFoundError, NoSuchTableError):  # it is created with the files of its first job
            return []
        return sorted(((row["id"], row["text"]) for row in found), key=str)

    return SimpleNamespace(format=request.param, out=out, ingest=ingest, rows=rows)


@pytest.fixture(params=["delta", pytest.param("iceberg", marks=pytest.mark.slow), "none"])
def target(request, tmp_path, runner):
    """A destination of each kind; ``write`` puts a file beside those that are there, ``ingest`` reads all."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()

    def write(name, *lines):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n")

    def options(more):
        csv = {"header": True, "headerMapping": "byName", "inferSchema": True}
        return {**({} if "format" in more else csv), **more}

    def asked(mode, more):
        settings = IngestSettings(schema_evolution_mode=mode, max_reject_ratio=1, partition_by=more.pop("by", None))
        said = options(more)
        scan = Scan.of(str(folder), said.pop("format", "csv"), said.pop("schema", None), said)
        return FileSource(scan), IngestTarget(out, settings, table=request.param)

    def ingest(mode, chosen=None, **more):
        return run_ingest(*asked(mode, more), chosen or runner())

    def plan(mode, **more):
        return plan_ingest(*asked(mode, more))

    def watch(mode, chosen=None, **more):
        said = options({"scanIntervalMillis": 0, "maxFilesPerTrigger": 1, **more})
        kind, schema = said.pop("format", "csv"), said.pop("schema", None)
        stream, others = parse_stream_options(said)
        settings = IngestSettings(schema_evolution_mode=mode, max_reject_ratio=1)
        build = lambda: Scan.of(str(folder), kind, schema, others)  # noqa: E731
        watching = Watch(build, out, stream, settings, table=request.param)
        try:
            return [window.report.rows for window in watching.drain(chosen or runner())]
        finally:
            watching.close()

    def rows(by="text"):
        found = {**READERS, "none": read_plain}[request.param](out).to_pylist()
        return sorted(found, key=lambda row: str(row[by]))

    def is_proved():
        report = verify(out, deep=True)
        return report.problems == report.notes == ()

    return SimpleNamespace(
        kind=request.param, folder=folder, out=out, write=write, ingest=ingest, plan=plan, watch=watch, rows=rows,
        is_proved=is_proved,
    )  # fmt: skip


@pytest.fixture
def expected(tmp_path):
    """The rows of the files of these names, as they are read without a destination."""

    def read(names):
        files = [str(tmp_path / f"in/{name}.csv") for name in names]
        scan = Scan.of(files, "csv", "id long, text string", {"header": True, "multiLine": True})
        return sorted(((row["id"], row["text"]) for row in scan.to_arrow().to_pylist()), key=str)

    return read
