"""Which columns there are and how each is read: options of the record formats that have named columns."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated

from splitscan.errors import UsageError
from splitscan.options.columns import COLUMNS, ColumnOptions
from splitscan.options.kinds import choice, text, whole
from splitscan.options.table import Option


class SchemaMode(enum.Enum):
    """What a provided schema says about columns that it does not name."""

    LENIENT = "lenient"
    STRICT = "strict"


class SchemaConflicts(enum.Enum):
    """What becomes of a column whose types in different files have nothing in common."""

    STRING = "string"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """What a user says about the columns, beside or instead of a full schema.

    Attributes carry the meaning given in ``docs/options.md``; schemas are Spark's DDL. Constructing one with options
    that contradict each other raises ``UsageError``.

    Pickling: plain values only.
    """

    provided_schema: Annotated[
        str | None,
        Option("providedSchema", text(empty=False), "Columns (DDL) that come first, with these names and types."),
    ] = None
    schema_mode: Annotated[
        SchemaMode,
        Option("schemaMode", choice(SchemaMode), "Whether columns that `providedSchema` does not name are read too."),
    ] = SchemaMode.LENIENT
    schema_hints: Annotated[
        str | None,
        Option("schemaHints", text(empty=False), "Types (DDL) of some columns, as `id long, m.x double`."),
    ] = None
    schema_conflicts: Annotated[
        SchemaConflicts,
        Option("schemaConflicts", choice(SchemaConflicts), "What is done where types in sampled files do not agree."),
    ] = SchemaConflicts.STRING
    sample_files: Annotated[
        int,
        Option("sampleFiles", whole(1), "Files that schema inference looks at, spread over all, by path."),
    ] = 16

    column_options: Annotated[
        tuple[tuple[str, ColumnOptions], ...],
        Option("columnOptions", COLUMNS, 'Of single columns, as `{"day": {"default": "0", "format": "dd/MM/yyyy"}}`.'),
    ] = ()

    rescued_data_column: Annotated[
        str | None,
        Option("rescuedDataColumn", text(empty=False), "Text column (JSON) that keeps data which does not fit."),
    ] = None

    def __post_init__(self) -> None:
        if self.schema_mode is SchemaMode.STRICT and self.provided_schema is None:
            raise UsageError(
                "option schemaMode=strict has no meaning without providedSchema",
                seen="schemaMode=strict",
                fix="give providedSchema, or leave schemaMode out",
                code="bad-option",
            )
