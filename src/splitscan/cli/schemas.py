"""The commands ``schema`` and ``sniff``: which columns and which dialect files have, and how that is known."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from splitscan.api.files import sniff_csv
from splitscan.cli.arguments import ScanArguments
from splitscan.cli.flags import DIALECT, Json, Options, Sources, with_flags
from splitscan.cli.help_text import command
from splitscan.cli.output import show_text, write_json, write_note, write_rows
from splitscan.cli.pasting import pasted
from splitscan.cli.standard_input import DASH, is_spooled
from splitscan.errors import SchemaError, UsageError
from splitscan.formats.csv.sniffing.found import Dialect, shown
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.first_bytes import TOLD_BY_FIRST_BYTES
from splitscan.formats.registry import DEFAULT_FORMAT
from splitscan.redaction import redact
from splitscan.scan.dialects import unclear
from splitscan.scan.schema.resolution import ColumnExplanation, SchemaExplanation, SeenType


@command(
    ("names from the header, and the types that all values fit", "splitscan schema data.csv"),
    (
        "types of two columns, the others found",
        "splitscan schema in/ -o 'schemaHints=id long, day date'",
    ),
    ("and use it", 'splitscan ingest data.csv out/ -s "$(splitscan schema data.csv --ddl)"'),
)
@with_flags("types", "format", "columns", "where", *DIALECT)
def schema(
    sources: Sources,
    given: Mapping[str, Any],
    ddl: Annotated[bool, typer.Option("--ddl", help="Only the schema, as DDL, ready to paste after --schema.")] = False,
    as_json: Json = False,
) -> None:
    """Show the columns, their types, and where each comes from. Needs no Spark.

    Each column comes from a file, an option (provided, hint, option), a default, or the record format. Where
    types in different files have nothing in common, standard error says so.
    """
    arguments = ScanArguments.of(sources, **given)
    if ddl and as_json:
        raise UsageError("--ddl and --json are two outputs", seen="both", fix="give one of them", code="bad-option")
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


@command(
    ("what is this file?", "splitscan sniff data.csv"),
    ("with what is known already", "splitscan sniff 'in/*.csv' -o encoding=windows-1252"),
)
def sniff(sources: Sources, option: Options = None, as_json: Json = False) -> None:
    """Find the dialect of CSV files in samples: separator, quote, escape, header, encoding. Needs no Spark.

    The types of columns are those that all records fit. Of more than 256 MiB a sample is read, and a note says so.
    Of JSON and XML it tells the format, the options that are needed, and the schema.

    Each setting comes with how sure it is and on what evidence: certain, likely, assumed (the samples do not tell) or
    unsure. The last lines are the options to paste. The exit code is 4 where the samples leave the dialect open.
    """
    arguments = ScanArguments(sources, None, None, option)
    format = arguments.with_format().format
    if format in TOLD_BY_FIRST_BYTES:  # lines of a log have a dialect of CSV, if they have any
        _write_other(arguments.looked_at(), format, as_json=as_json)
        return
    arguments = replace(arguments, format=DEFAULT_FORMAT)
    found = sniff_csv(arguments.paths(), **arguments.named_options())
    if as_json:
        write_json(_dialect_as_json(found), indent=2)
    elif found.settings:
        _write(found, arguments)
    if not found.is_clear:
        error: SchemaError = unclear(found, sources[0] if len(sources) == 1 else None)
        sys.stdout.flush()
        raise error


def _write_other(arguments: ScanArguments, format: str, *, as_json: bool) -> None:
    """JSON and XML: their format, the options that they need, and their columns."""
    options, schema = arguments.named_options(), format_ddl(arguments.build_scan().schema)
    if as_json:
        write_json({"format": format, "options": options, "schema": schema}, indent=2)
        return
    sys.stdout.write(f"format:  {format}\n")
    sys.stdout.write(f"schema:  {show_text(schema)}\n")
    _write_calls(arguments, options, f"-f {format}", "scan", f", {format!r}")


def _write(found: Dialect, arguments: ScanArguments) -> None:
    rows = [
        [name, shown(_text(setting.value)), setting.confidence.value, setting.evidence]
        for name, setting in found.settings.items()
    ]
    rows.append(["line ends", found.line_ends, "", ""])
    write_rows(["setting", "value", "how sure", "evidence"], rows)
    if not found.is_clear:
        return
    if found.schema is not None:
        gap = "" if sys.stdout.isatty() else "\n"  # a table ends with an empty line
        sys.stdout.write(f"{gap}schema:  {show_text(format_ddl(found.schema))}\n")
    _write_calls(arguments, {**arguments.named_options(), **found.options()}, "", "scan_csv", "")


def _write_calls(arguments: ScanArguments, options: Mapping[str, Any], flag: str, function: str, format: str) -> None:
    """Options as they are pasted into a command, and into Python."""
    from splitscan.options.table import python_twin  # noqa: PLC0415 -- for the few who read it

    named = "".join(f", {python_twin(name)}={value!r}" for name, value in options.items())
    source = "FILE" if is_spooled(arguments.sources[0]) else arguments.sources[0]
    sys.stdout.write(f"command: {' '.join(filter(None, (flag, pasted(options))))}\n")
    sys.stdout.write(show_text(f"Python:  ss.{function}({source!r}{format}{named})") + "\n")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _dialect_as_json(found: Dialect) -> dict[str, Any]:
    return {
        "format": DEFAULT_FORMAT,
        "clear": found.is_clear,
        "doubts": list(found.doubts),
        "options": found.options(),
        "schema": None if found.schema is None else format_ddl(found.schema),
        "columns": found.columns,
        "score": round(found.score, 3),
        "line_ends": found.line_ends,
        "settings": {
            name: {"value": setting.value, "confidence": setting.confidence.value, "evidence": setting.evidence}
            for name, setting in found.settings.items()
        },
        "candidates": [
            {"sep": each.sep, "quote": each.quote, "score": round(each.score, 3), "columns": each.columns}
            for each in found.candidates
        ],
    }
