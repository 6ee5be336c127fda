"""The command ``schema``: which columns a scan has, and where each comes from."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from splitscan.cli.arguments import (
    Columns,
    Format,
    Header,
    Json,
    Options,
    Quote,
    ScanArguments,
    Sep,
    Sources,
    Types,
    Where,
)
from splitscan.cli.help_text import GroupedCommand, examples
from splitscan.cli.output import show_text, write_json, write_note, write_rows
from splitscan.cli.standard_input import DASH, is_spooled
from splitscan.errors import UsageError
from splitscan.redaction import redact
from splitscan.scan.schema.explanation import ColumnExplanation, SchemaExplanation, SeenType


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command(
        cls=GroupedCommand,
        epilog=examples(
            ("names from the header, and the types that all values fit", "splitscan schema data.csv"),
            (
                "types of two columns, the others found",
                "splitscan schema in/ -o 'schemaHints=id long, day date'",
            ),
            ("and use it", 'splitscan ingest data.csv out/ -s "$(splitscan schema data.csv --ddl)"'),
        ),
    )(schema)


def schema(  # noqa: PLR0913, PLR0917 -- one parameter for each flag
    sources: Sources,
    types: Types = None,
    ddl: Annotated[bool, typer.Option("--ddl", help="Only the schema, as DDL, ready to paste after --schema.")] = False,
    format: Format = None,
    columns: Columns = None,
    where: Where = None,
    sep: Sep = None,
    quote: Quote = None,
    header: Header = None,
    option: Options = None,
    as_json: Json = False,
) -> None:
    """Show the columns, their types, and where each comes from. Needs no Spark.

    Each column comes from a file, an option (provided, hint, option), a default, or the record format. Where
    types in different files have nothing in common, standard error says so.
    """
    if ddl and as_json:
        raise UsageError("--ddl and --json are two outputs", seen="both", fix="give one of them", code="bad-option")
    arguments = ScanArguments(
        sources, format, None, option, columns, where=where, sep=sep, quote=quote, header=header, types=types
    )
    explained = arguments.looked_at().build_typed_scan().explain_schema()
    if as_json:
        write_json(_as_json(explained))
    elif ddl:
        sys.stdout.write((show_text(explained.ddl) if sys.stdout.isatty() else explained.ddl) + "\n")
    else:
        names = ["column", "type", "from", "file", "seen"]
        write_rows(names, [_row(column) for column in explained.columns], one_line=True)
        sys.stdout.flush()
        _write_notes(explained)


def _row(column: ColumnExplanation) -> list[str | None]:
    kind = column.type if column.nullable else f"{column.type} NOT NULL"
    file = None if column.path is None else _name_of(column.path)
    return [column.name, kind, column.source.value, file, ", ".join(seen.type for seen in column.seen) or None]


def _name_of(path: str) -> str:
    return DASH if is_spooled(path) else os.path.basename(redact(path))  # noqa: PTH119 -- may be a URI


def _write_notes(explained: SchemaExplanation) -> None:
    for conflict in explained.conflicts:
        where = ", ".join(f"{seen.type} in {redact(seen.path)}" for seen in conflict.seen)
        write_note(f"{conflict.column} is {where}: it becomes {conflict.outcome}")
    if explained.files is not None and 0 < explained.sampled_files < explained.files:
        write_note(f"{explained.sampled_files} of {explained.files} files were looked at (sampleFiles)")


def _as_json(explained: SchemaExplanation) -> dict[str, object]:
    return {
        "schema": explained.ddl,
        "columns": [
            {**asdict(c), "source": c.source.value, "path": c.path and redact(c.path), "seen": _seen(c.seen)}
            for c in explained.columns
        ],
        "conflicts": [{**asdict(c), "seen": _seen(c.seen)} for c in explained.conflicts],
        "files": explained.files,
        "sampled_files": explained.sampled_files,
    }


def _seen(types: tuple[SeenType, ...]) -> list[dict[str, str]]:
    return [{"type": seen.type, "path": redact(seen.path)} for seen in types]
