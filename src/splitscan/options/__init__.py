"""Options: what a user may say about a scan: typed, frozen, validated, picklable. Names and meaning are Spark's."""

from splitscan.options.files import FileOptions, OnFileChange, StorageOptions
from splitscan.options.read import (
    METADATA_COLUMNS,
    BlankAs,
    ColumnOptions,
    Mode,
    ReadingOptions,
    ReadOptions,
    RecordOptions,
    SchemaConflicts,
    SchemaMode,
    SchemaOptions,
)
from splitscan.options.table import OptionDescription

__all__ = [
    "METADATA_COLUMNS",
    "BlankAs",
    "ColumnOptions",
    "FileOptions",
    "Mode",
    "OnFileChange",
    "OptionDescription",
    "ReadOptions",
    "ReadingOptions",
    "RecordOptions",
    "SchemaConflicts",
    "SchemaMode",
    "SchemaOptions",
    "StorageOptions",
]
