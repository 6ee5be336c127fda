"""The command that ingests what appears: watch."""

from __future__ import annotations

import signal
import sys
from typing import Annotated, Any

import typer

from splitscan.cli.arguments import (
    OUTPUT,
    READ,
    WRITTEN,
    BlockSize,
    Columns,
    Compression,
    Destination,
    Format,
    Json,
    Master,
    Options,
    PartitionBy,
    ScanArguments,
    Schema,
    SchemaEvolutionMode,
    SparkConf,
    StoredSources,
    Table,
    Where,
    names_of,
)
from splitscan.cli.failures import TERMINATED
from splitscan.cli.help_text import GroupedCommand, examples
from splitscan.sinks.settings import MOST_REJECTED, schema_evolution_from
from splitscan.startup import INTERRUPTED


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command(
        cls=GroupedCommand,
        epilog=examples(
            (
                "ingest whatever appears, until Ctrl-C",
                "splitscan watch in/ out/ -o header=true -s 'id long, name string'",
            ),
            (
                "a hundred files at a time, none younger than five seconds",
                "splitscan watch in/ out/ -f text -o maxFilesPerTrigger=100 -o minAgeMs=5000",
            ),
            (
                "lines of files that grow, also when they are rotated",
                "splitscan watch logs/ out/ -f text -o fileMode=append",
            ),
            ("what is there now, and end", "splitscan watch in/ out/ -f json --once"),
        ),
    )(watch)


def watch(  # noqa: PLR0913, PLR0917 -- one parameter for each flag
    sources: StoredSources,
    destination: Destination,
    format: Format = None,
    schema: Schema = None,
    columns: Columns = None,
    where: Where = None,
    option: Options = None,
    block_size: BlockSize = None,
    once: Annotated[
        bool, typer.Option("--once", help="Ingest what is there now, and end.", rich_help_panel=READ)
    ] = False,
    max_rejects: Annotated[
        int | None,
        typer.Option(
            "--max-rejects", metavar="N", help="Fail if more records of a window are broken.", rich_help_panel=WRITTEN
        ),
    ] = None,
    max_reject_ratio: Annotated[
        float,
        typer.Option(
            "--max-reject-ratio",
            metavar="SHARE",
            help="Fail if a larger share of a window's records is broken: 1 for never.",
            rich_help_panel=WRITTEN,
        ),
    ] = MOST_REJECTED,
    compression: Compression = "zstd",
    table: Table = None,
    partition_by: PartitionBy = None,
    schema_evolution_mode: SchemaEvolutionMode = "failOnNewColumns",
    master: Master = None,
    spark_conf: SparkConf = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress; only errors.", rich_help_panel=OUTPUT)
    ] = False,
    as_json: Json = False,
) -> None:
    """Ingest new, late and growing files as they appear, each record exactly once, until Ctrl-C.

    Files are found, planned in windows and ingested as by 'splitscan ingest': the same ledger, the same rejects, one
    atomic step for each window. Options of streams ('maxFilesPerTrigger', 'minAgeMs', 'onModified' ...) are given as
    --option. Killed at any instant, the same command goes on where it was.
    """
    from splitscan.cli.watch_run import WatchRun  # noqa: PLC0415 -- PySpark and Parquet load with it

    run = WatchRun(
        ScanArguments(sources, format, schema, option, columns, block_size, where=where),
        destination,
        {
            "max_rejects": max_rejects,
            "max_reject_ratio": max_reject_ratio,
            "compression": compression,
            "partition_by": names_of(partition_by),
            "schema_evolution_mode": schema_evolution_from(schema_evolution_mode),
        },
        master,
        spark_conf or (),
        table,
    )
    before = signal.signal(signal.SIGTERM, _terminate)  # a service is asked to end like this
    try:
        run.execute(once=once, quiet=quiet, as_json=as_json)
    except KeyboardInterrupt as stopped:
        sys.stderr.write("stopped: run the same command again and it goes on; finished blocks are kept\n")
        raise typer.Exit(TERMINATED if isinstance(stopped, _Terminated) else INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


class _Terminated(KeyboardInterrupt):
    """SIGTERM: everything ends as it does with Ctrl-C, but for the exit code."""


def _terminate(*_: Any) -> None:
    raise _Terminated
