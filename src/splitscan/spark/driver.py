"""Answers of the driver to the connector, and the data source of Python where the connector has its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.udf import _wrap_function

from splitscan.spark.connector import why_unseen
from splitscan.spark.indexing import spark_indexer
from splitscan.spark.planner import Planner
from splitscan.spark.session import check_workers
from splitscan.spark.source import NAME, SplitscanDataSource

_KNOWN_ALREADY = "DATA_SOURCE_ALREADY_EXISTS"  # what Spark 4.0 says of a source that it has found installed


def register_python(spark: SparkSession) -> None:
    """Make the Python data source known to a session, unless Spark has found it installed.

    Raises:
        UsageError: ``[wrong-python]`` if Spark's Python workers lack what reading needs; it says what, and where.
    """
    check_workers(spark)
    with unless_installed():
        spark.dataSource.register(SplitscanDataSource)


@contextmanager
def unless_installed() -> Iterator[None]:
    """Make the Python data source known inside; it is no error that Spark has found it installed."""
    try:
        yield
    except AnalysisException as error:
        if error.getCondition() != _KNOWN_ALREADY:
            raise


class DriverAnswers:
    """Answers to questions of the JVM, on a thread of py4j, while the one that made a query waits."""

    def __init__(self) -> None:
        self._planner = Planner()
        self._registered: set[str] = set()

    def answer(self, question: str, session: Any) -> str:
        """Answer a question of a session of the JVM."""
        context = SparkContext._active_spark_context  # noqa: SLF001 - the thread has no session of its own
        if context is None:
            return self._planner.answer(question)
        spark = cache(partial(SparkSession, context, session))  # it asks the JVM back, and most answers need none
        return self._planner.answer(
            question,
            indexer=lambda tasks: spark_indexer(spark())(tasks),  # noqa: PLW0108 - the session is made when it runs
            hand_over=lambda: self._hand_over(spark, session),
            why_unseen=lambda file: why_unseen(spark(), file),
        )

    def _hand_over(self, spark: Callable[[], SparkSession], session: Any) -> None:
        name = str(session.sessionUUID())
        if name not in self._registered:
            check_workers(spark())
            _register_behind(spark(), session)
            self._registered.add(name)


def _register_behind(spark: SparkSession, session: Any) -> None:
    """Make the Python source known where the connector has its name: Spark's own door says that it is taken."""
    context: Any = spark.sparkContext
    function = _wrap_function(context, SplitscanDataSource)
    classes = context._jvm.org.apache.spark.sql.execution.datasources.v2.python  # noqa: SLF001
    source = classes.UserDefinedPythonDataSource(function)
    with unless_installed():
        session.sessionState().dataSourceManager().registerDataSource(NAME, source)
