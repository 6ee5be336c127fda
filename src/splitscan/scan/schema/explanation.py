"""Explanation of a scan's schema: an answer for people and for programs."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import pyarrow as pa

from splitscan.formats.decoding.contract import format_ddl, type_name


class ColumnSource(enum.Enum):
    """Source of a column of a schema."""

    SCHEMA = "schema"  # the full schema that the caller gave
    FILE = "file"
    PROVIDED = "provided"
    HINT = "hint"
    DEFAULT = "default"  # provided, and in no sampled file: every row has its default, or null
    FORMAT = "format"  # the record format has this column, whatever the files hold
    PATH = "path"  # the names of directories give it
    OPTION = "option"  # an option adds it


@dataclass(frozen=True, slots=True)
class SeenType:
    """A type that a column has in a file, in Spark's DDL; ``void`` where no value was seen."""

    type: str
    path: str


@dataclass(frozen=True, slots=True)
class ColumnExplanation:
    """One column of a schema.

    Attributes:
        name: Its name.
        type: Its type, in Spark's DDL.
        nullable: Whether it may be null.
        source: Where it comes from.
        path: The first of the sampled files that has it, by path; ``None`` if none has.
        seen: The types it has in sampled files, each with the first file that has it so.
        default: Text of what stands where a record does not have it; ``None`` for null.
    """

    name: str
    type: str
    nullable: bool
    source: ColumnSource
    path: str | None = None
    seen: tuple[SeenType, ...] = ()
    default: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaConflict:
    """A column, or a part of one, whose types in sampled files have nothing in common.

    Attributes:
        column: Its path, as ``m.x``.
        seen: The types that its column has, each with the first file that has it so.
        outcome: The type that the column was given.
    """

    column: str
    seen: tuple[SeenType, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class SchemaExplanation:
    """A scan's schema with its provenance.

    Attributes:
        schema: The schema of the rows.
        columns: One explanation for each column, in order.
        conflicts: Where sampled files do not agree.
        files: Number of files; ``None`` where none had to be listed.
        sampled_files: Number of files that were looked at.
    """

    schema: pa.Schema
    columns: tuple[ColumnExplanation, ...]
    conflicts: tuple[SchemaConflict, ...]
    files: int | None
    sampled_files: int

    @property
    def ddl(self) -> str:
        """The schema in Spark's DDL."""
        return format_ddl(self.schema)


def shown_type(kind: pa.DataType) -> str:
    """Spark's name of a type, ``void`` for none."""
    return "void" if pa.types.is_null(kind) else type_name(kind)
