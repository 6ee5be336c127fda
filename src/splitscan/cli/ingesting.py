"""The commands that write and check Parquet: ingest, verify and watch."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from splitscan.cli.arguments import ScanArguments, names_of, storage_options_of
from splitscan.cli.failures import REJECTS, TERMINATED
from splitscan.cli.flags import (
    OUTPUT,
    READ,
    READING,
    SPARK,
    WRITING,
    WRITTEN,
    Destination,
    Json,
    Quiet,
    StorageOptions,
    StoredSources,
    with_flags,
)
from splitscan.cli.help_text import GroupedCommand, examples
from splitscan.cli.output import write_json, write_rows
from splitscan.errors import IngestError
from splitscan.jobs.settings import IngestSettings
from splitscan.startup import INTERRUPTED

if TYPE_CHECKING:
    from splitscan.cli.runs import IngestArguments

_MOST_REJECTS_IN_TABLE = 500
_SHOWN_RAW_BYTES = 200


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command(
        cls=GroupedCommand,
        epilog=examples(
            ("CSV to Parquet, with the types that all values fit", "splitscan ingest 'in/*.csv' out/"),
            ("with columns that are known", "splitscan ingest 'in/*.csv' out/ --header -s 'id long, name string'"),
            (
                "newlines inside quotes; fail if more than ten records are broken",
                "splitscan ingest a.csv out/ -o header=true -o multiLine=true --max-rejects 10",
            ),
            ("a file was corrected", "splitscan ingest 'in/*.csv' out/ -o header=true --replace-changed"),
            ("what would be done?", "splitscan ingest s3://bucket/in/ s3://bucket/out/ -f text --dry-run"),
            (
                "divide what slow tasks have left, and a page that shows who read what and when",
                "splitscan ingest in/ out/ --rebalance --report ingest.html",
            ),
            (
                "on a cluster: spark-submit says where, and how much memory",
                "spark-submit --master yarn .../splitscan/__main__.py ingest hdfs:///in/ hdfs:///out/",
            ),
        ),
    )(ingest)
    app.command(
        cls=GroupedCommand,
        epilog=examples(
            ("is everything still as it was ingested?", "splitscan verify out/"),
            ("read sources and rows again; a report for programs", "splitscan verify out/ --deep --json"),
        ),
    )(verify)
    app.command(
        cls=GroupedCommand,
        epilog=examples(
            ("which records were rejected, and why?", "splitscan rejects out/"),
            ("the first hundred, as JSON lines", "splitscan rejects out/ -n 100 --json"),
            ("which rule how often?", "splitscan rejects out/ --json | jq -r .code | sort | uniq -c"),
        ),
    )(rejects)
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


@with_flags(*READING, "block_size", *WRITING)
def ingest(  # noqa: PLR0913, PLR0917 -- one parameter for each flag of its own
    sources: StoredSources,
    destination: Destination,
    given: Mapping[str, Any],
    on_changed: Annotated[
        str,
        typer.Option(
            "--on-changed",
            metavar="fail|skip",
            help="What to do if a file has changed since it was ingested.",
            rich_help_panel=WRITTEN,
        ),
    ] = "fail",
    replace_changed: Annotated[
        bool,
        typer.Option(
            "--replace-changed",
            help="Put the rows of a file that has changed in the place of those that it had, in one step.",
            rich_help_panel=WRITTEN,
        ),
    ] = False,
    rebalance: Annotated[
        bool,
        typer.Option(
            "--rebalance",
            help="Share out, while the job runs, what its slow tasks have not read yet.",
            rich_help_panel=SPARK,
        ),
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="A page about the ingest, .html: tasks, columns, files, rejects, options.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.", rich_help_panel=WRITTEN)
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write records to Parquet on Spark, each exactly once, with proof.

    The whole job becomes visible in one step. Run it again: files that were ingested before are skipped, and a run
    that was killed is finished. Broken records go to a reject table, and what was read by whom to a ledger, both
    in DEST/_splitscan, which other readers ignore.

    Without a schema, columns of CSV get the types that all their values fit. Columns that DEST has keep their types: a
    file whose values do not fit them is refused.
    """
    run_arguments = _given(sources, destination, on_changed=on_changed, replace_changed=replace_changed, **given)
    from splitscan.cli.runs import IngestRun  # noqa: PLC0415 -- PySpark and Parquet load with it

    run = IngestRun(run_arguments, rebalance, report)
    if dry_run:
        run.write_plan(as_json=as_json)
        return
    before = signal.signal(signal.SIGTERM, _terminate)  # Spark ends, and its log goes
    try:
        done = run.execute(quiet=quiet, as_json=as_json)
    except KeyboardInterrupt as stopped:
        sys.stderr.write(
            "interrupted: run the same command again and it finishes the work; no finished block is read again\n"
        )
        raise typer.Exit(TERMINATED if isinstance(stopped, _Terminated) else INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    if done.rejects:
        raise typer.Exit(REJECTS)


def _given(
    sources: Sequence[str], destination: str, *, table: str | None, partition_by: str | None, master: str | None,
    spark_conf: Sequence[str] | None, **flags: Any,
) -> IngestArguments:  # fmt: skip
    """Sort the flags of a command that ingests into what is read and how it is written."""
    from splitscan.cli.runs import IngestArguments  # noqa: PLC0415 -- PySpark and Parquet load with it

    names = {each.name for each in fields(IngestSettings)} | {"replace_changed"}
    written = {name: value for name, value in flags.items() if name in names}
    settings = IngestSettings.of(partition_by=names_of(partition_by), **written)
    read = ScanArguments.of(sources, **flags)
    return IngestArguments(read, destination, table, settings, master, spark_conf or ())


def verify(
    destination: Annotated[
        str, typer.Argument(metavar="DEST", help="Folder or table that an ingest wrote: a path or a URI.")
    ],
    deep: Annotated[bool, typer.Option("--deep", help="Read the source bytes and every Parquet row again.")] = False,
    option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Check that data, ledger and source agree. Needs no Spark; the exit code is 5 if they do not."""
    from splitscan.cli.summary import write_verification  # noqa: PLC0415 -- Parquet loads with it
    from splitscan.jobs.verifying import verify as check  # noqa: PLC0415

    storage_options = storage_options_of(destination, option)
    report = check(destination, deep=deep, storage_options=storage_options)
    if as_json:
        write_json({"ok": report.ok, **asdict(report)}, indent=2)
    else:
        write_verification(report)
    if not report.ok:
        raise typer.Exit(IngestError.exit_code)


def rejects(
    destination: Annotated[
        str, typer.Argument(metavar="DEST", help="Folder or table that an ingest wrote: a path or a URI.")
    ],
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="ROWS", min=0, help="At most so many.")] = None,
    option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    r"""List the records that ingests have rejected: file, offset, reason, and how each begins. Needs no Spark.

    A terminal gets a table; anything else gets tab-separated lines or, with --json, JSON lines. 'offset' is the first
    byte of the record in its file, or in what that decompresses to. 'delivered' says whether it is a row with nulls, or
    no row. 'raw' is its beginning as text; bytes that are no UTF-8 are written as \xff.
    """
    from splitscan.jobs.rejected import list_rejects  # noqa: PLC0415 -- Parquet loads with it

    found = islice(list_rejects(destination, storage_options_of(destination, option)), limit)
    columns = ["job", "path", "offset", "length", "code", "reason", "delivered", "raw"]
    rows = (
        [each.job, each.path, each.offset, each.length, each.code, each.reason, each.delivered, _beginning(each.raw)]
        for each in found
    )
    write_rows(columns, rows, as_json=as_json, most_in_table=_MOST_REJECTS_IN_TABLE, right=["job", "offset", "length"])


def _beginning(raw: bytes) -> str:
    r"""The first bytes of a record as text.

    Example:
        >>> _beginning(b"1,caf\xe9"), _beginning(b"x" * 300)[-4:]
        ('1,caf\\xe9', 'x...')
    """
    shown = raw[:_SHOWN_RAW_BYTES].decode("utf-8", "backslashreplace")
    return shown + "..." * (len(raw) > _SHOWN_RAW_BYTES)


@with_flags(*READING, "block_size", *WRITING)
def watch(
    sources: StoredSources,
    destination: Destination,
    given: Mapping[str, Any],
    once: Annotated[
        bool, typer.Option("--once", help="Ingest what is there now, and end.", rich_help_panel=READ)
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Ingest new, late and growing files as they appear, each record exactly once, until Ctrl-C.

    Files are found, planned in windows and ingested as by 'splitscan ingest': the same ledger, the same rejects, one
    atomic step for each window. Options of streams ('maxFilesPerTrigger', 'minAgeMs', 'onModified' ...) are given as
    --option. Killed at any instant, the same command goes on where it was.

    Without a schema, the first window decides on the columns, and on their types if they are of CSV. Values of later
    files that do not fit are rejects.
    """
    run_arguments = _given(sources, destination, **given)
    from splitscan.cli.runs import WatchRun  # noqa: PLC0415 -- PySpark and Parquet load with it

    run = WatchRun(run_arguments)
    before = signal.signal(signal.SIGTERM, _terminate)  # a service is asked to end like this
    try:
        has_rejects = run.execute(once=once, quiet=quiet, as_json=as_json)
    except KeyboardInterrupt as stopped:
        sys.stderr.write("stopped: run the same command again and it goes on; no finished block is read again\n")
        raise typer.Exit(TERMINATED if isinstance(stopped, _Terminated) else INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    if has_rejects:
        raise typer.Exit(REJECTS)


class _Terminated(KeyboardInterrupt):
    """SIGTERM: everything ends as it does with Ctrl-C, but for the exit code."""


def _terminate(*_: Any) -> None:
    raise _Terminated
