"""Whether Spark's Python workers can import splitscan: they are not always the Python that the driver runs in."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from splitscan.errors import UsageError
from splitscan.spark.jobs import classic_context

_NEEDED = "import splitscan, pyarrow, pyspark"
_TRIAL_SECONDS = 60


def check_interpreter(spark: SparkSession) -> None:
    """Make sure that a local session's workers run in a Python that has splitscan.

    Spark starts ``python3`` when ``PYSPARK_PYTHON`` is not set, whatever Python the driver runs in. Of executors on
    other machines and of Spark Connect nothing is known here, so nothing is checked.

    Raises:
        UsageError: If the workers' Python cannot import splitscan; it says which Python that is.
    """
    context = classic_context(spark)
    if context is not None and str(context.master).startswith("local"):
        check_executable(str(context.pythonExec))


def check_executable(executable: str) -> None:
    """Make sure that *executable* is a Python that can import splitscan; this process's own surely is."""
    found = shutil.which(executable)
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return
    reason = "no such program" if found is None else _trial(found)
    if reason:
        raise UsageError(
            "Spark's Python workers cannot import splitscan",
            seen=f"workers run in {executable} ({found or 'not found'}): {reason}",
            fix=f"set PYSPARK_PYTHON={sys.executable} before the first Spark session of the process is started",
            code="wrong-python",
        )


@functools.cache
def _trial(executable: str) -> str:
    """What goes wrong when *executable* imports what a worker needs; empty when nothing does."""
    try:
        done = subprocess.run(
            [executable, "-c", _NEEDED], capture_output=True, text=True, timeout=_TRIAL_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
