"""Options: what a user may say about a scan, typed, frozen, validated. Names and meaning are Spark's."""

from splitscan.options.columns import BlankAs, ColumnOptions
from splitscan.options.csv import CsvOptions, HeaderMapping
from splitscan.options.database import Snapshot, TableOptions, describe_table_options, parse_table_options
from splitscan.options.describing import OptionDescription, describe_options
from splitscan.options.files import FileOptions, OnFileChange, StorageOptions
from splitscan.options.fixed import FixedOptions, SlicesOptions
from splitscan.options.formats import resolve_format, spark_names
from splitscan.options.json import JsonOptions
from splitscan.options.kafka import EARLIEST, LATEST, MESSAGE_COLUMNS, KafkaOptions, OffsetChoice
from splitscan.options.kafka_parse import MESSAGE_FORMATS, parse_kafka_options, parse_message_options
from splitscan.options.parse import ReadOptions, parse_options
from splitscan.options.reading import METADATA_COLUMNS, Mode, ReadingOptions
from splitscan.options.record import RecordOptions
from splitscan.options.schema import SchemaConflicts, SchemaMode, SchemaOptions
from splitscan.options.stream import CleanSource, FileMode, OnModified, StreamOptions, WindowLogChoice
from splitscan.options.stream_parse import parse_stream_options
from splitscan.options.text import TextOptions

__all__ = [
    "EARLIEST",
    "LATEST",
    "MESSAGE_COLUMNS",
    "MESSAGE_FORMATS",
    "METADATA_COLUMNS",
    "BlankAs",
    "CleanSource",
    "ColumnOptions",
    "CsvOptions",
    "FileMode",
    "FileOptions",
    "FixedOptions",
    "HeaderMapping",
    "JsonOptions",
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
    "SlicesOptions",
    "Snapshot",
    "StorageOptions",
    "StreamOptions",
    "TableOptions",
    "TextOptions",
    "WindowLogChoice",
    "describe_options",
    "describe_table_options",
    "parse_kafka_options",
    "parse_message_options",
    "parse_options",
    "parse_stream_options",
    "parse_table_options",
    "resolve_format",
    "spark_names",
]
