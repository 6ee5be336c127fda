"""Windows and the state that follows from them.

A window is the exact blocks that one micro-batch reads, as it stands in the log; an offset names it. The state of a
stream is what is planned of each file, and what is left to plan of it: a pure function of the log.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from splitscan.blocks import BLOCK_FIELDS, BlockMetadata, FileMetadata, plain_block, plain_file, read_block, read_file
from splitscan.errors import StreamError, UsageError, Where
from splitscan.redaction import redact
from splitscan.spelling import native_path, portable_path

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
            "the position of a watch is damaged", Where(path=redact(path)), f"{type(error).__name__}: {error}",
            "restore it; or delete it, if no file grows: those that were ingested are recognised by the ledger",
            "stream-damaged",
        ) from error  # fmt: skip


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
            "the stream's state was written by another version of splitscan", Where(path=redact(path)),
            f"format {found!r}" + (f", blocks with {', '.join(sorted(unknown))}" if unknown else ""),
            f"go on with that version; this one writes format {_LOG_FORMAT}", "stream-version",
        )  # fmt: skip


_FORMAT = 1


@dataclass
class FileWork:
    """A file with something left to plan.

    Attributes:
        cut: Gives the blocks that are left, in order; called once, when the file's turn has come.
        plan: Describes the file as a window planned it that ends with the given block, and says whether that is all.

    Thread safety: none; the planner's own.
    """

    file: FileMetadata
    generation: int
    window: int
    left_bytes: int
    block_bytes: int
    cut: Callable[[FileWork], Sequence[BlockMetadata]]
    plan: Callable[[FileWork, BlockMetadata, bool], PlannedFile]
    indivisible: bool = False
    real_id: str = ""
    skipped: int = field(default=0)

    @property
    def path(self) -> str:
        """Path of the file."""
        return self.file.path

    @property
    def is_begun(self) -> bool:
        """True if a part of it is planned."""
        return self.window > 0

    @property
    def order(self) -> tuple[int, int, str]:
        """Key for the order of files: who was served longest ago, then the oldest file."""
        return (self.window, self.file.modified_us, self.file.path)

    @cached_property
    def blocks(self) -> Sequence[BlockMetadata]:
        """The blocks that were left when this was found."""
        return self.cut(self)

    @property
    def lengths(self) -> Sequence[int]:
        """Bytes of each block that is left, in order. Asked for only when the file's turn has come."""
        return [block.cost_bytes for block in self.blocks[self.skipped :]]

    def take(self, count: int) -> tuple[PlannedFile, list[BlockMetadata]]:
        """Plan the next *count* blocks. Nothing changes before :meth:`taken` is called: the window may be refused."""
        chosen = self.blocks[self.skipped : self.skipped + count]
        planned = self.plan(self, chosen[-1], self.skipped + count == len(self.blocks))
        same = planned.file == chosen[0].file
        return planned, list(chosen) if same else [replace(block, file=planned.file) for block in chosen]

    def taken(self, count: int, window: int) -> bool:
        """Remember that a window has the next *count* blocks; says whether something is left."""
        self.left_bytes = max(0, self.left_bytes - sum(self.lengths[:count]))
        self.skipped += count
        self.window = window
        return self.skipped < len(self.blocks)


Found: TypeAlias = tuple[list[FileWork], tuple[tuple[str, str], ...]]
"""What a listing shows: files with something left to plan, and old and new paths of files that have a new name."""


@dataclass(frozen=True, slots=True)
class FileProgress:
    """Progress of the planning of one file.

    Attributes:
        file: The version that was planned last: its planned size and fingerprint.
        position: First offset that is not planned.
        blocks: Number of blocks planned of this generation.
        content: Identity of this generation in its stream, through all renames: the window that planned it first, and
            its number among the files of that. Empty in the state of an earlier splitscan.
        late: Whether that content came late: with a time before that of a file which an earlier listing had shown.
    """

    file: FileMetadata
    generation: int
    position: int
    blocks: int
    window: int
    finished: bool
    block_bytes: int
    real_id: str = ""
    content: str = ""
    late: bool = False


@dataclass(slots=True)
class StreamState:
    """All files that a stream has planned something of.

    Attributes:
        files: By path.
        shape: What the plan depends on and must not change.
        horizon_us: Whatever is first seen now with a time before that is late.

    Thread safety: none; the planner's own.
    """

    window: int = 0
    files: dict[str, FileProgress] = field(default_factory=dict)
    shape: Mapping[str, str] = field(default_factory=dict)
    horizon_us: int = 0

    def apply(self, window: Window) -> None:
        """Add the next window."""
        moved = [(self.files.pop(old), new) for old, new in window.moves]  # all at once: a chain of names may shift
        for progress, new in moved:
            self.files[new] = replace(progress, file=replace(progress.file, path=new))
        ends = {block.file.path: block for block in window.blocks}
        begun = {block.file.path for block in window.blocks if not block.index}
        for number, planned in enumerate(window.files):
            path = planned.file.path
            last = ends[path]
            known = None if path in begun else self.files.get(path)
            self.files[path] = FileProgress(
                planned.file,
                planned.generation,
                last.stop,
                last.index + 1,
                window.number,
                planned.finished,
                planned.block_bytes,
                planned.real_id,
                f"{window.number}.{number}" if known is None else known.content,
                planned.late if known is None else known.late,
            )
        self.window, self.shape, self.horizon_us = window.number, window.shape, window.horizon_us

    def lines(self) -> Iterator[Any]:
        """The state as JSON values."""
        yield {"format": _FORMAT, "window": self.window, "shape": dict(self.shape), "horizon": self.horizon_us}
        for progress in self.files.values():
            file, *rest = (getattr(progress, name) for name in FileProgress.__slots__)
            yield [plain_file(file), *rest]


def read_state(lines: list[Any], path: str) -> StreamState:
    """The inverse of :meth:`StreamState.lines`."""
    head = lines[0]
    check_format(head, path)
    known = [FileProgress(read_file(file), *rest) for file, *rest in lines[1:]]
    files = {progress.file.path: progress for progress in known}
    return StreamState(head["window"], files, head["shape"], head.get("horizon", 0))
