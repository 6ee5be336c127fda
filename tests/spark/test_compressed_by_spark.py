"""What Spark writes in each of its codecs is read as Spark reads it, here and in its tasks; what is no text is not."""

import random

import pytest

import splitscan as ss

CODECS = {"deflate": ".deflate", "lz4": ".lz4", "snappy": ".snappy", "gzip": ".gz", "bzip2": ".bz2"}
ROWS = 20_000


@pytest.mark.parametrize("format", ["text", "csv", "json"])
@pytest.mark.parametrize("codec", CODECS)
def test_files_of_every_codec_of_spark_are_read_as_spark_reads_them(spark, tmp_path, codec, format):
    frame = spark.range(0, ROWS, 1, 2).selectExpr("concat('name ', id, ' ', uuid()) AS value").cache()
    path = str(tmp_path / "written")
    frame.write.format(format).option("compression", codec).save(path)
    assert len(list((tmp_path / "written").glob(f"*{CODECS[codec]}"))) == 2
    scan = ss.scan(path, format=format, schema="value string", block_size=100_000)
    expected = sorted(row.value for row in spark.read.schema("value string").format(format).load(path).collect())
    assert len(expected) == ROWS
    assert sorted(scan.to_arrow()["value"].to_pylist()) == expected
    assert sorted(row.value for row in scan.to_spark(spark).collect()) == expected
    assert scan.count(spark) == ROWS
    assert codec in {"bzip2"} or len(scan.plan()) > 2


@pytest.mark.parametrize("codec", ["deflate", "lz4", "snappy"])
def test_an_empty_file_of_spark_has_no_rows(spark, tmp_path, codec):
    path = str(tmp_path / "written")
    spark.range(0).selectExpr("string(id) AS value").coalesce(1).write.option("compression", codec).text(path)
    assert ss.scan_text(path).count() == 0


@pytest.mark.parametrize("format", ["text", "csv", "json"])
def test_bytes_that_are_no_text_are_no_rows_on_spark(spark, tmp_path, format):
    (tmp_path / "a.dat").write_bytes(random.Random(1).randbytes(50_000))
    ss.register(spark)
    reader = spark.read.format("splitscan").option("recordFormat", format).schema("value string")
    with pytest.raises(Exception, match="not-text"):
        reader.load(str(tmp_path)).collect()
    with pytest.raises(Exception, match="not-text"):
        reader.load(str(tmp_path)).count()
