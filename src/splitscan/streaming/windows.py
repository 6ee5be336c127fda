"""A window: the exact blocks that one micro-batch reads, as it stands in the log; and the offset that names it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

from splitscan.blocks import BLOCK_FIELDS, BlockMetadata, FileMetadata, plain_block, plain_file, read_block, read_file
from splitscan.errors import StreamError, UsageError, Where
from splitscan.path_text import native_path, portable_path
from splitscan.redaction import redact

_OFFSET_VERSION = 1
_LOG_FORMAT = 1  # of the text; a reader refuses one that it does not know


@dataclass(frozen=True, slots=True)
class Offset:
    """A position in a stream: after its window *window*.

    Attributes:
        window: Number of the last window that lies before it, 0 for none.
    """

    stream: str
    window: int

    def to_json(self) -> dict[str, Any]:
        """As JSON values, always with the keys in one order: Spark compares offsets as texts.

        Example:
            >>> Offset("ab", 3).to_json()
            {'v': 1, 's': 'ab', 'w': 3}
        """
        return {"v": _OFFSET_VERSION, "s": self.stream, "w": self.window}


def read_offset(value: Mapping[str, Any]) -> Offset:
    """The inverse of :meth:`Offset.to_json`."""
    known = isinstance(value, Mapping) and value.get("v") == _OFFSET_VERSION
    stream, window = (value.get("s"), value.get("w")) if known else (None, None)
    if not isinstance(stream, str) or not isinstance(window, int) or window < 0:
        raise foreign_offset(value)
    return Offset(stream, window)


def foreign_offset(value: object) -> UsageError:
    """The error for an offset that another source has written."""
    return UsageError(
        "the checkpoint holds an offset that is not of this source", seen=repr(value)[:200],
        fix="use the checkpoint of this query, or an empty one", code="bad-offset",
    )  # fmt: skip


def read_position(data: bytes, path: str) -> Offset:
    """Read the offset that a watch has published."""
    try:
        return read_offset(json.loads(data)["offset"])
    except (ValueError, KeyError, TypeError) as error:
        raise StreamError(
            "the position of a watch is damaged",
            Where(path=redact(path)),
            f"{type(error).__name__}: {error}",
            "restore it; or delete it, if no file grows: those that were ingested are recognised by the ledger",
            "stream-damaged",
        ) from error


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file as a window planned it.

    Attributes:
        file: The version that is read: its planned size and fingerprint.
        generation: How often the content under this path was replaced before.
        finished: Whether all of this version is planned with this window.
        block_bytes: Length of the blocks that the file is cut into; it stays the same for the rest of the file.
        real_id: Identity of the file behind its name, where the storage has one: it survives a rename.
        late: Whether it came late: with a time before that of a file which an earlier listing had shown.
    """

    file: FileMetadata
    generation: int = 0
    finished: bool = True
    block_bytes: int = 0
    real_id: str = ""
    late: bool = False


@dataclass(frozen=True, slots=True)
class Backlog:
    """Files that were known and not planned.

    Attributes:
        blocks: Blocks of them, about.
    """

    files: int = 0
    blocks: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """A numbered, replayable set of blocks.

    Attributes:
        blocks: All blocks, those of a file one after the other, in the order of ``files``.
        task_blocks: How many of the blocks each task reads, in order; they add up to all.
        moves: Files that have a new name, as old and new path: what was planned of the old is planned of the new.
        shape: What the plan depends on and must not change while the stream lives: record format, file mode.
        horizon_us: Whatever is first seen after this window with a time before that is late, whoever plans then.
    """

    number: int
    files: tuple[PlannedFile, ...]
    blocks: tuple[BlockMetadata, ...]
    task_blocks: tuple[int, ...]
    moves: tuple[tuple[str, str], ...] = ()
    planner: str = ""
    shape: Mapping[str, str] = field(default_factory=dict)
    backlog: Backlog = field(default_factory=Backlog)
    horizon_us: int = 0

    @property
    def size_bytes(self) -> int:
        """Bytes that reading all blocks costs."""
        return sum(block.cost_bytes for block in self.blocks)

    def tasks(self) -> list[tuple[BlockMetadata, ...]]:
        bounds = [0, *itertools.accumulate(self.task_blocks)]
        return [self.blocks[start:stop] for start, stop in itertools.pairwise(bounds)]

    def lines(self) -> Iterator[Any]:
        """The window as JSON values: first what it is, then a line for every file with its blocks."""
        yield {
            "format": _LOG_FORMAT,
            "window": self.number,
            "tasks": list(self.task_blocks),
            "moves": [list(map(portable_path, move)) for move in self.moves],
            "planner": self.planner,
            "shape": dict(self.shape),
            "backlog": list(astuple(self.backlog)),
            "late": [number for number, planned in enumerate(self.files) if planned.late],
            "horizon": self.horizon_us,
            "block": list(BLOCK_FIELDS),
        }
        groups = {path: list(blocks) for path, blocks in itertools.groupby(self.blocks, lambda block: block.file.path)}
        for planned in self.files:
            rows = [plain_block(block) for block in groups[planned.file.path]]
            yield [
                plain_file(planned.file),
                planned.generation,
                planned.finished,
                planned.block_bytes,
                planned.real_id,
                rows,
            ]


def read_window(lines: list[Any], path: str) -> Window:
    """The inverse of :meth:`Window.lines`."""
    head = lines[0]
    check_format(head, path)
    files, blocks = [], []
    late = set(head.get("late", ()))  # windows of an earlier splitscan do not tell
    for number, (file_fields, generation, finished, block_bytes, real_id, rows) in enumerate(lines[1:]):
        file = read_file(file_fields)
        files.append(PlannedFile(file, generation, finished, block_bytes, real_id, number in late))
        blocks += [read_block(file, row, head["block"]) for row in rows]
    return Window(
        number=head["window"],
        files=tuple(files),
        blocks=tuple(blocks),
        task_blocks=tuple(head["tasks"]),
        moves=tuple((native_path(old), native_path(new)) for old, new in head["moves"]),
        planner=head["planner"],
        shape=head["shape"],
        backlog=Backlog(*head["backlog"]),
        horizon_us=head.get("horizon", 0),
    )


def check_format(head: Any, path: str) -> None:
    """Refuse the state of another version."""
    found = head.get("format") if isinstance(head, dict) else None
    unknown = set(head.get("block", ())) - set(BLOCK_FIELDS) if isinstance(head, dict) else set()
    if found != _LOG_FORMAT or unknown:
        raise StreamError(
            "the stream's state was written by another version of splitscan",
            Where(path=redact(path)),
            f"format {found!r}" + (f", blocks with {', '.join(sorted(unknown))}" if unknown else ""),
            f"go on with that version; this one writes format {_LOG_FORMAT}",
            "stream-version",
        )
