"""Windows that nobody writes down: planning that is repeated, not replayed."""

from __future__ import annotations

from splitscan.streaming.log import KEPT_WINDOWS
from splitscan.streaming.state import StreamState
from splitscan.streaming.windows import Window


class VolatileLog:
    """The windows of one stream in the memory of its planner (``windowLog=none``).

    It answers as the durable log does as long as the planner lives. A window of an earlier run is empty, as if it had
    never been planned: what it read is found again and read again, so nothing is lost, and much comes more than once.

    Args:
        stream_id: The stream's.

    Thread safety: none; one planner, one log.
    """

    def __init__(self, stream_id: str) -> None:
        self._windows: dict[int, Window] = {}
        self._stream_id = stream_id

    @property
    def path(self) -> str:
        """What stands for a place: the stream's id."""
        return self._stream_id

    def create(self, window: Window) -> int:
        """Remember a window, which takes no bytes of any storage."""
        self._windows[window.number] = window
        for number in self.numbers():
            if number <= window.number - KEPT_WINDOWS:
                del self._windows[number]
        return 0

    def has(self, number: int) -> bool:
        """Whether this planner has planned a window, and keeps it."""
        return number in self._windows

    def read(self, number: int) -> Window:
        """A window as it was planned; an empty one if it was in another run."""
        return self._windows.get(number) or Window(number, (), (), ())

    def numbers(self) -> list[int]:
        """Numbers of all windows that are kept, ascending."""
        return sorted(self._windows)

    def load(self, _: int | None = None) -> StreamState:
        """What earlier runs have planned: nobody knows."""
        return StreamState()

    def save(self, _: StreamState) -> int:
        """Nothing is kept beyond the planner's life."""
        return 0

    def purge(self, _: int) -> list[int]:
        """Old windows go when new ones come."""
        return []
