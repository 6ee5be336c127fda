"""The table of rejects is the same file, whether rejects come as columns or as objects, one by one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import splitscan as ss
from splitscan.blocks import Reject
from splitscan.content.storage import open_storage
from splitscan.formats.decoding.contract import Fault, Faults
from splitscan.jobs.ledger import REJECT_SUFFIX
from splitscan.jobs.parquet import REJECT_PORTION_BYTES, RejectFileWriter
from splitscan.jobs.part_writing import run_part, write_files
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.staging import PartTarget, Staging, plan_parts
from splitscan.reading.block_scan import scan_blocks
from splitscan.reading.rejects import OnRejects, RejectBatch

ODD = [
    "x", "it's", 'say ""', "a\\b", "é", "\u2028", "a@b", "s3://u:pw@host/x", "http://h/x?sig=abc&k=1", "y" * 41, "\t",
]  # fmt: skip
CSV = "".join(f"{value},name {i},{i}\n" for i, value in enumerate([*ODD, "1", "2,3,4,5"] * 3))
LONG = "".join(f"{'z' * (i * 9000)},n,{i}x\n" for i in range(10))
JSON = "".join(f'{{"id": {value}, "name": "n", "amount": 1}}\n' for value in ['"x"', "1", "[2]", '"a@b\'"', "{", '"é"'])
MANY = "".join(f"{i}x,n,1\n" for i in range(9_000))
FILES = {
    "odd.csv": CSV, "long.csv": LONG, "some.json": JSON + '[1]\n"text"\n', "many.csv": MANY,
    "t=1@x.csv": CSV, "quote.csv": 'a,b,1\n"x,b,1\n' * 5,
}  # fmt: skip
SCHEMA = "id int, name string, amount double"


class Portions(RejectFileWriter):
    """Remembers what it is given."""

    def write(self, batch: pa.RecordBatch) -> None:
        batch.validate(full=True)
        seen: list[tuple[int, int]] = self.__dict__.setdefault("portions", [])
        seen.append((batch.num_rows, batch.nbytes))
        super().write(batch)


def table(folder: Path, read: Callable[[OnRejects], Any], *, as_objects: bool) -> tuple[Any, ...]:
    """The file's bytes, the portions it was written in, and what the sink knows of it."""
    settings = IngestSettings(row_group_rows=1000)
    with Portions(Staging(open_storage(str(folder)), f"job{as_objects}"), "r.parquet", settings) as rejects:

        def one_by_one(some: Any) -> None:
            for reject in list(some):
                rejects.add([reject])

        read(one_by_one if as_objects else rejects.add)
    written = (folder / f"job{as_objects}/files/r.parquet").read_bytes()
    return written, rejects.__dict__["portions"], rejects.count, rejects.dropped, rejects.examples


def scanned(path: Path, **options: Any) -> Callable[[OnRejects], None]:
    def read(take: OnRejects) -> None:
        scan = (ss.scan_json if path.suffix == ".json" else ss.scan_csv)(path, schema=SCHEMA, **options)
        for _ in scan_blocks(scan.spec, scan.plan(), on_reject=take):
            pass

    return read


@pytest.mark.thin(2)
@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
@pytest.mark.parametrize("encoding", ["UTF-8", pytest.param("UTF-16LE", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FILES)
def test_columns_and_objects_leave_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, mode: str, encoding: str
) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name].encode(encoding))
    read = scanned(path, mode=mode, encoding=encoding)
    columns, objects = (table(tmp_path, read, as_objects=as_objects) for as_objects in (False, True))
    assert columns == objects
    assert columns[2] > 0
    monkeypatch.setenv("SPLITSCAN_ENGINE", "reference")
    (tmp_path / "reference").mkdir()
    assert table(tmp_path / "reference", read, as_objects=False) == columns


def test_a_callback_gets_the_same_rejects_in_the_same_order(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(CSV)
    found: list[Reject] = []
    batches: list[Any] = []
    scan = ss.scan_csv(path, schema=SCHEMA)
    for _ in scan.to_batches(on_reject=found.append):
        pass
    scanned(path)(batches.append)
    assert [reject for batch in batches for reject in batch] == found
    assert all(type(reject) is Reject for reject in found)
    assert any(isinstance(batch, RejectBatch) for batch in batches)
    lines, offset = CSV.split("\n")[:-1], 0
    expected = []
    for line in lines:
        data = line.encode()
        if not line.startswith("1,"):
            expected.append((offset, len(data), data))
        offset += len(data) + 1
    assert [(reject.offset, reject.length_bytes, reject.raw) for reject in found] == expected


def batch_of(sizes: list[int]) -> RejectBatch:
    count = len(sizes)
    faults = Faults(Fault(i, "c", f"reason {i} \udcff", i % 3 == 0) for i in range(count))
    raw = pa.array([b"r" * size for size in sizes], pa.large_binary())
    return RejectBatch(
        "/in/\udcff.csv", np.arange(count), np.array(sizes), faults.words, raw, np.arange(count) % 3 != 0
    )


@pytest.mark.thin(1)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0, 1, 2]])
def test_portions_do_not_depend_on_how_rejects_come(tmp_path: Path, order: list[int]) -> None:
    kinds: list[list[int]] = [[1] * 5000, [60_000] * 300, [0, 7, 60_000] * 30]

    def read(take: OnRejects) -> None:
        for index in order:
            batch = batch_of(kinds[index])
            take(batch)
            take([batch[0], batch[1]])

    columns, objects = (table(tmp_path, read, as_objects=as_objects) for as_objects in (False, True))
    assert columns == objects


def test_a_task_holds_little_of_the_table_beside_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text(f"x,{'n' * 2000},1\n" * 9_000)
    scan = ss.scan_csv(path, schema=SCHEMA)
    (part,) = plan_parts({(0, block.index): block for block in scan.plan()}, scan.tasks(scan.plan()), set())
    target = PartTarget("j" * 8, str(tmp_path / "out"), IngestSettings(), scan.spec.schema)
    run_part(target, part, partial(write_files, scan.spec))
    footer = pq.read_metadata(next((tmp_path / "out").rglob(f"*{REJECT_SUFFIX}")))
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    assert sum(group.num_rows for group in groups) == 9_000
    assert max(group.num_rows for group in groups) * 2000 < 2 * REJECT_PORTION_BYTES
