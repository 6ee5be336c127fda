"""Every parameter of Spark's readers is an option of ours, or accepted, or refused with a reason of its own."""

from __future__ import annotations

import inspect

import pytest
from pyspark.sql import DataFrameReader, SparkSession
from pyspark.sql.streaming import DataStreamReader

from splitscan.errors import UsageError
from splitscan.formats.registry import parse_options
from splitscan.options.stream import parse_stream_options

_SQL = "org.apache.spark.sql"
_LISTS = {
    "csv": f"{_SQL}.catalyst.csv.CSVOptions",
    "json": f"{_SQL}.catalyst.json.JSONOptions",
    "xml": f"{_SQL}.catalyst.xml.XmlOptions",
    "text": f"{_SQL}.execution.datasources.text.TextOptions",
}
_OF_FILES = f"{_SQL}.execution.datasources.FileIndexOptions"
_UNLISTED = {
    "csv": ["maxMalformedLogPerPartition", "prefersDate", "columnNameOfCorruptRecord", "singleVariantColumn"],
    "json": ["maxNestingDepth", "maxStringLen", "maxNumLen", "allowNumericLeadingZero", "singleVariantColumn"],
    "xml": ["singleVariantColumn", "columnNameOfCorruptRecord"],
    "text": [],
}  # what Spark's code looks up, or once did, without a place in its lists
_UNLISTED_OF_FILES = ["ignoreCorruptFiles", "ignoreMissingFiles", "ignoredPathSegmentRegex", "archivePathFilter"]
_OF_STREAMS = [
    "path", "maxFilesPerTrigger", "maxBytesPerTrigger", "maxFileAge", "latestFirst", "fileNameOnly", "cleanSource",
    "sourceArchiveDir", "maxCachedFiles", "discardCachedInputRatio",
]  # fmt: skip
_NO_OPTIONS = {"self", "path", "paths", "schema"}


def sparks_list(spark: SparkSession, of: str) -> list[str]:
    """The options that a class of Spark says it has."""
    found = spark.sparkContext._jvm
    for part in of.split("."):
        found = getattr(found, part)
    return found.getAllOptions().mkString(",").split(",")


def reason_of(record_format: str, name: str) -> str | None:
    """The code of the error that an option with a value of no kind meets; ``None`` if it is known."""
    try:
        _, others = parse_stream_options({name: object()})
        parse_options(record_format, others if record_format != "xml" else {"rowTag": "r", **others})
    except UsageError as refused:
        # an error that names the format whose option it is knows it
        return None if "it is an option of json" in refused.fix else refused.reason_code
    return None


@pytest.mark.parametrize("record_format", _LISTS)
def test_every_option_of_sparks_own_lists_is_known(spark, record_format):
    listed = sparks_list(spark, _LISTS[record_format])
    names = [*listed, *sparks_list(spark, _OF_FILES), *_UNLISTED[record_format], *_UNLISTED_OF_FILES, *_OF_STREAMS]
    assert len(listed) >= 4
    assert "recursiveFileLookup" in names
    assert [name for name in names if reason_of(record_format, name) == "unknown-option"] == []


@pytest.mark.parametrize("record_format", _LISTS)
@pytest.mark.parametrize("reader", [DataFrameReader, DataStreamReader])
def test_every_parameter_of_sparks_readers_in_python_is_known(reader, record_format):
    names = set(inspect.signature(getattr(reader, record_format)).parameters) - _NO_OPTIONS
    assert names & {"lineSep", "rowTag"}
    assert [name for name in sorted(names) if reason_of(record_format, name) == "unknown-option"] == []


def test_a_name_that_spark_does_not_have_is_unknown():
    assert reason_of("csv", "multilne") == "unknown-option"
