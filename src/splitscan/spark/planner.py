"""Planning for the connector, while Spark plans ``format("splitscan")``: columns, who reads, blocks of tasks.

A question is one document in JSON. An answer is a line that says what it is and its version, and documents, one a line.
Python of the driver that attached the jar answers when Spark's JVM calls it; elsewhere the JVM starts this module as a
process, which answers over its standard streams.
"""

from __future__ import annotations

import json
import logging
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import IO, Any, NamedTuple

from pyspark.sql.types import StructType

from splitscan.blocks import BlockMetadata
from splitscan.errors import InvariantError, SourceMissingError, SplitscanError, UsageError
from splitscan.formats.framing.contract import Splittability
from splitscan.scan import Indexer, ScanPlanner
from splitscan.scan.spec import ScanSpec
from splitscan.scan.block_documents import TaskDocuments
from splitscan.scan.columns.partitions import Grain, grain_of, metadata_name
from splitscan.scan.counting import rows_by_index
from splitscan.scan.index import is_worth_summarising
from splitscan.spark.connector import Looker, check_version, is_switched_on, plan_lines, why_not
from splitscan.spark.pruning import file_columns, may_hold
from splitscan.spark.source import SplitscanDataSource, path_not_found
from splitscan.spark.time_zones import in_zone

VERSION = 4
"""Of questions and answers; the connector has the same."""

_COUNT = -2  # in place of a limit: rows are counted, and nothing else is done with them
_KEPT = 8  # scans between a question and the next one about them; those of others are found again
_LENGTH = struct.Struct(">i")
_log = logging.getLogger(__name__)


class _Decided(NamedTuple):
    """A scan for the connector."""

    scan: ScanPlanner
    spec: ScanSpec
    documents: TaskDocuments


class Planner:
    """Answers questions, and keeps what it found for the next one about the same DataFrame.

    Thread safety: threads may ask at the same time.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def answer(
        self,
        question: str,
        indexer: Indexer | None = None,
        hand_over: Callable[[], None] = lambda: None,
        why_unseen: Looker = lambda file: "no Hadoop can be asked",
    ) -> str:
        """Answer a question. Errors are answers, in the words that the user is to read.

        Args:
            question: What is asked.
            indexer: Runs the boundary index; without one it is made in this process.
            hand_over: Makes the Python data source known to the session that asks, before it is told that Python reads.
            why_unseen: Says why Hadoop does not see a file as it was listed, or ``None`` if it does.
        """
        try:
            kind, lines = self._answer(json.loads(question), indexer, why_unseen)
            if kind == "python":
                hand_over()
        except SourceMissingError as error:
            kind, lines = "error", [str(path_not_found(error))]
        except SplitscanError as error:
            kind, lines = "error", [str(error)]
        except Exception as error:
            _log.exception("a scan cannot be planned")
            seen = f"{type(error).__name__}: {error}"
            ours = InvariantError("a scan cannot be planned", seen=seen, fix="report it, with the traceback in the log")
            kind, lines = "error", [str(ours)]
        return "\n".join([f"{kind} {VERSION}", *lines])

    def _answer(
        self, asked: Mapping[str, Any], indexer: Indexer | None, why_unseen: Looker
    ) -> tuple[str, Sequence[str]]:
        if asked["version"] != str(VERSION):
            raise UsageError(
                "the connector asks in words of another version", seen=f"{asked['version']}; Python knows {VERSION}",
                fix="install one version of splitscan, and attach its jar", code="other-connector",
            )  # fmt: skip
        check_version(asked["connector"])
        if asked["about"] == "python" or not is_switched_on(asked["setting"]):
            return "python", []
        if asked["about"] == "schema":
            return self._schema(asked)
        decided: _Decided | str = self._take("scan", asked) or self._decide(asked, why_unseen)
        if isinstance(decided, str) and asked["about"] == "tasks":
            raise UsageError(
                "other files are there than when the query was planned", seen=decided,
                fix="load the DataFrame again", code="source-changed",
            )  # fmt: skip
        if isinstance(decided, str):
            return "python", [decided]
        if asked["about"] == "tasks":
            self._keep("scan", asked, decided)
            (scan, spec, documents), conditions = decided, asked["conditions"]
            if conditions:
                scan = scan.where_files(partial(may_hold, json.loads(conditions), spec))
            elif int(asked["limit"]) == _COUNT:
                rows, tasks = _count(scan, int(asked["slots"]), indexer)
                return "tasks", [*([documents.write_rows(rows)] if rows else []), *map(documents.write, tasks)]
            return "tasks", list(map(documents.write, _tasks(scan, spec, asked, indexer)))
        self._keep("scan", asked, decided)
        return "plan", [*plan_lines(decided.scan, decided.spec), *file_columns(decided.spec)]

    def _schema(self, asked: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
        source = SplitscanDataSource(asked["options"])
        if source.reads_other:
            return "python", []
        schema = source.schema()
        self._keep("source", asked, source)
        return "schema", [schema.json()]

    def _decide(self, asked: Mapping[str, Any], why_unseen: Looker) -> _Decided | str:
        """Plan for the connector, or the reason why it does not read."""
        source = self._take("source", asked) or SplitscanDataSource(asked["options"])
        if source.reads_other:
            return "it does not read files"
        if asked["inferred"] == "true":
            source.schema()
        scan, spec = source.for_schema(StructType.fromJson(json.loads(asked["schema"])))
        scan, spec = in_zone(scan, asked["timeZone"]), in_zone(spec, asked["timeZone"])
        documents = TaskDocuments(spec)
        reason = why_not(scan, spec, documents, why_unseen, rebalance=spec.options.files.rebalance)
        return reason or _Decided(scan, spec, documents)

    def _keep(self, what: str, asked: Mapping[str, Any], found: Any) -> None:
        with self._lock:
            self._kept[what, asked["id"]] = found
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]

    def _take(self, what: str, asked: Mapping[str, Any]) -> Any:
        with self._lock:
            return self._kept.pop((what, asked["id"]), None)


def _tasks(
    scan: ScanPlanner, spec: ScanSpec, asked: Mapping[str, Any], indexer: Indexer | None
) -> Sequence[Sequence[BlockMetadata]]:
    """The blocks of each task. With a limit of the scan one task reads all, and stops when it has enough.

    So it does with a limit of Spark's that one batch meets: it begins at the first file, and nothing is indexed.
    """
    limit, few = spec.options.reading.limit, int(asked["limit"])
    if limit is None and not 0 <= few <= spec.options.reading.batch_rows:
        return list(scan.plan_tasks(int(asked["slots"]), indexer))
    if limit == 0:
        return []
    scan.warn()
    shows_blocks = any(metadata_name(name) and grain_of(name) is Grain.BLOCK for name in spec.columns)
    blocks = scan.plan(indexer) if shows_blocks else list(scan.portions())
    return [blocks] if blocks else []


def _count(scan: ScanPlanner, slots: int, indexer: Indexer | None) -> tuple[int, Iterable[Sequence[BlockMetadata]]]:
    """Rows that the boundary index tells where it is made now, and tasks for all others."""
    is_indexed = scan.framing.splittability is Splittability.CONTEXT and scan.counts_here and not scan.chooses_blocks
    if not is_indexed or not all(map(is_worth_summarising, scan.files())):
        return 0, scan.plan_tasks(slots, indexer)
    scan.warn()
    planner, lengths = scan.task_planner, scan.task_planner.for_tasks(slots)
    blocks = scan.cut(lengths).blocks(planner.shares_for(slots, lengths.block_bytes))
    rows, others = rows_by_index(scan.counting_spec, blocks, indexer)
    return rows, scan.tasks(others, slots)


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until there are no more questions; each, and each answer, follows its length in four bytes."""
    planner = Planner()
    while len(head := questions.read(_LENGTH.size)) == _LENGTH.size:
        answer = planner.answer(questions.read(*_LENGTH.unpack(head)).decode()).encode()
        answers.write(_LENGTH.pack(len(answer)) + answer)
        answers.flush()


def main() -> None:
    """Serve on standard input and output; what others print goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)
