"""The commands that go over all rows without Spark: check, convert and stats."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

import pyarrow as pa
import typer

from splitscan.api.files import Scan
from splitscan.blocks import Reject
from splitscan.cli.arguments import ScanArguments, spell_hint
from splitscan.cli.flags import READING, WRITTEN, Json, Sources, with_flags
from splitscan.cli.output import write_json, write_rows
from splitscan.cli.program import command
from splitscan.cli.terminal import write_line, write_note
from splitscan.errors import Advice, RecordError
from splitscan.formats.decoding.contract import type_name
from splitscan.reading.new_columns import NewColumns
from splitscan.redaction import redact
from splitscan.scans.checking import BrokenRecords, CheckReport
from splitscan.sizes import count_of, format_size


@command(
    ("is every record whole?", "splitscan check data.csv"),
    ("does the schema hold, in a pipeline?", "splitscan check in/ -s 'id long, day date' --json || exit 1"),
)
@with_flags(*READING)
def check(sources: Sources, given: Mapping[str, Any], as_json: Json = False) -> None:
    """Read everything and write nothing: is every record whole? Needs no Spark.

    Prints how many records there are and how many break a rule, by code, with the first three of each; and the type
    of every column, with one that holds all its values where this one does not. Types are found in all of the data
    where no schema is given. Exit code 4 if a record breaks a rule or is odd, such as one whose bytes are no
    UTF-8; 0 if none is.
    """
    arguments = ScanArguments.of(sources, **given)
    scan = arguments.looked_at().build_typed_scan()
    arguments.check_layout(scan)
    report = scan.check()
    if as_json:
        write_json(_as_json(report))
    else:
        for line in _lines(report):
            write_line((line, ""))
    if not report.ok:
        raise typer.Exit(RecordError.exit_code)


def _as_json(report: CheckReport) -> dict[str, object]:
    return {
        "files": report.files,
        "bytes": report.bytes,
        "rows": report.rows,
        "rejects": report.rejects,
        "broken": [
            {"code": each.code, "records": each.records, "examples": list(each.examples)} for each in report.broken
        ],
        "odd": [
            {"code": each.code, "records": each.records, "path": redact(each.path), "offset": each.offset}
            for each in report.odd
        ],
        "columns": [
            {"name": each.name, "type": type_name(each.type), "holds": each.holds and type_name(each.holds)}
            for each in report.columns
        ],
    }


def _lines(report: CheckReport) -> Iterator[str]:
    size = f"{count_of(report.files, 'file')}, {format_size(report.bytes)}"
    broken = count_of(report.rejects, "record") if report.broken else "no record"
    rule = f"{broken} {'break' if report.rejects > 1 else 'breaks'} a rule"
    doubtful = sum(each.records for each in report.odd)
    doubts = f", and {doubtful:,} {'is' if doubtful == 1 else 'are'} odd" if doubtful else ""
    yield f"{count_of(report.rows, 'row')} in {size}: {rule}{doubts}"
    for each in report.broken:
        yield from _examples(each)
    for odd in report.odd:
        yield spell_hint(Advice(odd))
    for column in report.columns:
        held = "" if column.holds in (None, column.type) else f"; {type_name(column.holds)} holds all its values"
        yield f"column {column.name}: {type_name(column.type)}{held}"


def _examples(broken: BrokenRecords) -> Iterator[str]:
    yield f"{broken.code}: {count_of(broken.records, 'record')}"
    for each in broken.examples:
        line = "" if each["line"] is None else f"line {each['line']:,}, "
        yield f"    {redact(each['path'])}, {line}byte {each['offset']:,}: {each['reason']}"
    if broken.records > len(broken.examples):
        yield f"    and {broken.records - len(broken.examples):,} more"


class Rejected:
    """Counts the records that break a rule, and keeps the first."""

    def __init__(self) -> None:
        self.records = 0
        self._codes: Counter[str] = Counter()
        self._first = ""

    def __call__(self, reject: Reject) -> None:
        """Take one."""
        self.records += 1
        self._codes[reject.code] += 1
        self._first = self._first or f"{reject.reason}, at byte {reject.offset} of {reject.path}"

    def tell(self, outcome: str) -> None:
        """Say on standard error how many there are, and which is the first."""
        if self.records:
            codes = ", ".join(f"{count:,} {code}" for code, count in self._codes.most_common())
            records = count_of(self.records, "record")
            write_note(f"{records} broke a rule ({codes}): {outcome}")
            write_note(f"the first: {self._first}")


@command(
    ("CSV to Parquet, with the types that all values fit", "splitscan convert data.csv data.parquet"),
    ("two columns of many files as compressed JSON Lines", "splitscan convert in/ all.jsonl.gz -c id,name"),
    ("values that are no numbers become null", "splitscan convert a.csv b.csv -s 'id long' -o mode=PERMISSIVE"),
)
@with_flags(*READING)
def convert(
    sources: Sources,
    destination: Annotated[
        str, typer.Argument(metavar="DEST", help="The file: .parquet, .csv, .jsonl; with .gz or .zst but for Parquet.")
    ],
    given: Mapping[str, Any],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace DEST if it is there.", rich_help_panel=WRITTEN)
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the rows to one file: Parquet, CSV or JSON Lines. Needs no Spark.

    The file appears under its name when it is whole; an error leaves nothing. A record that breaks a rule is an error,
    and nothing is written, unless option mode says what to do with it. So is a column of JSON or XML that no sample
    has shown, unless --columns or a schema says which to write. For a folder of Parquet with a ledger that can
    be verified, see ingest.

    Without a schema, columns of CSV and groups of a log get the types that all their values fit; written to CSV they
    stay as they are.
    """
    arguments = ScanArguments.of(sources, **given)
    from splitscan.jobs.single_file import FileKind, FileTarget, write_file  # noqa: PLC0415 -- Parquet loads with it

    target = FileTarget.of(destination)
    scan = _scan(arguments, typed=target.kind is not FileKind.CSV, strict=True)
    rejected = Rejected()
    storage = scan.options.files.storage_options
    wrote = write_file(target, scan.schema, _whole(scan, rejected), storage, overwrite=overwrite)
    if as_json:
        write_json({"path": wrote.path, "rows": wrote.rows, "bytes": wrote.size_bytes, "rejects": rejected.records})
    else:
        size = count_of(wrote.size_bytes, "byte")
        write_line((f"{count_of(wrote.rows, 'row')} in {redact(destination)}, {size}", ""))
    rejected.tell(f"mode is {scan.options.reading.mode.value}")


def _whole(scan: Scan, rejected: Rejected) -> Iterator[pa.RecordBatch]:
    """The rows; an error after the last one if their records have more columns."""
    new: list[NewColumns] = []
    yield from scan.to_batches(rejected, new.append)
    for each in new:
        raise each.error(scan.options)


@command(
    ("what is in each column?", "splitscan stats data.csv"),
    ("of two columns, with types that are known", "splitscan stats in/ -s 'id long, day date' --json"),
)
@with_flags(*READING)
def stats(sources: Sources, given: Mapping[str, Any], as_json: Json = False) -> None:
    """Show what is in each column: rows, nulls, least, greatest, distinct values. Needs no Spark.

    Types are those that all values fit where no schema is given. Standard error says how many values do not fit the
    types of a schema, or of a sample that options ask for: they count as nulls. Up to 4,096 distinct values are
    counted, more are estimated, within a few percent: 'estimated' says of which column. NaN is neither least nor
    greatest.
    """
    arguments = ScanArguments.of(sources, **given)
    from splitscan.scans.rows import column_statistics  # noqa: PLC0415 -- numbers load with it

    scan = _scan(arguments, typed=True, strict=False)
    rejected = Rejected()
    found = column_statistics(scan.schema, scan.to_batches(rejected))
    rows = [[c.name, type_name(c.type), c.rows, c.nulls, c.min, c.max, c.distinct, c.estimated] for c in found]
    names = ["column", "type", "rows", "nulls", "min", "max", "distinct", "estimated"]
    write_rows(names, rows, as_json=as_json, one_line=True, right=("rows", "nulls", "distinct"))
    sys.stdout.flush()
    rejected.tell("values that do not fit their type count as nulls")


def _scan(arguments: ScanArguments, *, typed: bool, strict: bool) -> Scan:
    """The scan, as the command reads it where the user's options do not say otherwise."""
    looked = arguments.looked_at()
    if strict and "mode" not in map(str.lower, looked.named_options()):
        looked = replace(looked, options=[*(looked.options or ()), "mode=FAILFAST"])
    scan = looked.build_typed_scan() if typed else looked.build_scan()
    arguments.check_layout(scan)
    return scan
