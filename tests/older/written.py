"""A destination that is kept as test data, with the window log of who watched for it, and how it was written.

``python -m tests.older.written`` writes it, unless it is there: what an older version wrote is never replaced.
"""

import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fsspec

from splitscan.api.files import Scan
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.jobs.watching import Watch
from splitscan.options.stream import parse_stream_options

from ..unit.jobs.conftest import InProcessRunner

DESTINATION = Path(__file__).parent / "destination"
SOURCE = "memory://splitscan-older/in"
SCHEMA = "id long, text string"
OPTIONS = {"header": True, "multiLine": True, "blockSize": 60, "openCostInBytes": 0}


def put_source(name, first, count, broken=0):
    """A file whose path, bytes and modification time are the same in every process."""
    lines = ["id,text"] + [f'{i},"{name} line\nof {i}"' for i in range(first, first + count)] + ["oops"] * broken
    storage, path = fsspec.core.url_to_fs(f"{SOURCE}/{name}.csv")
    storage.pipe_file(path, ("\n".join(lines) + "\n").encode())
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=first)
    storage.store[path].created = storage.store[path].modified = moment


def clear_sources():
    """Remove all of them."""
    storage, path = fsspec.core.url_to_fs(SOURCE.rpartition("/")[0])
    if storage.exists(path):
        storage.rm(path, recursive=True)


def put_first_sources():
    """The files that the destination holds."""
    put_source("a", 0, 6)
    put_source("b", 10, 5, broken=1)


def ingest(out):
    """One job of all files."""
    return run_ingest(FileSource(Scan.of(SOURCE, "csv", SCHEMA, OPTIONS)), IngestTarget(out), InProcessRunner())


def watch(out):
    """All windows that are left."""
    stream, others = parse_stream_options({"scanIntervalMillis": 0, "maxFilesPerTrigger": 1, **OPTIONS})
    watching = Watch(lambda: Scan.of(SOURCE, "csv", SCHEMA, others), str(out), stream)
    try:
        return list(watching.drain(InProcessRunner()))
    finally:
        watching.close()


def main():
    """Write it."""
    if DESTINATION.exists():
        sys.exit(f"{DESTINATION} is there")
    put_first_sources()
    watch(DESTINATION)
    shutil.rmtree(DESTINATION / "_splitscan/staging", ignore_errors=True)


if __name__ == "__main__":
    main()
