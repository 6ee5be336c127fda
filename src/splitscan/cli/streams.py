"""The commands about the state of streams: status and purge."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from splitscan.cli.arguments import storage_options_of
from splitscan.cli.flags import Json, StorageOptions
from splitscan.cli.help_text import command
from splitscan.cli.output import show_text, write_json, write_rows
from splitscan.redaction import redact

if TYPE_CHECKING:  # they load with the command that needs them
    from splitscan.streaming.state import FileProgress
    from splitscan.streaming.status import StreamStatus
    from splitscan.streaming.windows import Window

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
    from splitscan.errors import UsageError  # noqa: PLC0415 -- with what it is needed for
    from splitscan.streaming.status import find_published, find_streams, read_status, read_windows  # noqa: PLC0415

    if files and windows:
        raise UsageError(
            "status lists files or windows", seen="--files --windows", fix="name one of them", code="bad-option"
        )
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
