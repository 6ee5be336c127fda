"""Streams as tests run them on a cluster: a directory is followed, and what came out is known record by record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from .faults import HANG_SECONDS, suffering
from .records import SCHEMA, Run, run

OPTIONS = {"recordFormat": "csv", "header": True, "multiLine": True, "escape": '"'}
PHASE = 10_000  # records whose ids are equal when divided by this wait for the same thing


def drain(spark: SparkSession, source: Path, folder: Path, faults: dict[int, str], **options: object) -> Run:
    """Follow *source* until nothing is left, into Parquet; faults happen to the tasks as records pass."""
    frame = suffering(_follow(spark, source, folder, **options), folder, faults)
    query = _write(frame, folder).trigger(availableNow=True).start(f"{folder}/out")
    query.awaitTermination()
    if query.exception() is not None:
        raise RuntimeError(str(query.exception()))
    return _written(spark, folder)


def keep_following(spark: SparkSession, source: Path, folder: Path, **options: object) -> Run:
    """Follow *source* until a file ``stop`` is in *folder* and nothing is left; tasks wait as :func:`_held` says."""
    frame = _held(_follow(spark, source, folder, scanIntervalMillis=0, **options), folder)
    query = _write(frame, folder).trigger(processingTime="200 milliseconds").start(f"{folder}/out")
    while query.isActive and not (folder / "stop").exists():
        time.sleep(0.1)
    query.processAllAvailable()
    query.stop()
    return _written(spark, folder)


def _follow(spark: SparkSession, source: Path, folder: Path, **options: object) -> DataFrame:
    reader = spark.readStream.format("splitscan").options(**OPTIONS, **options)
    return reader.option("stateLocation", f"{folder}/ck/splitscan").schema(SCHEMA).load(str(source))


def _write(frame: DataFrame, folder: Path):
    return frame.writeStream.format("parquet").option("checkpointLocation", f"{folder}/ck")


def _written(spark: SparkSession, folder: Path) -> Run:
    return run(spark.read.schema(SCHEMA).parquet(f"{folder}/out"))


def _held(frame: DataFrame, folder: Path) -> DataFrame:
    """The same rows, but a task waits until there is a file ``go-N`` for the records of phase N that it has."""
    plain = str(folder)

    def hold(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            phase = (pc.max(batch["id"]).as_py() or 0) // PHASE
            deadline = time.monotonic() + HANG_SECONDS
            while not Path(plain, f"go-{phase}").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            yield batch

    return frame.mapInArrow(hold, frame.schema)
