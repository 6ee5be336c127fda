"""Options: what a user may say about a scan, typed, frozen, validated. Names and meaning are Spark's."""

from splitscan.options.database import Snapshot, TableOptions, describe_table_options, parse_table_options
from splitscan.options.files import FileOptions, OnFileChange, StorageOptions
from splitscan.options.kafka import EARLIEST, LATEST, MESSAGE_COLUMNS, KafkaOptions, OffsetChoice
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
from splitscan.options.stream import (
    CleanSource,
    FileMode,
    OnModified,
    StreamOptions,
    WindowLogChoice,
    parse_stream_options,
)
from splitscan.options.table import OptionDescription

__all__ = [
    "EARLIEST",
    "LATEST",
    "MESSAGE_COLUMNS",
    "METADATA_COLUMNS",
    "BlankAs",
    "CleanSource",
    "ColumnOptions",
    "FileMode",
    "FileOptions",
    "KafkaOptions",
    "Mode",
    "OffsetChoice",
    "OnFileChange",
    "OnModified",
    "OptionDescription",
    "ReadOptions",
    "ReadingOptions",
    "RecordOptions",
    "SchemaConflicts",
    "SchemaMode",
    "SchemaOptions",
    "Snapshot",
    "StorageOptions",
    "StreamOptions",
    "TableOptions",
    "WindowLogChoice",
    "describe_table_options",
    "parse_stream_options",
    "parse_table_options",
]
