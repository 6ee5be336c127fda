"""Jobs on Spark: watching, blocks as data frames, reports, settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from splitscan.jar import connector_jar
from splitscan.options.stream import parse_stream_options
from splitscan.scan import ScanPlanner
from splitscan.scan.files import Paths
from splitscan.scan.finding_format import find_format

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from splitscan.jobs import IngestSettings
    from splitscan.jobs.reports import OnProgress
    from splitscan.jobs.watching import WatchedWindow
    from splitscan.rebalance.report import RebalanceReport


def watch(  # noqa: PLR0913 -- each is an argument that a user sets
    spark: SparkSession,
    paths: Paths,
    destination: str | os.PathLike[str],
    format: str | None = None,
    schema: str | pa.Schema | None = None,
    *,
    once: bool = False,
    table: str | None = None,
    settings: IngestSettings | None = None,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Iterator[WatchedWindow | None]:
    """Ingest new, late and growing files as they appear, window by window, each record exactly once.

    Each window is one ingest. A watch that was killed at any instant goes on where it was: what was planned and what
    was published is in the destination. See ``splitscan watch`` in ``docs/streaming.md``.

    Args:
        spark: Who runs the tasks.
        paths: What is followed: directories, globs, URIs.
        destination: Folder or table: a local path or a URI.
        format: As for :func:`scan`.
        schema: As for :func:`scan`; the columns of the first window when not given.
        once: Whether to end when all that is there now is ingested.
        table: Format of the destination, as for :meth:`Scan.ingest`.
        settings: How rows are written.
        on_progress: Called about twice a second while a window is ingested. If it raises, the watch ends.
        options: Options of the format and of streams (``maxFilesPerTrigger``, ``minAgeMs``), by their Spark names or
            snake_case twins.

    Yields:
        Each window, after it was published; ``None`` whenever there is nothing to do. Close the iterator, or leave the
        process, to end.

    Raises:
        UsageError: If an argument has no meaning; at once, before the first window.
        SplitscanError: What planning or ingesting a window fails with. Nothing is lost: the next watch does it again.
    """
    from splitscan.api.ingesting import warn_of_rejects  # noqa: PLC0415 - Spark is optional
    from splitscan.jobs.watching import Watch  # noqa: PLC0415 - what plans windows is loaded by who needs it
    from splitscan.spark.ingest_runner import SparkRunner  # noqa: PLC0415 - Spark is optional
    from splitscan.spark.time_zones import in_session_zone  # noqa: PLC0415 - Spark is optional

    stream, named = parse_stream_options(options)
    found, others = find_format(paths, format, named)

    def build() -> ScanPlanner:
        return in_session_zone(ScanPlanner.of(paths, found, schema, others), spark)

    watching = Watch(build, os.fspath(destination), stream, settings, table=table)

    def windows() -> Iterator[WatchedWindow | None]:
        runner = SparkRunner(spark)
        with closing(watching):
            for window in watching.drain(runner, on_progress) if once else watching.follow(runner, on_progress):
                if window is not None and window.report is not None:
                    warn_of_rejects(window.report)
                yield window

    return windows()


def register(spark: SparkSession) -> None:
    """Make ``spark.read.format("splitscan")`` known to a session, and fast: see :func:`splitscan.spark.register`."""
    from splitscan.spark.registration import register as register_source  # noqa: PLC0415 - Spark is optional

    register_source(spark)


def rebalance_report(spark: SparkSession) -> RebalanceReport:
    """Report of the latest rebalanced scan of a session: see :func:`splitscan.spark.rebalance_report`."""
    from splitscan.spark.coordination.session import rebalance_report as report  # noqa: PLC0415 - Spark is optional

    return report(spark)


def split_files(paths_df: DataFrame, **options: Any) -> DataFrame:
    """Files in, blocks out: see :func:`splitscan.spark.split_files`."""
    from splitscan.spark.operators import split_files as split  # noqa: PLC0415 - Spark is optional

    return split(paths_df, **options)


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


def read_blocks(blocks_df: DataFrame, format: str = "csv", **options: Any) -> DataFrame:
    """Blocks in, records out: see :func:`splitscan.spark.read_blocks`."""
    from splitscan.spark.operators import read_blocks as read  # noqa: PLC0415 - Spark is optional

    return read(blocks_df, format=format, **options)
