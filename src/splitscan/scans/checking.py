"""Read everything and write nothing: rows, broken records by code, and the types that would hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from splitscan.blocks import BlockMetadata, Reject
from splitscan.errors import SchemaError
from splitscan.options import Mode
from splitscan.reading.block_scan import in_threads, open_reader
from splitscan.reading.oddities import OddRecords, of_file, total_oddities
from splitscan.reading.opened_file import CountedLines
from splitscan.reading.rejects import LineNumbers, reject_rows
from splitscan.reading.spec import ScanSpec
from splitscan.scans.planner import ScanPlanner

MOST_EXAMPLES = 3
"""How many records stand for each code."""

_BAD_VALUE = "bad-value"


@dataclass(frozen=True, slots=True)
class BrokenRecords:
    """Records that break one rule.

    Attributes:
        code: The rule, of ``docs/errors.md``.
        examples: The first of them: ``path``, ``line`` (``None`` where records are no lines), ``offset``, ``length``,
            ``reason``, and ``raw``, their first bytes.
    """

    code: str
    records: int
    examples: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class CheckedColumn:
    """A column, and the type that would hold all its values.

    Attributes:
        holds: That type, where it held them; else the narrowest one that does, ``None`` where the format finds no types
            or the column is not in the files.
    """

    name: str
    type: pa.DataType
    holds: pa.DataType | None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The answer of :meth:`splitscan.Scan.check`.

    Attributes:
        bytes: Of the files as they are stored.
        rows: That a scan in mode ``PERMISSIVE`` delivers, or in ``DROPMALFORMED`` if that was asked for.
        broken: The records that break a rule, by code, the most frequent first.
        odd: The records that are read, and not as anybody expects, by code.
    """

    files: int
    bytes: int
    rows: int
    broken: tuple[BrokenRecords, ...] = ()
    columns: tuple[CheckedColumn, ...] = ()
    odd: tuple[OddRecords, ...] = ()

    @property
    def rejects(self) -> int:
        """Number of records that break a rule."""
        return sum(each.records for each in self.broken)

    @property
    def ok(self) -> bool:
        """True if no record breaks a rule, and none is odd."""
        return not self.broken and not self.odd


@dataclass
class _Found:
    """Findings in one block."""

    rows: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[Reject, int | None]]] = field(default_factory=dict)
    lines: CountedLines | None = None
    odd: list[OddRecords] = field(default_factory=list)

    def take(self, rejects: Sequence[Reject], lines: LineNumbers) -> None:
        for reject in rejects:
            self.codes[reject.code] += 1
            if self.codes[reject.code] <= MOST_EXAMPLES:
                self.examples.setdefault(reject.code, []).append((reject, lines.ends_in_block(reject.offset)))

    def add(self, other: _Found, block: BlockMetadata, lines: LineNumbers) -> None:
        """Add what the next block holds; the line ends that its examples have are those of the file from here on."""
        self.rows += other.rows
        self.codes += other.codes
        self.odd += other.odd
        lines.add(block.file.path, None)
        for code, found in other.examples.items():
            known = self.examples.setdefault(code, [])
            for reject, ends in found[: MOST_EXAMPLES - len(known)]:
                start = block.start if ends is not None else reject.offset
                known.append((reject, lines.line_at(reject.path, start, ends or 0)))
        lines.add(block.file.path, other.lines)


def check_scan(planner: ScanPlanner) -> CheckReport:
    """Read every record of a scan, on all cores of this machine.

    A FAILFAST scan is read as PERMISSIVE: the first broken record is no reason to leave the others unread. A limit does
    not count. Where a value does not fit its type, the files are read once more, for types that hold.
    """
    planner = _reading_all(planner)
    found = _Found()
    files, blocks = planner.files(), planner.plan()
    lines = LineNumbers(planner.options, files)
    for block, each in zip(blocks, in_threads(partial(_read, planner.spec), blocks), strict=True):
        found.add(each, block, lines)
    return CheckReport(
        len(files),
        sum(file.size_bytes for file in files),
        found.rows,
        tuple(_broken(found)),
        tuple(_columns(planner, found)),
        total_oddities(found.odd),
    )


def _reading_all(planner: ScanPlanner) -> ScanPlanner:
    reading = planner.options.reading
    mode = Mode.PERMISSIVE if reading.mode is Mode.FAILFAST else reading.mode
    options = replace(planner.options, reading=replace(reading, mode=mode, limit=None))
    return planner.with_options(options)


def _read(spec: ScanSpec, block: BlockMetadata) -> _Found:
    found, lines = _Found(), LineNumbers(spec.options, [block.file])
    reader = open_reader(spec, block, on_reject=lambda rejects: found.take(rejects, lines), watch=lines.watch)
    found.rows = sum(batch.num_rows for batch in reader)
    found.lines = lines.counted
    found.odd.extend(of_file(block.file.path, reader.report.oddities))
    return found


def _broken(found: _Found) -> Iterator[BrokenRecords]:
    """The codes with their examples."""
    for code, records in found.codes.most_common():
        shown = reject_rows(found.examples[code]).drop_columns(["code", "delivered"]).to_pylist()
        yield BrokenRecords(code, records, tuple(shown))


def _columns(planner: ScanPlanner, found: _Found) -> Iterator[CheckedColumn]:
    """The columns of the records as they were read, beside the types that their files show if values do not fit."""
    read = planner.resolved.schema
    corrupt = planner.options.reading.column_name_of_corrupt_record
    read = pa.schema([each for each in read if each.name != corrupt])
    shown = _shown(planner) if found.codes[_BAD_VALUE] else read
    by_name = {} if shown is None else {each.name: each.type for each in shown}
    places = list(by_name.values()) if planner.options.format.is_positional and len(by_name) == len(read) else None
    for place, each in enumerate(read):
        yield CheckedColumn(each.name, each.type, by_name.get(each.name) if places is None else places[place])


def _shown(planner: ScanPlanner) -> pa.Schema | None:
    """The columns and types that all records show; ``None`` where the format or its user says them."""
    asked = planner.asked
    if asked.own is not None:
        return None
    options = replace(
        asked.options,
        schema=replace(asked.options.schema, provided_schema=None, schema_hints=None),
        reading=replace(asked.options.reading, infer_schema=True),
        given=asked.options.given - {"sampleBytes", "sampleFiles"},
    )
    try:
        return replace(asked, given=None, options=options).found_in(planner.files()).schema
    except SchemaError as error:
        if error.reason_code != "no-schema":
            raise
        return None
