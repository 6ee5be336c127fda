"""The data source with readers that die, or lose answers of the coordinator, at the worst moments."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from splitscan.rebalance.connection import Connection
from splitscan.spark import SplitscanDataSource

from .faults import do, take_turn
from .rebalanced import load

_PAUSE_SECONDS = 0.3
_LONG_PAUSE_SECONDS = 2.0
_SETTLED_SECONDS = 0.3  # for the coordinator to take in what it was sent


class SabotagedSource(SplitscanDataSource):
    """Options beside ours: ``sabotage`` says what happens, ``sabotageFolder`` counts it, ``sabotageTimes`` ends it.

    ``after end``: the reader is killed when it has been told the end, and Spark has not committed its task.
    ``in flight``: it is killed when its claim has been sent, and the answer has not come.
    ``answer lost``: the answer comes, and is lost with its connection.
    ``slow``: it waits before each claim, so that a small file is read for a while; what costs time behind the reader
    does not do that, as megabytes of rows fit between the two.
    ``uneven``: the readers of partition 0 wait for long behind each chunk, so that others take over most of it.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        lower = {name.lower(): value for name, value in options.items()}
        self._what, self._folder = lower["sabotage"], lower["sabotagefolder"]
        self._times = int(lower["sabotagetimes"])
        super().__init__({name: value for name, value in options.items() if not name.lower().startswith("sabotage")})

    @classmethod
    def name(cls) -> str:
        return "sabotaged"

    def reader(self, schema: StructType) -> DataSourceReader:
        return SabotagedReader(super().reader(schema), self._what, self._folder, self._times)


def load_sabotaged(spark: SparkSession, path: str, what: str, folder: Path | str = "", times: int = 0) -> DataFrame:
    """A rebalanced DataFrame whose readers suffer *what*, so many times all together."""
    spark.dataSource.register(SabotagedSource)
    options = {"sabotage": what, "sabotageFolder": str(folder), "sabotageTimes": times}
    return load(spark, path, "sabotaged", **options)


class SabotagedReader(DataSourceReader):
    """What reads, and suffers."""

    def __init__(self, reader: DataSourceReader, what: str, folder: str, times: int) -> None:
        self._reader, self._what, self._folder, self._times = reader, what, folder, times

    def partitions(self) -> Sequence[InputPartition]:
        return self._reader.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        original = Connection._exchange
        if self._what != "after end":
            Connection._exchange = self._exchange_by(original)  # type: ignore[method-assign]
        try:
            yield from self._reader.read(partition)
        finally:
            Connection._exchange = original  # type: ignore[method-assign]
        if self._what == "after end" and self._is_turn():
            do("kill worker")

    def _is_turn(self) -> bool:
        return take_turn(self._folder, self._what, self._times)

    def _exchange_by(self, original: Any) -> Any:
        def exchange(connection: Any, line: bytes, seconds: float) -> Any:
            if self._what == "slow":
                time.sleep(_PAUSE_SECONDS)
                return original(connection, line, seconds)
            if self._what == "uneven":
                waits = b'"partition":0' in line and b'"index":0' not in line  # what has not begun is never taken over
                time.sleep(_LONG_PAUSE_SECONDS if waits else 0)
                return original(connection, line, seconds)
            if not (b'"op":"next"' in line and b'"index":0' not in line and self._is_turn()):
                return original(connection, line, seconds)
            if self._what == "in flight":
                connection._socket.sendall(line)
                time.sleep(_SETTLED_SECONDS)
                os.kill(os.getpid(), signal.SIGKILL)
            original(connection, line, seconds)
            raise ConnectionResetError("sabotage")

        return exchange
