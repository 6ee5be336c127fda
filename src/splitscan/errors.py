"""Every error splitscan raises, and how its message is rendered.

The tree groups errors by who can act::

    SplitscanError
    ├── UsageError       the caller: an option, an argument, a protocol (also a ValueError)
    ├── SourceError      the storage: a file is missing, unreadable, or changed under us
    ├── RecordError      the bytes: a record breaks a rule of its format
    ├── SchemaError      the columns: names, types or values do not fit the schema
    ├── IngestError      the destination: a job cannot be committed or verified
    ├── RebalanceError   the coordinator: it cannot be reached, or does not know what it is asked for
    ├── StreamError      the state of a stream: a window is missing, damaged, or another planner's
    └── InvariantError   us: a law of splitscan was broken; please report it

A message states four facts: which rule broke (with a stable ``[code]``), where, what was seen,
and how to fix it. Spark hands worker errors to the driver as text, so the text alone suffices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any, ClassVar

from splitscan.redaction import redact

_MAX_QUOTED_BYTES = 80  # never print more of a user's data than this
_OF_MESSAGES = "kafka:"  # what a path begins with whose offsets count messages


@dataclass(frozen=True, slots=True)
class Where:
    """A place in the input: as much as is known. Its text masks secrets in the path.

    Attributes:
        offset: Byte offset in the file, from 0; of a path ``kafka:topic/partition`` the offset of a message.
        block: Half-open range of offsets being read, as ``(start, stop)``.
        line: Line in the file, from 1.
        row: Row of what a reader has delivered of the file or block, from 0.
        notes: What a reader says of itself, as names and values.
    """

    path: str | None = None
    offset: int | None = None
    block: tuple[int, int] | None = None
    column: str | None = None
    line: int | None = None
    row: int | None = None
    reader: str | None = None
    notes: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        parts = []
        if self.path is not None:
            parts.append(redact(self.path))
        if self.offset is not None:
            unit = "offset" if (self.path or "").startswith(_OF_MESSAGES) else "byte"
            parts.append(f"{unit} {self.offset}")
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.row is not None:
            parts.append(f"row {self.row}")
        if self.column is not None:
            parts.append(f"column {self.column!r}")
        if self.block is not None:
            parts.append(f"in block [{self.block[0]}, {self.block[1]})")
        if self.reader is not None:
            parts.append(f"reader {self.reader}")
        parts += [f"{name}={redact(value)}" for name, value in self.notes]
        return ", ".join(parts)

    def filled_from(self, other: Where) -> Where:
        """This place, with what only *other* knows; as it is when they are about two files.

        Example:
            >>> str(Where(column="a").filled_from(Where("/data/x", 12)))
            "/data/x, byte 12, column 'a'"
        """
        if self.path not in {None, other.path}:
            return self
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        return Where(**{name: getattr(other, name) if value in {None, ()} else value for name, value in known.items()})


class Advice(str):
    """A part of a warning that says what to do, in Python's spelling of options: the command has its own."""

    __slots__ = ()


class SplitscanError(Exception):
    """Base of all errors; catch it to catch everything splitscan raises on purpose.

    Args:
        rule: Which rule broke, in one clause, with the option's name and value.
        where: The place, if there is one.
        seen: What was found instead.
        fix: What the user can do about it.
        code: Stable identifier, the heading in ``docs/errors.md``; defaults to the class's own.

    Pickling: fields travel, and the message is rendered at the other end.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        rule: str,
        where: Where | None = None,
        seen: str | None = None,
        fix: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(rule, where, seen, fix, code)
        self.rule = rule
        self.where = where
        self.seen = seen
        self.fix = fix
        self.reason_code = code or type(self).code

    def locate(self, where: Where) -> None:
        """Add what only *where* knows to the place; what the error says by itself stands."""
        self.where = where if self.where is None else self.where.filled_from(where)
        self.args = (self.rule, self.where, self.seen, self.fix, self.reason_code)

    def __str__(self) -> str:
        lines = [f"{self.rule} [{self.reason_code}]"]
        if self.where is not None and str(self.where):
            lines.append(f"  where: {self.where}")
        if self.seen is not None:
            lines.append(f"  seen:  {self.seen}")
        if self.fix is not None:
            lines.append(f"  fix:   {self.fix}")
        return "\n".join(lines)


class UsageError(SplitscanError, ValueError):
    """The caller asked for something that has no meaning."""

    code = "usage"
    exit_code = 2


def bad_option(rule: str, seen: str | None, fix: str | None, where: Where | None = None) -> UsageError:
    """Return the error for an option or a setting that has no meaning, alone or beside another."""
    return UsageError(rule, where, seen, fix, "bad-option")


class SourceError(SplitscanError):
    """A file could not be listed, opened or read."""

    code = "source"
    exit_code = 3


class SourceMissingError(SourceError):
    """A path names nothing, or a planned file vanished."""

    code = "source-missing"


class SourceChangedError(SourceError):
    """A file is no longer the one that was planned."""

    code = "source-changed"


class RecordError(SplitscanError):
    """A record's bytes break a rule of the format."""

    code = "record"
    exit_code = 4


class SchemaError(SplitscanError):
    """Columns or values do not fit the schema."""

    code = "schema"
    exit_code = 4


class IngestError(SplitscanError):
    """An ingest could not be committed, or its result does not verify."""

    code = "ingest"
    exit_code = 5


class RebalanceError(SplitscanError):
    """The coordinator of a rebalanced scan cannot say who reads what; nobody guesses instead."""

    code = "rebalance"
    exit_code = 6


class StreamError(SplitscanError):
    """The state of a stream is missing, damaged, or belongs to another planner or another plan."""

    code = "stream"
    exit_code = 7


class InvariantError(SplitscanError):
    """A law of splitscan itself was broken. Nothing was published; please report it."""

    code = "invariant"
    exit_code = 70


def quote_bytes(data: bytes | memoryview[Any], limit: int = _MAX_QUOTED_BYTES) -> str:
    """Render bytes of a user's data for a message, cut to *limit* bytes.

    Example:
        >>> quote_bytes(b"abc")
        "b'abc'"
        >>> quote_bytes(b"abcdef", limit=3)
        "b'abc'... (6 bytes)"
    """
    raw = bytes(data[:limit])
    return repr(raw) if len(data) <= limit else f"{raw!r}... ({len(data)} bytes)"


def quote_difference(one: str, other: str, limit: int = 160) -> tuple[str, str]:
    """Two long texts for a message, cut around the first place where they differ.

    Example:
        >>> quote_difference("a int, b string", "a int, b bigint", limit=6)
        ('... b string', '... b bigint')
    """
    if max(len(one), len(other)) <= limit:
        return one, other
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, at - limit // 2)
    return _cut(one, start, at + limit), _cut(other, start, at + limit)


def _cut(text: str, start: int, stop: int) -> str:
    return f"{'...' if start else ''}{text[start:stop]}{'...' if stop < len(text) else ''}"


def quote_list(items: Iterable[str], limit: int = 400) -> str:
    """Many short texts for a message, cut to about *limit* characters.

    Example:
        >>> quote_list(["a", "b", "c"]), quote_list(["a", "b", "c"], limit=5)
        ('a, b, c', 'a, b, ... (3 in all)')
    """
    every = list(items)
    ends = accumulate(len(item) + 2 for item in every)
    shown = [item for item, end in zip(every, ends, strict=True) if end <= limit + 2]
    if len(shown) == len(every):
        return ", ".join(shown)
    return ", ".join([*(shown or [f"{every[0][:limit]}..."]), f"... ({len(every)} in all)"])
