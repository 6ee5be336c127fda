"""Readers as a user writes them: one for each way to be one."""

from __future__ import annotations

from typing import Any

import pyarrow.csv as pacsv

import splitscan as ss

LOG = b"1 start\n2 work\nx broken\n\n4 stop\n"


class LogReader:
    """Lines ``number text``; a line without a space is rejected."""

    schema = "number long, text string"

    def __init__(self, mark: str = " ") -> None:
        self.mark = mark

    def open(self, negotiator: ss.SchemaNegotiator) -> bool:
        self.lines = negotiator.open_input()
        self.number = 0
        return True

    def next(self, loader: ss.ResultSetLoader) -> bool:
        for line in self.lines:
            self.number += 1
            place = ss.Origin(offset=self.lines.tell() - len(line), line=self.number)
            number, mark, text = line.decode().rstrip("\n").partition(self.mark)
            if mark:
                loader.append_rows([(number, text)], origin=place)
            else:
                loader.reject(line, "the line has no text", origin=place, code="no-text")
            if loader.full:
                return True
        return False

    def close(self) -> None:
        self.closed = True


class ArrowReader:
    """The shortest reader: pyarrow reads CSV, in batches."""

    def open(self, negotiator: Any) -> bool:
        self.batches = pacsv.open_csv(negotiator.open_input())
        negotiator.table_schema(self.batches.schema)
        return True

    def next(self, loader: Any) -> bool:
        for batch in self.batches:
            loader.append(batch)
            return True
        return False

    def close(self) -> None:
        pass


class BlockLines:
    """Lines, in blocks."""

    splittable = True
    schema = "value string"

    def open(self, negotiator: Any) -> bool:
        self.stream, self.split = negotiator.open_input(), negotiator.split
        if self.split.start:
            self.stream.seek(self.split.start - 1)
            self.stream.readline()
        return True

    def next(self, loader: Any) -> bool:
        while self.stream.tell() < self.split.stop:
            line = self.stream.readline()
            loader.append({"value": line.decode().rstrip("\n")}, origin=self.stream.tell() - len(line))
        return False

    def close(self) -> None:
        pass
