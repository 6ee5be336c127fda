"""What a table costs beside a folder: ``python -m bench.destination_cost [--mb 256] [--runs 3]``.

The same CSV with newlines in quotes is ingested into a plain folder, a table of Delta Lake and one of Iceberg, in turn,
each new in every run. What the table's own library reads of them has to agree. A ratio is that of the CPU seconds of
all processes to those of the folder, the medians of runs; the wall time stands beside it, and is true on an idle
machine only. It fails if a table costs more than wanted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

import splitscan as ss
from bench.generated import SCHEMA, write_generated_csv
from bench.measure import Samples, interleave
from bench.session import session

_MOST = 1.1  # times what a folder costs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=256, help="size of the input (default 256)")
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each (default 3)")
    said = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="splitscan-bench-") as scratch:
        source = Path(scratch) / "in.csv"
        write_generated_csv(source, said.mb * 1_000_000)
        spark = session()
        contenders = {name: _ingest(spark, source, Path(scratch) / "out", name) for name in _READERS}
        samples = interleave(contenders, said.runs)
        spark.stop()
    print(f"{'destination':14}{'CPU s':>8}{'ratio':>8}{'wall s':>8}{'ratio':>8}")  # its result
    folder = samples["none"]
    ratios = {name: _cpu(sample) / _cpu(folder) for name, sample in samples.items()}
    for name, sample in samples.items():
        wall = sample.median / folder.median
        print(f"{name:14}{_cpu(sample):8.2f}{ratios[name]:8.2f}{sample.median:8.2f}{wall:8.2f}")
    return int(max(ratios.values()) > _MOST)


def _cpu(sample: Samples) -> float:
    return sum(sample.cpu(role) for role in ("driver", "worker", "jvm"))


def _ingest(spark: SparkSession, source: Path, out: Path, kind: str) -> Callable[[], Callable[[], tuple[int, int]]]:
    def ingest() -> Callable[[], tuple[int, int]]:
        shutil.rmtree(out, ignore_errors=True)
        ss.scan_csv(source, SCHEMA, multi_line=True, escape='"').ingest(spark, str(out), table=kind)

        def found() -> tuple[int, int]:
            ids = _READERS[kind](out)["id"]
            return len(ids), pc.sum(ids).as_py()

        return found

    return ingest


def _read_iceberg(out: Path) -> pa.Table:
    catalog = SqlCatalog("splitscan", uri=f"sqlite:///{out}/iceberg.db", warehouse=f"file://{out}")
    return catalog.load_table("splitscan.records").scan(selected_fields=("id",)).to_arrow()


_READERS: dict[str, Callable[[Path], pa.Table]] = {
    "none": lambda out: ds.dataset(out, format="parquet").to_table(columns=["id"]),
    "delta": lambda out: DeltaTable(out).to_pyarrow_table(columns=["id"]),
    "iceberg": _read_iceberg,
}


if __name__ == "__main__":
    sys.exit(main())
