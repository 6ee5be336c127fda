"""The Spark session that all contenders share, and the cores that they may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark.sql import SparkSession

import splitscan as ss
from bench import CORES
from bench.processes import descendants


def session(*, recommended: bool = False) -> SparkSession:
    """One Spark session for all contenders.

    Args:
        recommended: Whether with the settings that ``splitscan.recommended_conf()`` names, or with Spark's defaults.
    """
    builder = (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", str(CORES))
        .config("spark.sql.legacy.javaCharsets", "true")  # Spark reads windows-1252 only so
        .config("spark.log.level", "ERROR")
    )
    for name, value in ss.recommended_conf().items() if recommended else ():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    ss.register(spark)
    return spark


@contextmanager
def one_core() -> Iterator[None]:
    """Keep every thread of this process, the JVM and the Python workers on one core meanwhile."""
    allowed = os.sched_getaffinity(0)
    _pin({min(allowed)})
    try:
        yield
    finally:
        _pin(allowed)


def _pin(cores: set[int]) -> None:
    for process in (os.getpid(), *descendants()):
        for thread in Path(f"/proc/{process}/task").glob("[0-9]*"):
            with suppress(ProcessLookupError):  # threads come and go
                os.sched_setaffinity(int(thread.name), cores)
