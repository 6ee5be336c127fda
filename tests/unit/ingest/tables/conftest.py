"""Small ingests into tables without Spark."""

from types import SimpleNamespace

import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog

from splitscan.ingest.steps import Request, run_ingest
from splitscan.scan import FileScan, ScanPlanner


def read_delta(folder):
    return DeltaTable(folder.as_uri()).to_pyarrow_table()


def open_iceberg(folder):
    """The table of a destination with its own catalog, as another program opens it."""
    catalog = SqlCatalog("splitscan", uri=f"sqlite:///{folder}/iceberg.db", warehouse=f"file://{folder}")
    return catalog.load_table("splitscan.records")


def read_iceberg(folder):
    return open_iceberg(folder).scan().to_arrow()


READERS = {"delta": read_delta, "iceberg": read_iceberg}


@pytest.fixture(params=sorted(READERS))
def table(request, tmp_path, runner):
    """A table of each format: ingest into it, and read its rows as its own library does."""
    out = tmp_path / "out"

    def ingest(scan, chosen=None, **settings):
        return run_ingest(Request(scan, out, table=request.param, **settings), chosen or runner())

    def rows():
        return sorted(((row["id"], row["text"]) for row in READERS[request.param](out).to_pylist()), key=str)

    return SimpleNamespace(format=request.param, out=out, ingest=ingest, rows=rows)


@pytest.fixture
def expected(tmp_path):
    """The rows of the files of these names, as they are read without a destination."""

    def read(names):
        files = [str(tmp_path / f"in/{name}.csv") for name in names]
        scan = ScanPlanner.of(files, "csv", "id long, text string", {"header": True, "multiLine": True})
        return sorted(((row["id"], row["text"]) for row in FileScan(scan).to_arrow().to_pylist()), key=str)

    return read
