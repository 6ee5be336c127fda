"""Archives as directories on a real Spark: members are scanned, counted, ingested, verified and divided."""

import io
import tarfile
import zipfile

import pytest

import splitscan as ss
from splitscan.cli import main
from splitscan.jobs import verify

SCHEMA = "id long, name string"
ROWS = [(i, f"n\n{i * i}") for i in range(900)]
PARTS = [ROWS[:300], ROWS[300:600], ROWS[600:750], ROWS[750:]]
CONTENTS = [b"".join(b'%d,"%s"\n' % (number, name.encode()) for number, name in part) for part in PARTS]


@pytest.fixture
def packed(tmp_path):
    """A directory of a tar, a compressed one, a zip file with a stored and a compressed member, and nobody's record."""
    folder = tmp_path / "in"
    folder.mkdir()
    for kind, content in (("", CONTENTS[0]), (".gz", CONTENTS[3])):
        with tarfile.open(folder / f"a.tar{kind}", f"w:{kind[1:]}") as archive:
            for name, data in (("2024/x.csv", content), ("README", b"never a record")):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    with zipfile.ZipFile(folder / "b.zip", "w") as archive:
        archive.writestr("y.csv", CONTENTS[1], zipfile.ZIP_DEFLATED)
        archive.writestr("z.csv", CONTENTS[2], zipfile.ZIP_STORED)
    return str(folder)


def test_members_are_read_by_several_tasks_and_ingested_once(spark, tmp_path, packed):
    scan = ss.scan_csv(packed, SCHEMA, multiLine=True, archivePathFilter="*.csv", block_size=1000)
    frame = scan.to_spark(spark)
    assert frame.rdd.getNumPartitions() >= 2
    assert sorted(map(tuple, frame.collect())) == ROWS
    assert scan.count(spark) == len(ROWS)
    ss.register(spark)
    reader = (
        spark.read.format("splitscan")
        .schema(f"{SCHEMA}, file_path string")
        .option("recordFormat", "csv")
        .option("multiLine", True)
    )
    reader = (
        reader.option("archivePathFilter", "*.csv").option("metadataColumns", "file_path").option("blockSize", 1000)
    )
    loaded = reader.load(packed)
    assert sorted((row["id"], row["name"]) for row in loaded.collect()) == ROWS
    paths = {row["file_path"].removeprefix(packed) for row in loaded.select("file_path").distinct().collect()}
    assert paths == {"/a.tar!/2024/x.csv", "/a.tar.gz!/2024/x.csv", "/b.zip!/y.csv", "/b.zip!/z.csv"}
    destination = str(tmp_path / "out")
    assert scan.ingest(spark, destination).rows == len(ROWS)
    assert sorted(map(tuple, spark.read.parquet(destination).collect())) == ROWS
    checked = verify(destination, deep=True)
    one = reader.load(f"{packed}/a.tar.gz!/2024/x.csv")
    assert sorted((row["id"], row["name"]) for row in one.collect()) == PARTS[3]
    assert (checked.ok, list(checked.notes)) == (True, [])
    assert checked.digests_checked > 3
    assert scan.ingest(spark, destination).nothing_to_do


def test_sparks_own_reader_finds_the_same_members_with_the_same_filter(spark, packed):
    setting = "spark.sql.files.archive.reader.enabled"
    spark.conf.set(setting, "true")
    try:
        reader = spark.read.schema(SCHEMA).option("multiLine", True).option("archivePathFilter", "*.csv")
        assert sorted(map(tuple, reader.csv(packed).collect())) == ROWS
    finally:
        spark.conf.unset(setting)


def test_members_are_shared_out_while_they_are_read(spark, packed):
    scan = ss.scan_csv(packed, SCHEMA, multiLine=True, archivePathFilter="*.csv", block_size=1000, rebalance=True)
    assert sorted(map(tuple, scan.to_spark(spark).collect())) == ROWS


def test_the_command_line_reads_members(packed, capsys):
    options = ["--option", "archivePathFilter=*.csv", "--option", "multiLine=true"]
    assert main(["count", packed, "--format", "csv", *options]) == 0
    assert "900" in capsys.readouterr().out
    assert main(["blocks", packed, "--format", "csv", *options, "--option", "blockSize=300"]) == 0
    out = capsys.readouterr().out
    assert "b.zip!/y.csv" in out
    assert "deflate: one stream" in out
    assert "tar in gzip: one stream" in out
