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
from decimal import Decimal
from functools import partial
from itertools import product
from typing import IO, Any, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.sql.types import StructType

from splitscan.arrays import scalar_of
from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import InvariantError, SourceMissingError, SplitscanError, UsageError
from splitscan.formats.framing.contract import Splittability
from splitscan.options.stream import WindowLogChoice
from splitscan.reading.block_documents import METADATA, METADATA_MEMBERS, TaskDocuments
from splitscan.reading.partitions import Grain, file_value, grain_of, metadata_field, metadata_name
from splitscan.reading.spec import ScanSpec
from splitscan.scans import Indexer, ScanPlanner
from splitscan.scans.counting import rows_by_index
from splitscan.scans.index import is_worth_summarising
from splitscan.spark.choice import Looker, plan_lines, why_not
from splitscan.spark.connector import check_version, is_switched_on
from splitscan.spark.connector_stream import ConnectorStream
from splitscan.spark.session import in_zone
from splitscan.spark.source import SplitscanDataSource, path_not_found
from splitscan.spark.stream import check_streams

Outcomes: TypeAlias = "frozenset[bool | None]"
"""What a condition may be for records of a file, as far as it is understood: true, false, null."""

_ANY: Outcomes = frozenset({True, False, None})
_WHOLE = frozenset({"byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz"})

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, other: one == other,
    "<>": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "STARTS_WITH": lambda one, other: one.startswith(other),
    "ENDS_WITH": lambda one, other: one.endswith(other),
    "CONTAINS": lambda one, other: other in one,
}


class _Unknown(Exception):  # noqa: N818 - no error
    """A condition, or a value in it, is not understood: it may be anything."""


def file_columns(spec: ScanSpec) -> list[str]:
    """Names of the columns by which files can be left out: of their directories, of what they are, of ``_metadata``."""
    own = {*spec.fields.names, *spec.speaking}
    directories = spec.partitions.fields.names
    known = [name for name in spec.columns if name not in own and metadata_name(name) and grain_of(name) is Grain.FILE]
    members = [f"{METADATA}.{name}" for name in METADATA_MEMBERS if grain_of(name) is Grain.FILE]
    return [name for name in dict.fromkeys((*directories, *known, *members)) if name.isprintable()]


def may_hold(conditions: Sequence[Mapping[str, Any]], spec: ScanSpec, file: FileMetadata) -> bool:
    """True if all conditions may be true for a record of a file; what is not understood may be.

    Raises:
        SchemaError: ``[bad-partition]`` if the name of a directory does not fit its column's type.
    """
    return all(True in _outcomes(condition, spec, file) for condition in conditions)


def _outcomes(condition: Mapping[str, Any], spec: ScanSpec, file: FileMetadata) -> Outcomes:
    name, parts = condition.get("is"), condition.get("of", ())
    if name in {"AND", "OR", "NOT"}:
        inner = [_outcomes(part, spec, file) for part in parts]
        return frozenset(_combined(name, values) for values in product(*inner))
    try:
        return frozenset({_decided(str(name), [_value(part, spec, file) for part in parts])})
    except _Unknown:
        return _ANY


def _combined(name: str, values: Sequence[bool | None]) -> bool | None:
    if name == "NOT":
        return None if values[0] is None else not values[0]
    decides = name == "OR"
    if decides in values:
        return decides
    return None if None in values else not decides


def _decided(name: str, values: Sequence[Any]) -> bool | None:
    if name in {"ALWAYS_TRUE", "ALWAYS_FALSE"}:
        return name == "ALWAYS_TRUE"
    if name in {"IS_NULL", "IS_NOT_NULL"}:
        return (values[0] is None) == (name == "IS_NULL")
    if name == "<=>":
        return (None in values and values[0] is values[1]) or _compared("=", *values) is True
    if name == "IN":
        equal = [_compared("=", values[0], other) for other in values[1:]]
        return _combined("OR", equal) if equal else False
    if name not in _COMPARISONS or len(values) != 2:
        raise _Unknown
    return _compared(name, *values)


def _compared(name: str, one: Any, other: Any) -> bool | None:
    if one is None or other is None:
        return None
    if type(one) is not type(other):
        raise _Unknown
    return _COMPARISONS[name](one, other)


def _value(part: Mapping[str, Any], spec: ScanSpec, file: FileMetadata) -> Any:
    """A value in the order that Spark has: texts as bytes, days and moments as numbers."""
    if "column" in part:
        return _comparable(_of_file(part["column"], spec, file))
    if "type" not in part:
        raise _Unknown
    kind, text = part["type"], part["value"]
    if text is None:
        return None
    if kind == "string":
        return str(text).encode()
    if kind == "boolean":
        return text == "true"
    if kind.startswith("decimal"):
        return Decimal(text)
    if kind in _WHOLE:
        return int(text)
    raise _Unknown


def _of_file(name: str, spec: ScanSpec, file: FileMetadata) -> pa.Scalar:
    if name in spec.partitions.fields.names:
        return spec.partitions.value(name, file)
    known = name.removeprefix(f"{METADATA}.")
    return scalar_of(file_value(known, file), metadata_field(known).type)


def _comparable(scalar: pa.Scalar) -> Any:
    if not scalar.is_valid:
        return None
    if pa.types.is_temporal(scalar.type):
        return scalar.value
    if pa.types.is_floating(scalar.type):  # Spark has rules of its own for NaN and for zeros
        raise _Unknown
    value = scalar.as_py()
    return value.encode() if isinstance(value, str) else value


VERSION = 5
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
        self._streams: dict[str, ConnectorStream] = {}  # of queries that run
        self._lock = threading.Lock()
        self._making = threading.Lock()

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
        if asked["about"] == "python" or not ("stream" in asked or is_switched_on(asked["setting"])):
            return "python", []
        if asked["about"] == "schema":
            return self._schema(asked)
        if "stream" in asked:
            return "stream", self._answer_of_stream(asked, why_unseen)
        if asked["about"] == "tasks":
            return "tasks", self._answer_tasks(asked, indexer, why_unseen)
        decide = self._decide_stream if asked["about"] == "stream" else self._answer_plan
        return decide(asked, why_unseen)

    def _answer_plan(self, asked: Mapping[str, Any], why_unseen: Looker) -> tuple[str, Sequence[str]]:
        decided = self._decide(asked, why_unseen)
        if isinstance(decided, str):
            return "python", [decided]
        self._keep("scan", asked, decided)
        return "plan", [*plan_lines(decided.scan, decided.spec), *file_columns(decided.spec)]

    def _answer_tasks(self, asked: Mapping[str, Any], indexer: Indexer | None, why_unseen: Looker) -> Sequence[str]:
        decided: _Decided | str = self._take("scan", asked) or self._decide(asked, why_unseen)
        if isinstance(decided, str):
            raise UsageError(
                "other files are there than when the query was planned", seen=decided,
                fix="load the DataFrame again", code="source-changed",
            )  # fmt: skip
        self._keep("scan", asked, decided)
        (scan, spec, documents), conditions = decided, asked["conditions"]
        if conditions:
            scan = scan.where_files(partial(may_hold, json.loads(conditions), spec))
        elif int(asked["limit"]) == _COUNT:
            rows, tasks = _count(scan, int(asked["slots"]), indexer)
            return [*([documents.write_rows(rows)] if rows else []), *map(documents.write, tasks)]
        return list(map(documents.write, _tasks(scan, spec, asked, indexer)))

    def _schema(self, asked: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
        source = SplitscanDataSource(asked["options"])
        if source.reads_other:
            return "python", []
        schema = source.schema()
        self._keep("source", asked, source)
        return "schema", [schema.json()]

    def _decide(self, asked: Mapping[str, Any], why_unseen: Looker) -> _Decided | str:
        """Plan for the connector, or the reason why it does not read."""
        source = self._source(asked)
        if source.reads_other:
            return "it does not read files"
        scan, spec = _scan_of(source, asked)
        documents = TaskDocuments(spec)
        reason = why_not(scan, spec, documents, why_unseen, rebalance=spec.options.files.rebalance)
        return reason or _Decided(scan, spec, documents)

    def _decide_stream(self, asked: Mapping[str, Any], why_unseen: Looker) -> tuple[str, Sequence[str]]:
        source = self._source(asked)
        if source.reads_other:
            return "python", ["it does not read files"]
        scan, spec = _scan_of(source, asked)
        stream = ConnectorStream(scan, spec, source.stream_options)
        reason = stream.why_not(why_unseen)
        if reason is not None:
            check_streams(reason)
            return "python", [reason]
        self._keep("source", asked, source)
        return "plan", stream.plan_lines()

    def _answer_of_stream(self, asked: Mapping[str, Any], why_unseen: Looker) -> Sequence[str]:
        """Answer for the stream of a query, which is made with the first question, and again in another process."""
        if asked["about"] == "stop":
            with self._making:
                stream = self._streams.pop(asked["stream"], None)
            if stream is not None:
                stream.close()
            return []
        stream = self._streams.get(asked["stream"])
        if stream is None:
            with self._making:
                stream = self._streams.get(asked["stream"]) or self._make_stream(asked)
        return stream.answer(asked, why_unseen)

    def _make_stream(self, asked: Mapping[str, Any]) -> ConnectorStream:
        source = self._source(asked)
        self._keep("source", asked, source)
        options = source.stream_options
        if options.window_log is WindowLogChoice.NONE and asked["begun"] == "true":
            raise UsageError(
                "the process that planned a stream has ended, and with it all that was known of its windows",
                seen="windowLog=none", code="stream-state-missing",
                fix="start the query again, which reads everything again; or set stateLocation, which keeps windows",
            )  # fmt: skip
        stream = self._streams[asked["stream"]] = ConnectorStream(*_scan_of(source, asked), options)
        return stream

    def _source(self, asked: Mapping[str, Any]) -> SplitscanDataSource:
        return self._take("source", asked) or SplitscanDataSource(asked["options"])

    def _keep(self, what: str, asked: Mapping[str, Any], found: Any) -> None:
        with self._lock:
            self._kept[what, asked["id"]] = found
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]

    def _take(self, what: str, asked: Mapping[str, Any]) -> Any:
        with self._lock:
            return self._kept.pop((what, asked["id"]), None)


def _scan_of(source: SplitscanDataSource, asked: Mapping[str, Any]) -> tuple[ScanPlanner, ScanSpec]:
    if asked["inferred"] == "true":
        source.schema()
    scan, spec = source.for_schema(StructType.fromJson(json.loads(asked["schema"])))
    return in_zone(scan, asked["timeZone"]), in_zone(spec, asked["timeZone"])


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
