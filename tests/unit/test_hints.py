"""The hint of each error, followed: doing what it says leads to another result.

Every code of ``docs/errors.md`` has an entry: how it comes about, a phrase of its hint, and what the hint says, done.
Codes without one are listed with the reason.
"""

from __future__ import annotations

import gzip
import importlib
import json
import os
import pickle
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from tests.unit.jobs.conftest import InProcessRunner
from tests.unit.reading.framework.scripted import AB, A, Scripted, load, operator, rows
from tests.unit.streaming.following import Stream, touch
from tests.unit.tables.conftest import rows_of_tasks

import splitscan as ss
from splitscan.api.ingest_page import check_page_file
from splitscan.cli import main
from splitscan.content.storage import open_source, open_storage
from splitscan.content.storage.digests import ContentDigest
from splitscan.errors import SplitscanError
from splitscan.jobs.destination import open_destination
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.jobs.table import check_types
from splitscan.options import Mode
from splitscan.ranges import OFFSET_INFINITY, ByteKeyRangeTracker, OffsetRangeTracker
from splitscan.spark import ingest_runner

Act = Callable[[], Any]
Case = Callable[[Path], tuple[Act, Act]]

PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")
CODES = re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE)
CASES: list[tuple[str, str, Case]] = []


def case(code: str, says: str) -> Callable[[Case], Case]:
    """Declare how a code comes about, and how the hint that *says* something is followed."""

    def add(make: Case) -> Case:
        CASES.append((code, says, make))
        return make

    return add


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def csv(place: Path, content: str | bytes = "id,name\n1,ada\n2,grace\n", name: str = "a.csv") -> Path:
    return write(place / name, content)


def main_text(place: Path, *args: str) -> str:
    """Standard error of a command."""
    done = subprocess.run(
        [sys.executable, "-m", "splitscan", *args], capture_output=True, text=True, cwd=place, check=False
    )
    return done.stderr


def raise_code(text: str) -> None:
    """Raise what a command printed as the error that it was."""
    code = re.search(r"^error: .*\[([a-z-]+)\]$", text, re.MULTILINE)
    fix = re.search(r"^  fix:   (.*)$", text, re.MULTILINE)
    raise SplitscanError(text, fix=fix[1] if fix else None, code=code[1] if code else "none")


def tried(scan: Callable[..., ss.Scan], wrong: dict[str, Any], right: dict[str, Any]) -> tuple[Act, Act]:
    """Read with the options that fail, and with those that the hint names."""
    return lambda: scan(**wrong).to_arrow(), lambda: scan(**right).to_arrow()


def first_byte(path: str | Path) -> bytes:
    with closing(open_source(str(path))) as source:
        return bytes(source.read_at(0, 1))


def ingest(scan: ss.Scan, out: Path, **settings: Any) -> Any:
    table = settings.pop("table", None)
    target = IngestTarget(out, IngestSettings(**settings), table=table)
    return run_ingest(FileSource(scan), target, InProcessRunner())


def read(path: Any, schema: Any = None, **options: Any) -> pa.Table:
    return ss.scan_csv(path, schema, **options).to_arrow()


RFC = {"dialect": "rfc4180", "header": True}


# ------------------------------------------------------------- the caller


@case("unknown-option", "did you mean header?")
def _(place):
    path = csv(place)
    return lambda: read(path, "id long", headr=True), lambda: read(path, "id long, name string", header=True)


@case("unknown-option", "did you mean recordFormat?")
def _(place):
    path = write(place / "a.txt", '{"a": 1}\n')
    return lambda: ss.scan(path, "csv", Format="json"), lambda: ss.scan(path, "json").to_arrow()


@case("bad-option", "header")
def _(place):
    path = csv(place)
    return lambda: read(path, "id long", header="perhaps"), lambda: read(path, "id long, name string", header="true")


@case("bad-option", "choose another character")
def _(place):
    path = csv(place)
    return lambda: read(path, None, sep=";", quote=";"), lambda: read(path, None, sep=";", quote="'")


@case("bad-option", "did you mean csv?")
def _(place):
    path = csv(place)
    return lambda: ss.scan(path, "cvs"), lambda: ss.scan(path, "csv").to_arrow()


@case("bad-option", "addNewColumns")
def _(place):
    def evolve(mode):
        return lambda: IngestSettings.of(schema_evolution_mode=mode)

    return evolve("add"), evolve("addNewColumns")


@case("bad-option", "share from 0 to 1")
def _(place):
    return lambda: IngestSettings(max_reject_ratio=2), lambda: IngestSettings(max_reject_ratio=1)


@case("dialect-contradicted", "escape=")
def _(place):
    path = csv(place, '1,"say ""hi"", and go"\n' * 5)
    return (
        lambda: ingest(ss.scan_csv(path, "id long, t string"), place / "out"),
        lambda: ingest(ss.scan_csv(path, "id long, t string", escape='"'), place / "out"),
    )


@case("dialect-contradicted", "multiLine=true")
def _(place):
    path = write(place / "a.json", '[\n {"id": 1},\n {"id": 2}\n]\n')
    return (
        lambda: ingest(ss.scan_json(path, "id long"), place / "out"),
        lambda: ingest(ss.scan_json(path, "id long", multiLine=True), place / "out"),
    )


@case("not-records", "")
def _(place):
    path = write(place / "a.parquet", b"PAR1" + b"\0" * 100 + b"PAR1")

    def follow():
        assert main(["count", str(path), "-f", "slices"]) == 0

    return lambda: raise_code(main_text(place, "head", str(path))), follow


@case("bad-format", "")
def _(place):
    path = csv(place)
    return lambda: ss.scan(path, object()).to_arrow(), lambda: ss.scan(path, "text").to_arrow()


@case("bad-limit", "pass 0 or more")
def _(place):
    scan = ss.scan_csv(csv(place))
    return lambda: scan.limit(-1), lambda: scan.limit(0).to_arrow()


@case("bad-schema", "id long, name string")
def _(place):
    path = csv(place)
    return lambda: read(path, "id long name"), lambda: read(path, "id long, name string", header=True)


@case("bad-schema", "declare the column as string")
def _(place):
    path = csv(place)
    return lambda: read(path, "id array<int>, name string"), lambda: read(path, "id string, name string")


@case("bad-column-path", 'select("a", "b")')
def _(place):
    scan = ss.scan_csv(csv(place), header=True)
    return lambda: scan.select(["id", "name"]), lambda: scan.select(*["id", "name"]).to_arrow()


@case("bad-where", "")
def _(place):
    path = csv(place)
    return lambda: read(path, where="filename >"), lambda: read(path, where="filename like '%.csv'")


@case("bad-path", "write file:///")
def _(place):
    path = csv(place)
    return lambda: read(f"file://{path.name}"), lambda: read(f"file://{path}")


@case("no-path", "name")
def _(place):
    path = csv(place)
    return lambda: read([]), lambda: read([path])


@case("bad-table", "double quotes")
def _(place):
    url = database(place, 'CREATE TABLE "odd name" (id INTEGER PRIMARY KEY)')
    return lambda: ss.scan_table(url, "odd name", "id").to_arrow(), lambda: ss.scan_table(
        url, '"odd name"', "id"
    ).to_arrow()


@case("bad-database", "sqlite:///FILE")
def _(place):
    url = database(place, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
    return lambda: ss.scan_table(url.removeprefix("sqlite://"), "t", "id"), lambda: ss.scan_table(
        url, "t", "id"
    ).to_arrow()


@case("bad-key-column", "")
def _(place):
    url = database(place, "CREATE TABLE t (id INTEGER PRIMARY KEY, x REAL)")
    return lambda: ss.scan_table(url, "t", "x").to_arrow(), lambda: ss.scan_table(url, "t", "id").to_arrow()


def database(place: Path, *statements: str) -> str:
    with sqlite3.connect(place / "a.db") as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return f"sqlite:///{place / 'a.db'}"


@case("bad-glob", "backslash")
def _(place):
    csv(place, name="a[1.csv")
    return lambda: read(f"{place}/a[*.csv"), lambda: read(f"{place}/a\\[*.csv")


@case("bad-storage", "install")
def _(place):
    path = csv(place)
    return lambda: read("nosuch://bucket/a.csv"), lambda: read(f"file://{path}")


@case("credentials-in-path", "./NAME")
def _(place):
    csv(place, name="u:p@h.csv")
    here = Path.cwd()

    def follow():
        os.chdir(place)
        try:
            return read("./u:p@h.csv")
        finally:
            os.chdir(here)

    return lambda: read("other:p@h.csv"), follow


@case("path-escapes", "folder/file")
def _(place):
    storage = open_storage(str(place))
    return lambda: storage.write_bytes_atomic("../x", b""), lambda: storage.write_bytes_atomic("x/y", b"")


@case("bad-file", "list the file again")
def _(place):
    scan = ss.scan_csv(csv(place), "id long, name string")
    wrong = [replace(file, size_bytes=-1) for file in scan.files()]
    return lambda: list(scan.with_files(wrong).blocks()), lambda: list(scan.blocks())


@case("bad-read", "")
def _(place):
    def before():
        with closing(open_source(str(csv(place)))) as source:
            source.read_at(-1, 1)

    return before, lambda: first_byte(csv(place))


@case("closed-source", "open it again")
def _(place):
    path = str(csv(place))

    def closed():
        source = open_source(path)
        source.close()
        return source.read_at(0, 1)

    return closed, lambda: first_byte(path)


@case("bad-range", "first offset")
def _(place):
    return lambda: OffsetRangeTracker(3, 1), lambda: OffsetRangeTracker(1, 3)


@case("bad-range", "first key")
def _(place):
    return lambda: ByteKeyRangeTracker(b"b", b"a"), lambda: ByteKeyRangeTracker(b"a", b"b")


@case("bad-position", "pass an int")
def _(place):
    return lambda: OffsetRangeTracker(0, 9).try_split_at_position("x"), lambda: OffsetRangeTracker(
        0, 9
    ).try_split_at_position(5)


@case("bad-position", "encode it")
def _(place):
    return lambda: ByteKeyRangeTracker("a", b"b"), lambda: ByteKeyRangeTracker(b"a", b"b")


@case("bad-fraction", "pass 0 <= fraction <= 1")
def _(place):
    tracker = OffsetRangeTracker(0, 9)
    return lambda: tracker.position_at_fraction(2), lambda: tracker.position_at_fraction(Fraction(1, 2))


@case("bad-fraction", "declare where the range stops")
def _(place):
    return (
        lambda: OffsetRangeTracker(0, OFFSET_INFINITY).position_at_fraction(Fraction(1, 2)),
        lambda: OffsetRangeTracker(0, 9).position_at_fraction(Fraction(1, 2)),
    )


@case("tracker-protocol", "")
def _(place):
    def backwards():
        tracker = OffsetRangeTracker(0, 9)
        tracker.try_return_record_at(True, 5)
        tracker.try_return_record_at(True, 3)

    def forwards():
        tracker = OffsetRangeTracker(0, 9)
        tracker.try_return_record_at(True, 3)
        tracker.try_return_record_at(True, 5)

    return backwards, forwards


@case("tracker-pickled", "ship (start_position, stop_position)")
def _(place):
    tracker = OffsetRangeTracker(0, 9)
    return lambda: pickle.dumps(tracker), lambda: OffsetRangeTracker(
        *pickle.loads(pickle.dumps((tracker.start_position, tracker.stop_position)))
    )


@case("bad-report-file", "end in .html")
def _(place):
    return lambda: check_page_file(place / "a.txt"), lambda: check_page_file(place / "a.html")


@case("bad-report-file", "a folder that is there")
def _(place):
    return lambda: check_page_file(place / "none/a.html"), lambda: check_page_file(place / "a.html")


@case("usage", "count >= 1")
def _(place):
    from splitscan.ranges import ByteKeyRange

    return lambda: list(ByteKeyRange(b"a", b"b").split(0)), lambda: list(ByteKeyRange(b"a", b"b").split(2))


# ------------------------------------------------------------- the storage


@case("path-not-found", "check the spelling")
def _(place):
    path = csv(place)
    return lambda: read(place / "b.csv"), lambda: read(path)


@case("no-files", "recursiveFileLookup=true")
def _(place):
    path = csv(place / "below").parents[1]
    return lambda: read(path), lambda: read(path, recursiveFileLookup=True)


@case("file-missing", "ignoreMissingFiles=true")
def _(place):
    def planned(**options):
        path = csv(place)
        scan = ss.scan_csv(path, "id long, name string", header=True, **options)
        list(scan.blocks())
        path.unlink()
        return scan.to_arrow()

    return planned, lambda: planned(ignoreMissingFiles=True)


@case("source-changed", "onFileChange=ignore")
def _(place):
    def planned(**options):
        path = csv(place)
        scan = ss.scan_csv(path, "id long, name string", header=True, **options)
        list(scan.blocks())
        write(path, "id,name\n3,joan\n4,mary and more\n5,x\n")
        return scan.to_arrow()

    return planned, lambda: planned(onFileChange="ignore")


@case("source-changed", "on_changed")
def _(place):
    def again(**settings):
        out = place / f"out{len(settings)}"
        ingest(ss.scan_csv(csv(place), "id long, name string", header=True), out)
        path = csv(place, "id,name\n7,x\n")
        return ingest(ss.scan_csv(path, "id long, name string", header=True), out, **settings)

    from splitscan.jobs.settings import OnChanged

    return again, lambda: again(on_changed=OnChanged.SKIP)


@case("source-changed", "replace_changed=True")
def _(place):
    out = place / "out"

    def again(**settings):
        path = csv(place, "id,name\n7,x\n" if out.exists() else "id,name\n8,x\n9,y\n")
        return ingest(ss.scan_csv(path, "id long, name string", header=True), out, **settings)

    def before():
        again()
        again()

    return before, lambda: again(on_changed=IngestSettings.of(replace_changed=True).on_changed)


@case("rows-elsewhere", "new destination")
def _(place):
    from deltalake import DeltaTable

    from splitscan.jobs.settings import OnChanged

    def again(out):
        for name in ("a.csv", "b.csv"):
            csv(place / "in", f"id,name\n{7 if out.exists() else 10},x\n", name)
        scan = ss.scan_csv(place / "in", "id long, name string", header=True)
        return ingest(scan, out, table="delta", on_changed=OnChanged.REPLACE)

    def before():
        again(place / "out")
        DeltaTable(place / "out").delete("id = 10")
        again(place / "out")

    return before, lambda: again(place / "other")


@case("not-a-destination", "delete _delta_log/ and run again")
def _(place):
    log, out = place / "out" / "_delta_log", place / "out"
    log.mkdir(parents=True)
    (log / "_commit_of_nobody.tmp").write_bytes(b"")

    def again():
        return ingest(ss.scan_csv(csv(place), "id long, name string", header=True), out, table="delta")

    def follow():
        shutil.rmtree(log)
        return again()

    return again, follow


@case("not-a-destination", "delete iceberg.db and run again")
def _(place):
    out = place / "out"
    write(out / "iceberg.db", b"")

    def again():
        return ingest(ss.scan_csv(csv(place), "id long, name string", header=True), out, table="iceberg")

    def follow():
        (out / "iceberg.db").unlink()
        return again()

    return again, follow


@case("table-behind", "ingest into a new destination")
def _(place):
    path = csv(place)

    def again(out):
        return ingest(ss.scan_csv(path, "id long, name string", header=True), out, table="delta")

    def before():
        again(place / "out")
        shutil.rmtree(place / "out" / "_delta_log")
        again(place / "out")

    return before, lambda: again(place / "other")


@case("table-unfit", "ingest into a table without it")
def _(place):
    from deltalake import DeltaTable

    def again(out):
        return ingest(ss.scan_csv(csv(place / "in"), "id long, name string", header=True), out, table="delta")

    def before():
        again(place / "out")
        DeltaTable(place / "out").alter.add_constraint({"whole": "id > 0"})
        csv(place / "in", name="b.csv")
        scan = ss.scan_csv(place / "in", "id long, name string", header=True)
        return ingest(scan, place / "out", table="delta")

    return before, lambda: again(place / "other")


def ingest_people(place: Path, job: str, table: str = "people") -> Any:
    from splitscan.tables.ingest_source import TableIngestSource

    if not (place / "a.db").exists():
        database(
            place,
            "CREATE TABLE people (id INTEGER PRIMARY KEY)",
            "INSERT INTO people VALUES (1), (2)",
            "CREATE TABLE others (id INTEGER PRIMARY KEY)",
            "INSERT INTO others VALUES (3)",
        )
    scan = ss.scan_table(f"sqlite:///{place / 'a.db'}", table, "id", snapshot="shared")
    target = IngestTarget(place / "out", IngestSettings(source_digests=False), {})
    return run_ingest(TableIngestSource(scan, job), target, InProcessRunner())


@case("job-name", "set job to a name")
def _(place):
    return lambda: ingest_people(place, ""), lambda: ingest_people(place, "orders-2024-01-02")


@case("job-taken", "another name")
def _(place):
    ingest_people(place, "one")
    return lambda: ingest_people(place, "one", "others"), lambda: ingest_people(place, "two", "others")


@case("bad-engine", "leave it out")
def _(place):
    path = str(csv(place))

    def count(**more):
        environment = {name: value for name, value in os.environ.items() if name != "SPLITSCAN_ENGINE"}
        command = [sys.executable, "-W", "ignore", "-m", "splitscan", "count", path]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**environment, **more})
        if done.returncode:
            raise_code(done.stderr)

    return lambda: count(SPLITSCAN_ENGINE="fast"), count


@case("not-a-file", "copy its content")
def _(place):
    pipe = place / "pipe"
    os.mkfifo(pipe)
    return lambda: open_source(str(pipe)), lambda: first_byte(csv(place))


@case("unsupported-archive", "pathGlobFilter")
def _(place):
    write(place / "in/a.7z", b"7z\xbc\xaf\x27\x1c" + b"\0" * 50)
    csv(place / "in")
    return (
        lambda: read(place / "in", archivePathFilter="*", header=True),
        lambda: read(place / "in", archivePathFilter="*", header=True, pathGlobFilter="*.csv"),
    )


@case("duplicate-member", "archivePathFilter")
def _(place):
    with zipfile.ZipFile(place / "a.zip", "w") as archive:
        archive.writestr("a.csv", "1\n")
        archive.writestr("b.csv", "1\n")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.csv", "2\n")
    path = place / "a.zip"
    return lambda: read(path, archivePathFilter="*"), lambda: read(path, archivePathFilter="b*")


@case("archive-too-large", "raise maxArchiveSize")
def _(place):
    path = packed(place)
    return (
        lambda: read(path, archivePathFilter="*", maxArchiveSize=2),
        lambda: read(path, archivePathFilter="*", maxArchiveSize=2000),
    )


@case("decompression-bomb", "raise maxDecompressionRatio")
def _(place):
    path = write(place / "a.csv.gz", gzip.compress(b"1,2\n" * 100_000))

    def small(ratio):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("splitscan.content.codecs.content.JUDGED_BYTES", 1000)
            return read(path, "a int, b int", maxDecompressionRatio=ratio)

    return lambda: small(10), lambda: small(1_000_000)


def lines() -> bytes:
    return gzip.compress(b"\n".join(os.urandom(20).hex().encode() for _ in range(2000)))


def packed(place: Path, **members: str) -> Path:
    with zipfile.ZipFile(place / "a.zip", "w") as archive:
        for name, text in (members or {"a.csv": "id,name\n1,ada\n"}).items():
            archive.writestr(name, text)
    return place / "a.zip"


@case("compressed-input", "archivePathFilter=*")
def _(place):
    path = packed(place)
    return lambda: ss.scan_text(path).to_arrow(), lambda: ss.scan_text(path, archivePathFilter="*").to_arrow()


@case("other-codec", "leave sourceCompression out")
def _(place):
    path = write(place / "a.csv.gz", gzip.compress(b"1,2\n"))
    return lambda: read(path, sourceCompression="zstd"), lambda: read(path)


@case("truncated-container", "")
def _(place):
    path = write(place / "a.csv.gz", lines()[:-50])
    return lambda: read(path, "a string"), lambda: read(path, "a string", ignoreCorruptFiles=True)


@case("corrupt-container", "")
def _(place):
    data = bytearray(lines())
    data[300:320] = bytes(20)
    path = write(place / "a.csv.gz", bytes(data))
    return lambda: read(path, "a string"), lambda: read(path, "a string", ignoreCorruptFiles=True)


# --------------------------------------------------------------- the bytes


def failfast(
    place: Path, content: str, fix: Callable[[Path], Any], schema: str = "id long, name string", **options: Any
):
    path = csv(place, content)
    return lambda: read(path, schema, mode="FAILFAST", **options), lambda: fix(path)


@case("bad-value", "declare the column as string")
def _(place):
    return failfast(place, "1,a\nx,b\n", lambda path: read(path, "id string, name string", mode="FAILFAST"))


@case("bad-value", "mode=PERMISSIVE")
def _(place):
    return failfast(place, "1,a\nx,b\n", lambda path: read(path, "id long, name string", mode="PERMISSIVE"))


@case("bad-value", "declare the column as string")
def _(place):
    content = "id\n" + "1\n" * 3000 + "x\n"
    path = csv(place, content)
    guessed = {"header": True, "inferSchema": True, "sampleBytes": 1000, "mode": "FAILFAST"}
    return lambda: read(path, None, **guessed), lambda: read(path, "id string", header=True, mode="FAILFAST")


@case("field-count", "mode=PERMISSIVE")
def _(place):
    return failfast(place, "1,a\n2,b,c\n", lambda path: read(path, "id long, name string", mode="DROPMALFORMED"))


@case("field-too-long", "correct the record")
def _(place):
    wide = {"maxCharsPerColumn": 100}
    return failfast(
        place,
        "1,abcdef\n",
        lambda path: read(path, "id long, name string", mode="FAILFAST", **wide),
        maxCharsPerColumn=3,
    )


@case("record-too-long", "maxRecordBytes")
def _(place):
    path = csv(place, "1,a\n2," + "b" * 5000 + "\n")
    schema = "id long, name string"
    return (
        lambda: read(path, schema, mode="FAILFAST", maxRecordBytes=1000),
        lambda: read(path, schema, mode="FAILFAST", maxRecordBytes=10_000),
    )


@case("unclosed-quote", "correct the record")
def _(place):
    path = csv(place, '1,a\n2,"b\n')
    schema = "id long, name string"
    return (
        lambda: read(path, schema, mode="FAILFAST", multiLine=True),
        lambda: read(csv(place, '1,a\n2,"b"\n'), schema, mode="FAILFAST", multiLine=True),
    )


@case("no-match", "correct the record")
def _(place):
    path, pattern = write(place / "a.log", b"1\nx\n"), r"(?P<n>\d+)"
    return (
        lambda: ss.scan_log(path, record_pattern=pattern, mode="FAILFAST").to_arrow(),
        lambda: ss.scan_log(write(place / "b.log", b"1\n2\n"), record_pattern=pattern, mode="FAILFAST").to_arrow(),
    )


@case("before-first-record", "DROPMALFORMED")
def _(place):
    path = write(place / "a.log", b" at x\n1 a\n")
    return tried(partial(ss.scan_log, path, record_start=r"\d"), {"mode": "FAILFAST"}, {"mode": "DROPMALFORMED"})


@case("header-changed", "split the file before that line")
def _(place):
    parts = b"#Fields: a b\n1 2\n", b"#Fields: b a\n2 1\n"
    path = write(place / "a.log", b"".join(parts))
    split = [write(place / f"{i}.log", part) for i, part in enumerate(parts)]
    return (
        lambda: ss.scan_log(path, log_format="w3c").to_arrow(),
        lambda: ss.scan_log(split, log_format="w3c").to_arrow(),
    )


@case("bad-copybook", "write them as FILLER")
def _(place):
    path = write(place / "a.dat", b"\xf1\xf2")
    book = "       01 R.\n          05 A PIC 9{}.\n"
    return (
        lambda: ss.scan_cobol(path, book.format(" SYNC")).to_arrow(),
        lambda: ss.scan_cobol(path, book.format("") + "          05 FILLER PIC X.\n").to_arrow(),
    )


@case("bad-record-header", "correct the record")
def _(place):
    path, book = write(place / "a.dat", b"\0\1\0\0\xf1\0\0\0\0"), "       01 R.\n          05 A PIC 9.\n"
    fixed = write(place / "b.dat", b"\0\1\0\0\xf1")
    return (
        lambda: ss.scan_cobol(path, book, recfm="V", mode="FAILFAST").to_arrow(),
        lambda: ss.scan_cobol(fixed, book, recfm="V", mode="FAILFAST").to_arrow(),
    )


@case("missing-segment", "correct the record")
def _(place):
    path, book = write(place / "a.dat", b"\0\1\1\0\xf1\0\1\0\0\xf2"), "       01 R.\n          05 A PIC 9(2).\n"
    fixed = write(place / "b.dat", b"\0\1\1\0\xf1\0\1\2\0\xf2")
    return (
        lambda: ss.scan_cobol(path, book, recfm="V", mode="FAILFAST").to_arrow(),
        lambda: ss.scan_cobol(fixed, book, recfm="V", mode="FAILFAST").to_arrow(),
    )


@case("short-record", "correct the record")
def _(place):
    path = write(place / "a.bin", b"abcdefgh12")
    return tried(partial(ss.scan_fixed, path, mode="FAILFAST"), {"record_length": 4}, {"record_length": 5})


@case("bad-json", "correct the record")
def _(place):
    path = write(place / "a.json", '{"a": 1}\n{"a": \n')
    return (
        lambda: ss.scan_json(path, "a long", mode="FAILFAST").to_arrow(),
        lambda: ss.scan_json(write(place / "a.json", '{"a": 1}\n{"a": 2}\n'), "a long", mode="FAILFAST").to_arrow(),
    )


@case("not-an-object", "mode=PERMISSIVE")
def _(place):
    path = write(place / "a.json", '{"a": 1}\n7\n')
    return tried(partial(ss.scan_json, path, "a long"), {"mode": "FAILFAST"}, {"mode": "PERMISSIVE"})


@case("not-an-array", "recordPath")
def _(place):
    path = write(place / "a.json", '{"data": {"rows": [{"a": 1}]}}')
    return (
        lambda: ss.scan_json(path, "a long", mode="FAILFAST", record_path="$.data[*]").to_arrow(),
        lambda: ss.scan_json(path, "a long", mode="FAILFAST", record_path="$.data.rows[*]").to_arrow(),
    )


@case("record-path-not-found", "recordPath")
def _(place):
    path = write(place / "a.json", '{"data": {"rows": [{"a": 1}]}}')
    return (
        lambda: ss.scan_json(path, "a long", mode="FAILFAST", record_path="$.rows[*]").to_arrow(),
        lambda: ss.scan_json(path, "a long", mode="FAILFAST", record_path="$.data.rows[*]").to_arrow(),
    )


@case("bad-envelope", "declare the column as string")
def _(place):
    path = write(place / "a.json", '{"n": "x", "data": [{"a": 1}]}')

    def scan(columns):
        return ss.scan_json(path, "a long", record_path="$.data[*]", record_path_columns=columns)

    return lambda: scan("$.n as n int").to_arrow(), lambda: scan("$.n as n string").to_arrow()


@case("bad-xml", "mode=PERMISSIVE")
def _(place):
    path = write(place / "a.xml", "<r><x><a>1</a></x><x><a>1</b></x></r>")
    return tried(partial(ss.scan_xml, path, schema="a long", row_tag="x"), {"mode": "FAILFAST"}, {"mode": "PERMISSIVE"})


# ------------------------------------------------------------- the columns


@case("no-schema", "schema")
def _(place):
    path = csv(place, "")
    return lambda: read(path, header=True), lambda: read(path, "id long", header=True)


@case("no-schema", "schema='_corrupt_record string' with mode=PERMISSIVE, in an ingest also with max_reject_ratio=1")
def _(place):
    path = write(place / "a.json", "1\n[2]\n")
    scan = ss.scan_json(path, "_corrupt_record string", mode="PERMISSIVE")
    return lambda: ss.scan_json(path).to_arrow(), lambda: ingest(scan, place / "out", max_reject_ratio=1)


@case("unknown-column", "")
def _(place):
    scan = ss.scan_csv(csv(place), header=True)
    return lambda: scan.select("nam").to_arrow(), lambda: scan.select("name").to_arrow()


@case("projection-conflict", "")
def _(place):
    scan = ss.scan_csv(csv(place), header=True)
    return lambda: scan.select("name.x").to_arrow(), lambda: scan.select("name").to_arrow()


@case("columns-array", "leave out header")
def _(place):
    path = csv(place)
    return (
        lambda: read(path, "columns array<string>", header=True),
        lambda: read(path, "columns array<string>", skipRows=1),
    )


@case("conflicting-partitions", "")
def _(place):
    csv(place / "in/x=1")
    csv(place / "in/y=1/z=2")
    return lambda: read(place / "in"), lambda: read(
        [
            place / "in/x=1",
        ]
    )


@case("schema-conflict", "schemaHints")
def _(place):
    write(place / "in/a.csv", "v\n1\n")
    write(place / "in/b.csv", "v\nx\n")
    options = {"header": True, "inferSchema": True, "schemaConflicts": "error"}
    return lambda: read(place / "in", **options), lambda: read(place / "in", schemaHints="v string", **options)


@case("header-mismatch", "header=true and headerMapping=byName")
def _(place):
    path = csv(place, "name,id\nada,1\n")
    schema = "id long, name string"
    return (
        lambda: read(path, schema, header=True, enforceSchema=False),
        lambda: read(path, schema, header=True, headerMapping="byName"),
    )


@case("header-mismatch", "headerMapping=byName")
def _(place):
    path = csv(place, "name,id\nada,1\n")
    schema = "id long, name string"
    return lambda: read(path, schema, header=True, enforceSchema=False), lambda: read(
        path, schema, headerMapping="byName"
    )


@case("header-mismatch", "enforceSchema=true")
def _(place):
    path = csv(place, "nam,i\nada,1\n")
    schema = "name string, id long"
    return (
        lambda: read(path, schema, header=True, enforceSchema=False),
        lambda: read(path, schema, header=True, enforceSchema=True),
    )


@case("unsupported-type", "")
def _(place):
    path = csv(place, "12\n")

    def columns(schema):
        return ss.scan_fixed_width(path, "a 1 1, b 2 1", schema).to_arrow()

    return lambda: columns("a variant, b int"), lambda: columns("a string, b int")


@case("unsupported-type", "declare it as")
def _(place):
    path = csv(place, "1\n")
    return (
        lambda: read(path, pa.schema([("a", pa.uint64())])),
        lambda: read(path, "a decimal(20,0)"),
    )


@case("null-in-not-null", "")
def _(place):
    path = csv(place, "1,a\n,b\n")
    return lambda: read(path, "id long NOT NULL, name string"), lambda: read(path, "id long, name string")


@case("destination-schema", "schema_evolution_mode")
def _(place):
    out = place / "out"
    ingest(ss.scan_csv(csv(place), "id long, name string", header=True), out)
    more = csv(place, "id,name,x\n1,a,b\n", "b.csv")
    scan = ss.scan_csv(more, "id long, name string, x string", header=True)
    from splitscan.jobs.settings import SchemaEvolution

    return lambda: ingest(scan, out), lambda: ingest(scan, out, schema_evolution_mode=SchemaEvolution.ADD)


@case("destination-layout", "")
def _(place):
    from splitscan.jobs.settings import Layout

    out = place / "out"
    ingest(ss.scan_csv(csv(place), "id long, name string", header=True), out)
    scan = ss.scan_csv(csv(place, "5,x\n", "b.csv"), "id long, name string")
    return lambda: ingest(scan, out, layout=Layout.JOBS), lambda: ingest(scan, out)


# --------------------------------------------------------- the destination


@case("reject-budget", "max_reject_ratio")
def _(place):
    scan = ss.scan_csv(csv(place, "x,a\ny,b\n"), "id long, name string")
    return lambda: ingest(scan, place / "out"), lambda: ingest(scan, place / "out", max_reject_ratio=1)


@case("reject-budget", "max_rejects")
def _(place):
    scan = ss.scan_csv(csv(place, "x,a\ny,b\n"), "id long, name string")
    return lambda: ingest(scan, place / "out"), lambda: ingest(scan, place / "out", max_rejects=2)


@case("not-a-destination", "")
def _(place):
    scan = ss.scan_csv(csv(place), "id long, name string", header=True)
    write(place / "out/other.txt", "x")
    return lambda: ingest(scan, place / "out"), lambda: ingest(scan, place / "out2")


@case("not-a-destination", "name a folder that splitscan ingest wrote")
def _(place):
    scan = ss.scan_csv(csv(place), "id long, name string", header=True)

    def follow():
        ingest(scan, place / "out")
        assert ss.verify(place / "out").ok

    return lambda: ss.verify(place / "none"), follow


@case("partition-column", "")
def _(place):
    scan = ss.scan_csv(csv(place), "id long, name string", header=True)
    return (
        lambda: ingest(scan, place / "out", partition_by=("nam",)),
        lambda: ingest(scan, place / "out", partition_by=("name",)),
    )


@case("partition-value", "")
def _(place):
    scan = ss.scan_csv(csv(place, "1," + "x" * 300 + "\n"), "id long, name string")
    return (
        lambda: ingest(scan, place / "out", partition_by=("name",)),
        lambda: ingest(scan, place / "out", partition_by=("id",)),
    )


@case("data-file-missing", "")
def _(place):
    def removed(out):
        ingest(ss.scan_csv(csv(place), "id long, name string", header=True), out)
        next(out.glob("*.parquet")).unlink()
        return ingest(ss.scan_csv(csv(place, "5,x\n", "b.csv"), "id long, name string"), out)

    return lambda: removed(place / "out"), lambda: ingest(
        ss.scan_csv(csv(place), "id long, name string", header=True), place / "other"
    )


@case("no-stream", "")
def _(place):
    from splitscan.streaming.status import read_status

    return lambda: read_status(str(place)), lambda: None


# ------------------------------------------------- what verify finds, and states


def ingested(place: Path, name: str = "out") -> Path:
    out = place / name
    ingest(ss.scan_csv(csv(place), "id long, name string", header=True), out)
    return out


def verified(out: Path) -> None:
    """Raise the first problem or note of a verification as an error."""
    report = ss.verify(out, deep=True)
    for finding in (*report.problems, *report.notes):
        raise SplitscanError(finding.text, code=finding.code, fix="")


def damaged(place: Path, find: str, change: Callable[[Path], Any]) -> tuple[Act, Act]:
    """A file of a destination that is changed, and restored from a copy."""
    out = ingested(place)
    (path,) = out.glob(find)
    kept = path.read_bytes()

    def provoke():
        change(path)
        verified(out)

    def follow():
        path.write_bytes(kept)
        verified(out)

    return provoke, follow


@case("data-file-missing", "")
def _(place):
    return damaged(place, "*.parquet", Path.unlink)


@case("data-file-changed", "")
def _(place):
    return damaged(place, "*.parquet", lambda path: path.write_bytes(path.read_bytes() + b"x"))


@case("ledger-damaged", "")
def _(place):
    return damaged(place, "_splitscan/ledger/*.jsonl", lambda path: path.write_bytes(path.read_bytes()[:-20]))


@case("stray-file", "")
def _(place):
    out = ingested(place)

    def provoke():
        (out / "stray.parquet").write_bytes(next(out.glob("*.parquet")).read_bytes())
        verified(out)

    def follow():
        (out / "stray.parquet").unlink()
        verified(out)

    return provoke, follow


@case("source-digest", "")
def _(place):
    out, path = ingested(place), place / "a.csv"
    status, kept = path.stat(), path.read_bytes()

    def change(content):
        path.write_bytes(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        verified(out)

    return lambda: change(kept.replace(b"ada", b"eve")), lambda: change(kept)


@case("source-changed", "")
def _(place):
    out, path = ingested(place), place / "a.csv"
    status, kept = path.stat(), path.read_bytes()

    def change(content, when):
        path.write_bytes(content)
        os.utime(path, ns=when)
        verified(out)

    return lambda: change(kept + b"9,x\n", (1, 1)), lambda: change(kept, (status.st_atime_ns, status.st_mtime_ns))


@case("source-missing", "")
def _(place):
    out, path = ingested(place), place / "a.csv"
    status, kept = path.stat(), path.read_bytes()

    def provoke():
        path.unlink()
        verified(out)

    def follow():
        path.write_bytes(kept)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        verified(out)

    return provoke, follow


@case("not-utf8", "encoding=")
def _(place):
    path = place / "latin.csv"
    path.write_bytes(b"1,M\xfcller\n")

    def checked(**options):
        for each in ss.scan_csv(path, "id long, name string", **options).check().odd:
            raise SplitscanError(str(each), fix=str(each), code=each.code)

    return checked, lambda: checked(encoding="windows-1252")


@case("header-again", "condition")
def _(place):
    return checked_for_oddities(csv(place, b"id,n\n1,2\nid,n\n"), csv(place, b"id,n\n1,2\n", "fixed"), header=True)


@case("comment-record", "comment=")
def _(place):
    options = {"header": True, "found_options": "comment"}
    path = csv(place, b"id,n\n1,2\n#3,4\n")
    provoke, _ = checked_for_oddities(path, path, comment="#", **options)
    return provoke, lambda: ss.scan_csv(path, "id string, n string", comment="", header=True).to_arrow()


@case("skipped-record", "skipRows")
def _(place):
    path = csv(place, b"1,2\n3,4\n")
    provoke, _ = checked_for_oddities(path, path, skip_rows=1, found_options="skipRows")
    return provoke, lambda: ss.scan_csv(path, "id string, n string", skip_rows=0).to_arrow()


@case("header-record", "header=true")
def _(place):
    path = csv(place, b"id,n\n1,2\n")
    provoke, _ = checked_for_oddities(path, path, found_options="header")
    return provoke, lambda: ss.scan_csv(path, "id string, n string", header=True).to_arrow()


def checked_for_oddities(path, fixed, **options):
    def checked(path):
        for each in ss.scan_csv(path, "id string, n string", **options).check().odd:
            raise SplitscanError(str(each), fix=str(each), code=each.code)

    return lambda: checked(path), lambda: checked(fixed)


@case("rejects-published", "")
def _(place):
    def published(settings, content):
        report = ingest(ss.scan_csv(csv(place, content), "id long, name string"), place / str(len(content)), **settings)
        if report.notice is not None:
            raise SplitscanError(report.notice, fix="", code=report.notice.partition("[")[2].partition("]")[0])

    return lambda: published({}, "1,a\n2,b\nx,c\n"), lambda: published({"max_rejects": 0}, "1,a\n2,b\n")


@case("file-exists", "--overwrite")
def _(place):
    path, out = csv(place), write(place / "out.csv", "")

    def follow():
        assert main(["convert", str(path), str(out), "--overwrite"]) == 0

    return lambda: raise_code(main_text(place, "convert", str(path), str(out))), follow


@case("new-columns", "raise sampleBytes")
def _(place):
    path, out = write(place / "a.json", '{"a": 1}\n' * 20 + '{"a": 1, "b": 2}\n'), place / "out.parquet"

    def follow():
        assert main(["convert", str(path), str(out)]) == 0

    return lambda: raise_code(main_text(place, "convert", str(path), str(out), "-o", "sampleBytes=64")), follow


@case("csv-type", "--columns")
def _(place):
    path, out = write(place / "a.json", '{"a": [1], "b": 2}\n'), place / "out.csv"

    def follow():
        assert main(["convert", str(path), str(out), "--columns", "b"]) == 0

    return lambda: raise_code(main_text(place, "convert", str(path), str(out))), follow


@case("dialect-unclear", "-o")
def _(place):
    path = csv(place, "".join(f"{n}\t{n};x,{n}\n{n}\n" for n in range(30)))

    def follow():
        assert main(["head", str(path), "--sep", "\t", "-o", "quote=", "--no-header"]) == 0

    return lambda: raise_code(main_text(place, "head", str(path))), follow


@case("bad-option", "--spark-conf spark.driver.memory=4g")
def _(place):
    from splitscan.cli.session import parse_conf

    return lambda: parse_conf(["x"]), lambda: parse_conf(["spark.driver.memory=4g"])


# ------------------------------------------------------------- readers of one's own


@case("reader-broken", "")
def _(place):
    def early(negotiator):
        negotiator.build().append({"a": [1]})

    return lambda: rows(operator(Scripted(opens=early))), lambda: rows(operator(Scripted({"a": [1]})))


@case("reader-failed", "")
def _(place):
    return lambda: load(OSError("gone"), schema=A), lambda: load({"a": [1]}, schema=A)


@case("rejected-record", "mode=PERMISSIVE")
def _(place):
    def bad(loader):
        loader.reject("text", "odd")

    return lambda: load(bad, schema=A, mode=Mode.FAILFAST), lambda: load(bad, schema=A, mode=Mode.PERMISSIVE)


@case("unequal-columns", "")
def _(place):
    return lambda: load({"a": [1, 2], "b": ["x"]}, schema=AB), lambda: load({"a": [1, 2], "b": ["x", "y"]}, schema=AB)


@case("mixed-values", "declare")
def _(place):
    return lambda: load({"a": [1, "x"]}), lambda: load({"a": [1, "x"]}, declared=pa.schema([("a", pa.string())]))


@case("duplicate-column", "")
def _(place):
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["a", "A"])
    return lambda: load(twice), lambda: load(twice.rename_columns(["a", "b"]))


@case("type-conflict", "")
def _(place):
    point = pa.schema([("s", pa.struct([("x", pa.int64())]))])
    return lambda: load({"s": pa.array([1])}, schema=point), lambda: load({"s": pa.array([{"x": 1}])}, schema=point)


@case("bad-default", "")
def _(place):
    schema = pa.schema([("a", pa.int64()), pa.field("v", pa.int8(), nullable=False)])
    return (
        lambda: load({"a": [1]}, schema=schema, defaults={"v": pa.scalar(300)}),
        lambda: load({"a": [1]}, schema=schema, defaults={"v": pa.scalar(3)}),
    )


# --------------------------------------------------------------- states and destinations


@case("file-unreadable", "grant read access")
def _(place):
    path = csv(place)

    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    def provoke():
        with pytest.MonkeyPatch.context() as patch:  # the superuser may read everything
            patch.setattr("os.open", denied)
            open_source(str(path))

    return provoke, lambda: first_byte(path)


@case("destination-busy", "")
def _(place):
    scan = ss.scan_csv(csv(place), "id long, name string", header=True)

    def busy():
        with open_destination(str(place / "out"), None, {}).place.lock():
            ingest(scan, place / "out")

    return busy, lambda: ingest(scan, place / "out")


@case("bad-partition", "")
def _(place):
    csv(place / "in/x=a")
    csv(place / "in/x=b")
    return lambda: read(place / "in", "id long, name string, x int"), lambda: read(
        place / "in", "id long, name string, x string"
    )


@case("stream-damaged", "")
def _(place):
    from splitscan.streaming.windows import read_position

    good = json.dumps({"offset": {"v": 1, "s": "0" * 32, "w": 1}}).encode()
    return lambda: read_position(good[:-3], "p"), lambda: read_position(good, "p")


@case("bad-offset", "use the checkpoint of this query")
def _(place):
    from splitscan.streaming.windows import read_offset

    return lambda: read_offset({"topic": 3}), lambda: read_offset({"v": 1, "s": "0" * 32, "w": 1})


@case("bad-header", "")
def _(place):
    path = csv(place, 'id,"name\n1,ada\n')
    return (
        lambda: read(path, None, header=True, multiLine=True),
        lambda: read(csv(place, 'id,"name"\n1,ada\n'), None, header=True, multiLine=True),
    )


@case("unfinished-record", "correct the record")
def _(place):
    path = write(place / "a.json", '[{"a": 1}, {"a": ')
    whole = write(place / "b.json", '[{"a": 1}, {"a": 2}]')
    options = {"schema": "a long", "multiLine": True, "mode": "FAILFAST"}
    return lambda: ss.scan_json(path, **options).to_arrow(), lambda: ss.scan_json(whole, **options).to_arrow()


@case("not-text", "format fixed")
def _(place):
    path = write(place / "a.csv", bytes(range(256)) * 20)
    return lambda: ss.scan_csv(path).to_arrow(), lambda: ss.scan_fixed(path, 256).to_arrow()


@case("output-failed", "/dev/null")
def _(place):
    path = csv(place)

    def to(target: str) -> str:
        with Path(target).open("w") as out:
            done = subprocess.run(
                [sys.executable, "-m", "splitscan", "head", str(path)],
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        return done.stderr

    def follow():
        assert "error" not in to("/dev/null")

    return lambda: raise_code(to("/dev/full")), follow


class Numbered(ss.LineReaderContext):
    """Lines as they are, or what a test makes of them."""

    schema = "value string"

    def convert_to_record(self, record: bytes) -> Any:
        return record.decode()


def context(place: Path, **members: Any) -> Act:
    """Read lines by a reader context with other members."""
    path = write(place / "lines.txt", "1\n2\n")
    return lambda: ss.scan(path, format=type("Own", (Numbered,), members)).to_arrow()


@case("context-failed", "correct the reader context")
def _(place):
    return context(place, convert_to_record=lambda self, record: int(record, "x")), context(place)


@case("context-broken", "correct the reader context")
def _(place):
    return context(place, next=lambda self: ss.Entity(b"x", 0)), context(place)


@case("context-value", "make schema and convert_to_record")
def _(place):
    return context(place, schema="value int"), context(
        place, schema="value int", convert_to_record=lambda self, record: int(record)
    )


@case("unsupported-member", "leave it out with archivePathFilter")
def _(place):
    path = place / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "1\n")
        archive.writestr("b.txt", "2\n")
    path.write_bytes(path.read_bytes().replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01", 1))

    def follow():
        assert ss.scan_text(path, archive_path_filter="b.txt").count() == 1

    return lambda: ss.scan_text(path, archive_path_filter="*").to_arrow(), follow


@case("table-changed", "read it again")
def _(place):
    url = database(place, "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)")

    def planned(*statements):
        plan = ss.scan_table(url, "t", "id").plan(1)
        database(place, *statements)
        return rows_of_tasks(plan)

    return lambda: planned("INSERT INTO t VALUES (2)"), planned


@case("table-value", "declare it as string")
def _(place):
    url = database(place, "CREATE TABLE t (n INTEGER)", "INSERT INTO t VALUES (1), ('many')")
    return lambda: ss.scan_table(url, "t").to_arrow(), lambda: ss.scan_table(url, "t", schema="n string").to_arrow()


@case("size-unknown", "copy its content to a file")
def _(place):
    hidden = Path("/proc/version")
    if not hidden.exists():
        pytest.skip("no files without a size here")

    def follow():
        assert ss.scan_text(write(place / "copy.txt", hidden.read_bytes())).count() == 1

    return lambda: ss.scan_text(hidden).count(), follow


@case("no-library", "use to_arrow")
def _(place):
    scan = ss.scan_text(csv(place))

    def without():
        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(sys.modules, "polars", None)
            scan.to_polars()

    return without, scan.to_arrow


@case("source-truncated", "plan the scan again when the file is complete")
def _(place):
    def shortened(scan):
        list(scan.blocks())
        csv(place, "id,name\n1,a\n")
        return scan.to_arrow()

    def scan():
        return ss.scan_csv(csv(place), "id long, name string", header=True, onFileChange="ignore")

    return lambda: shortened(scan()), lambda: scan().to_arrow()


def followed(place: Path, **options: Any) -> Stream:
    """A stream that has read one file."""
    write(place / "in" / "a", "a\n")
    stream = Stream(place / "in", place / "state", **options)
    stream.drain()
    return stream


@case("file-modified", "set onModified=reread to read the new version too, or onModified=ignore")
def _(place):
    stream = followed(place)
    touch(place / "in" / "a")
    return stream.drain, lambda: stream.restart(onModified="ignore").drain()


@case("stream-options-changed", "set it back")
def _(place):
    stream = followed(place)

    def restart(record_format):
        stream.format = record_format
        stream.restart().drain()

    return lambda: restart("slices"), lambda: restart("text")


@case("stream-state-missing", "start the query with another checkpoint, which reads all again")
def _(place):
    stream = followed(place)
    shutil.rmtree(place / "state")

    def follow():
        stream.position = None
        stream.restart().drain()
        assert stream.values() == ["a", "a"]

    return lambda: stream.restart().drain(), follow


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """As where libraries are not installed."""
    before = {name: module for name, module in sys.modules.items() if name.startswith(modules)}
    with patch.dict(sys.modules, dict.fromkeys((*before, *modules))):
        yield


@case("no-codec", "install splitscan[codecs]")
def _(place):
    path = csv(place, pa.compress(b"1\n2\n", "zstd", asbytes=True), "a.csv.zst")

    def provoke():
        with without("backports.zstd"):
            read(path, "n int")

    return provoke, lambda: read(path, "n int").num_rows == 2


@case("no-driver", "splitscan[tables]")
def _(place):
    url = database(place, "CREATE TABLE t (id INTEGER PRIMARY KEY)")

    def provoke():
        with without("adbc_driver_sqlite"):
            ss.scan_table(url, "t", "id").to_arrow()

    return provoke, lambda: ss.scan_table(url, "t", "id").to_arrow()


@case("no-table-format", 'pip install "splitscan[delta]"')
def _(place):
    scan = ss.scan_csv(csv(place), "id long, name string", **RFC)

    def provoke():
        with without("splitscan.jobs.delta", "deltalake"), pytest.MonkeyPatch.context() as patched:
            real = importlib.import_module

            def missing(name: str, package: str | None = None) -> Any:
                if name == "splitscan.jobs.delta":
                    raise ModuleNotFoundError("No module named 'deltalake'")
                return real(name, package)

            patched.setattr(importlib, "import_module", missing)
            ingest(scan, place / "out", table="delta")

    return provoke, lambda: ingest(scan, place / "out", table="delta")


@case("needs-kernel", "do not set SPLITSCAN_ENGINE=reference")
def _(place):
    def compare() -> None:
        digest = ContentDigest(like="blake3:")
        digest.update(b"abc")
        assert digest.text.startswith("blake3:6437b3ac")

    def provoke():
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("SPLITSCAN_ENGINE", "reference")
            compare()

    return provoke, compare


@case("row-too-large", "leave the column out")
def _(place):
    data = {"a": [1], "b": ["x" * 1000]}
    return lambda: load(data, schema=AB, largest_batch_bytes=100), lambda: load(data, schema=A, largest_batch_bytes=100)


@case("table-type", "give the column another type")
def _(place):
    of = pa.schema([("a", pa.duration("s"))])
    check = partial(check_types, table_format="delta", where=str(place))
    return lambda: check(of), lambda: check(pa.schema([("a", pa.int64())]))


@pytest.mark.thin(20)
@pytest.mark.parametrize(("code", "says", "make"), CASES, ids=[f"{code}-{n}" for n, (code, _, _) in enumerate(CASES)])
def test_a_hint_leads_to_another_result(code, says, make, tmp_path):
    provoke, follow = make(tmp_path)
    with pytest.raises(SplitscanError) as caught:
        provoke()
    assert caught.value.reason_code == code, str(caught.value)
    assert says in str(caught.value.fix), str(caught.value)
    follow()


REPORTED = frozenset({
    "error", "invariant", "not-accounted", "claim-protocol", "source", "record", "schema", "ingest", "rebalance",
    "stream",
})  # fmt: skip
"""Codes of the base classes, which no error has alone, and of our own faults, whose hint is to report them."""

ELSEWHERE = {
    "PostgreSQL": (
        "database-failed", "snapshot-failed", "snapshot-lost", "source-not-compared",
    ),
    "brokers of Kafka": ("no-kafka", "kafka-failed", "kafka-topic-missing", "kafka-data-loss", "not-one-record"),
    "a session of Spark and its workers": (
        "no-catalog-table", "read-only", "needs-newer-spark", "bad-block", "wrong-python", "other-connector",
        "no-connector", "bad-plan",
        "unsupported-scan", "no-state-location", "not-for-spark", "server-lost", "task-failed",
    ),
    "the processes of a coordinator": (
        "bad-rebalance-plan", "coordinator-failed", "coordinator-lost", "coordinator-refused", "unknown-scan",
        "no-rebalance", "bad-message",
    ),
    "an object store that misbehaves": (
        "path-unlistable", "range-ignored", "storage-failed", "destination-failed",
    ),
    "a file that changes while it is read": (
        "vanished-midway", "source-unreadable", "source-damaged",
    ),
    "state that another version or another process wrote": (
        "ledger-version", "stream-version", "stream-fenced",
        "ingested-twice", "columns-changed", "data-file-unreadable",
    ),
}  # fmt: skip
"""Codes whose hints are followed nowhere here, by what they need."""


def test_every_code_has_its_hint_followed_or_a_reason_why_not():
    covered = {code for code, _, _ in CASES}
    elsewhere = {code for codes in ELSEWHERE.values() for code in codes}
    assert covered & (elsewhere | REPORTED) == set()
    assert sorted(set(CODES) - covered - elsewhere - REPORTED) == []
    assert sorted((elsewhere | REPORTED) - set(CODES)) == []


def test_a_new_member_of_a_deep_column_is_named_in_a_short_message(tmp_path):
    wide = {f"member{number}": {"inner": number, "text": "x"} for number in range(300)}
    out = tmp_path / "out"
    ingest(ss.scan_json(write(tmp_path / "a.json", json.dumps({"m": wide}) + "\n"), infer_schema=True), out)
    wide["member177"]["late"] = "y"
    scan = ss.scan_json(write(tmp_path / "b.json", json.dumps({"m": wide}) + "\n"), infer_schema=True)
    with pytest.raises(SplitscanError) as caught:
        ingest(scan, out)
    assert caught.value.reason_code == "destination-schema"
    assert "late" in caught.value.seen
    assert len(str(caught.value)) < 1500


@pytest.mark.parametrize(
    ("args", "spelled"),
    [
        (
            ("ingest", "b.csv", "out", "-s", "id long, name string, x string", "--header"),
            "--schema-evolution-mode addNewColumns",
        ),
        (
            ("ingest", "bad.csv", "new", "-s", "id long, name string", "--no-header", "--sep", ","),
            "allow more with --max-reject-ratio or --max-rejects",
        ),
        (
            ("head", "swapped.csv", "-s", "id long, name string", "--header", "-o", "enforceSchema=false"),
            "set --header and -o headerMapping=byName",
        ),
        (("head", "a.csv", "-o", "format=json"), "did you mean --format?"),
        (
            ("head", "bad.csv", "-s", "id long, name string", "--no-header", "--sep", ",", "-o", "mode=FAILFAST"),
            "set -o mode=PERMISSIVE",
        ),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_the_command_spells_hints_as_it_takes_options(tmp_path, monkeypatch, capfd, args, spelled):
    monkeypatch.chdir(tmp_path)
    ingested(tmp_path)
    csv(tmp_path, "id,name,x\n5,a,b\n", "b.csv")
    csv(tmp_path, "x,a\ny,b\n", "bad.csv")
    csv(tmp_path, "name,id\na,1\n", "swapped.csv")
    monkeypatch.setattr(ingest_runner, "SparkRunner", lambda *_: InProcessRunner())
    assert main(list(args)) != 0
    error = capfd.readouterr().err
    assert spelled in error
    assert re.search(r"(schema_evolution_mode|max_reject\w*|on_changed|partition_by)", error) is None


@pytest.mark.parametrize(
    ("args", "spelled"),
    [
        (
            ("head", "late.csv", "--header", "-n", "300", "-o", "inferSchema=true", "-o", "sampleBytes=256"),
            "'splitscan check' shows the first of each rule, -o rejectReasonColumn=_reject_reason says why",
        ),
        (("count", "long.csv", "--header", "-o", "maxRecordBytes=64"), "-o mode=FAILFAST stops there"),
        (("head", "in", "-f", "csv", "--header"), "-o recursiveFileLookup=true"),
        (("count", "-f", "text", "wide.txt"), "-o encoding=UTF-16"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_the_command_spells_its_warnings_as_it_takes_options(tmp_path, monkeypatch, caplog, args, spelled):
    monkeypatch.chdir(tmp_path)
    csv(tmp_path, "k,v\n" + "k,1\n" * 200 + "k,x\n", "late.csv")
    csv(tmp_path, "k,v\n1,2\n" + "k" * 100 + ",1\n", "long.csv")
    csv(tmp_path / "in", "k,v\n1,2\n")
    csv(tmp_path / "in" / "below", "k,v\n1,2\n")
    write(tmp_path / "wide.txt", "one\ntwo\n".encode("utf-16"))
    assert main(list(args)) == 0
    assert spelled in caplog.text
    assert "scan.rejects" not in caplog.text
