"""What makes Spark find the data source ``splitscan`` by itself: it looks into every module called ``pyspark_*``."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pyspark.sql.datasource import DataSource

try:
    from splitscan.spark.source import SplitscanDataSource as DefaultSource
except ImportError as error:
    _REASON = str(error)

    class DefaultSource(DataSource):  # type: ignore[no-redef]
        """Stands in for the real one, and explains; an error while Spark looks around would break every source."""

        def __init__(self, options: Mapping[str, str]) -> None:
            super().__init__(dict(options))
            raise ImportError(
                f"splitscan cannot be imported by Spark's Python, {sys.executable}: {_REASON}. "
                "Set PYSPARK_PYTHON to the Python that splitscan is installed in before the Spark session is started."
            )

        @classmethod
        def name(cls) -> str:
            """The name behind ``format(...)`` and ``USING``."""
            return "splitscan"


__all__ = ["DefaultSource"]
