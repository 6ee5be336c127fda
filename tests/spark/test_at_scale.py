"""CSV with newlines in quotes, as long as a gigabyte: the known count and content, whatever the block size."""

import pytest
from bench.generated import SCHEMA, generated_batch, write_generated_csv

import splitscan as ss

from .contents import content, generated_content

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

SIZES = [12_000_000, pytest.param(1_000_000_000, marks=pytest.mark.large)]
OPTIONS = {"multi_line": True, "escape": '"'}


@pytest.fixture(scope="module", params=SIZES)
def generated(tmp_path_factory, request):
    """The file and the number of its records."""
    path = tmp_path_factory.mktemp("scale") / "generated.csv"
    records = write_generated_csv(path, request.param)
    yield path, records
    path.unlink()


@pytest.fixture(scope="module")
def expected(spark, generated):
    """The content by the generator alone; no file is read."""
    return generated_content(spark, generated_batch, generated[1], SCHEMA)


@pytest.mark.parametrize("block_size", ["1m", "8m", pytest.param("128m", marks=pytest.mark.large)])
def test_the_dataframe_has_the_known_content(spark, generated, expected, block_size):
    scan = ss.scan_csv(str(generated[0]), SCHEMA, block_size=block_size, **OPTIONS)
    assert content(scan.to_spark(spark)) == expected
    assert scan.count(spark) == expected[0]


@pytest.mark.parametrize("block_size", ["1m", "8m", pytest.param("128m", marks=pytest.mark.large)])
def test_the_ingested_parquet_has_the_known_content(spark, generated, expected, block_size, tmp_path):
    scan = ss.scan_csv(str(generated[0]), SCHEMA, block_size=block_size, **OPTIONS)
    report = scan.ingest(spark, str(tmp_path / "out"))
    assert (report.rows, report.rejects, report.accounted) == (expected[0], 0, True)
    assert content(spark.read.parquet(str(tmp_path / "out"))) == expected
