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

from splitscan.rebalance import client as client_module
from splitscan.rebalance.client import Connection, Coordinator
from splitscan.spark.coordination import ClaimedPartition, reachable
from splitscan.spark.source import SplitscanDataSource

from .faults import do, take_turn
from .processes import wait_until
from .rebalanced import load

_PAUSE_SECONDS = 0.3
_SETTLED_SECONDS = 0.3  # for the coordinator to take in what it was sent
_PATIENCE_SECONDS = 110  # four attempts of a task give up before the test does, and say what did not happen
_REFUSED_SECONDS = 0.5
_HELD_SECONDS = 400  # until the test says so; it may wait for Spark to give up an executor


class SabotagedSource(SplitscanDataSource):
    """Options beside ours: ``sabotage`` says what happens, ``sabotageFolder`` counts it, ``sabotageTimes`` ends it.

    ``after end``: the reader is killed when it has been told the end, and Spark has not committed its task.
    ``in flight``: it is killed when its claim has been sent, and the answer has not come.
    ``answer lost``: the answer comes, and is lost with its connection.
    ``slow``: it waits before each claim but the first, so that a small file is read for a while; what costs time after
    the reader does not do that, as megabytes of rows fit between the two.
    ``held``: it waits before its second claim until :func:`let_go`; :func:`are_held` tells that all slots do. It has
    little patience with a coordinator that is gone, as each task is tried several times.
    ``uneven``: nobody reads before partition 0 has begun, and its readers claim no more than the first chunk before
    others have taken over a part of it.
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


def are_held(folder: Path, readers: int) -> bool:
    """Whether so many partitions, or more, have begun to be read, and are ``held``."""
    return len(list(folder.glob("held-*"))) >= readers


def let_go(folder: Path) -> None:
    """Let readers that are ``held`` go on, and those that come later."""
    (folder / "go").touch()


class SabotagedReader(DataSourceReader):
    """What reads, and suffers."""

    def __init__(self, reader: DataSourceReader, what: str, folder: str, times: int) -> None:
        self._reader, self._what, self._folder, self._times = reader, what, folder, times

    def partitions(self) -> Sequence[InputPartition]:
        return self._reader.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        claimed = partition.value
        original, patience = Connection._exchange, client_module.REFUSED_SECONDS
        if self._what == "uneven" and claimed.number != 0:
            wait_until("a beginning of partition 0", self._path("begun").exists, _PATIENCE_SECONDS)
        if self._what == "held":
            client_module.REFUSED_SECONDS = _REFUSED_SECONDS
        if self._what != "after end":
            Connection._exchange = self._exchange_by(original, claimed)  # type: ignore[method-assign]
        try:
            yield from self._reader.read(partition)
        finally:
            Connection._exchange = original  # type: ignore[method-assign]
            client_module.REFUSED_SECONDS = patience
        if self._what == "after end" and self._is_turn():
            do("kill worker")

    def _is_turn(self) -> bool:
        return take_turn(self._folder, self._what, self._times)

    def _path(self, name: str) -> Path:
        return Path(self._folder, name)

    def _exchange_by(self, original: Any, claimed: ClaimedPartition) -> Any:
        def exchange(connection: Any, line: bytes, seconds: float) -> Any:
            if b'"op":"next"' not in line:
                return original(connection, line, seconds)
            if b'"index":0' in line:
                answer = original(connection, line, seconds)
                if self._what == "uneven" and claimed.number == 0:
                    self._path("begun").touch()
                return answer
            return self._later_exchange(original, claimed, connection, line, seconds)

        return exchange

    def _later_exchange(
        self, original: Any, claimed: ClaimedPartition, connection: Any, line: bytes, seconds: float
    ) -> Any:
        """Ask for a chunk after the first one."""
        if self._what == "slow":
            time.sleep(_PAUSE_SECONDS)
        elif self._what == "held":
            self._path(f"held-{claimed.number}").touch()
            wait_until("a test that lets go", self._path("go").exists, _HELD_SECONDS)
        elif self._what == "uneven":
            if claimed.number == 0:
                wait_until(
                    "a part of partition 0 that is taken over", lambda: _is_taken_over(claimed), _PATIENCE_SECONDS
                )
        elif self._is_turn():
            if self._what == "in flight":
                connection._socket.sendall(line)
                time.sleep(_SETTLED_SECONDS)
                os.kill(os.getpid(), signal.SIGKILL)
            original(connection, line, seconds)
            raise ConnectionResetError("sabotage")
        return original(connection, line, seconds)


def _is_taken_over(claimed: ClaimedPartition) -> bool:
    record = Coordinator(reachable(claimed.registered.address)).record(claimed.registered.scan)
    return any(steal.victim == claimed.number for steal in record.steals)
