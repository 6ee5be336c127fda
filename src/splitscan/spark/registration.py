"""How a session comes to ``format("splitscan")``: by the connector, or by the data source of Python.

What plans and reads is imported with the first question of the JVM.
"""

from __future__ import annotations

from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from splitscan.adoption import KNOWN
from splitscan.spark.connector import SETTING, attach, is_switched_on

if TYPE_CHECKING:
    from splitscan.spark.driver import DriverAnswers
    from splitscan.streaming.messages import MessageScan

_ANSWERS = "splitscan.spark.driver"


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
    if not (is_switched_on(spark.conf.get(SETTING, "")) and attach(spark, _PLANNER)):
        import_module(_ANSWERS).register_python(spark)
    KNOWN.add(spark)


class DriverPlanner:
    """Python of a driver, as the JVM asks it: one for all sessions, as it knows the streams that run."""

    class Java:
        """Interface of the JVM that py4j implements."""

        implements = ("java.util.function.BiFunction",)

    def __init__(self) -> None:
        self._answers: DriverAnswers | None = None
        self._lock = Lock()

    def apply(self, question: str, session: Any) -> str:
        """Answer a question of a session of the JVM."""
        with self._lock:
            answers = self._answers = self._answers or import_module(_ANSWERS).DriverAnswers()
        return answers.answer(question, session)


_PLANNER = DriverPlanner()


def messages_to_spark(scan: MessageScan, spark: SparkSession) -> DataFrame:
    """A DataFrame of the rows of a scan, by the data source: Spark's schema is the scan's.

    Args:
        scan: What is read.
        spark: The session.
    """
    from splitscan.spark.session import spark_schema  # noqa: PLC0415 - a new session does not wait for it
    from splitscan.spark.source import NAME  # noqa: PLC0415 - nor for this

    register(spark)
    reader = spark.read.format(NAME).schema(spark_schema(scan.full_schema))
    frame = reader.options(**{**scan.options, "source": "kafka"}).load()
    if scan.selected is not None:
        frame = frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in scan.selected))
    return frame if scan.row_limit is None else frame.limit(scan.row_limit)
