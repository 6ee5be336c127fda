"""Options: what a user may say about a scan, typed, frozen, validated. Names and meaning are Spark's."""

from splitscan.options.columns import BlankAs, ColumnOptions
from splitscan.options.database import Snapshot, TableOptions, describe_table_options, parse_table_options
from splitscan.options.describing import OptionDescription
from splitscan.options.files import FileOptions, OnFileChange, StorageOptions
from splitscan.options.kafka import EARLIEST, LATEST, MESSAGE_COLUMNS, KafkaOptions, OffsetChoice
from splitscan.options.read import ReadOptions
from splitscan.options.reading import METADATA_COLUMNS, Mode, ReadingOptions
from splitscan.options.record import RecordOptions
from splitscan.options.schema import SchemaConflicts, SchemaMode, SchemaOptions
from splitscan.options.stream import CleanSource, FileMode, OnModified, StreamOptions, WindowLogChoice
from splitscan.options.stream_parse import parse_stream_options

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
