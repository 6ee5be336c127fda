"""What a fault costs: microseconds of CPU time per broken record, beside those of a whole clean record.

``python -m bench.fault_cost`` reads files without faults, and with one in each 20 records, in turn. It says by how much
they differ, divided by the number of faults: the least of some runs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import splitscan as ss
from splitscan.content.storage import open_storage
from splitscan.jobs.parquet import RejectFileWriter
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.staging import Staging
from splitscan.reading.block_scan import scan_blocks

_EVERY = 20
_SCHEMA = "id bigint, name string, amount double"
_SCAN_OF = {".csv": ss.scan_csv, ".json": ss.scan_json}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=400_000, help="records of each file (default 400000)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each, of which the fastest counts (default 5)")
    said = parser.parse_args()
    print(f"{'format':8}{'work':18}{'us a record':>12}{'us a fault':>12}")  # its result
    with tempfile.TemporaryDirectory() as folder:
        for suffix in _SCAN_OF:
            clean, broken = (_write(Path(folder), suffix, said.records, each) for each in (False, True))
            for name, work in _works(suffix).items():
                pairs = [(_seconds(work, clean), _seconds(work, broken)) for _ in range(said.runs)]
                record, whole = min(a for a, _ in pairs), min(b for _, b in pairs)
                fault = (whole - record) * _EVERY / said.records
                print(f"{suffix[1:]:8}{name:18}{record / said.records * 1e6:12.3f}{fault * 1e6:12.2f}")


def _works(suffix: str) -> dict[str, Callable[[Path], Any]]:
    scan = _SCAN_OF[suffix]

    def called(path: Path) -> None:
        deque(scan(path, schema=_SCHEMA).to_batches(on_reject=lambda _: None), 0)

    def table(path: Path) -> None:
        with RejectFileWriter(Staging(open_storage(str(path.parent)), "job"), "rejects", IngestSettings()) as rejects:
            planner = scan(path, schema=_SCHEMA)
            deque(scan_blocks(planner.spec, planner.blocks(), on_reject=rejects.add), 0)

    return {
        "to_arrow": lambda path: scan(path, schema=_SCHEMA).to_arrow(),
        "dropped": lambda path: scan(path, schema=_SCHEMA, mode="DROPMALFORMED").to_arrow(),
        "_corrupt_record": lambda path: scan(path, schema=f"{_SCHEMA}, _corrupt_record string").to_arrow(),
        "rescued": lambda path: scan(path, schema=_SCHEMA, rescuedDataColumn="_rescued").to_arrow(),
        "on_reject": called,
        "table of rejects": table,
    }


def _write(folder: Path, suffix: str, records: int, broken: bool) -> Path:
    """A file whose records are alike, but that a number is none in some."""
    path = folder / f"{'broken' if broken else 'clean'}{suffix}"
    values = [(f"{i}x" if broken and i % _EVERY == 0 else str(i), f"name {i % 97}", i / 7) for i in range(records)]
    if suffix == ".csv":
        path.write_text("".join(f"{i},{name},{amount}\n" for i, name, amount in values))
    else:
        keys = ((i if i.isdigit() else f'"{i}"', name, amount) for i, name, amount in values)
        path.write_text("".join(f'{{"id": {i}, "name": "{name}", "amount": {amount}}}\n' for i, name, amount in keys))
    return path


def _seconds(work: Callable[[Path], Any], path: Path) -> float:
    began = time.process_time()
    work(path)
    return time.process_time() - began


if __name__ == "__main__":
    main()
