"""A reader of one's own whose tasks suffer at given records: for jobs that let nothing run after what they read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .faults import do, take_turn
from .records import Content, content

SCHEMA = "id long, text string, record_offset long"


class SufferingLines:
    """Reads lines of ``id,text``; who reads the line of a certain id suffers, once in all.

    Args:
        folder: Where it is counted.
        faults: What happens, by id.
    """

    splittable = True

    def __init__(self, folder: Path, faults: Mapping[int, str]) -> None:
        self._folder, self._faults = str(folder), dict(faults)

    def open(self, negotiator: Any) -> bool:
        self._input, self._block = negotiator.open_input(), negotiator.split
        if self._block.start:
            self._input.seek(self._block.start - 1)
            self._input.readline()
        return True

    def next(self, loader: Any) -> bool:
        offset = self._input.tell()
        line = self._input.readline() if offset < self._block.stop else b""
        if not line:
            return False
        number, _, text = line.decode().rstrip("\n").partition(",")
        what = self._faults.get(int(number))
        if what is not None and take_turn(self._folder, f"{what} at {number}", 1):
            do(what)
        loader.append({"id": [int(number)], "text": [text], "record_offset": [offset]})
        return True

    def close(self) -> None:
        pass


def write_lines(path: Path, count: int) -> tuple[Content, list[int]]:
    """Write lines of different lengths; return what they hold, and where each begins."""
    records = [(number, "x" * (number % 97)) for number in range(count)]
    offsets = []
    with path.open("wb") as out:
        for number, text in records:
            offsets.append(out.tell())
            out.write(f"{number},{text}\n".encode())
    return content(records), offsets
