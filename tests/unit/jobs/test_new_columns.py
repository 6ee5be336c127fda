"""A plain folder with a column that its old files lack: no reader loses it without a word."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from splitscan.api.files import Scan
from splitscan.jobs import SchemaEvolution, verify
from splitscan.jobs.ledger_files import parse_ledger, render_ledger
from splitscan.jobs.settings import Layout
from splitscan.jobs.staging import Staging
from splitscan.jobs.workplace import move_in, open_destination_storage


@pytest.fixture(params=Layout, ids=[layout.value for layout in Layout])
def layout(request):
    """How the destination of a test is laid out."""
    return request.param


@pytest.fixture(params=[None, ("k",)], ids=["one folder", "partitions"])
def grown(request, tmp_path, run, layout):
    """Six jobs; the third brings ``x`` and the fifth ``y``. Folders of later jobs sort before, between and after."""
    (tmp_path / "in").mkdir()
    brought = ["id,k", "id,k", "id,x,k", "id,x,k", "y,id,k", "id,k"]
    for number, (names, folder) in enumerate(zip(brought, ["m", "a-b", "a", "0", "z", "a b"], strict=True)):
        record = {"id": str(number), "k": folder, "x": f"x{number}", "y": f"y{number}"}
        text = ",".join(record[name] for name in names.split(","))
        (tmp_path / f"in/{number}.csv").write_text(f"{names}\n{text}\n")
        scan = Scan.of(str(tmp_path / "in"), "csv", None, {"header": True, "headerMapping": "byName"})
        settings = {"schema_evolution_mode": SchemaEvolution.ADD, "partition_by": request.param, "layout": layout}
        assert run(scan, tmp_path / "out", **settings).rows == 1
    return tmp_path / "out"


EXPECTED = [
    (0, None, None), (1, None, None), (2, "x2", None), (3, "x3", None), (4, None, "y4"), (5, None, None),
]  # fmt: skip

READERS = {
    "pyarrow dataset": lambda out: ds.dataset(out, format="parquet", partitioning="hive").to_table().to_pylist(),
    "pyarrow": lambda out: pq.read_table(out).to_pylist(),
    "pandas": lambda out: pd.read_parquet(out).astype(object).replace({float("nan"): None}).to_dict("records"),
    "polars": lambda out: pl.scan_parquet(f"{out}/**/*.parquet", missing_columns="insert").collect().to_dicts(),
    "duckdb": lambda out: (
        duckdb.sql(f"from read_parquet('{out}/**/*.parquet', union_by_name=true)").to_arrow_table().to_pylist()
    ),
}


@pytest.mark.thin(6)
@pytest.mark.parametrize("reader", READERS)
def test_readers_find_the_new_columns(grown, reader):
    found = READERS[reader](grown)
    assert sorted((row["id"], row["x"], row["y"]) for row in found) == EXPECTED


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "strict",
    [
        lambda out: pl.scan_parquet(f"{out}/**/*.parquet").collect(),
        lambda out: duckdb.sql(f"from '{out}/**/*.parquet'").fetchall(),
    ],
    ids=["polars", "duckdb"],
)
def test_readers_that_want_all_columns_in_all_files_say_so(grown, strict):
    with pytest.raises((pl.exceptions.PolarsError, duckdb.Error), match=r"[xy]\W.*missing_columns|column \"[xy]\""):
        strict(grown)


@pytest.mark.thin(2)
def test_the_first_file_by_any_order_has_all_columns(grown):
    names = [str(path.relative_to(grown)) for path in grown.rglob("*.parquet")]
    for first in (min(names), min(names, key=lambda name: name.split("/"))):
        assert {"id", "x", "y"} <= set(pq.read_schema(grown / first).names)
    assert verify(grown, deep=True).problems == ()


@pytest.mark.parametrize("layout", [Layout.FLAT])
def test_who_lists_during_a_commit_finds_whole_files_and_who_tells_their_columns_first(grown):
    ledgers = [parse_ledger(path.read_bytes(), path.name) for path in sorted(grown.glob("_splitscan/ledger/*.jsonl"))]
    third = ledgers[2]
    before = {written.name for ledger in ledgers[:2] for written in ledger.data_files}
    staging = Staging(open_destination_storage(grown).staging, third.job_id)
    for ledger in ledgers[2:]:
        for written in ledger.data_files:
            path = grown / written.name
            if ledger is third:
                waiting = Path(staging.storage.path_of(staging.file_name(written.name)))
                waiting.parent.mkdir(parents=True, exist_ok=True)
                path.rename(waiting)
            else:
                path.unlink()
    seen = []

    def look(_):
        names = sorted(str(path.relative_to(grown)) for path in grown.rglob("*.parquet"))
        assert before <= set(names)
        seen.append(len(names))
        first = set(pq.read_schema(grown / names[0]).names)
        with_rows = (each for name in names if (each := pq.ParquetFile(grown / name)).metadata.num_rows)
        assert all(set(each.schema_arrow.names) <= first for each in with_rows)

    move_in(open_destination_storage(grown), staging, third.written[::-1], look)
    look("")
    assert seen == list(range(2, 3 + len(third.written)))


@pytest.mark.thin(2)
def test_a_job_that_takes_a_column_away_is_a_problem(grown):
    path = grown / "_splitscan/ledger/00000006.jsonl"
    ledger = parse_ledger(path.read_bytes(), str(path))
    path.write_bytes(render_ledger(replace(ledger, columns=ledger.columns[:-1])))
    assert "columns-changed" in {problem.code for problem in verify(grown).problems}
