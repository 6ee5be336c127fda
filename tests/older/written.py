"""Destinations and streams that are kept as test data: what they read, and how they were written.

``python -m tests.older.written`` writes them again with the version that runs it, into ``tests/data/written-VERSION``.
What an older version wrote is never replaced.
"""

import json
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fsspec
from pyiceberg.table import TableProperties

import splitscan
from splitscan.ingest.files import FileSource
from splitscan.ingest.steps import Delivery, run_ingest
from splitscan.ingest.watching import Watch
from splitscan.options.stream import parse_stream_options
from splitscan.scan import ScanPlanner
from splitscan.streaming.windows import read_offset

from ..unit.ingest.conftest import InProcessRunner
from ..unit.streaming.following import Stream

DATA = Path(__file__).parents[1] / "data"
SOURCE = "memory://splitscan-older/in"
SCHEMA = "id long, text string"
OPTIONS = {"header": True, "multiLine": True, "blockSize": 60, "openCostInBytes": 0}
STREAM_OPTIONS = {"blockSize": 8, "blocksThreshold": 3, "fileMode": "append", "closeAfterMs": 60_000}

# A table of Iceberg knows itself by absolute paths. Every place it is put in has a path of this length, so that one
# can be replaced by the other in all its files, compressed Parquet pages apart, which hold none.
_PLACE_LENGTH = 180
_PLACE = "/".join(["/tmp/written", "w" * (_PLACE_LENGTH - len("/tmp/written/"))])


def put_source(name, first, count, folder=SOURCE, broken=0):
    """A file whose path, bytes and modification time are the same in every process."""
    lines = ["id,text"] + [f'{i},"{name} line\nof {i}"' for i in range(first, first + count)] + ["oops"] * broken
    _put(f"{folder}/{name}.csv", "\n".join(lines) + "\n", first)


def put_log(lines, minutes=0):
    """A file that grows: the same again is the same version."""
    _put(f"{SOURCE}-log/log", "".join(f"line {number}\n" for number in range(lines)), minutes)


def _put(uri, text, minutes):
    storage, path = fsspec.core.url_to_fs(uri)
    storage.pipe_file(path, text.encode())
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    storage.store[path].created = storage.store[path].modified = moment


def clear_sources():
    """Remove all of them."""
    storage, path = fsspec.core.url_to_fs(SOURCE.rpartition("/")[0])
    if storage.exists(path):
        storage.rm(path, recursive=True)


def ingest(out, table=None, source=SOURCE):
    """One job of all files."""
    return run_ingest(
        FileSource(ScanPlanner.of(source, "csv", SCHEMA, OPTIONS)), Delivery(out, table=table), InProcessRunner()
    )


def watch(out):
    """All windows that are left."""
    stream, others = parse_stream_options({"scanIntervalMillis": 0, "maxFilesPerTrigger": 1, **OPTIONS})
    watching = Watch(lambda: ScanPlanner.of(SOURCE, "csv", SCHEMA, others), str(out), stream)
    try:
        return list(watching.drain(InProcessRunner()))
    finally:
        watching.close()


def follow(state):
    """A stream over the file that grows, from the offset in *state* if one is there."""
    stream = Stream(f"{SOURCE}-log", state, **STREAM_OPTIONS)
    offset = state / "offset.json"
    if offset.exists():
        stream.position = read_offset(json.loads(offset.read_text()))
    return stream


def place(written, folder):
    """Copy what was written into a new place below *folder*, and return it."""
    stem = f"{folder}/"
    out = Path(stem + "p" * (_PLACE_LENGTH - len(stem)))
    shutil.copytree(written, out)
    for file in out.rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes().replace(_PLACE.encode(), str(out).encode()))
    return out


def main():
    """Write everything."""
    TableProperties.WRITE_AVRO_COMPRESSION_DEFAULT = "null"  # paths are to be found in manifests
    target = DATA / f"written-{splitscan.__version__}"
    if target.exists():
        sys.exit(f"{target} is there")
    for kind in ("plain", "delta", "iceberg", "watched"):
        out = Path(_PLACE)
        shutil.rmtree(out.parent, ignore_errors=True)
        clear_sources()
        put_source("a", 0, 6)
        put_source("b", 10, 5, broken=1)
        if kind == "watched":
            watch(out)
        else:
            ingest(out, None if kind == "plain" else kind)
            put_source("c", 20, 4)
            ingest(out)
        shutil.copytree(out, target / kind)
        shutil.rmtree(out.parent)
    put_log(9)
    stream = follow(target / "stream")
    stream.drain()
    (target / "stream/offset.json").write_text(json.dumps(stream.position.to_json()) + "\n")  # as Spark keeps it


if __name__ == "__main__":
    main()
