"""The command ``sniff``: the dialect of CSV files, how sure it is, and the options to paste."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import typer

from splitscan.api.files import sniff_csv
from splitscan.cli.arguments import Json, Options, ScanArguments, Sources
from splitscan.cli.help_text import GroupedCommand, examples
from splitscan.cli.output import show_text, write_json, write_rows
from splitscan.cli.pasting import pasted
from splitscan.cli.standard_input import is_spooled
from splitscan.errors import SchemaError
from splitscan.formats.csv.sniffing.found import Dialect, shown
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.first_bytes import TOLD_BY_FIRST_BYTES
from splitscan.formats.registry import DEFAULT_FORMAT
from splitscan.scan.dialects import unclear


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command(
        cls=GroupedCommand,
        epilog=examples(
            ("what is this file?", "splitscan sniff data.csv"),
            ("with what is known already", "splitscan sniff 'in/*.csv' -o encoding=windows-1252"),
        ),
    )(sniff)


def sniff(sources: Sources, option: Options = None, as_json: Json = False) -> None:
    """Find the dialect of CSV files in samples: separator, quote, escape, header, encoding. Needs no Spark.

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
        write_json(_as_json(found), indent=2)
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
    named = "".join(f", {_python_name(name)}={value!r}" for name, value in options.items())
    source = "FILE" if is_spooled(arguments.sources[0]) else arguments.sources[0]
    sys.stdout.write(f"format:  {format}\n")
    sys.stdout.write(f"schema:  {show_text(schema)}\n")
    sys.stdout.write(f"command: {' '.join(filter(None, (f'-f {format}', pasted(options))))}\n")
    sys.stdout.write(show_text(f"Python:  ss.scan({source!r}, {format!r}{named})") + "\n")


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
    options = {**arguments.named_options(), **found.options()}
    named = "".join(f", {_python_name(name)}={value!r}" for name, value in options.items())
    sys.stdout.write(f"command: {pasted(options)}\n")
    source = "FILE" if is_spooled(arguments.sources[0]) else arguments.sources[0]
    sys.stdout.write(show_text(f"Python:  ss.scan_csv({source!r}{named})") + "\n")


def _python_name(name: str) -> str:
    from splitscan.options.table import python_twin  # noqa: PLC0415 -- for the few who read it

    return python_twin(name)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _as_json(found: Dialect) -> dict[str, Any]:
    return {
        "format": DEFAULT_FORMAT,
        "clear": found.is_clear,
        "doubts": list(found.doubts),
        "notes": list(found.notes),
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
