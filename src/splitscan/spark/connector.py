"""The connector: Spark's own JVM reads blocks with the kernel. Which scans it reads, and how it comes to a session."""

from __future__ import annotations

import zipfile
from contextlib import closing
from email.parser import HeaderParser
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from splitscan.block_json import write_blocks
from splitscan.blocks import FileMetadata
from splitscan.content.codecs.formats import archive_of, promised_by, recognise
from splitscan.content.storage import redact
from splitscan.content.storage.opening import open_planned
from splitscan.errors import UsageError
from splitscan.formats.framing.encodings import UTF_8
from splitscan.formats.framing.not_text import LOOKED_AT_BYTES, is_no_text
from splitscan.options import FileOptions, Mode, OnFileChange
from splitscan.options.files import SourceCompression
from splitscan.scan import ScanPlanner
from splitscan.scan.block_documents import scan_document
from splitscan.scan.spec import ScanSpec
from splitscan.spark.indexing import spark_indexer
from splitscan.spark.jobs import classic_context, default_parallelism

SETTING = "spark.splitscan.connector"
"""Setting of a session: ``true`` lets the connector read what it can; without it Python reads all."""

_JAR = "splitscan-connector.jar"
_PACKAGE = "splitscan.connector"
SOURCE = f"{_PACKAGE}.PlanSource"
"""Name by which Spark finds the data source of a plan."""

_MANIFEST = "META-INF/MANIFEST.MF"
_VERSION = "Implementation-Version"
_GROWING_LOADER = "org.apache.spark.util.MutableURLClassLoader"


def why_python(scan: ScanPlanner, spark: SparkSession, *, rebalance: bool = False, applies: bool = False) -> str | None:
    """Why Python workers read a scan, or ``None`` where the connector does.

    The kind of the scan, the session and the files decide, before anything is read: of each file its first bytes tell
    whether it is text, as they tell every reader.

    Args:
        scan: What is read.
        spark: The session.
        rebalance: Whether tasks claim what they read.
        applies: Whether a function of Python runs where batches are read.
    """
    if rebalance:
        return "rebalance=True"
    if applies:
        return "a function is applied where batches are read"
    return why_no_jar(spark) or _why_no_document(scan.spec) or _why_not_these(scan)


def connector_frame(scan: ScanPlanner, spark: SparkSession, schema: StructType) -> DataFrame:
    """A DataFrame of a scan for which :func:`why_python` has no reason.

    Raises:
        UsageError: ``[other-connector]`` if a jar of another version is attached already.
    """
    attach(spark)
    tasks = [write_blocks(task).decode() for task in scan.plan_tasks(default_parallelism(spark), spark_indexer(spark))]
    paths = [redact(path) for path in scan.paths]
    return (
        spark.read.format(SOURCE)
        .schema(schema)
        .option("spec", scan_document(scan.spec))
        .option("tasks", "\n".join(tasks))
        .option("sizeBytes", sum(file.size_bytes for file in scan.files()))
        .option("name", f"{scan.options.record_format} {paths[0]}{f' and {len(paths) - 1} more' if paths[1:] else ''}")
        .load()
    )


def _why_no_document(spec: ScanSpec) -> str | None:
    """Why a task of the connector cannot be told of a scan, by what the scan asks for."""
    mode = spec.options.reading.mode
    if mode is not Mode.PERMISSIVE:
        return f"mode={mode.value}"
    if not set(spec.speaking).isdisjoint(spec.wildcard):
        return "a column holds what is broken, or does not fit"
    own = set(spec.fields.names) - set(spec.partitions.fields.names)
    if elsewhere := next((name for name in spec.columns if name not in own), None):
        return f"column {elsewhere} is not in the records"
    if not spec.columns:
        return "no column is selected"
    if zoned := next((field.name for field in spec.fields if pa.types.is_timestamp(field.type)), None):
        return f"column {zoned} may name time zones"
    return "the kernel's block reader does not read such scans" if scan_document(spec) is None else None


def _why_not_these(scan: ScanPlanner) -> str | None:
    files = scan.options.files
    if files.ignore_missing_files or files.ignore_corrupt_files or files.on_file_change is not OnFileChange.FAIL:
        return "files may be missing, damaged, or change"
    if files.source_compression not in {SourceCompression.AUTO, SourceCompression.NONE}:
        return f"sourceCompression={files.source_compression.value}"
    return next(filter(None, (_why_not_this(file, files) for file in scan.files())), None)


def _why_not_this(file: FileMetadata, files: FileOptions) -> str | None:
    path = file.path
    if not path.startswith("/") or file.packed is not None or not path.isprintable():
        return f"{redact(path)!r} is no local file"
    if file.compression is not None or promised_by(path):
        return f"{redact(path)} is compressed"
    with closing(open_planned(file, files.storage_options)) as source:
        head = source.read_at(0, LOOKED_AT_BYTES)
    if recognise(head) is not None or archive_of(head) is not None or is_no_text(head, UTF_8):
        return f"{redact(path)} does not begin as text"
    return None


def why_no_jar(spark: SparkSession) -> str | None:
    """Why the connector cannot come to a session, or ``None`` if it can."""
    context = classic_context(spark)
    if context is None:
        return "the session is one of Spark Connect"
    if str(spark.conf.get(SETTING, "false")).strip().lower() != "true":
        return f"{SETTING} is not true"
    if connector_jar() is None:
        return "splitscan was installed without its jar"
    if _growing_loader(context._jvm) is None:  # noqa: SLF001 - PySpark has no public door to it
        return "the session takes no more jars: name the jar in spark.jars when it is made"
    return None


def connector_jar() -> Path | None:
    """The jar, which lies beside the kernel; ``None`` where there is none."""
    found = find_spec("splitscan_kernel")
    folders = [] if found is None else found.submodule_search_locations or []
    return next((path for folder in folders if (path := Path(folder, _JAR)).is_file()), None)


@cache
def jar_version(jar: Path) -> str:
    """The version that a jar says it is of, with a checksum of its sources."""
    with zipfile.ZipFile(jar) as archive:
        return str(HeaderParser().parsestr(archive.read(_MANIFEST).decode())[_VERSION])


def attach(spark: SparkSession) -> None:
    """Give a classic session the connector, its executors and other threads too; once is enough.

    Raises:
        UsageError: ``[other-connector]`` if a jar of another version is attached already.
    """
    jar, context = connector_jar(), classic_context(spark)
    if jar is None or context is None:
        return
    jvm: Any = context._jvm  # noqa: SLF001 - PySpark has no public door to it
    version, loaded = jar_version(jar), _attached_version(jvm)
    if loaded is None:
        _growing_loader(jvm).addURL(jvm.java.net.URI(jar.as_uri()).toURL())
    elif loaded != version:
        raise UsageError(
            "another version of the connector is attached to this Spark session",
            seen=f"{loaded}; this splitscan has {version}",
            fix=f"start Python again, without that jar, or leave {SETTING} out",
            code="other-connector",
        )
    known = context._jsc.sc().listJars()  # noqa: SLF001 - for executors that are other processes
    if _JAR not in known.mkString("/").split("/"):
        context._jsc.addJar(str(jar))  # noqa: SLF001


def _attached_version(jvm: Any) -> str | None:
    """The version of the connector that a JVM finds; ``None`` where it finds none."""
    try:
        found = _context_loader(jvm).loadClass(SOURCE)
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
