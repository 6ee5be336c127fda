"""Rebalanced scans as tests read them: with the log of every partition beside the rows."""

from __future__ import annotations

import bisect
import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import splitscan as ss
from splitscan.rebalance.claim_values import Segment
from splitscan.rebalance.client import Coordinator
from splitscan.rebalance.messages import CoordinatorAddress
from splitscan.spark.coordination import register_scan, session_coordinator

from .faults import costly, suffering
from .records import OPTIONS as RECORD_OPTIONS
from .records import SCHEMA as RECORD_SCHEMA
from .records import Content, Run, run

COORDINATOR = "splitscan.rebalance.coordinator"  # its process

PARTITIONS = 4
OPTIONS = {"header": True, "multiLine": True, "escape": '"', "rebalance": True, "minPartitionNum": PARTITIONS}
SCHEMA = "id long, text string, record_offset long"


def load(spark: SparkSession, path: str, source: str = "splitscan", **options: Any) -> DataFrame:
    """A rebalanced DataFrame through the data source."""
    reader = spark.read.format(source).options(**{**OPTIONS, **options}).schema(SCHEMA)
    return reader.option("metadataColumns", "record_offset").load(path)


def scan(spark: SparkSession, path: str) -> DataFrame:
    """The same through ``Scan.to_spark``."""
    wanted = ss.scan_csv(
        path, RECORD_SCHEMA, metadata_columns=["record_offset"], min_partitions=PARTITIONS, **RECORD_OPTIONS
    )
    return wanted.to_spark(spark, rebalance=True)


def read_twice(spark: SparkSession, path: str, folder: Path) -> tuple[Run, Run]:
    """One frame: first while a worker is killed, then in peace."""
    frame = costly(load(spark, path), 0.0001)
    return run(suffering(frame, folder, {3000: "kill worker"})), run(frame)


def register(spark: SparkSession) -> tuple[str, str]:
    """A scan of two partitions that nobody reads, and the address of its coordinator."""
    found = register_scan(spark, [Segment(100, "a", False)], [(0, 60), (60, 100)])
    return found.scan, found.address.to_option()


@dataclass(frozen=True)
class Logs:
    """What a coordinator knows of a scan.

    Attributes:
        entries: Per partition, its chunks as ranges of positions.
        steals: How often work moved.
    """

    entries: list[list[tuple[int, int]]]
    steals: int


def logs_of(spark: SparkSession, scan: str) -> Logs:
    return logs_from(session_coordinator(spark), scan)


def logs_from(coordinator: Coordinator, scan: str) -> Logs:
    record = coordinator.record(scan)
    partitions = range(len(record.partitions))
    return Logs([coordinator.entries(scan, number) for number in partitions], len(record.steals))


def known_coordinators(folder: Path) -> list[Path]:
    """The files by which planners find coordinators of drivers whose place for files is *folder*."""
    return list(folder.glob("splitscan-*/coordinator-*"))


def logs_in(folder: Path) -> Logs:
    """What the coordinator of a driver says of its last scan, asked by the way that planners find it."""
    (known,) = known_coordinators(folder)
    coordinator = Coordinator(CoordinatorAddress(**json.loads(known.read_text())["near"]))
    return logs_from(coordinator, coordinator.scans()[-1])


def latest_scan(spark: SparkSession) -> str:
    """The scan that was planned last."""
    return session_coordinator(spark).scans()[-1]


def check(found: Run, logs: Logs, expected: Content, offsets: list[int]) -> None:
    """Count, distinct ids, hash; and every partition's records are those of its log, in the order of its log.

    Args:
        found: What Spark delivered.
        logs: What the coordinator says.
        expected: What the file holds.
        offsets: Where its records start; the scan is of one file, so that positions are offsets.
    """
    assert found.content == expected
    claimed = sorted(entry for entries in logs.entries for entry in entries)
    assert claimed[0][0] == 0
    assert all(before[1] == after[0] for before, after in pairwise(claimed))
    assert found.offsets == offsets_by(logs, offsets)


def offsets_by(logs: Logs, offsets: list[int]) -> dict[int, list[int]]:
    """Which records the partitions of a scan deliver by their logs, as :class:`Run` has them."""
    wanted = ([offset for entry in entries for offset in _between(offsets, *entry)] for entries in logs.entries)
    return {number: of_partition for number, of_partition in enumerate(wanted) if of_partition}


def _between(offsets: list[int], start: int, stop: int) -> list[int]:
    return offsets[bisect.bisect_left(offsets, start) : bisect.bisect_left(offsets, stop)]
