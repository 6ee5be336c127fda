"""Pretty-printed JSON in one array, as long as a gigabyte: the known count and content, whatever the block size."""

import pytest
from bench.generated_json import JSON_SCHEMA, JsonLayout, generated_json_batch, write_generated_json

import splitscan as ss

from .contents import content, generated_content

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

SIZES = [12_000_000, pytest.param(1_000_000_000, marks=pytest.mark.large)]


@pytest.fixture(scope="module", params=SIZES)
def generated(tmp_path_factory, request):
    """The file and the number of its records."""
    path = tmp_path_factory.mktemp("scale") / "generated.json"
    records = write_generated_json(path, request.param, JsonLayout.ARRAY)
    yield path, records
    path.unlink()


@pytest.fixture(scope="module")
def expected(spark, generated):
    """The content by the generator alone; no file is read."""
    return generated_content(spark, generated_json_batch, generated[1], JSON_SCHEMA)


def test_the_dataframe_has_the_known_content(spark, generated, expected):
    scan = ss.scan_json(str(generated[0]), JSON_SCHEMA, multi_line=True, block_size="4m")
    assert content(scan.to_spark(spark)) == expected
    assert scan.count(spark) == expected[0]


@pytest.mark.parametrize("block_size", ["4m", pytest.param("128m", marks=pytest.mark.large)])
def test_the_ingested_parquet_has_the_known_content(spark, generated, expected, block_size, tmp_path):
    scan = ss.scan_json(str(generated[0]), JSON_SCHEMA, multi_line=True, block_size=block_size)
    report = scan.ingest(spark, str(tmp_path / "out"))
    assert (report.rows, report.rejects, report.accounted) == (expected[0], 0, True)
    assert content(spark.read.parquet(str(tmp_path / "out"))) == expected
