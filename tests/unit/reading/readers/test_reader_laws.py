"""The laws of readers find what is wrong with a reader, and nothing in a good one."""

from __future__ import annotations

from typing import Any

import pytest

from splitscan.errors import RecordError, UsageError
from splitscan.options import Mode
from splitscan.testing.reader_laws import check_managed_reader_laws, read_managed

DATA = b"a\n\nbb\nc"


class Lines:
    """Lines in blocks."""

    splittable = True

    def open(self, negotiator: Any) -> bool:
        self.stream, self.split = negotiator.open_input(), negotiator.split
        self.wanted = negotiator.projection
        self.enter()
        return True

    def enter(self) -> None:
        if self.split.start:
            self.stream.seek(self.split.start - 1)
            self.stream.readline()

    def more(self) -> bool:
        return bool(self.stream.tell() < self.split.stop)

    def next(self, loader: Any) -> bool:
        if self.more():
            start = self.stream.tell()
            line = self.stream.readline().rstrip(b"\n").decode()
            loader.append({"start": start, "line": line}, origin=start)
        return self.more()

    def close(self) -> None:
        pass


class WholeLines(Lines):
    splittable = False


class AtStop(Lines):
    def more(self) -> bool:
        return self.stream.tell() <= self.split.stop and self.stream.tell() < 7


class FromStart(Lines):
    def enter(self) -> None:
        self.stream.seek(self.split.start)


class SkipsOneTooMany(Lines):
    def enter(self) -> None:
        if self.split.start:
            self.stream.seek(self.split.start)
            self.stream.readline()


class DependsOnProjection(Lines):
    def next(self, loader: Any) -> bool:
        more = super().next(loader)
        if self.wanted == ("line",):
            loader.append({"line": "one more"})
        return more


class DependsOnLimit(Lines):
    def open(self, negotiator: Any) -> bool:
        self.limit = negotiator.limit
        return super().open(negotiator)

    def next(self, loader: Any) -> bool:
        if self.limit == 2:
            self.stream.readline()
        return super().next(loader)


class ShortReads(WholeLines):
    def open(self, negotiator: Any) -> bool:
        self.text = negotiator.open_source().read_at(0, 100).decode()
        return True

    def next(self, loader: Any) -> bool:
        loader.append({"line": self.text.split("\n")})
        return False


@pytest.mark.parametrize("reader", [Lines, Lines(), WholeLines])
def test_good_readers_keep_the_laws(reader: Any) -> None:
    check_managed_reader_laws(reader, DATA)
    check_managed_reader_laws(reader, b"")
    check_managed_reader_laws(reader, DATA, schema="line string, nope int")


@pytest.mark.parametrize(
    ("reader", "law"),
    [
        (AtStop, "partition law"),
        (FromStart, "partition law"),
        (SkipsOneTooMany, "partition law"),
        (DependsOnProjection, r"projection law, columns \['line'\]"),
        (DependsOnLimit, "limit law, limit 2"),
        (ShortReads, "chunking law"),
    ],
)
def test_the_laws_find_bad_readers(reader: Any, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_managed_reader_laws(reader, DATA)


def test_one_read_in_memory() -> None:
    found = read_managed(Lines, DATA, start=1, stop=4)
    assert found.rows == [{"start": 2, "line": ""}, {"start": 3, "line": "bb"}]
    typed = read_managed(Lines, DATA, schema="line int, start string", mode=Mode.DROPMALFORMED)
    assert typed.rows == [{"line": None, "start": "2"}]  # a blank text is no value
    assert [reject.offset for reject in typed.rejects] == [0, 3, 6]
    with pytest.raises(RecordError, match="memory://test, byte 0, row 0, column 'line'"):
        read_managed(Lines, DATA, schema="line int", mode=Mode.FAILFAST)
    assert len(read_managed(Lines, DATA, limit=2).rows) == 2


def test_the_laws_are_for_readers() -> None:
    import splitscan as ss

    with pytest.raises(TypeError, match="is no reader"):
        check_managed_reader_laws(ss.LineReaderContext(), DATA)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="bad-format"):
        check_managed_reader_laws(object(), DATA)  # type: ignore[arg-type]
