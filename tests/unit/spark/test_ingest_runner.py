from unittest.mock import Mock

import pytest

from splitscan.spark import contexts, session
from splitscan.spark.ingest_runner import SparkRunner


def test_a_session_starts_for_the_first_task_and_never_to_be_cancelled():
    runner = SparkRunner(lambda: pytest.fail("Spark was started"), index_here_bytes=1)
    runner.cancel()
    assert list(runner.index([])) == []


@pytest.mark.parametrize(
    ("has_context", "names"),
    [(True, ("addJobTag", "removeJobTag", "cancelJobsWithTag")), (False, ("addTag", "removeTag", "interruptTag"))],
)
def test_jobs_are_tagged_while_they_run_and_cancelled_by_their_tag(has_context, names, monkeypatch):
    spark = Mock()
    tagging = spark.context if has_context else spark
    monkeypatch.setattr(contexts, "classic_context", lambda _: spark.context if has_context else None)
    monkeypatch.setattr(session, "check_interpreter", lambda _: None)
    runner = SparkRunner(spark_of := Mock(return_value=spark))

    def job():
        assert [getattr(tagging, name).call_count for name in names] == [1, 0, 0]
        runner.cancel()
        return "done"

    assert runner._run(job) == "done"
    assert spark_of.call_count == 1
    (tag,) = {getattr(tagging, name).call_args.args for name in names}
    assert tag == (runner._tag,)
    assert [getattr(tagging, name).call_count for name in names] == [1, 1, 1]
