"""Files that are not on mounted file systems: planned through fsspec, read by the connector through Hadoop."""

import gzip
import io
import os
import random
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.spec import AbstractFileSystem
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import splitscan as ss
from splitscan.spark.choice import why_python
from splitscan.spark.connector import connector_jar

from .test_connector_faults import HOLE_BYTES, cancelled

pytestmark = pytest.mark.skipif(connector_jar() is None, reason="the connector was not built")

_ROOTS: dict[str, Path] = {}
_OPTIONS: dict[str, Any] = {"header": True, "multi_line": True, "escape": '"', "dialect": "spark"}
_SCHEMA = "id int, note string"


class MountedFileSystem(AbstractFileSystem):
    """What Hadoop's ``viewfs`` is in these tests, for Python: folders of this machine under other names."""

    protocol = "viewfs"

    def _local(self, name: str) -> Path:
        store, _, rest = self._strip_protocol(name).partition("/")
        return _ROOTS[store] / rest.removeprefix("data").lstrip("/")

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        name, local = self._strip_protocol(path), self._local(path)
        status = local.stat()
        kind = "directory" if local.is_dir() else "file"
        return {"name": name, "size": status.st_size, "type": kind, "mtime": status.st_mtime}

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        names = [f"{self._strip_protocol(path).rstrip('/')}/{name.name}" for name in self._local(path).iterdir()]
        return [self.info(name) for name in names] if detail else names

    def _open(self, path: str, mode: str = "rb", **_: Any) -> io.BufferedReader:
        return self._local(path).open("rb")


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """The URI of a folder that Python and Hadoop know by ``viewfs``."""
    name = f"store{uuid.uuid4().hex}"
    _ROOTS[name] = tmp_path
    fsspec.register_implementation("viewfs", MountedFileSystem, clobber=True)
    link = f"fs.viewfs.mounttable.{name}.link./data"
    spark.sparkContext._jsc.hadoopConfiguration().set(link, tmp_path.as_uri())
    ss.register(spark)
    yield f"viewfs://{name}/data"
    spark.sparkContext._jsc.hadoopConfiguration().unset(link)
    del _ROOTS[name]


def _notes(chance: random.Random, records: int) -> str:
    notes = (chance.choice(["x", '"a\nb"', '"q""q"', "é𝄞", '"\r\n,"', '""', "", '"open']) for _ in range(records))
    return "id,note\n" + "".join(f"{number},{note}\n" for number, note in enumerate(notes))


def _rows(frame: DataFrame) -> list[Any]:
    return sorted(map(tuple, frame.collect()), key=repr)


def _said(error: pytest.ExceptionInfo[Any]) -> str:
    return str(error.value).partition("\n\n")[0]


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_those_of_the_same_files_on_a_mounted_file_system(
    spark: SparkSession, tmp_path: Path, store: str, seed: int
) -> None:
    chance = random.Random(seed)
    for name in ("a.csv", "b%20 c.csv", "empty.csv", "k=1/ü.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(_notes(chance, 60) if name != "empty.csv" else "", newline="")
    cut = {"block_size": chance.choice([37, 256, 1 << 20]), "read_bytes": 4096}
    scan = ss.scan_csv(store, _SCHEMA, **_OPTIONS, **cut)
    assert why_python(scan, spark) is None
    assert "connector" in str(scan.explain(spark).reader)
    expected = _rows(ss.scan_csv(tmp_path, _SCHEMA, **_OPTIONS, **cut).to_spark(spark))
    assert _rows(scan.to_spark(spark)) == expected
    options = {"header": "true", "multiLine": "true", "escape": '"', "blockSize": str(cut["block_size"])}
    frame = spark.read.format("splitscan").options(**options, dialect="spark").schema(_SCHEMA + ", k int").load(store)
    assert "BatchScan splitscan" in frame._jdf.queryExecution().toString()
    assert _rows(frame) == expected
    assert frame.count() == len(expected)
    paths = {row.file_path for row in frame.select("_metadata.file_path").distinct().collect()}
    assert paths == {f"{store}/a.csv", f"{store}/b%20 c.csv", f"{store}/k=1/ü.csv"}


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_large_pieces_arrive_whole(spark: SparkSession, tmp_path: Path, store: str, name: str) -> None:
    data = "".join(f'{number},"{"x" * 5000}\n"\n' for number in range(1000)).encode()
    (tmp_path / name).write_bytes(gzip.compress(data, 0) if name.endswith(".gz") else data)
    frame = ss.scan_csv(f"{store}/{name}", _SCHEMA, multi_line=True, dialect="spark", read_bytes=3 << 20).to_spark(
        spark
    )
    assert "BatchScan splitscan" in frame._jdf.queryExecution().toString()
    assert frame.selectExpr("sum(id) s", "sum(length(note)) n").collect() == [(499500, 1000 * 5001)]


def test_a_file_that_changed_or_went_after_it_was_planned_is_named(
    spark: SparkSession, tmp_path: Path, store: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,x\n")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    frame = ss.scan_csv(store, _SCHEMA, dialect="spark").to_spark(spark)
    assert _rows(frame) == [(1, "x")]
    path.write_text("2,y\n")  # as long
    with pytest.raises(PySparkException, match=r"\[source-changed\]") as error:
        frame.collect()
    assert re.search(rf"where: {store}/a\.csv\n  seen:  fingerprint 4-\d+; planned 4-1000000000000000", _said(error))
    path.unlink()
    with pytest.raises(PySparkException, match=r"\[source-missing\]") as error:
        frame.collect()
    assert f"where: {store}/a.csv\n" in _said(error)


def test_a_file_that_ends_while_it_is_read_is_an_error_of_its_place(
    spark: SparkSession, tmp_path: Path, store: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,x\n" * 100_000)
    jvm: Any = spark.sparkContext._jvm
    files = jvm.splitscan.connector.HadoopFiles(spark.sparkContext._jsc.hadoopConfiguration())
    time = int(path.stat().st_mtime * 1_000_000)
    assert files.open(f"{store}/a.csv", "SHOWN", 400_000, time, f"400000-{time}") is None
    with path.open("r+b") as file:
        file.truncate(10)
    buffer = jvm.java.nio.ByteBuffer.allocate(400_000)
    said = str(files.read(200_000, buffer))
    assert "[source-truncated]\n  where: SHOWN\n  seen:  java.io.EOFException" in said
    files.close()
    assert "[storage-failed]" in files.read(0, buffer)


def test_a_killed_task_ends_while_it_looks_for_the_end_of_a_record(
    spark: SparkSession, tmp_path: Path, store: str
) -> None:
    with (tmp_path / "hole.csv").open("wb") as file:
        file.write(b"1,a\n" * 100_000 + b"2,b")
        file.truncate(HOLE_BYTES)
    frame = ss.scan_csv(f"{store}/hole.csv", _SCHEMA, dialect="spark", block_size=HOLE_BYTES).to_spark(spark)
    assert cancelled(spark, lambda: frame.groupBy("note").count().collect(), 1.0) < 1


def test_records_that_break_a_rule_are_told_with_their_place(spark: SparkSession, tmp_path: Path, store: str) -> None:
    (tmp_path / "a.csv").write_text("1,x\nno,y\n")
    frame = ss.scan_csv(store, _SCHEMA, dialect="spark", mode="FAILFAST").to_spark(spark)
    with pytest.raises(PySparkException, match=rf"(?s)\[bad-value\].*where: {store}/a\.csv, byte 4"):
        frame.collect()


def test_python_reads_what_hadoop_does_not_see_or_is_not_asked_for(
    spark: SparkSession, tmp_path: Path, store: str
) -> None:
    (tmp_path / "a.csv").write_text("1,x\n")
    (tmp_path / "b.csv.gz").write_bytes(b"\x1f\x8b")

    def why(path: str, **options: Any) -> str:
        return str(why_python(ss.scan_csv(path, _SCHEMA, dialect="spark", **options), spark))

    name = f"other{uuid.uuid4().hex}"
    _ROOTS[name] = tmp_path
    assert "[storage-failed]" in why(f"viewfs://{name}/data/a.csv")
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.csv").write_text("1,xyz\n")
    link = f"fs.viewfs.mounttable.{name}.link./data"
    spark.sparkContext._jsc.hadoopConfiguration().set(link, other.as_uri())
    assert "[source-changed]" in why(f"viewfs://{name}/data/a.csv")
    assert "breaks off" in why(f"{store}/b.csv.gz")
    assert why(f"{store}/a.csv", storage_options={"auto_mkdir": False}) == "storageOptions are not for Hadoop"
    with fsspec.open("memory://a.csv", "w") as file:
        file.write("1,x\n")
    assert why("memory://a.csv") == "Hadoop is not asked for 'memory://a.csv'"
