"""The offset of a stream: its id and the number of a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from splitscan.errors import UsageError

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Offset:
    """A position in a stream: after its window *window*.

    Attributes:
        stream: Id of the stream: its own folder in the state location.
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
        return {"v": _VERSION, "s": self.stream, "w": self.window}


def read_offset(value: Mapping[str, Any]) -> Offset:
    """The inverse of :meth:`Offset.to_json`.

    Raises:
        UsageError: ``[bad-offset]`` if it is another source's.
    """
    known = isinstance(value, Mapping) and value.get("v") == _VERSION
    stream, window = (value.get("s"), value.get("w")) if known else (None, None)
    if not isinstance(stream, str) or not isinstance(window, int) or window < 0:
        raise UsageError(
            "the checkpoint holds an offset that is not of this source",
            seen=repr(value)[:200],
            fix="use the checkpoint of this query, or an empty one",
            code="bad-offset",
        )
    return Offset(stream, window)
