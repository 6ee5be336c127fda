"""True if Spark's Python workers have what reading needs: they are not always the Python that the driver runs in."""

from __future__ import annotations

import functools
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark import SparkContext, SparkFiles
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from splitscan.errors import UsageError
from splitscan.spark.jobs import as_raised, classic_context

_LOOK = """
def look(_=None):
    import importlib, importlib.util, socket, sys
    lacks = []
    for name in ("pyarrow", "numpy", "fsspec"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            lacks.append(name if importlib.util.find_spec(name) is None else f"{name} ({error})")
    if importlib.util.find_spec("splitscan") is None:
        lacks.append("splitscan")
    elif not lacks:
        try:
            importlib.import_module("splitscan")
        except Exception as error:
            lacks.append(f"splitscan ({type(error).__name__}: {error})")
    version = ".".join(map(str, sys.version_info[:3]))
    return f"{sys.executable}, Python {version} on {socket.gethostname()}, lacks {', '.join(lacks)}" if lacks else ""
"""
"""What a worker is asked: all that reading needs. It travels as text, to those that lack splitscan too."""

_log = logging.getLogger(__name__)

_TRIAL_SECONDS = 60
_PACKED = (".zip", ".egg", ".jar")  # what Spark puts on the workers' path of the files that --py-files names

_CONNECTOR = "splitscan-connector"


def check_interpreter(spark: SparkSession) -> None:
    """Make sure that a local session's workers have what reading needs, installed or shipped with ``--py-files``.

    Spark starts ``python3`` when ``PYSPARK_PYTHON`` is not set, whatever Python the driver runs in: a script run with
    the Python of a virtual environment gets workers without it. Then the session takes the driver's Python, which is on
    the same machine, and a warning says so; what the user has chosen is never changed. Of executors on other machines
    and of Spark Connect nothing is known here, so nothing is checked.

    Raises:
        UsageError: ``[wrong-python]`` if they lack something; it says what, and which Python that is.
    """
    context = classic_context(spark)
    if context is None or not str(context.master).startswith("local"):
        return
    try:
        check_executable(str(context.pythonExec), _shipped())
    except UsageError as error:
        if _is_chosen(context) or not sys.executable:
            raise
        _log.warning("Spark's workers run in %s from here on, because PYSPARK_PYTHON is not set and: %s",
                     sys.executable, error.seen)  # fmt: skip
        context.pythonExec = sys.executable


def _is_chosen(context: SparkContext) -> bool:
    """True if somebody has said which Python the workers run in."""
    named = ("spark.pyspark.python", "spark.pyspark.driver.python")
    return "PYSPARK_PYTHON" in os.environ or any(context.getConf().contains(name) for name in named)


def check_workers(spark: SparkSession) -> None:
    """Make sure of it wherever workers run: on other machines one of them is asked, by a job of one task.

    Spark looks at the options of a data source and plans it on the machine of the driver, by the same interpreter.

    Raises:
        UsageError: ``[wrong-python]`` if they lack something; it says what, which Python that is, and on which host.
        SplitscanError: ``[task-failed]`` if no Python worker runs at all.
    """
    context = classic_context(spark)
    if context is not None:
        if str(context.master).startswith("local"):
            check_interpreter(spark)
            return
        check_executable(str(context.pythonExec), _shipped())
    look: dict[str, Any] = {"__name__": "__main__"}  # so that its text travels, and not its name
    exec(_LOOK, look)
    with as_raised():
        row = spark.range(1).select(udf(look["look"], "string", useArrow=False)("id")).first()
    if row is not None and row[0]:
        raise _wrong_python(row[0], "what Spark's PYSPARK_PYTHON names on every machine")


def check_executable(executable: str, shipped: tuple[str, ...] = ()) -> None:
    """Make sure that *executable* is a Python that has what reading needs; this process's own surely is.

    Args:
        executable: A path, or a name on PATH.
        shipped: What ``--py-files`` adds to the path of modules.
    """
    found = shutil.which(executable)
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return
    reason = f"{executable}: no such program" if found is None else _trial(found, shipped)
    if reason:
        raise _wrong_python(reason, sys.executable)


def _wrong_python(seen: str, instead: str) -> UsageError:
    return UsageError(
        "Spark's Python workers lack what splitscan needs to read",
        seen=seen,
        fix="install pyarrow, numpy, fsspec and splitscan there (splitscan may come with --py-files), or set "
        f"PYSPARK_PYTHON before the first Spark session of the process is started, to one that has them: {instead}",
        code="wrong-python",
    )


def _shipped() -> tuple[str, ...]:
    """Folder in which Spark keeps what ``--py-files`` and ``addPyFile`` named, as its workers have it on their path.

    The connector's jar lies there too: it is no Python, though it holds a folder called splitscan.
    """
    root = Path(SparkFiles.getRootDirectory())
    packed = (path for path in root.iterdir() if path.suffix in _PACKED and not path.name.startswith(_CONNECTOR))
    return (str(root), *sorted(map(str, packed)))


@functools.cache
def _trial(executable: str, shipped: tuple[str, ...]) -> str:
    """Modules that *executable* lacks; empty when it lacks nothing."""
    path = os.pathsep.join([*shipped, *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        done = subprocess.run(
            [executable, "-c", f"{_LOOK}\nprint(look())"],
            capture_output=True, text=True, timeout=_TRIAL_SECONDS, check=False, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return f"{executable}: {error}"
    if done.returncode == 0:
        return done.stdout.strip()
    lines = done.stderr.strip().splitlines()
    return f"{executable}: {lines[-1] if lines else f'exit code {done.returncode}'}"
