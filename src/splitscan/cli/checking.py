"""The command that reads everything and writes nothing: check."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from splitscan.cli.arguments import (
    Columns,
    Format,
    Header,
    Json,
    Options,
    Quote,
    ScanArguments,
    Schema,
    Sep,
    Sources,
    Types,
    Where,
)
from splitscan.cli.help_text import GroupedCommand, examples
from splitscan.cli.output import write_json, write_line
from splitscan.errors import RecordError
from splitscan.formats.decoding.contract import type_name
from splitscan.redaction import redact
from splitscan.scan.checking import BrokenRecords, CheckReport
from splitscan.sizes import count_of, format_size


def add_commands(app: typer.Typer) -> None:
    """Add the command of this module to the program."""
    app.command(
        cls=GroupedCommand,
        epilog=examples(
            ("is every record whole?", "splitscan check data.csv"),
            ("does the schema hold, in a pipeline?", "splitscan check in/ -s 'id long, day date' --json || exit 1"),
        ),
    )(check)


def check(  # noqa: PLR0913, PLR0917 -- one parameter for each flag
    sources: Sources,
    format: Format = None,
    schema: Schema = None,
    types: Types = None,
    columns: Columns = None,
    where: Where = None,
    sep: Sep = None,
    quote: Quote = None,
    header: Header = None,
    option: Options = None,
    as_json: Json = False,
) -> None:
    """Read everything and write nothing: is every record whole? Needs no Spark.

    Prints how many records there are and how many break a rule, by code, with the first three of each; and the type
    of every column, with one that holds all its values where this one does not. Types are found in all of the data
    where no schema is given. Exit code 4 if a record breaks a rule, 0 if none does.
    """
    arguments = ScanArguments(
        sources, format, schema, option, columns, where=where, sep=sep, quote=quote, header=header, types=types
    )
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
        "columns": [
            {"name": each.name, "type": type_name(each.type), "holds": each.holds and type_name(each.holds)}
            for each in report.columns
        ],
    }


def _lines(report: CheckReport) -> Iterator[str]:
    size = f"{count_of(report.files, 'file')}, {format_size(report.bytes)}"
    broken = count_of(report.rejects, "record") if report.broken else "no record"
    yield f"{count_of(report.rows, 'row')} in {size}: {broken} {'break' if report.rejects > 1 else 'breaks'} a rule"
    for each in report.broken:
        yield from _examples(each)
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
