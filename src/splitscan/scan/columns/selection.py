"""Which files and blocks of a scan are read: conditions, tied to the columns that files have."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import UsageError, Where
from splitscan.scan.columns.condition_text import parse_condition
from splitscan.scan.columns.condition_values import Typed
from splitscan.scan.columns.conditions import Condition, Test
from splitscan.scan.columns.file_columns import (
    METADATA_TYPES,
    Grain,
    grain_of,
    metadata_field,
    metadata_name,
    metadata_value,
)
from splitscan.scan.columns.partitions import Partitions

FileTest: TypeAlias = Callable[[FileMetadata], Any]


@dataclass(frozen=True)
class Selection:
    """Conditions and tests of one's own; what is read meets all of them.

    Attributes:
        conditions: Conditions that must all be true.
        tests: Functions of a file that must all give something true.

    Pickling: yes, where the functions can.
    """

    conditions: tuple[Condition, ...] = ()
    tests: tuple[FileTest, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.conditions or self.tests)

    def narrowed(self, condition: str | FileTest | None) -> Selection:
        """The same with one more condition; ``None`` is none.

        Raises:
            UsageError: ``[bad-where]`` if a text is no condition.
        """
        if condition is None:
            return self
        if not isinstance(condition, str):
            return Selection(self.conditions, (*self.tests, condition))
        return Selection((*self.conditions, *parse_condition(condition).conjuncts()), self.tests)

    @property
    def of_blocks(self) -> Selection:
        """The conditions that tell the blocks of one file from each other."""
        return Selection(tuple(c for c in self.conditions if any(_is_of_block(name) for name in c.columns())))

    def files(self, files: Iterable[FileMetadata], partitions: Partitions) -> list[FileMetadata]:
        """The files that may hold blocks to read.

        Raises:
            UsageError: ``[bad-where]`` if a condition has no meaning for these files.
        """
        bound = [(condition.bind(_scope(partitions)), condition) for condition in self.conditions]
        whole = [test for test, condition in bound if condition not in self.of_blocks.conditions]
        kept = [file for file in files if all(test(_whole(file)) for test in whole)]
        return [file for file in kept if all(test(file) for test in self.tests)]

    def keeps(self, partitions: Partitions) -> Test:
        """The test of a block of a file that :meth:`files` keeps."""
        tests = [condition.bind(_scope(partitions)) for condition in self.of_blocks.conditions]
        return lambda block: all(test(block) for test in tests)


def _is_of_block(name: str) -> bool:
    known = metadata_name(name)
    return known is not None and grain_of(known) is Grain.BLOCK


def _whole(file: FileMetadata) -> BlockMetadata:
    return BlockMetadata(file, 0, file.size_bytes, 0)


def _scope(partitions: Partitions) -> Callable[[str], Typed]:
    by_lower = {name.lower(): name for name in partitions.fields.names}

    def find(name: str) -> Typed:
        partition = by_lower.get(name.lower())
        if partition is not None:
            kind = partitions.fields.field(partition).type
            return Typed(kind, lambda block: partitions.value(partition, block.file).as_py())
        known = metadata_name(name)
        if known is None or grain_of(known) is Grain.RECORD:
            of_files = [each for each in METADATA_TYPES if grain_of(each) is not Grain.RECORD]
            raise _not_of_files(name, [*partitions.fields.names, "dir0", *of_files])
        kind = metadata_field(known).type
        if pa.types.is_timestamp(kind):
            return Typed(kind, lambda block: pa.scalar(metadata_value(known, block), kind).as_py())
        return Typed(kind, lambda block: metadata_value(known, block))

    return find


def _not_of_files(name: str, names: Sequence[str]) -> UsageError:
    close = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return UsageError(
        "option where decides which files and blocks are read, by columns of files, directories and blocks alone",
        Where(column=name),
        seen=f"{name!r}, which is none of: {', '.join(names)}",
        fix=f"{hint}filter by columns of the records in Spark, or after the scan",
        code="bad-where",
    )
