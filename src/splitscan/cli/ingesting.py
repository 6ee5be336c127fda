"""The commands about destinations and streams: ingest, watch, verify, rejects, status and purge."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from splitscan.cli.arguments import ScanArguments, names_of, storage_options_of
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
from splitscan.cli.output import write_json, write_rows
from splitscan.cli.program import REJECTS, TERMINATED, command
from splitscan.cli.terminal import show_text
from splitscan.errors import IngestError, bad_option
from splitscan.jobs.settings import IngestSettings
from splitscan.redaction import redact
from splitscan.startup import INTERRUPTED

if TYPE_CHECKING:
    from splitscan.cli.runs import IngestArguments
    from splitscan.streaming.status import StreamStatus
    from splitscan.streaming.windows import FileProgress, Window

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


State = Annotated[
    str, typer.Argument(metavar="STATE", help="A stateLocation, a checkpoint, or the destination of a watch.")
]


@command(
    ("how far is a watch?", "splitscan status out/"),
    ("every file of a stream", "splitscan status checkpoint/splitscan --files"),
    ("what each window had", "splitscan status out/ --windows"),
)
def status(
    location: State,
    files: Annotated[bool, typer.Option("--files", help="One row for every file.")] = False,
    windows: Annotated[bool, typer.Option("--windows", help="One row for every window that is kept.")] = False,
    option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Say how far streams are: windows, files, backlog. Needs no Spark, and changes nothing.

    Files count as far as they are published: what is planned and not published is backlog. 'late' files came with a
    time before that of one which was there already, 'changed' ones were replaced ('generation' says how often), of
    'unfinished' ones something is left to publish. 'published' is empty where no checkpoint or watch lies beside the
    state: then what is planned counts.
    """
    from splitscan.streaming.status import find_published, find_streams, read_status, read_windows  # noqa: PLC0415

    if files and windows:
        raise bad_option("status lists files or windows", "--files --windows", "name one of them")
    storage_options = storage_options_of(location, option)
    if windows:
        place, names = find_streams(location, storage_options)
        published = {name: find_published(place, name, storage_options) for name in names}
        windows_kept = read_windows(location, storage_options)
        rows = (_window_facts(stream, window, published[stream]) for stream, window in windows_kept)
        _write_table(_WINDOW_FACTS, rows, as_json=as_json)
    elif files:
        streams = read_status(location, storage_options)
        facts = (_file_facts(stream.stream, stream.files[path]) for stream in streams for path in sorted(stream.files))
        _write_table(_FILE_FACTS, facts, as_json=as_json)
    else:
        for number, stream in enumerate(read_status(location, storage_options)):
            _write_facts(_stream_facts(stream), is_first=not number, as_json=as_json)


_FILE_FACTS = ("stream", "path", "size", "position", "generation", "window", "finished", "late")
_WINDOW_FACTS = ("stream", "window", "files", "late", "blocks", "bytes", "readers", "backlogFiles", "backlogBlocks",
                 "backlogBytes", "published")  # fmt: skip
_TEXT_FACTS = {"stream", "path", "finished", "published"}


def _write_table(names: Sequence[str], rows: Iterable[Sequence[Any]], *, as_json: bool) -> None:
    if sys.stdout.isatty() and not as_json:
        rows = list(rows)
        if len({row[0] for row in rows}) == 1:  # the room that its name takes is better used
            names, rows = names[1:], [row[1:] for row in rows]
    right = [name for name in names if name not in _TEXT_FACTS]
    write_rows(names, rows, as_json=as_json, one_line=True, right=right)


def _file_facts(stream: str, file: FileProgress) -> Sequence[Any]:
    from splitscan.streaming.status import is_finished  # noqa: PLC0415 -- with what it is needed for

    known = file.file
    return (
        stream, redact(known.path), known.size_bytes, file.position, file.generation, file.window, is_finished(file),
        file.late,
    )  # fmt: skip


def _window_facts(stream: str, window: Window, published: int | None) -> Sequence[Any]:
    late = sum(planned.late for planned in window.files)
    backlog = window.backlog
    return (
        stream, window.number, len(window.files), late, len(window.blocks), window.size_bytes, len(window.task_blocks),
        backlog.files, backlog.blocks, backlog.size_bytes, None if published is None else window.number <= published,
    )  # fmt: skip


def _stream_facts(stream: StreamStatus) -> dict[str, Any]:
    return {
        "stream": stream.stream,
        "windows": stream.window,
        "published": stream.published,
        "files": len(stream.files),
        "unfinished": len(stream.unfinished),
        "late": len(stream.late),
        "changed": len(stream.changed),
        "plannedBytes": stream.planned_bytes,
        "publishedBytes": stream.published_bytes,
        "readers": len(stream.last.task_blocks) if stream.last is not None else 0,
        "backlogFiles": stream.backlog.files,
        "backlogBlocks": stream.backlog.blocks,
        "backlogBytes": stream.backlog.size_bytes,
    }


def _write_facts(facts: Mapping[str, Any], *, is_first: bool, as_json: bool) -> None:
    if as_json:
        write_json(facts)
        return
    width = max(map(len, facts))
    sys.stdout.write("" if is_first else "\n")
    sys.stdout.write(
        "".join(
            f"{name:<{width}}  {show_text('' if value is None else str(value))}".rstrip() + "\n"
            for name, value in facts.items()
        )
    )


@command(
    ("what would go?", "splitscan purge state/ --checkpoint one/ --checkpoint other/"),
    ("delete it", "splitscan purge checkpoint/ --delete"),
)
def purge(
    location: State,
    checkpoint: Annotated[
        list[str] | None,
        typer.Option("--checkpoint", metavar="CHECKPOINT", help="Of a query that keeps its state here; name them all."),
    ] = None,
    least_age_hours: Annotated[
        float, typer.Option("--least-age", metavar="HOURS", help="Leave streams alone that were written to since.")
    ] = 24.0,
    delete: Annotated[bool, typer.Option("--delete", help="Delete them; otherwise they are only listed.")] = False,
    option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """List, and delete, the state of streams that no checkpoint names any more.

    Every query that starts with a new checkpoint begins a stream of its own, and leaves the old one behind. A
    checkpoint that holds its state as 'splitscan', and the destination of a watch, say themselves which stream lives.
    """
    from splitscan.streaming.status import delete_stream, find_dead_streams  # noqa: PLC0415 -- with what needs it

    storage_options = storage_options_of(location, option)
    dead = find_dead_streams(location, checkpoint or (), storage_options, least_age_hours=least_age_hours)
    for stream in dead if delete else ():
        delete_stream(stream, storage_options)
    columns = ("stream", "path", "size", "idleHours", "deleted")
    rows = ((each.stream, redact(each.path), each.size_bytes, round(each.idle_hours, 1), delete) for each in dead)
    write_rows(columns, rows, as_json=as_json, right=("size", "idleHours"))
