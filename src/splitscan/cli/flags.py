"""The flags that several commands share, each declared once, how a command takes them, and standard input."""

from __future__ import annotations

import functools
import inspect
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from splitscan.cli.arguments import TypesOfColumns
from splitscan.content.codecs.formats import SIGNATURE_BYTES, recognise
from splitscan.errors import UsageError
from splitscan.formats.registry import FORMATS, spark_names
from splitscan.sizes import MIB

DASH = "-"
_PREFIX = "splitscan-stdin-"
_NAME = "standard-input"


def spool_input(context: typer.Context, sources: list[str]) -> list[str]:
    """Put a file in the place of ``-``: records are found at offsets, and a pipe has none. It is removed at the end.

    Raises:
        UsageError: If ``-`` is given twice, or standard input is closed.
    """
    if DASH not in sources or context.resilient_parsing:
        return sources
    if sources.count(DASH) > 1:
        raise UsageError(
            "standard input can be read once", seen="- more than once", fix="give it once", code="bad-path"
        )
    if sys.stdin is None:
        raise UsageError("- is standard input, and it is closed", fix="give a file, or open it", code="bad-path")
    folder = context.with_resource(tempfile.TemporaryDirectory(prefix=_PREFIX))
    first = sys.stdin.buffer.read(SIGNATURE_BYTES)
    codec = recognise(first)
    path = Path(folder) / (_NAME if codec is None else _NAME + codec.extensions[0])
    with path.open("wb") as out:
        out.write(first)
        shutil.copyfileobj(sys.stdin.buffer, out, MIB)
    return [str(path) if source == DASH else source for source in sources]


def refuse_input(sources: list[str]) -> list[str]:
    """Refuse ``-`` where a file is read by other processes, or read again later.

    Raises:
        UsageError: If it is there.
    """
    if DASH in sources:
        raise UsageError(
            "this command reads files, and standard input is none: other processes read it, and a later run again",
            seen=DASH, fix="write it to a file first, and give that; a file whose name is - is ./-", code="bad-path",
        )  # fmt: skip
    return sources


def is_spooled(source: str) -> bool:
    """True if a source is what :func:`spool_input` made of ``-``."""
    path = Path(source)
    return path.name.startswith(_NAME) and path.parent.name.startswith(_PREFIX)


FORMAT_NAMES = ", ".join(FORMATS)
READ = "What is read"
WRITTEN = "How it is written"
SPARK = "Spark"
OUTPUT = "Output"


def _formats() -> list[str]:
    """For completion: the record formats."""
    return list(FORMATS)


def _option_names() -> list[str]:
    """For completion: the options of all record formats, each ready for its value."""
    return sorted({f"{name}=" for format_name in FORMATS for name in spark_names(format_name)})


def flag(names: str, text: str, panel: str | None = READ, metavar: str | None = None, **more: Any) -> Any:
    """One flag: its names, separated by blanks, its help, and the heading that it stands under."""
    return typer.Option(*names.split(), help=text, rich_help_panel=panel, metavar=metavar, **more)


def _sources(text: str, callback: Callable[..., list[str]]) -> Any:
    return typer.Argument(metavar="SRC...", help=text, show_default=False, callback=callback)


_FILES = "Files, directories, quoted globs, or URIs"
Sources = Annotated[list[str], _sources(f"{_FILES}; - is standard input.", spool_input)]
StoredSources = Annotated[list[str], _sources(f"{_FILES}.", refuse_input)]
Format = Annotated[
    str | None,
    flag(
        "--format -f", f"{FORMAT_NAMES}; without it, what names of files and first bytes say, else csv.", READ, "NAME",
        autocompletion=_formats,
    ),
]  # fmt: skip
Options = Annotated[
    list[str] | None,
    flag(
        "--option -o", "Any option of the format; may be repeated. 'splitscan options' lists them.", READ, "NAME=VALUE",
        autocompletion=_option_names,
    ),
]  # fmt: skip
Json = Annotated[bool, flag("--json", "JSON, and nothing else on standard output.", OUTPUT)]
Quiet = Annotated[bool, flag("--quiet -q", "No progress, no summary; only errors, and that there are rejects.", OUTPUT)]
Destination = Annotated[
    str, typer.Argument(metavar="DEST", help="Folder for the Parquet files, or a table: a path or a URI.")
]
Ingested = Annotated[str, typer.Argument(metavar="DEST", help="Folder or table that an ingest wrote: a path or a URI.")]
StorageOptions = Annotated[
    list[str] | None, flag("--option -o", "Settings of the file system.", None, "storageOptions=JSON")
]

_SHARED: dict[str, tuple[Any, Any]] = {
    "format": (Format, None),
    "schema": (str | None, flag(
        "--schema -s", "Columns in Spark's DDL, as 'id long, name string'. Without it, names come from the data.",
        READ, "DDL",
    )),
    "types": (TypesOfColumns | None, flag(
        "--types", "Types of CSV columns and groups of logs without --schema: found in all values (default), or text.",
    )),
    "columns": (str | None, flag(
        "--columns -c", "Only these columns, in this order: a, m.x, columns[3], filename, dir0.", READ, "A,B",
    )),
    "where": (str | None, flag(
        "--where -w", "Only files for which this holds, as \"year = 2024 and filename like '%.csv'\".", READ,
        "CONDITION",
    )),
    "sep": (str | None, flag("--sep", r"Separator of CSV, as ';' or '\t'.", READ, "TEXT")),
    "quote": (str | None, flag("--quote", "Quote of CSV; empty for none.", READ, "CHAR")),
    "header": (bool | None, flag("--header/--no-header", "Whether CSV begins with names of columns.")),
    "option": (Options, None),
    "block_size": (str | None, flag(
        "--block-size", "Length of a block, as 64m; without it, at most 128m.", READ, "SIZE",
    )),
    "max_rejects": (int | None, flag(
        "--max-rejects", "Fail if more records of the ingest, or of a window, are broken.", WRITTEN, "N",
    )),
    "max_reject_ratio": (float | None, flag(
        "--max-reject-ratio",
        "Fail if a larger share of them is broken: 1 for never. Without a limit: 1 in 100, or 10; at most half.",
        WRITTEN, "SHARE",
    )),
    "compression": (str, flag("--compression", "Parquet codec.", WRITTEN, "CODEC")),
    "table": (str | None, flag(
        "--table", "What DEST is: a table of that format, or a plain folder; without it, what is there.", WRITTEN,
        "delta|iceberg|none",
    )),
    "partition_by": (str | None, flag(
        "--partition-by",
        "Columns whose values choose the folder of a row, as day=2024-01-02; without it, as DEST has it.",
        WRITTEN, "A,B",
    )),
    "layout": (str | None, flag(
        "--layout", "Files side by side, or a folder for each job, which appears whole; without it, as DEST has it.",
        WRITTEN, "flat|jobs",
    )),
    "schema_evolution_mode": (str, flag(
        "--schema-evolution-mode", "New columns: failOnNewColumns, addNewColumns, rescue or none (not read).", WRITTEN,
        "MODE",
    )),
    "master": (str | None, flag(
        "--master", "Spark master, or sc://HOST for Spark Connect; local[*] unless spark-submit says.", SPARK, "URL",
    )),
    "spark_conf": (list[str] | None, flag("--spark-conf", "Spark setting; may be repeated.", SPARK, "KEY=VALUE")),
}  # fmt: skip
"""Shared flags by the names of their parameters."""

_DEFAULTS = {"compression": "zstd", "schema_evolution_mode": "failOnNewColumns"}
"""Values of the shared flags that are not ``None`` where nobody gives them."""

DIALECT = ("sep", "quote", "header", "option")
READING = ("format", "schema", "types", "columns", "where", *DIALECT)
WRITING = ("max_rejects", "max_reject_ratio", "compression", "table", "partition_by", "layout",
           "schema_evolution_mode", "master", "spark_conf")  # fmt: skip


def with_flags(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take shared flags in the place of its parameter ``given``, which gets them by name."""
    shared = []
    for name in names:
        kind, each = _SHARED[name]
        taken = kind if each is None else Annotated[kind, each]
        kind_of_parameter, default = inspect.Parameter.POSITIONAL_OR_KEYWORD, _DEFAULTS.get(name)
        shared.append(inspect.Parameter(name, kind_of_parameter, default=default, annotation=taken))

    def spread(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        parameters = [each for one in own.parameters.values() for each in (shared if one.name == "given" else (one,))]

        @functools.wraps(command)
        def run(**flags: Any) -> None:
            command(given={name: flags.pop(name) for name in names}, **flags)

        del run.__wrapped__  # what reads signatures would follow it
        run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return spread
