"""The connector: Spark's own JVM reads blocks with the kernel. Which scans it reads, and how it comes to a session."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakSet

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from splitscan.blocks import FileMetadata
from splitscan.content.archives.opening import MemberSource
from splitscan.content.codecs.source import codec_of
from splitscan.content.storage import redact
from splitscan.errors import SplitscanError, UsageError, bad_option
from splitscan.formats.framing.not_text import LOOKED_AT_BYTES
from splitscan.jar import JAR, connector_jar, jar_version
from splitscan.options import OnFileChange
from splitscan.reading.block_documents import (
    CODECS_OF_TASKS,
    TaskDocuments,
    scan_document,
    scan_document_with_metadata,
)
from splitscan.reading.block_scan import is_at_hand
from splitscan.reading.contents import open_file, refuse_no_text
from splitscan.reading.spec import ScanSpec
from splitscan.scans import ScanPlanner
from splitscan.spark.indexing import spark_indexer
from splitscan.spark.jobs import classic_context, default_parallelism

SETTING = "spark.splitscan.connector"
"""Setting of a session: with ``false`` Python reads all, and not only what the connector does not."""

_log = logging.getLogger(__name__)

_TAKES_NONE = "the session takes no more jars: name the jar in spark.jars when it is made"
_SENT: WeakSet[SparkSession] = WeakSet()  # sessions of Spark Connect that have the jar
_LINES = re.compile(r"\s+")
_PACKAGE = "splitscan.connector"
SOURCE = f"{_PACKAGE}.PlanSource"
"""Name by which Spark finds the data source of a plan."""

Looker: TypeAlias = Callable[[FileMetadata], str | None]
"""Says why a file is not seen, or ``None`` if it is."""

_OF_HADOOP = frozenset({"abfs", "abfss", "gs", "hdfs", "s3", "viewfs"})
_MOST_REMOTE = 1000  # the first bytes of each are read by the driver: 64 at a time, so that takes seconds
_LOOKERS = 64

_GROWING_LOADER = "org.apache.spark.util.MutableURLClassLoader"


def why_python(
    scan: ScanPlanner,
    spark: SparkSession,
    documents: TaskDocuments | None = None,
    *,
    rebalance: bool = False,
    applies: bool = False,
) -> str | None:
    """Why Python workers read a scan, or ``None`` where the connector does.

    The kind of the scan, the session and the files decide, before anything is read: of each file its first bytes tell
    whether it is text, as they tell every reader.

    Args:
        scan: What is read.
        spark: The session.
        documents: Take what planning sees of the heads of files, for :func:`connector_frame`.
        rebalance: Whether tasks claim what they read.
        applies: Whether a function of Python runs where batches are read.
    """
    if applies:
        return "a function is applied where batches are read"
    sees = partial(why_unseen, spark)
    taking = documents or TaskDocuments(scan.spec)
    return why_no_jar(spark) or why_not(scan, scan.spec, taking, sees, rebalance=rebalance)


def why_not(
    scan: ScanPlanner, spec: ScanSpec, documents: TaskDocuments, why_unseen: Looker, *, rebalance: bool = False
) -> str | None:
    """Why a scan itself is not for the connector, whatever the session, or ``None`` if it is.

    Args:
        scan: What is read.
        spec: What every task must know.
        documents: Take what planning sees of the heads of files.
        why_unseen: Says why Hadoop does not see a file as it was listed, or ``None`` if it does.
        rebalance: Whether tasks claim what they read.
    """
    if rebalance:
        return "rebalance=True"
    if spec.looks_around and not all(map(is_at_hand, scan.files())):
        return "tasks find the values of recordPathColumns where files are compressed or on other machines"
    return _why_no_document(spec) or _why_not_these(scan, spec, documents, why_unseen)


def why_unseen(spark: SparkSession, file: FileMetadata) -> str | None:
    """Why Hadoop of a session does not see a file as it was listed, or ``None`` if it does."""
    context = classic_context(spark)
    if context is None or not attach(spark):
        return "no Hadoop can be asked"
    jvm: Any = _jvm(context)
    files = jvm.splitscan.connector.HadoopFiles(context._jsc.hadoopConfiguration())  # noqa: SLF001
    shown = redact(file.path)
    said = files.open(file.path, shown, file.size_bytes, file.modified_us, file.fingerprint)
    files.close()
    return None if said is None else _LINES.sub(" ", str(said))


def connector_frame(
    scan: ScanPlanner, spark: SparkSession, schema: StructType, documents: TaskDocuments
) -> DataFrame | None:
    """A DataFrame of a scan for which :func:`why_python` has no reason; ``None`` where no jar comes to the session.

    Args:
        scan: What is read.
        spark: The session.
        schema: Its columns.
        documents: As that function has filled them.

    Raises:
        UsageError: ``[other-connector]`` if a jar of another version is attached already.
    """
    if not attach(spark):
        return None
    tasks = map(documents.write, scan.plan_tasks(default_parallelism(spark), spark_indexer(spark)))
    reader = spark.read.format(SOURCE).schema(schema).option("tasks", "\n".join(tasks))
    return reader.option("facts", "\n".join(plan_lines(scan, scan.spec))).load()


def plan_lines(scan: ScanPlanner, spec: ScanSpec) -> list[str]:
    """Lines about a scan for the connector, besides its tasks.

    They are: the document, bytes, most rows or -1, a name, and ``hadoop`` if that reads files, ``local`` if not.
    """
    paths = [redact(path) for path in scan.paths]
    limit = spec.options.reading.limit
    name = f"{spec.options.record_format} {paths[0]}{f' and {len(paths) - 1} more' if paths[1:] else ''}"
    size_bytes = sum(file.size_bytes for file in scan.files())
    return [
        scan_document_with_metadata(spec) or "",
        str(size_bytes),
        str(-1 if limit is None else limit),
        _LINES.sub(" ", name),
        "local" if all(map(_is_mounted, scan.files())) else "hadoop",
    ]


def _why_not_these(scan: ScanPlanner, spec: ScanSpec, documents: TaskDocuments, why_unseen: Looker) -> str | None:
    files = scan.options.files
    if files.ignore_missing_files or files.ignore_corrupt_files or files.on_file_change is not OnFileChange.FAIL:
        return "files may be missing, damaged, or change"
    remote = [file for file in scan.files() if not _is_mounted(file)]
    reason = _why_not_remote(remote, spec, why_unseen)
    if reason is not None:
        return reason
    look = partial(_why_not_this, spec=spec, documents=documents)
    if not remote:
        return next(filter(None, map(look, scan.files())), None)
    with ThreadPoolExecutor(_LOOKERS) as pool:
        return next(filter(None, pool.map(look, scan.files())), None)


def _is_mounted(file: FileMetadata) -> bool:
    return file.path.startswith("/")


def _why_not_remote(remote: Sequence[FileMetadata], spec: ScanSpec, why_unseen: Looker) -> str | None:
    """Why Hadoop does not read files for the connector that are not on mounted file systems, or ``None`` if it does.

    One file of each store says whether Hadoop and Python see the same; tasks make sure of each.
    """
    stores: dict[tuple[str, str], FileMetadata] = {}
    for file in remote:
        scheme, _, rest = file.path.partition("://")
        store, _, name = rest.partition("/")
        if scheme not in _OF_HADOOP:
            return f"Hadoop is not asked for {redact(file.path)!r}"
        if {"", ".", ".."} & set(name.split("/")):
            return f"Hadoop would read another file than {redact(file.path)!r}"
        stores.setdefault((scheme, store), file)
    if remote and spec.options.files.storage_options:
        return "storageOptions are not for Hadoop"
    if len(remote) > _MOST_REMOTE:
        return f"{len(remote)} files of a store would have to be looked at; {_MOST_REMOTE} are"
    return next(filter(None, map(why_unseen, stores.values())), None)


def _why_not_this(file: FileMetadata, spec: ScanSpec, documents: TaskDocuments) -> str | None:
    path, files, format = file.path, spec.options.files, spec.record_format
    if not path.isprintable():
        return f"{redact(path)!r} is no path for the connector"
    try:
        with closing(open_file(file, files, format)) as source:
            if isinstance(getattr(source, "file", source), MemberSource):
                return f"{redact(path)} is in an archive"
            codec = codec_of(source)
            if codec is not None and (codec not in CODECS_OF_TASKS or spec.looks_around):
                return f"{redact(path)} is compressed in {codec}"
            refuse_no_text(path, format, source.read_at(0, LOOKED_AT_BYTES))
            documents.look_at(file, source)
    except SplitscanError as error:
        return f"{redact(path)}: {getattr(error, 'rule', str(error))}"
    return None


def _why_no_document(spec: ScanSpec) -> str | None:
    """Why a task of the connector cannot be told of a scan, by what the scan asks for."""
    if not spec.columns:
        return "no column is selected"
    return None if scan_document(spec) is not None else "the kernel's block reader does not read such scans"


def why_no_jar(spark: SparkSession) -> str | None:
    """Why the connector cannot come to a session, or ``None`` if it can.

    Raises:
        UsageError: ``[bad-option]`` for a setting that is neither true nor false.
    """
    if not is_switched_on(spark.conf.get(SETTING, "")):
        return f"{SETTING} is false"
    if connector_jar() is None:
        return "splitscan was installed without its jar"
    context = classic_context(spark)
    if context is not None and _attached(context) is None and _growing_loader(_jvm(context)) is None:
        return _TAKES_NONE
    return None


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


def advise(spec: ScanSpec) -> None:
    """Say once which call brings the connector, where Python reads what that could."""
    if connector_jar() is not None and _why_no_document(spec) is None:
        _say_once("Python workers read for Spark; splitscan.register(spark) lets its JVM read, several times as fast")


@cache
def _say_once(text: str) -> None:
    _log.warning(text)


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
        loader.addURL(jvm.java.net.URI(jar.as_uri()).toURL())
    if reason is not None:
        _log.info("Python workers read for Spark: %s", reason)
        return False
    if context is not None:
        _send_to_executors(context, str(jar))
        _answer_with(context, python)
    return True


def _send_to_executors(context: SparkContext, jar: str) -> None:
    """Give a jar to executors that are other processes; one in the JVM itself has its classes already."""
    sc: Any = context._jsc.sc()  # noqa: SLF001 - PySpark has no public door to it
    if not sc.isLocal() and JAR not in sc.listJars().mkString("/").split("/"):
        context._jsc.addJar(jar)  # noqa: SLF001 - nor to this: ``addJar`` is Java's alone


def _add_to_server(spark: SparkSession, jar: Path) -> str | None:
    """Send the jar to a server of Spark Connect, once for a session; why it did not take it, if it did not."""
    if spark in _SENT:
        return None
    try:
        spark.addArtifacts(str(jar))
        _SENT.add(spark)
    except (PySparkException, RuntimeError) as error:
        return f"the server takes no jar: {str(error).partition(chr(10))[0]}"
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
    _jvm(context).splitscan.connector.Planner.attachedBy(sys.executable, python)


def _jvm(context: SparkContext) -> Any:
    return context._jvm  # noqa: SLF001 - PySpark has no public door to it


def _attached(context: SparkContext) -> str | None:
    """The version of the connector that a JVM finds; ``None`` where it finds none."""
    try:
        found = _context_loader(_jvm(context)).loadClass(SOURCE)
    except Py4JJavaError:
        return None
    return str(found.getPackage().getImplementationVersion())


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
    return jvm.java.lang.Thread.currentThread().getContextClassLoader()
