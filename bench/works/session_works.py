"""The first query of a new session: every run starts Python and Spark, and times what follows their start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from bench.measure import Timed, Work

_OURS, _SPARK = "splitscan", "spark"
_AS_INSTALLED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Of a process that keeps the bytecode of what it imports, as an installation has it."""


def first_query(_: SparkSession, source: Path, __: Path) -> dict[str, Work]:
    """All rows of a small CSV file, by a session that has done nothing before.

    Registering is part of the work of splitscan. The session of the other works is not asked.
    """
    return {"first query": {name: lambda name=name: _in_new_session(name, source) for name in (_OURS, _SPARK)}}


def _in_new_session(contender: str, source: Path) -> Timed:
    command = [sys.executable, "-m", "bench.works.session_works", contender, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_AS_INSTALLED)
    return Timed(**json.loads(done.stdout.splitlines()[-1]))


def _time_first_query(contender: str, source: str) -> Timed:
    import splitscan as ss
    from bench import CORES

    spark = SparkSession.builder.master(f"local[{CORES}]").config("spark.ui.enabled", "false").getOrCreate()
    started = time.perf_counter()
    reader = spark.read
    if contender == _OURS:
        ss.register(spark)
        reader = reader.format("splitscan").option("recordFormat", "csv")
    else:
        reader = reader.format("csv")
    rows = reader.options(header=True, multiLine=True, escape='"').load(source).collect()
    seconds = time.perf_counter() - started
    spark.stop()
    return Timed(len(rows), seconds)


if __name__ == "__main__":
    timed = _time_first_query(*sys.argv[1:])
    print(json.dumps({"answer": timed.answer, "seconds": timed.seconds}))
