import pytest

from splitscan.spark.ingest_runner import SparkRunner


def test_a_session_starts_for_the_first_task_and_never_to_be_cancelled():
    runner = SparkRunner(lambda: pytest.fail("Spark was started"), index_here_bytes=1)
    runner.cancel()
    assert list(runner.index([])) == []
