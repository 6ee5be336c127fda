"""A gigabyte of pretty-printed JSON in one array: the known count and the known content, whatever the block size."""

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.testing.generated import CHUNK_RECORDS
from splitscan.testing.generated_json import JSON_SCHEMA, JsonLayout, generated_json_batch, write_generated_json

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

TARGET_BYTES = 1_000_000_000


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The file and the number of its records."""
    path = tmp_path_factory.mktemp("scale") / "generated.json"
    records = write_generated_json(path, TARGET_BYTES, JsonLayout.ARRAY)
    yield path, records
    path.unlink()


def _content(frame):
    """Count, and sum of a 64-bit hash over all columns of every row."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    hashed = F.xxhash64(*frame.columns).cast("decimal(20,0)")
    return tuple(frame.agg(F.count("*"), F.sum(hashed)).collect()[0])


@pytest.fixture(scope="module")
def expected(spark, generated):
    """The content by the generator alone; no file is read."""
    chunks = generated[1] // CHUNK_RECORDS

    def generate(batches):
        for batch in batches:
            for number in batch["id"].to_pylist():
                made = generated_json_batch(number * CHUNK_RECORDS, CHUNK_RECORDS)
                yield pa.RecordBatch.from_arrays(made.columns, names=made.schema.names)

    content = _content(spark.range(0, chunks, 1, 4).mapInArrow(generate, JSON_SCHEMA))
    assert content[0] == generated[1]
    return content


def test_the_dataframe_has_the_known_content(spark, generated, expected):
    scan = ss.scan_json(str(generated[0]), JSON_SCHEMA, multi_line=True, block_size="16m")
    assert _content(scan.to_spark(spark)) == expected
    assert scan.count(spark) == expected[0]


@pytest.mark.parametrize("block_size", ["16m", "128m"])
def test_the_ingested_parquet_has_the_known_content(spark, generated, expected, block_size, tmp_path):
    scan = ss.scan_json(str(generated[0]), JSON_SCHEMA, multi_line=True, block_size=block_size)
    report = scan.ingest(spark, str(tmp_path / "out"))
    assert (report.rows, report.rejects, report.accounted) == (expected[0], 0, True)
    assert _content(spark.read.parquet(str(tmp_path / "out"))) == expected
