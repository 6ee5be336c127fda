"""The connector, with which Spark's own JVM reads blocks: how it comes to a session.

A new session waits for this, so nothing is imported that reads or plans.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaClass, get_java_class
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from splitscan.errors import UsageError, bad_option
from splitscan.jar import JAR, connector_jar, jar_version
from splitscan.redaction import redact
from splitscan.spark.contexts import classic_context

if TYPE_CHECKING:
    from splitscan.blocks import FileMetadata

SETTING = "spark.splitscan.connector"
"""Setting of a session: with ``false`` Python reads all, and not only what the connector does not."""

_log = logging.getLogger(__name__)

_TAKES_NONE = "the session takes no more jars: name the jar in spark.jars when it is made"
_SENT: WeakKeyDictionary[SparkSession, str | None] = WeakKeyDictionary()
"""Sessions of Spark Connect whose servers have answered for good: why they do not take the jar, if they do not."""

_PACKAGE = "splitscan.connector"
SOURCE = f"{_PACKAGE}.PlanSource"
"""Name by which Spark finds the data source of a plan."""

_GROWING_LOADER = "org.apache.spark.util.MutableURLClassLoader"


def why_no_jar(spark: SparkSession) -> str | None:
    """Why the connector cannot come to a session, or cannot read there, or ``None`` if it can.

    That it cannot read is known once it was attached.

    Raises:
        UsageError: ``[bad-option]`` for a setting that is neither true nor false; ``[other-connector]`` if a jar of
            another version is attached already.
    """
    if not is_switched_on(spark.conf.get(SETTING, "")):
        return f"{SETTING} is false"
    if connector_jar() is None:
        return "splitscan was installed without its jar"
    context = classic_context(spark)
    if context is None:
        return _SENT.get(spark)
    if (loaded := _attached(context)) is not None:
        check_version(loaded)
        return _why_not_here(context)
    return _TAKES_NONE if _growing_loader(_jvm(context)) is None else None


def is_switched_on(setting: str | None) -> bool:
    """True if a session takes the connector: unless its setting says that it does not.

    Raises:
        UsageError: ``[bad-option]`` for a setting that Spark takes for no boolean either.
    """
    said = (setting or "true").strip().lower()
    if said not in {"true", "false"}:
        raise bad_option(
            f"{SETTING} is true or false", repr(setting), f"set {SETTING}=false for Python to read, or leave it out"
        )
    return said == "true"


def check_version(attached: str) -> None:
    """Make sure that a connector is the one of this splitscan, if that has one of its own.

    Raises:
        UsageError: ``[other-connector]`` if it is of another version.
    """
    jar = connector_jar()
    if jar is not None and attached != (version := jar_version(jar)):
        raise UsageError(
            "another version of the connector is attached to this Spark session",
            seen=f"{attached}; this splitscan has {version}",
            fix=f"start Python again, without that jar, or set {SETTING}=false",
            code="other-connector",
        )


def attach(spark: SparkSession, python: Any = None) -> bool:
    """Give a session the connector: a classic one in all threads, new sessions of it and executors; once is enough.

    Args:
        spark: The session.
        python: What of this process the JVM asks for plans, as a function of Java. Without it the one before stays, or
            a process of the same interpreter is asked.

    Returns:
        Whether the session has it now; if not, one line of the log says why.

    Raises:
        UsageError: ``[other-connector]`` if a jar of another version is attached already.
    """
    jar, context = connector_jar(), classic_context(spark)
    reason = None
    if jar is None:
        reason = "splitscan was installed without its jar"
    elif context is None:
        reason = _add_to_server(spark, jar)
    elif (loaded := _attached(context)) is not None:
        check_version(loaded)
    elif (loader := _growing_loader(jvm := _jvm(context))) is None:
        reason = _TAKES_NONE
    else:
        loader.addURL(getattr(jvm, "java.net.URI")(jar.as_uri()).toURL())
    if reason is not None:
        _log.info("Python workers read for Spark: %s", reason)
        return False
    if context is not None:
        _send_to_executors(context, str(jar))
        _answer_with(context, python)
    return True


def _why_not_here(context: SparkContext) -> str | None:
    """Why tasks of the JVM itself cannot load the library, in one line; ``None`` if they can, or run elsewhere."""
    said = getattr(_jvm(context), f"{_PACKAGE}.Kernel").whyNot(context._jsc.sc())  # noqa: SLF001 - as elsewhere here
    return None if said is None else str(said)


def why_unseen(spark: SparkSession, file: FileMetadata) -> str | None:
    """Why Hadoop of a session does not see a file as it was listed, or ``None`` if it does."""
    context = classic_context(spark)
    if context is None or not attach(spark):
        return "no Hadoop can be asked"
    files = getattr(_jvm(context), f"{_PACKAGE}.HadoopFiles")(context._jsc.hadoopConfiguration())  # noqa: SLF001
    shown = redact(file.path)
    said = files.open(file.path, shown, file.size_bytes, file.modified_us, file.fingerprint)
    files.close()
    return None if said is None else " ".join(str(said).split())


def _send_to_executors(context: SparkContext, jar: str) -> None:
    """Give a jar to executors that are other processes; one in the JVM itself has its classes already."""
    sc: Any = context._jsc.sc()  # noqa: SLF001 - PySpark has no public door to it
    if not sc.isLocal() and JAR not in sc.listJars().mkString("/").split("/"):
        context._jsc.addJar(jar)  # noqa: SLF001 - nor to this: ``addJar`` is Java's alone


def _add_to_server(spark: SparkSession, jar: Path) -> str | None:
    """Send the jar to a server of Spark Connect, until it has answered for good; why it did not take it, if so."""
    if spark in _SENT:
        return _SENT[spark]
    try:
        spark.addArtifacts(str(jar))
    except (PySparkException, RuntimeError) as error:
        reason = f"the server takes no jar: {str(error).partition(chr(10))[0]}"
        _log.warning("%s; Python workers read for Spark", reason)
        if isinstance(error, PySparkException) and error.getCondition() is not None:  # Spark refuses, and no network
            _SENT[spark] = reason
        return reason
    _SENT[spark] = None
    return None


def _answer_with(context: SparkContext, python: Any) -> None:
    """Let the JVM ask this process for plans, where it may call Python; elsewhere it starts a process of its own."""
    gateway: Any = context._gateway  # noqa: SLF001
    try:
        if python is not None:
            ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    except (Py4JError, OSError) as error:
        _log.info("Spark's JVM cannot call Python: a process plans for it: %s", error)
        python = None
    getattr(_jvm(context), f"{_PACKAGE}.Planner").attachedBy(sys.executable, python)


def _jvm(context: SparkContext) -> Any:
    return context._jvm  # noqa: SLF001 - PySpark has no public door to it


# A name with dots, asked for as one attribute, is one call to the JVM; and PySpark makes some seventy of an exception.


def _attached(context: SparkContext) -> str | None:
    """The version of the connector that a JVM finds; ``None`` where it finds none."""
    found = getattr(_jvm(context), SOURCE)
    if not isinstance(found, JavaClass):
        return None
    return str(get_java_class(found).getPackage().getImplementationVersion())


def _growing_loader(jvm: Any) -> Any:
    """The class loader that Spark itself adds jars to, whose classes all threads see; ``None`` where there is none."""
    loader = _context_loader(jvm)
    while loader is not None and not _is_growing(loader.getClass()):
        loader = loader.getParent()
    return loader


def _is_growing(kind: Any) -> bool:
    while kind is not None and kind.getName() != _GROWING_LOADER:
        kind = kind.getSuperclass()
    return kind is not None


def _context_loader(jvm: Any) -> Any:
    return getattr(jvm, "java.lang.Thread").currentThread().getContextClassLoader()
