"""A file of records that are known, and what came out of reading it: count, distinct ids, 64-bit hash, order."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

import splitscan as ss

SCHEMA = "id long, text string"
OPTIONS = {"header": True, "multi_line": True, "escape": '"'}
METADATA = "record_offset"


@dataclass(frozen=True)
class Content:
    """What a set of records holds."""

    records: int
    distinct: int
    hash: int


def content(records: Iterable[tuple[int, str]]) -> Content:
    """Count, distinct ids, and the sum of a 64-bit hash of every record."""
    ids, count, total = set(), 0, 0
    for number, text in records:
        count += 1
        ids.add(number)
        total += int.from_bytes(hashlib.blake2b(f"{number}|{text}".encode(), digest_size=8).digest(), "big")
    return Content(count, len(ids), total % (1 << 64))


def write_records(path: Path, count: int, first: int = 0) -> Content:
    """Write CSV with a header, newlines in quotes and records of all lengths; return what it holds."""
    records = list(_records(count, first))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        out.write("id,text\n")
        for number, text in records:
            quoted = text.replace('"', '""')
            out.write(f'{number},"{quoted}"\n')
    return content(records)


def _records(count: int, first: int) -> Iterator[tuple[int, str]]:
    generator = random.Random(first)
    for number in range(first, first + count):
        text = generator.choice(["plain", "two\nlines", "a, b", 'say "hi"', "\n\n"])
        yield number, f"{text} {number} " + "x" * generator.randrange(120)


def offsets_of(path: str) -> list[int]:
    """Where the records of a file start, by one pass in this process."""
    table = ss.scan_csv(path, SCHEMA, metadata_columns=["record_offset"], **OPTIONS).to_arrow()
    return table["record_offset"].to_pylist()


@dataclass(frozen=True)
class Run:
    """What one run of a DataFrame delivered.

    Attributes:
        content: Of all rows.
        offsets: Per partition of Spark that has rows, the record offsets in the order in which they came.
    """

    content: Content
    offsets: dict[int, list[int]]


def placed(frame: DataFrame) -> DataFrame:
    """The same rows with the partition and the place in which each was read, for :func:`run` after a shuffle."""
    return frame.withColumn("partition", F.spark_partition_id()).withColumn("place", F.monotonically_increasing_id())


def run(frame: DataFrame) -> Run:
    """Run a DataFrame with the columns of :data:`SCHEMA`, and ``record_offset`` if it has that.

    Rows with places of :func:`placed` are taken in that order, however they came.
    """
    if "place" in frame.columns:
        return run_of(frame.select("partition", "place", "record_offset", "id", "text").collect())
    offset = F.col("record_offset") if "record_offset" in frame.columns else F.lit(0)
    where = F.spark_partition_id().alias("partition"), F.lit(0).alias("place"), offset.alias("offset")
    return run_of(frame.select(*where, "id", "text").collect())


def run_of(rows: Iterable[tuple[int, int, int, int, str]]) -> Run:
    """What a run delivered, from rows of partition, place, offset, id, text. Where all places are equal they count as
    they came.
    """
    offsets: dict[int, list[int]] = {}
    found = sorted(rows, key=lambda row: row[1])
    for partition, _, offset, _, _ in found:
        offsets.setdefault(partition, []).append(offset)
    return Run(content((number, text) for *_, number, text in found), offsets)
