"""Sessions of Spark: what gives them the connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from splitscan.jar import connector_jar

if TYPE_CHECKING:  # the session comes from the caller
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make ``spark.read.format("splitscan")`` known to a session, and fast: see :func:`splitscan.spark.register`."""
    from splitscan.spark.registration import register as register_source  # noqa: PLC0415 - Spark is optional

    register_source(spark)


def recommended_conf() -> dict[str, str]:
    """Settings of a Spark session to come that make reading faster; none changes an answer.

    They have to be set before the session starts: in ``spark-defaults.conf``, with ``--conf``, or on the builder.
    ``splitscan spark-conf`` prints them. :func:`register` gives a running session the jar.

    Returns:
        By name: the jar of the connector, where it was installed; sockets of the file system between the JVM and its
        Python workers (Spark 4.1 and newer), a garbage collector made for throughput, and Arrow memory without a check
        of each access.

    Example:
        >>> recommended_conf()["spark.python.unix.domain.socket.enabled"]
        'true'
    """
    java = "-XX:+UseParallelGC -Darrow.enable_unsafe_memory_access=true"
    jar = connector_jar()
    return {
        **({} if jar is None else {"spark.jars": str(jar)}),
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.driver.extraJavaOptions": java,
        "spark.executor.extraJavaOptions": java,
    }
