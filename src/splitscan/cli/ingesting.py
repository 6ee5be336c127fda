"""The commands that write and check Parquet: ingest, verify and watch."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from splitscan.cli.arguments import ScanArguments, names_of, storage_options_of
from splitscan.cli.failures import REJECTS, TERMINATED
from splitscan.cli.flags import (
    OUTPUT,
    READING,
    SPARK,
    WRITING,
    WRITTEN,
    Destination,
    Ingested,
    Json,
    Quiet,
    StorageOptions,
    StoredSources,
    flag,
    with_flags,
)
from splitscan.cli.help_text import command
from splitscan.cli.output import write_json, write_rows
from splitscan.errors import IngestError
from splitscan.jobs.settings import IngestSettings
from splitscan.startup import INTERRUPTED

if TYPE_CHECKING:
    from splitscan.cli.runs import IngestArguments

_MOST_REJECTS_IN_TABLE = 500
_SHOWN_RAW_BYTES = 200


@command(
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
)
@with_flags(*READING, "block_size", *WRITING)
def ingest(  # noqa: PLR0913, PLR0917 -- one parameter for each flag of its own
    sources: StoredSources,
    destination: Destination,
    given: Mapping[str, Any],
    on_changed: Annotated[
        str, flag("--on-changed", "What to do if a file has changed since it was ingested.", WRITTEN, "fail|skip")
    ] = "fail",
    replace_changed: Annotated[
        bool,
        flag(
            "--replace-changed",
            "Put the rows of a file that has changed in the place of those that it had, in one step.",
            WRITTEN,
        ),
    ] = False,
    rebalance: Annotated[
        bool, flag("--rebalance", "Share out, while the job runs, what its slow tasks have not read yet.", SPARK)
    ] = False,
    report: Annotated[
        str | None,
        flag("--report", "A page about the ingest, .html: tasks, columns, files, rejects, options.", OUTPUT, "FILE"),
    ] = None,
    dry_run: Annotated[bool, flag("--dry-run", "Say what would be done, and do nothing.", WRITTEN)] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write records to Parquet on Spark, each exactly once, with proof.

    The whole job becomes visible in one step. Run it again: files that were ingested before are skipped, and a run
    that was killed is finished. Broken records go to a reject table, and what was read by whom to a ledger, both
    in DEST/_splitscan, which other readers ignore.

    Without a schema, columns of CSV and groups of a log get the types that all their values fit. Columns that DEST has
    keep their types: a file whose values do not fit them is refused.
    """
    run_arguments = _given(sources, destination, on_changed=on_changed, replace_changed=replace_changed, **given)
    from splitscan.cli.runs import IngestRun  # noqa: PLC0415 -- PySpark and Parquet load with it

    run = IngestRun(run_arguments, rebalance, report)
    if dry_run:
        run.write_plan(as_json=as_json)
        return
    with _until_stopped("interrupted: run the same command again and it finishes the work"):
        has_rejects = run.execute(quiet=quiet, as_json=as_json)
    if has_rejects:
        raise typer.Exit(REJECTS)


def _given(
    sources: Sequence[str], destination: str, *, table: str | None, partition_by: str | None, master: str | None,
    spark_conf: Sequence[str] | None, **flags: Any,
) -> IngestArguments:  # fmt: skip
    """Sort the flags of a command that ingests into what is read and how it is written."""
    from splitscan.cli.runs import IngestArguments  # noqa: PLC0415 -- PySpark and Parquet load with it
    from splitscan.cli.session import parse_conf  # noqa: PLC0415 -- the same

    names = {each.name for each in fields(IngestSettings)} | {"replace_changed"}
    written = {name: value for name, value in flags.items() if name in names}
    settings = IngestSettings.of(partition_by=names_of(partition_by), **written)
    read = ScanArguments.of(sources, **flags)
    return IngestArguments(read, destination, table, settings, master, parse_conf(spark_conf or ()))


@command(
    ("is everything still as it was ingested?", "splitscan verify out/"),
    ("read sources and rows again; a report for programs", "splitscan verify out/ --deep --json"),
)
def verify(
    destination: Ingested,
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


@command(
    ("which records were rejected, and why?", "splitscan rejects out/"),
    ("the first hundred, as JSON lines", "splitscan rejects out/ -n 100 --json"),
    ("which rule how often?", "splitscan rejects out/ --json | jq -r .code | sort | uniq -c"),
)
def rejects(
    destination: Ingested,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="ROWS", min=0, help="At most so many.")] = None,
    option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    r"""List the records that ingests have rejected: file, offset, reason, and how each begins. Needs no Spark.

    A terminal gets a table; anything else gets tab-separated lines or, with --json, JSON lines. 'offset' is the first
    byte of the record in its file, or in what that decompresses to. 'delivered' says whether it is a row with nulls, or
    no row. 'raw' is its beginning as text; bytes that are no UTF-8 are written as \xff.
    """
    from splitscan.api.rejects import list_rejects  # noqa: PLC0415 -- Parquet loads with it

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


@command(
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
)
@with_flags(*READING, "block_size", *WRITING)
def watch(
    sources: StoredSources,
    destination: Destination,
    given: Mapping[str, Any],
    once: Annotated[bool, flag("--once", "Ingest what is there now, and end.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Ingest new, late and growing files as they appear, each record exactly once, until Ctrl-C.

    Files are found, planned in windows and ingested as by 'splitscan ingest': the same ledger, the same rejects, one
    atomic step for each window. Options of streams ('maxFilesPerTrigger', 'minAgeMs', 'onModified' ...) are given as
    --option. Killed at any instant, the same command goes on where it was.

    Without a schema, the first window decides on the columns, and on their types if they are of CSV, or groups of a
    log. Values of later files that do not fit are rejects.
    """
    run_arguments = _given(sources, destination, **given)
    from splitscan.cli.runs import WatchRun  # noqa: PLC0415 -- PySpark and Parquet load with it

    with _until_stopped("stopped: run the same command again and it goes on"):
        has_rejects = WatchRun(run_arguments).execute(once=once, quiet=quiet, as_json=as_json)
    if has_rejects:
        raise typer.Exit(REJECTS)


@contextmanager
def _until_stopped(text: str) -> Iterator[None]:
    """Let SIGTERM end Spark and its log as Ctrl-C does, but for the exit code; say how to go on."""

    def terminate(*_: Any) -> None:
        raise KeyboardInterrupt(TERMINATED)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt as stopped:
        sys.stderr.write(f"{text}; no finished block is read again\n")
        raise typer.Exit(TERMINATED if stopped.args == (TERMINATED,) else INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
