"""Which scans the connector reads, and what it is told of them."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache, partial
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from splitscan.blocks import FileMetadata
from splitscan.content.archives.opening import MemberSource
from splitscan.content.codecs.source import codec_of
from splitscan.content.storage import locate, redact
from splitscan.errors import SplitscanError
from splitscan.formats.framing.encodings import LOOKED_AT_BYTES
from splitscan.jar import connector_jar
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
from splitscan.spark.connector import SOURCE, attach, why_no_jar, why_unseen
from splitscan.spark.indexing import spark_indexer
from splitscan.spark.jobs import default_parallelism

_log = logging.getLogger(__name__)

_LINES = re.compile(r"\s+")

Looker: TypeAlias = Callable[[FileMetadata], str | None]
"""Says why a file is not seen, or ``None`` if it is."""

_OF_HADOOP = frozenset({"abfs", "abfss", "gs", "hdfs", "s3", "viewfs"})
_MOST_REMOTE = 1000  # the first bytes of each are read by the driver: 64 at a time, so that takes seconds
_LOOKERS = 64


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
    reason, files = _why_no_document(spec), spec.options.files
    if reason is not None:
        return reason
    if files.ignore_missing_files or files.ignore_corrupt_files or files.on_file_change is not OnFileChange.FAIL:
        return "files may be missing, damaged, or change"
    remote = sum(not _is_mounted(file) for file in scan.files())
    if remote > _MOST_REMOTE:
        return f"{remote} files of a store would have to be looked at; {_MOST_REMOTE} are"
    return why_not_these(scan.files(), spec, partial(_why_not_this, spec=spec, documents=documents), why_unseen)


def why_not_these(files: Sequence[FileMetadata], spec: ScanSpec, look: Looker, why_unseen: Looker) -> str | None:
    """Why files are not for the connector that reads their scan, or ``None`` if they are.

    Args:
        files: The files.
        spec: What every task must know.
        look: Says it of one file, after a look at its first bytes, as :func:`look_at` does.
        why_unseen: Says why Hadoop does not see a file as it was listed, or ``None`` if it does.
    """
    if spec.looks_around and not all(map(is_at_hand, files)):
        return "tasks find the values of recordPathColumns where files are compressed or on other machines"
    remote = [file for file in files if not _is_mounted(file)]
    reason = _why_not_remote(remote, spec, why_unseen)
    if reason is not None or not remote:
        return reason or next(filter(None, map(look, files)), None)
    with ThreadPoolExecutor(_LOOKERS) as pool:
        return next(filter(None, pool.map(look, files)), None)


def connector_frame(
    scan: ScanPlanner, spark: SparkSession, schema: StructType, documents: TaskDocuments
) -> DataFrame | None:
    """A DataFrame of a scan for which :func:`why_python` has no reason; ``None`` where no jar that reads comes to it.

    Args:
        scan: What is read.
        spark: The session.
        schema: Its columns.
        documents: As that function has filled them.

    Raises:
        UsageError: ``[other-connector]`` if a jar of another version is attached already.
    """
    if not attach(spark) or why_no_jar(spark) is not None:
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
        "local" if all(locate(root).is_local for root in scan.roots) else "hadoop",
    ]


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
    return next(filter(None, map(why_unseen, stores.values())), None)


def _why_not_this(file: FileMetadata, spec: ScanSpec, documents: TaskDocuments) -> str | None:
    try:
        return look_at(file, spec, documents)
    except SplitscanError as error:
        return f"{redact(file.path)}: {getattr(error, 'rule', str(error))}"


def look_at(file: FileMetadata, spec: ScanSpec, documents: TaskDocuments) -> str | None:
    """Why a file is not for the connector by its name and first bytes, or ``None`` if it is.

    Raises:
        SplitscanError: If it cannot be read by anybody, as far as its head tells.
    """
    path, files, format = file.path, spec.options.files, spec.record_format
    if not path.isprintable():
        return f"{redact(path)!r} is no path for the connector"
    with closing(open_file(file, files, format)) as source:
        if isinstance(getattr(source, "file", source), MemberSource):
            return f"{redact(path)} is in an archive"
        codec = codec_of(source)
        if codec is not None and (codec not in CODECS_OF_TASKS or spec.looks_around):
            return f"{redact(path)} is compressed in {codec}"
        refuse_no_text(path, format, source.read_at(0, LOOKED_AT_BYTES))
        documents.look_at(file, source)
    return None


def _why_no_document(spec: ScanSpec) -> str | None:
    """Why a task of the connector cannot be told of a scan, by what the scan asks for."""
    if not spec.columns:
        return "no column is selected"
    return None if scan_document(spec) is not None else "the kernel's block reader does not read such scans"


def advise(spec: ScanSpec) -> None:
    """Say once which call brings the connector, where Python reads what that could."""
    if connector_jar() is not None and _why_no_document(spec) is None:
        _say_once("Python workers read for Spark; splitscan.register(spark) lets its JVM read, several times as fast")


@cache
def _say_once(text: str) -> None:
    _log.warning(text)
