from __future__ import annotations

import datetime as dt
import enum
import zoneinfo

import numpy as np
import pytest

from splitscan.errors import UsageError
from splitscan.formats.registry import parse_options
from splitscan.options import METADATA_COLUMNS, Mode, OnFileChange
from splitscan.sizes import parse_size


def reading(**raw):
    return parse_options("text", raw).reading


def refused(record_format="csv", **raw) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse_options(record_format, raw)
    assert caught.value.reason_code == "bad-option"
    return caught.value


@pytest.mark.parametrize(
    ("value", "flag"), [(True, True), ("true", True), (" TRUE ", True), (False, False), ("falsE", False)]
)
def test_flags_are_truth_values_or_their_words(value, flag):
    assert parse_options("csv", {"header": value}).format.header is flag


@pytest.mark.parametrize("value", ["yes", "1", 1, 0, "", "t", [True], 1.0], ids=repr)
def test_other_values_are_no_flags(value):
    assert refused(header=value).rule == "option header takes true or false"


@pytest.mark.parametrize("value", [7, "7", " 7 ", np.int64(7)], ids=repr)
def test_whole_numbers_are_numbers_or_their_text(value):
    assert reading(limit=value).limit == 7
    assert type(reading(limit=value).limit) is int


@pytest.mark.parametrize("value", [True, "7.0", 8.5, "seven", "", -1, "-2", 2**63, "9" * 500, [7]], ids=repr)
def test_other_values_are_no_whole_numbers(value):
    error = refused(limit=value)
    assert error.rule == "option limit takes a whole number from 0 on"
    assert len(error.seen) <= 83


def test_bounds_of_whole_numbers_are_inclusive():
    assert reading(limit=0).limit == 0
    assert reading(limit=2**63 - 1).limit == 2**63 - 1
    assert reading(batchRows=1).batch_rows == 1
    refused(batchRows=0)
    refused(minPartitionNum=0)
    refused(maxColumns=0)
    refused(skipRows=-1)
    refused("fixed", recordLength=0)


def test_the_length_of_a_field_may_be_unbounded_but_not_zero():
    assert parse_options("csv", {"maxCharsPerColumn": "-1"}).format.max_chars_per_column == -1
    assert parse_options("csv", {"maxCharsPerColumn": 1}).format.max_chars_per_column == 1
    assert refused(maxCharsPerColumn=0).rule == "option maxCharsPerColumn takes a whole number from 1 on, or -1"
    refused(maxCharsPerColumn=-2)


@pytest.mark.parametrize(("value", "size_bytes"), [(1, 1), ("64 MiB", 64 << 20), ("128m", 128 << 20), ("1.5k", 1536)])
def test_sizes_are_bytes_or_numbers_with_a_unit(value, size_bytes):
    assert parse_options("csv", {"blockSize": value}).files.block_bytes == size_bytes


@pytest.mark.parametrize(
    "value", [0, "00", -1, "-2", True, 1.5, "64 parsecs", "", "99999999 TiB", None.__class__, "9" * 500], ids=repr
)
def test_other_values_are_no_sizes(value):
    assert refused(blockSize=value).rule == "option blockSize takes a size such as 64 MiB"


def test_a_size_that_is_too_large_says_how_large_it_may_be():
    allowed = refused(readBytes="8 TiB").rule.removeprefix("option readBytes takes a size such as 64 MiB, up to ")
    assert reading(readBytes=allowed).read_bytes == parse_size(allowed)
    refused(readBytes=parse_size(allowed) + 1)


def test_opening_a_file_may_cost_nothing():
    assert parse_options("text", {"openCostInBytes": 0}).files.open_cost_bytes == 0


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("a", ("a",)),
        ("b, a", ("b", "a")),
        (["a", "b,c"], ("a", "b,c")),
        ('["a,b", "c"]', ("a,b", "c")),
        (("x",), ("x",)),
    ],
)
def test_names_are_lists_or_text_divided_by_commas(value, names):
    assert reading(columns=value).columns == names


@pytest.mark.parametrize("value", ["", " ", [], ()], ids=repr)
def test_an_empty_list_of_columns_is_the_empty_projection_and_not_all_columns(value):
    assert reading(columns=value).columns == ()
    assert reading().columns is None


@pytest.mark.parametrize(
    "value", ["a,,b", ",", "a,", [""], [1], 5, {"a": 1}, '["a', '{"a": 1}'.replace("{", "[{")], ids=repr
)
def test_other_values_are_no_names(value):
    assert refused(columns=value).rule == "option columns takes a comma-separated list of columns"


def test_a_list_that_is_no_json_says_what_to_write():
    assert refused(columns="[a").fix == "write a name that begins with [ as a JSON list"


def test_names_in_backquotes_may_hold_commas():
    assert reading(columns="`a,b`.c, columns[3] ,`d``,e`").columns == ("`a,b`.c", "columns[3]", "`d``,e`")
    assert refused(columns="a,`b").fix == "close every backquote"
    assert len(reading(columns=",".join(f"column_{i}" for i in range(100_000))).columns) == 100_000


def test_a_metadata_column_may_be_given_once():
    assert refused(metadataColumns="file_path,FILE_PATH").fix == "give every name once"
    assert "metadataColumns takes" in refused(metadataColumns=["file_path", 1]).rule


def test_metadata_columns_come_from_a_closed_list_in_any_case():
    assert reading(metadataColumns="FILE_PATH, record_offset").metadata_columns == ("file_path", "record_offset")
    assert reading(metadata_columns=list(METADATA_COLUMNS)).metadata_columns == METADATA_COLUMNS
    assert reading(metadataColumns="DIR0,dir11,FileName").metadata_columns == ("dir0", "dir11", "filename")
    assert refused(metadataColumns="dir01").fix == "leave out or correct 'dir01'"
    error = refused(metadataColumns="file_path,row_number,x")
    assert error.rule.startswith(
        "option metadataColumns takes a comma-separated list of filename, filepath, fqn, suffix, file_path, "
    )
    assert all(name in error.rule for name in METADATA_COLUMNS)
    assert error.fix == "leave out or correct 'row_number', 'x'"


@pytest.mark.parametrize("value", [Mode.DROPMALFORMED, "DROPMALFORMED", "dropMalformed", " dropmalformed "], ids=repr)
def test_choices_are_members_or_their_text_in_any_case(value):
    assert reading(mode=value).mode is Mode.DROPMALFORMED


@pytest.mark.parametrize("value", ["", "drop", 1, OnFileChange.FAIL], ids=repr)
def test_other_values_are_no_choices(value):
    error = refused(mode=value)
    assert error.rule == "option mode takes PERMISSIVE, DROPMALFORMED or FAILFAST"
    assert error.fix == "correct it or leave mode out: then it is PERMISSIVE"


@pytest.mark.parametrize(("value", "character"), [("|", "|"), ("é", "é"), ("", None), ("\0", None)])
def test_a_quote_is_one_character_or_off(value, character):
    assert parse_options("csv", {"quote": value}).format.quote == character


@pytest.mark.parametrize("value", ["''", 1, True, b'"', ["'"], "\U0001f600", "\ud800"], ids=repr)
def test_other_values_are_no_characters(value):
    assert refused(quote=value).rule == "option quote takes exactly one character, or empty text to turn it off"


@pytest.mark.parametrize("value", ["", "\0"], ids=repr)
def test_an_empty_escape_of_csv_is_none_as_in_spark(value):
    assert parse_options("csv", {"escape": value}).format.escape is None
    assert refused(escape="ab").rule == "option escape takes exactly one character, or empty text to turn it off"


def test_the_escape_of_text_is_off_unless_given():
    assert parse_options("text", {}).format.escape is None
    assert parse_options("text", {"escape": ""}).format.escape is None
    assert parse_options("text", {"escape": "\\"}).format.escape == "\\"


@pytest.mark.parametrize(
    "name", ["lineSep", "encoding", "dateFormat", "pathGlobFilter", "basePath", "columnNameOfCorruptRecord"]
)
@pytest.mark.parametrize("value", ["", 5, b"x"], ids=repr)
def test_names_and_delimiters_are_text_that_is_not_empty(name, value):
    assert refused(**{name: value}).rule == f"option {name} takes text that is not empty"


def test_the_text_of_a_null_may_be_empty_but_must_be_text():
    assert parse_options("csv", {"nullValue": "", "emptyValue": " "}).format.empty_value == " "
    assert refused(nullValue=0).rule == "option nullValue takes text"


@pytest.mark.parametrize("value", ["(", "[", 3, ""], ids=repr)
def test_a_faulty_or_empty_expression_is_refused(value):
    assert (
        refused(ignoredPathSegmentRegex=value).rule
        == "option ignoredPathSegmentRegex takes a regular expression (Python syntax)"
    )


def test_an_expression_that_compiles_is_kept_as_text():
    assert parse_options("text", {"ignoredPathSegmentRegex": "^_"}).files.ignored_path_segment_regex == "^_"
    assert "write (?!) to match none" in refused(ignoredPathSegmentRegex="").fix


@pytest.mark.parametrize(
    ("value", "zone", "expected_us"),
    [
        ("1970-01-01T00:00:01", "UTC", 1_000_000),
        ("1970-01-01T00:00:00", "+01:00", -3_600_000_000),
        ("1970-01-01T00:00:00", "-00:30", 1_800_000_000),
        ("1970-01-01T00:00:00", "GMT+2", -7_200_000_000),
        ("1970-01-01T00:00:00Z", "+05:00", 0),
        ("1970-01-01T02:00:00+02:00", "America/New_York", 0),
        ("0001-01-01T00:00:00", "+18:00", -62_135_661_600_000_000),
        ("9999-12-31T23:59:59", "-18:00", 253_402_365_599_000_000),
        (dt.datetime(1970, 1, 1, 0, 0, 0, 5), "UTC", 5),
        (dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), "UTC", 0),
    ],
)
def test_a_time_becomes_microseconds_in_its_zone(value, zone, expected_us):
    assert parse_options("text", {"modifiedBefore": value, "timeZone": zone}).files.modified_before_us == expected_us


@pytest.mark.parametrize(
    "value", ["2024-01-01", "2024-13-01T00:00:00", "2024-02-30T00:00:00", "20240101T000000", 5, "now"], ids=repr
)
def test_other_values_are_no_times(value):
    assert refused(modifiedBefore=value).rule.startswith(
        "option modifiedBefore takes YYYY-MM-DDTHH:mm:ss (in timeZone)"
    )


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "", "+19:00", "+18:01", "+01:60", "../etc/passwd", "Europe", "/etc", 1], ids=repr
)
def test_a_time_zone_must_exist(zone):
    assert refused(timeZone=zone).rule == "option timeZone takes a time zone such as Europe/Berlin, +01:00 or UTC"


def test_a_pair_of_times_must_leave_time_between_them():
    raw = {"modifiedAfter": "2024-01-02T00:00:00", "modifiedBefore": "2024-01-01T00:00:00"}
    error = refused(**raw)
    assert error.rule == "options modifiedAfter and modifiedBefore leave no time between them"
    refused(modifiedAfter="2024-01-01T00:00:00", modifiedBefore="2024-01-01T00:00:00")
    parse_options("csv", {"modifiedAfter": "2024-01-01T00:00:00", "modifiedBefore": "2024-01-01T00:00:01"})


def test_an_enum_of_someone_else_is_no_choice_even_with_the_same_value():
    class Other(enum.Enum):
        FAIL = "fail"

    refused(onFileChange=Other.FAIL)
    assert parse_options("text", {"onFileChange": "IGNORE"}).files.on_file_change is OnFileChange.IGNORE


@pytest.mark.parametrize("name", ["limit", "blockSize"])
def test_numbers_of_thousands_of_digits_are_refused_like_others(name):
    assert refused(**{name: "9" * 5000}).seen.startswith("'999")
    assert refused(**{name: 10**5000}).seen == "<int>"


def test_a_time_zone_that_cannot_be_read_is_refused_like_one_that_does_not_exist(monkeypatch):
    def is_a_directory(name):
        raise IsADirectoryError(name)  # what some versions of Python say to "Europe"

    monkeypatch.setattr(zoneinfo, "ZoneInfo", is_a_directory)
    assert refused(timeZone="Europe").rule.startswith("option timeZone takes a time zone")


def test_a_strict_schema_must_be_given():
    assert refused(schemaMode="strict").seen == "schemaMode=strict"
    given = {"schemaMode": "strict", "providedSchema": "a int"}
    assert parse_options("csv", given).schema.provided_schema is not None
