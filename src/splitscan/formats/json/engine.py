"""What finds JSON values over several lines: the kernel where it is installed, else the reference."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from splitscan.engine import kernel
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Buffer, Counted, Frames, Run, Summary
from splitscan.formats.framing.native import NativeLines, as_bytes, frames_of
from splitscan.formats.json.grammar import Shape
from splitscan.formats.json.reference import JsonReferenceFramer


class JsonFraming(Protocol):
    """Finds records of one shape. Every answer is the reference's."""

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """The complete records at the front of *data*, which begins outside of all records."""

    def count(self, data: Buffer) -> Counted:
        """How many records ``frame(data, at_end=False)`` finds."""

    def summarise(self, data: Buffer, before: bytes, mark: int) -> Summary:
        """What *data* does to a parser, for each state in which it may come to it."""

    def state_after(self, data: Buffer) -> int:
        """The state after *data*, which begins outside of all records."""


class ReferenceFraming:
    """Finds records by the state machine: right, and slow.

    Args:
        shape: Of the file.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """The complete records at the front of *data*."""
        machine = self._run(data)
        if at_end:
            machine.finish()
        starts, stops = np.array(machine.records, dtype=np.int64).reshape(-1, 2).T.copy()
        return Frames(starts, stops, machine.next_start)

    def count(self, data: Buffer) -> Counted:
        """How many complete records there are."""
        frames = self.frame(data, at_end=False)
        return Counted(len(frames), frames.next_start)

    def summarise(self, data: Buffer, before: bytes, mark: int) -> Summary:
        """Nothing: one state after the other takes too long, so whoever composes reads instead."""
        del before, mark
        return Summary(len(data), ())

    def state_after(self, data: Buffer) -> int:
        """The state after *data*."""
        return self._run(data).summary_state

    def _run(self, data: Buffer) -> JsonReferenceFramer:
        machine = JsonReferenceFramer(self._shape)
        for byte in bytes(data):
            machine.push(byte)
        return machine


class NativeFraming:
    """The kernel's answers as Python's types.

    Args:
        native: The kernel's class for the shape.
        shape: Of the file.

    Thread safety: immutable; calls run beside each other.
    """

    def __init__(self, native: Any, shape: Shape) -> None:
        self._native = native
        self._shape = shape

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """The complete records at the front of *data*."""
        starts, stops, malformed, next_start = self._native.frame(*as_bytes(data), at_end)
        return frames_of(starts, stops, malformed, next_start, "")

    def count(self, data: Buffer) -> Counted:
        """How many complete records there are."""
        return Counted(*self._native.count(*as_bytes(data), False))

    def summarise(self, data: Buffer, before: bytes, mark: int) -> Summary:
        """What *data* does to a parser."""
        runs = self._native.summarise(*as_bytes(data), before, b"", mark)
        return Summary(len(data), tuple(None if run is None else Run(*run) for run in runs))

    def state_after(self, data: Buffer) -> int:
        """The state after *data*."""
        rest = memoryview(data)[self.frame(data, at_end=False).next_start :]
        run = self.summarise(rest, b"", 0).run(0)
        return ReferenceFraming(self._shape).state_after(rest) if run is None else run.state


def native_values(shape: Shape) -> Any | None:
    """The kernel's class for a shape; ``None`` without a kernel."""
    module = kernel()
    return None if module is None else module.Json(shape.name.lower())


def framing_of(shape: Shape) -> JsonFraming:
    """What finds the records of a shape."""
    return ReferenceFraming(shape) if kernel() is None else _native_framing(shape)


@lru_cache(maxsize=8)
def _native_framing(shape: Shape) -> JsonFraming:
    return NativeFraming(native_values(shape), shape)


def native_json_lines(delimiter: bytes | None, encoding: Encoding) -> NativeLines | None:
    """What finds lines that are more than white space; ``None`` where only the reference can.

    Args:
        delimiter: The delimiter in *encoding*; ``None`` for any of the usual line ends.
        encoding: Of the file.
    """
    return None if kernel() is None else _native_json_lines(delimiter, encoding)


@lru_cache(maxsize=64)
def _native_json_lines(delimiter: bytes | None, encoding: Encoding) -> NativeLines | None:
    module = kernel()
    if module is None:
        return None
    try:
        return NativeLines(module.Json.lines(delimiter, encoding.unit_bytes, encoding.big_endian))
    except module.Unsupported:
        return None
