"""What a commit costs as a destination grows: python -m bench.commit_cost [delta|iceberg|none] [commits].

Each commit publishes ten files of one row. A plain folder passes if the last ten take at most 1.5 times the first ten;
what a table format's own commit costs grows with its log, and is printed.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from splitscan.content.storage import open_storage
from splitscan.sinks import open_sink
from splitscan.sinks.columns import describe_columns
from splitscan.sinks.contract import Published
from splitscan.sinks.ledger import Ledger
from splitscan.sinks.parts import parquet_name, part_name
from splitscan.sinks.settings import IngestSettings
from splitscan.sinks.staging import Staging
from splitscan.sinks.writing import ParquetSink

FILES = 10
MOST_GROWTH = 1.5
SCHEMA = pa.schema([("id", pa.int64())])


def commit_seconds(folder: Path, table: str, commits: int) -> list[float]:
    """Publish job after job, and tell how long each commit took, without the writing of its files."""
    sink = open_sink(folder, table)
    sink.check(SCHEMA, Published({}))
    sink.begin(SCHEMA)
    batch = pa.record_batch([pa.array([1])], schema=SCHEMA)
    taken = []
    for number in range(1, commits + 1):
        job_id = f"{number:032x}"[::-1]
        data = open_storage(sink.data_root) if sink.data_root else None
        staging = Staging(sink.place.staging, job_id, data)
        written = []
        for part in range(FILES):
            name = parquet_name(job_id, part_name(part, 1), "zstd")
            with ParquetSink(staging, name, SCHEMA, IngestSettings()) as output:
                output.write(batch)
            written.append(output.written)
        columns = describe_columns(SCHEMA)
        ledger = Ledger(job_id, number, "2026-01-01T00:00:00Z", "csv", {}, columns, (), (), tuple(written))
        started = time.perf_counter()
        sink.commit(staging, ledger, lambda _: None)
        taken.append(time.perf_counter() - started)
        staging.delete()
    return taken


def main() -> int:
    """Measure, print, and fail if a plain folder's commits became more expensive."""
    table = sys.argv[1] if len(sys.argv) > 1 else "none"
    commits = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    with tempfile.TemporaryDirectory() as folder:
        taken = commit_seconds(Path(folder) / "out", table, commits)
    first, last = statistics.median(taken[1:11]), statistics.median(taken[-10:])  # the first makes the folder
    print(f"{table}: {commits} commits of {FILES} files; first ten {first * 1e3:.1f} ms, last ten {last * 1e3:.1f} ms")
    return 1 if table == "none" and last > MOST_GROWTH * first else 0


if __name__ == "__main__":
    sys.exit(main())
