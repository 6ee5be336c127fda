"""How a session comes to ``format("splitscan")``: by the connector, or by the data source of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.udf import _wrap_function

from splitscan.spark.connector import SETTING, attach, is_switched_on, why_unseen
from splitscan.spark.indexing import spark_indexer
from splitscan.spark.planner import Planner
from splitscan.spark.session import check_workers, spark_schema
from splitscan.spark.source import NAME, SplitscanDataSource

if TYPE_CHECKING:
    from splitscan.streaming.messages import MessageScan

_KNOWN_ALREADY = "DATA_SOURCE_ALREADY_EXISTS"  # what Spark 4.0 says of a source that it has found installed


def register(spark: SparkSession) -> None:
    """Make ``spark.read.format("splitscan")`` known to a session, by the connector where that can come to it.

    The connector asks this process for plans. What only Python reads is read by the Python source of the same name,
    which is made known when the first such scan is planned; and at once where there is no connector, or the session
    has it switched off. Where workers run on other machines, one of them is asked then what it has.

    Raises:
        UsageError: ``[wrong-python]`` if Spark's Python workers lack what reading needs; it says what, and where.
            ``[other-connector]`` if a connector of another version is attached already; ``[bad-option]`` if the
            session's setting for the connector is neither true nor false.
    """
    if not (is_switched_on(spark.conf.get(SETTING, "")) and attach(spark, DriverPlanner())):
        register_python(spark)


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


class DriverPlanner:
    """Python of a driver, as the JVM asks it: on a thread of py4j, while the one that made a query waits."""

    class Java:
        """Interface of the JVM that py4j implements."""

        implements = ("java.util.function.BiFunction",)

    def __init__(self) -> None:
        self._planner = Planner()
        self._registered: set[str] = set()

    def apply(self, question: str, session: Any) -> str:
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


def messages_to_spark(scan: MessageScan, spark: SparkSession) -> DataFrame:
    """A DataFrame of the rows of a scan, by the data source: Spark's schema is the scan's.

    Args:
        scan: What is read.
        spark: The session.
    """
    register(spark)
    reader = spark.read.format(NAME).schema(spark_schema(scan.full_schema))
    frame = reader.options(**{**scan.options, "source": "kafka"}).load()
    if scan.selected is not None:
        frame = frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in scan.selected))
    return frame if scan.row_limit is None else frame.limit(scan.row_limit)
