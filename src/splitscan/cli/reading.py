"""The commands that look at files: count, head, blocks, options, index, schema and sniff."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any

import pyarrow as pa
import typer

from splitscan.api.files import Scan, sniff_csv
from splitscan.blocks import UNKNOWN_END
from splitscan.cli.arguments import ScanArguments, pasted, spell_hint
from splitscan.cli.flags import (
    DASH,
    DIALECT,
    FORMAT_NAMES,
    Format,
    Json,
    Options,
    Sources,
    StoredSources,
    is_spooled,
    with_flags,
)
from splitscan.cli.output import write_json, write_rows
from splitscan.cli.program import command
from splitscan.cli.terminal import ShowsProgress, choose_progress, show_text, write_note
from splitscan.errors import SchemaError, bad_option
from splitscan.formats.csv.sniffing.found import Dialect, shown
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.first_bytes import TOLD_BY_FIRST_BYTES
from splitscan.formats.registry import DEFAULT_FORMAT, FORMATS, describe_options, finds_dialect, resolve_format
from splitscan.options import OptionDescription
from splitscan.redaction import redact
from splitscan.scans import ScanPlanner
from splitscan.scans.cutting import describe_cut
from splitscan.scans.dialects import unclear
from splitscan.scans.rows import shown_values
from splitscan.scans.schema import ColumnExplanation, SchemaExplanation, SeenType
from splitscan.scans.seek_index import keep_seek_index

_MOST_BLOCKS_IN_TABLE = 500
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")  # of a page: a terminal shows its text
_SHORT_SECONDS = 1.0  # nobody wants to be told of less


@command(
    ("how many records?", "splitscan count data.csv -o header=true"),
    ("newlines inside quotes, several files", "splitscan count 'in/*.csv' -o header=true -o multiLine=true"),
    ("lines", "splitscan count access.log --format text"),
    ("of what another command writes", "zcat data.csv.gz | splitscan count -"),
)
@with_flags("format", "schema", "where", *DIALECT)
def count(sources: Sources, given: Mapping[str, Any], as_json: Json = False) -> None:
    """Count the records, by finding their boundaries only. Needs no Spark.

    Values are not looked at: a record with too few fields, or values that do not fit, counts too. splitscan check says
    how many there are.

    One that is longer than maxRecordBytes or never ends is no row, here as for head: a warning says how many there are,
    and where the first begins.
    """
    arguments = ScanArguments.of(sources, **given)
    scan = arguments.looked_at().build_scan()
    arguments.check_layout(scan)
    rows = count_rows(scan)
    if as_json:
        write_json({"records": rows})
    else:
        sys.stdout.write(f"{rows}\n")


@command(
    ("the first five rows", "splitscan head data.csv -o header=true -n 5"),
    ("two columns, as JSON lines", "splitscan head data.csv -o header=true -c id,name --json"),
    ("of some files, and which", "splitscan head in/ -f json -c 'm.x,year,filename' -w 'year >= 2024'"),
)
@with_flags("format", "schema", "columns", "where", *DIALECT)
def head(
    sources: Sources,
    given: Mapping[str, Any],
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="ROWS", min=0, help="How many rows.")] = 10,
    as_json: Json = False,
) -> None:
    r"""Show the first rows. Needs no Spark.

    A terminal gets a table: long values are cut, and a newline inside a value is shown as ⏎. Anything else gets
    tab-separated lines (with \t, \n, \\ and \N for null) or, with --json, JSON lines. A value that holds others is
    JSON in all of them.
    """
    arguments = ScanArguments.of(sources, limit=limit, **given)
    scan = arguments.looked_at().at_first_glance().build_scan()
    numbers = [field.name for field in scan.schema if _is_number(field.type)]
    write_rows(scan.schema.names, _rows_of(scan, as_json=as_json), as_json=as_json, one_line=True, right=numbers)


@command(
    ("how would the files be cut?", "splitscan blocks in/ --block-size 64m"),
    ("where does the first record of each block start?", "splitscan blocks a.csv -o multiLine=true --index"),
)
@with_flags("format", "where", "option", "block_size")
def blocks(
    sources: StoredSources,
    given: Mapping[str, Any],
    index: Annotated[
        bool, typer.Option("--index", help="Also read the files and say where each block's first record starts.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the blocks that the files would be cut into. Needs no Spark.

    No file is read, unless --index asks for it, but for the first bytes of those that are longer than a block, and the
    headers of compressed ones: their blocks are ranges of their content, and column cut says why. A block owns the
    records whose first byte lies in it: start <= byte < stop.
    """
    arguments = ScanArguments.of(sources, **given)
    scan = (
        arguments.looked_at() if index else arguments
    ).build_scan()  # where records start is a matter of the dialect
    planned = scan.plan() if index else scan.blocks()
    names = ["path", "index", "start", "stop", *(["first_record_start"] if index else []), "cut"]
    rows = (
        (
            redact(block.file.path),
            block.index,
            block.start,
            None if block.stop == UNKNOWN_END else block.stop,
            *([block.first_record_start] if index else []),
            describe_cut(block),
        )
        for block in planned
    )
    write_rows(names, rows, as_json=as_json, most_in_table=_MOST_BLOCKS_IN_TABLE, right=names[1:-1])


@command(("every option of CSV", "splitscan options csv"), ("find one", "splitscan options | grep -i quote"))
def options(
    format: Annotated[
        str | None, typer.Argument(metavar="[FORMAT]", help=f"One of {FORMAT_NAMES}; without it, all of them.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the options of the record formats: what --option takes. They are Spark's own."""
    formats = list(FORMATS) if format is None else [resolve_format(format)]
    described: dict[tuple[str, tuple[str, ...]], OptionDescription] = {}
    for name in formats:
        for option in describe_options(name):
            described.setdefault((option.name, option.formats), option)
    columns = ["option", "values", "default", "meaning"]
    rows = [[", ".join((o.name, *o.aliases)), o.allowed, o.default, _plain(o.meaning)] for o in described.values()]
    if format is None:
        columns.insert(1, "formats")
        for row, option in zip(rows, described.values(), strict=True):
            row.insert(1, "all" if len(option.formats) == len(FORMATS) else ", ".join(option.formats))
    write_rows(columns, rows, as_json=as_json)


def _plain(markdown: str) -> str:
    return _LINK.sub(r"\1", markdown).replace("`", "")


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _rows_of(scan: Scan, *, as_json: bool) -> Iterator[list[Any]]:
    for batch in scan.to_batches():
        columns = [shown_values(column, as_json=as_json) for column in batch.columns]
        if not columns:
            raise bad_option("there is no column to show", "none", "name one")
        yield from (list(row) for row in zip(*columns, strict=True))


def count_rows(
    planner: ScanPlanner,
    clock: Callable[[], float] = time.monotonic,
    show: Callable[[], AbstractContextManager[ShowsProgress]] | None = None,
) -> int:
    """Number of rows; standard error tells how far counting is, once it has taken a second."""
    show = show or partial(choose_progress, quiet=False, windows=True, records=False)
    begin, bytes_done, bytes_total = clock(), 0, 0
    shown: ShowsProgress | None = None
    with ExitStack() as stack:

        def add(count: int) -> None:
            nonlocal bytes_done, bytes_total, shown
            bytes_done += count
            if shown is None:
                if clock() - begin < _SHORT_SECONDS:
                    return
                shown, bytes_total = stack.enter_context(show()), sum(file.size_bytes for file in planner.files())
            from splitscan.jobs.reports import IngestProgress, Phase  # noqa: PLC0415 -- a short count needs it not

            done = min(bytes_done, bytes_total)  # of compressed files the content counts
            shown.show(IngestProgress(Phase.READ, bytes_done=done, bytes_total=bytes_total))

        return planner.count_rows(add)


@command(
    ("read this file in parallel from now on", "splitscan index big.csv.gz"),
    ("and how is it cut now?", "splitscan blocks big.csv.gz --block-size 64m"),
)
def index(sources: StoredSources, format: Format = None, option: Options = None, as_json: Json = False) -> None:
    """Find where compressed files can be entered, and keep it. Needs no Spark.

    Every file is decompressed once. What is found - blocks of bzip2, members and frames of files of several, places
    inside gzip members - is kept in the user's cache directory for as long as the file stays the same, and files are
    cut there by whoever plans on this machine.
    """
    scan = ScanArguments.of(sources, format=format, option=option).build_scan()
    names = ["path", "codec", "places", "content_bytes", "index"]
    found = ((redact(file.path), keep_seek_index(file, scan.framing, scan.options.files)) for file in scan.files())
    rows = ((path, index.codec or None, index.places, index.content_bytes, index.state.value) for path, index in found)
    write_rows(names, rows, as_json=as_json, right=["places", "content_bytes"])


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
        raise bad_option("--ddl and --json are two outputs", "both", "give one of them")
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
@with_flags("format", *DIALECT)
def sniff(sources: Sources, given: Mapping[str, Any], as_json: Json = False) -> None:
    """Find the dialect of CSV files in samples: separator, quote, escape, header, encoding. Needs no Spark.

    The types of columns are those that all records fit. Of more than 256 MiB a sample is read, and a note says so.
    Of JSON and XML it tells the format, the options that are needed, and the schema.

    Each setting comes with how sure it is and on what evidence: certain, likely, assumed (the samples do not tell) or
    unsure. The last lines are the options to paste. The exit code is 4 where the samples leave the dialect open.
    """
    arguments = ScanArguments.of(sources, **given)
    format = arguments.with_format().format
    is_meant = format in TOLD_BY_FIRST_BYTES or arguments.format is not None  # lines of a log may be a table, too
    if format is not None and is_meant and not finds_dialect(format):
        _write_other(arguments.looked_at(), format, as_json=as_json)
        return
    if not finds_dialect(format):
        write_note(f"other commands read it as {format}: this is its dialect as a table, which --format csv reads")
    arguments = replace(arguments, format=DEFAULT_FORMAT)
    found = sniff_csv(arguments.paths(), **arguments.given_options())
    if as_json:
        write_json(_dialect_as_json(found), indent=2)
    elif found.settings:
        _write(found, arguments)
    if not found.is_clear:
        error: SchemaError = unclear(found, sources[0] if len(sources) == 1 else None, is_read=False)
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
    for note in found.guesses().values():
        write_note(spell_hint(note))
    if found.schema is not None:
        gap = "" if sys.stdout.isatty() else "\n"  # a table ends with an empty line
        sys.stdout.write(f"{gap}schema:  {show_text(format_ddl(found.schema))}\n")
    _write_calls(arguments, {**arguments.given_options(), **found.options()}, "", "scan_csv", "")


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
        "guesses": list(found.guesses().values()),
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
