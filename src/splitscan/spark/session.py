"""Choices of a session: its time zone, its types, and the interpreter of its workers."""

from __future__ import annotations

import functools
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import pyarrow as pa
from pyspark import SparkContext, SparkFiles, TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import (
    AnsiIntervalType,
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    StructField,
    StructType,
)

from splitscan.errors import SchemaError, UsageError, Where, bad_option
from splitscan.formats.column_rules import PREFIX
from splitscan.formats.decoding.contract import holds_time
from splitscan.options.files import parse_zone
from splitscan.options.table import ValueRefusedError
from splitscan.reading.spec import ScanSpec
from splitscan.spark.contexts import classic_context
from splitscan.spark.jobs import as_raised
from splitscan.spark.worker import begin_task

_SETTING = "spark.sql.session.timeZone"
_LOCALTIME = Path("/etc/localtime")
_DATABASE = "zoneinfo/"


class Zoned(Protocol):
    """Reader of times."""

    def in_zone(self, zone: str) -> Self:
        """A copy with another zone of times that name none, unless the user gave one."""


Z = TypeVar("Z", bound=Zoned)


def in_session_zone(scan: Z, spark: SparkSession) -> Z:
    """Read in the zone of a session, unless the user gave option ``timeZone``.

    Raises:
        UsageError: ``[bad-option]`` if the session's zone has a name that only Java knows.
    """
    return in_zone(scan, spark.conf.get(_SETTING) or "UTC")


def in_task_zone(spec: ScanSpec, otherwise: str) -> ScanSpec:
    """Read in a task, in the zone of its session: Spark hands over its settings that were set.

    Args:
        spec: What is read.
        otherwise: The zone of the machine that planned, which is that of its virtual machine.

    Raises:
        UsageError: ``[bad-option]`` if the session's zone has a name that only Java knows.
    """
    context = TaskContext.get()
    return in_zone(spec, (context and context.getLocalProperty(_SETTING)) or otherwise)


def machine_zone(localtime: Path = _LOCALTIME) -> str:
    """The zone of this machine, where Java looks for it too: the variable ``TZ``, then what *localtime* links to."""
    linked = localtime.resolve().as_posix()
    for name in (os.environ.get("TZ", "").removeprefix(":"), linked.rpartition(_DATABASE)[2]):
        try:
            return parse_zone(name.rpartition(_DATABASE)[2])
        except ValueRefusedError:
            continue
    return "UTC"


def in_zone(scan: Z, zone: str) -> Z:
    """Read in a zone that Spark names, unless the user gave option ``timeZone``.

    Raises:
        UsageError: ``[bad-option]`` if only Java knows the zone by that name.
    """
    try:
        return scan.in_zone(zone)
    except ValueRefusedError:
        raise bad_option(
            "times that name no zone are in that of the session, which only Java knows by this name",
            f"{_SETTING}={zone}",
            f"set {_SETTING}, or option timeZone, to a region such as Europe/Berlin, to +01:00 or UTC",
        ) from None


_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
"""PySpark 4.0 and 4.1 have moments in UTC unless told otherwise; newer versions want the zone."""


def spark_schema(schema: pa.Schema) -> StructType:
    """Spark's name for an Arrow schema: same names, order and nullability.

    Raises:
        SchemaError: If Spark has no such type, or would expect another Arrow type for it (``large_string``, a
            dictionary, a timestamp in nanoseconds or in another zone than UTC).

    Example:
        >>> spark_schema(pa.schema([pa.field("id", pa.int64(), nullable=False)])).simpleString()
        'struct<id:bigint>'
    """
    for field in schema:
        try:
            expected = arrow_schema(from_arrow_schema(pa.schema([field.remove_metadata()]))).field(0).type
        except Exception as error:  # PySpark raises several kinds
            instead = "string: times need Spark 4.1" if holds_time(field.type) else "a type that Spark has"
            raise _not_for_spark(field, instead) from error
        if not expected.equals(field.type):
            raise _not_for_spark(field, str(expected))
    return from_arrow_schema(schema.remove_metadata())


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema in which columns of a schema of Spark's are read; :func:`for_spark` hands over such batches.

    Of metadata only what says how a column is read is kept.

    Raises:
        SchemaError: ``[unsupported-type]`` for a type that no value is read as.
    """
    for column in schema:
        _check_readable(column.dataType, column.name)
    plain = to_arrow_schema(schema, **_IN_UTC)
    read = pa.schema([_with_own_metadata(ours, theirs) for ours, theirs in zip(plain, schema, strict=True)])
    return _with_times(read, "us")


def for_spark(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as Spark takes them, in a task of its own: its times of day are nanoseconds, ours microseconds."""
    begin_task()
    for batch in batches:
        wanted = _with_times(batch.schema, "ns")
        yield batch if wanted is batch.schema else batch.cast(wanted)


def _with_times(schema: pa.Schema, unit: str) -> pa.Schema:
    """The schema with times of day in a unit; the same object if it has none."""
    for index, field in enumerate(schema):
        if holds_time(field.type):
            schema = schema.set(index, field.with_type(_timed(field.type, unit)))
    return schema


def _timed(kind: pa.DataType, unit: str) -> pa.DataType:
    if not holds_time(kind):
        return kind
    if pa.types.is_struct(kind):
        return pa.struct([inner.with_type(_timed(inner.type, unit)) for inner in kind])
    if pa.types.is_map(kind):
        return pa.map_(_timed(kind.key_type, unit), _timed(kind.item_type, unit))
    return pa.list_(_timed(kind.value_type, unit)) if pa.types.is_list(kind) else pa.time64(unit)


def _check_readable(kind: DataType, name: str) -> None:
    """Refuse what Arrow has no type for, or only one that hides what the column is."""
    if isinstance(kind, StructType):
        for field in kind:
            _check_readable(field.dataType, name)
    elif isinstance(kind, ArrayType):
        _check_readable(kind.elementType, name)
    elif isinstance(kind, MapType):
        _check_readable(kind.keyType, name)
        _check_readable(kind.valueType, name)
    elif isinstance(kind, AnsiIntervalType | CalendarIntervalType):
        raise SchemaError(
            "records cannot be read as the type of a column", Where(column=name), seen=kind.simpleString(),
            fix="declare it as string, and cast the column to an interval in Spark",
            code="unsupported-type",
        )  # fmt: skip


def _with_own_metadata(field: pa.Field, column: StructField) -> pa.Field:
    said = {name: str(value) for name, value in (column.metadata or {}).items() if name.startswith(PREFIX)}
    return field.with_metadata(said) if said else field.remove_metadata()


def _not_for_spark(field: pa.Field, expected: str) -> SchemaError:
    return SchemaError(
        f"Spark cannot take column {field.name!r} as it is", Where(column=field.name), seen=str(field.type),
        fix=f"declare it as {expected}", code="not-for-spark",
    )  # fmt: skip


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
