"""The flags that several commands share, each declared once, and how a command takes them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from splitscan.cli import standard_input
from splitscan.cli.arguments import TypesOfColumns
from splitscan.formats.registry import FORMATS, spark_names

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


Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SRC...",
        help="Files, directories, quoted globs, or URIs; - is standard input.",
        show_default=False,
        callback=standard_input.spool,
    ),
]
StoredSources = Annotated[
    list[str],
    typer.Argument(
        metavar="SRC...",
        help="Files, directories, quoted globs, or URIs.",
        show_default=False,
        callback=standard_input.refuse,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME",
        help=f"{FORMAT_NAMES}; without it, what names of files and first bytes say, else csv.",
        autocompletion=_formats,
        rich_help_panel=READ,
    ),
]
Sep = Annotated[
    str | None, typer.Option("--sep", metavar="TEXT", help=r"Separator of CSV, as ';' or '\t'.", rich_help_panel=READ)
]
Quote = Annotated[
    str | None, typer.Option("--quote", metavar="CHAR", help="Quote of CSV; empty for none.", rich_help_panel=READ)
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether CSV begins with names of columns.", rich_help_panel=READ),
]
Schema = Annotated[
    str | None,
    typer.Option(
        "--schema",
        "-s",
        metavar="DDL",
        help="Columns in Spark's DDL, as 'id long, name string'. Without it, names come from the data.",
        rich_help_panel=READ,
    ),
]
Types = Annotated[
    TypesOfColumns | None,
    typer.Option(
        "--types",
        help="Types of CSV columns without --schema: found in all values, which is the default, or text.",
        rich_help_panel=READ,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        "-c",
        metavar="A,B",
        help="Only these columns, in this order: a, m.x, columns[3], filename, dir0.",
        rich_help_panel=READ,
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        "-w",
        metavar="CONDITION",
        help="Only files for which this holds, as \"year = 2024 and filename like '%.csv'\".",
        rich_help_panel=READ,
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="Any option of the format; may be repeated. 'splitscan options' lists them.",
        autocompletion=_option_names,
        rich_help_panel=READ,
    ),
]
BlockSize = Annotated[
    str | None,
    typer.Option(
        "--block-size",
        metavar="SIZE",
        help="Length of a block, as 64m; without it, at most 128m.",
        rich_help_panel=READ,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="JSON, and nothing else on standard output.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="No progress, no summary; only errors, and that there are rejects.",
        rich_help_panel=OUTPUT,
    ),
]
MaxRejects = Annotated[
    int | None,
    typer.Option(
        "--max-rejects",
        metavar="N",
        help="Fail if more records of the ingest, or of a window, are broken.",
        rich_help_panel=WRITTEN,
    ),
]
MaxRejectRatio = Annotated[
    float | None,
    typer.Option(
        "--max-reject-ratio",
        metavar="SHARE",
        help="Fail if a larger share of them is broken: 1 for never. Without a limit: 1 in 100, or 10; at most half.",
        rich_help_panel=WRITTEN,
    ),
]
Destination = Annotated[
    str, typer.Argument(metavar="DEST", help="Folder for the Parquet files, or a table: a path or a URI.")
]
Compression = Annotated[
    str, typer.Option("--compression", metavar="CODEC", help="Parquet codec.", rich_help_panel=WRITTEN)
]
Table = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="delta|iceberg|none",
        help="What DEST is: a table of that format, or a plain folder; without it, what is there.",
        rich_help_panel=WRITTEN,
    ),
]
PartitionBy = Annotated[
    str | None,
    typer.Option(
        "--partition-by",
        metavar="A,B",
        help="Columns whose values choose the folder of a row, as day=2024-01-02; without it, as DEST has it.",
        rich_help_panel=WRITTEN,
    ),
]
LayoutName = Annotated[
    str | None,
    typer.Option(
        "--layout",
        metavar="flat|jobs",
        help="Files side by side, or a folder for each job, which appears whole; without it, as DEST has it.",
        rich_help_panel=WRITTEN,
    ),
]
SchemaEvolutionMode = Annotated[
    str,
    typer.Option(
        "--schema-evolution-mode",
        metavar="MODE",
        help="New columns: failOnNewColumns, addNewColumns, rescue or none (not read).",
        rich_help_panel=WRITTEN,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Spark master, or sc://HOST for Spark Connect; local[*] unless spark-submit says.",
        rich_help_panel=SPARK,
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option("--spark-conf", metavar="KEY=VALUE", help="Spark setting; may be repeated.", rich_help_panel=SPARK),
]
StorageOptions = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="storageOptions=JSON", help="Settings of the file system."),
]


_SHARED: Mapping[str, tuple[Any, Any]] = {
    "format": (Format, None),
    "schema": (Schema, None),
    "types": (Types, None),
    "columns": (Columns, None),
    "where": (Where, None),
    "sep": (Sep, None),
    "quote": (Quote, None),
    "header": (Header, None),
    "option": (Options, None),
    "block_size": (BlockSize, None),
    "max_rejects": (MaxRejects, None),
    "max_reject_ratio": (MaxRejectRatio, None),
    "compression": (Compression, "zstd"),
    "table": (Table, None),
    "partition_by": (PartitionBy, None),
    "layout": (LayoutName, None),
    "schema_evolution_mode": (SchemaEvolutionMode, "failOnNewColumns"),
    "master": (Master, None),
    "spark_conf": (SparkConf, None),
}
"""Shared flags by the names of their parameters: what each is, and its value where nobody gives it."""

DIALECT = ("sep", "quote", "header", "option")
READING = ("format", "schema", "types", "columns", "where", *DIALECT)
WRITING = ("max_rejects", "max_reject_ratio", "compression", "table", "partition_by", "layout",
           "schema_evolution_mode", "master", "spark_conf")  # fmt: skip


def with_flags(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take shared flags in the place of its parameter ``given``, which gets them by name."""
    shared = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=flag)
        for name, (flag, default) in ((name, _SHARED[name]) for name in names)
    ]

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
