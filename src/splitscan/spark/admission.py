"""How much a batch of a stream may take, in the words of PySpark, which has them from 4.2 on."""

from __future__ import annotations

import pyspark

from splitscan.errors import UsageError

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ModuleNotFoundError:  # 4.0 and 4.1: no stream is read, but the readers of streams are imported with all others
    _KNOWN = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Stands in for PySpark's."""

    class ReadLimit:  # type: ignore[no-redef]
        """Stands in for PySpark's."""

    ReadAllAvailable = ReadMaxBytes = ReadMaxFiles = ReadMaxRows = ReadLimit  # type: ignore[misc,assignment]
else:
    _KNOWN = True

__all__ = [
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxBytes",
    "ReadMaxFiles",
    "ReadMaxRows",
    "SupportsTriggerAvailableNow",
    "check_streams",
]


def check_streams() -> None:
    """Make sure that this PySpark can read streams of a source whose batches are limited.

    Raises:
        UsageError: ``[needs-newer-spark]`` if it cannot.
    """
    if not _KNOWN:
        raise UsageError(
            "streams of splitscan need PySpark 4.2 or newer: older ones cannot limit a batch of a Python data source",
            seen=f"readStream with PySpark {pyspark.__version__}",
            fix="use PySpark 4.2 or newer, or run 'splitscan watch' or scheduled ingests, which need no stream",
            code="needs-newer-spark",
        )
