from __future__ import annotations

import contextlib
import dataclasses
import pickle

import pytest

from splitscan.errors import UsageError
from splitscan.formats.csv.options import CsvOptions
from splitscan.formats.fixed.format import FixedOptions, SlicesOptions
from splitscan.formats.registry import FORMATS, describe_options, options_of, parse_options, resolve_format, spark_names
from splitscan.formats.text.format import TextOptions
from splitscan.options import FileOptions, Mode, ReadingOptions
from splitscan.options.spark_only import ACCEPTED_UNUSED, REFUSED, REFUSED_IF_TRUE
from splitscan.options.table import REQUIRED, python_twin

SHOWN_IN_QUOTES = {"text", "character", "regex", "time zone", "mapping", "code page"}
NEEDED = {"fixed": {"recordLength": 4}, "xml": {"rowTag": "row"}, "fixed_width": {"layout": "a 1 2"},
          "cobol": {"copybook": "01 R. 05 A PIC X(4)."}}  # fmt: skip


def refused(record_format: str, raw: dict[str, object]) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse_options(record_format, raw)
    assert caught.value.reason_code in {"bad-option", "unknown-option"}
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize("name", ["lineSep", "linesep", "LINESEP", "line_sep", "Line_Sep"])
def test_both_spellings_and_every_case_of_a_name_are_accepted(name):
    assert parse_options("csv", {name: "|"}).format.line_sep == "|"


@pytest.mark.parametrize("name", ["line__sep", "_lineSep", "lineSep_", "line-sep", "l_inesep"])
def test_a_spelling_that_is_neither_is_unknown(name):
    assert refused("csv", {name: "|"}).reason_code == "unknown-option"


@pytest.mark.parametrize(("alias", "attribute"), [("delimiter", "sep"), ("charset", "encoding")])
def test_spark_aliases_are_accepted(alias, attribute):
    assert getattr(parse_options("csv", {alias: "x"}).format, attribute) == "x"


def test_without_options_every_class_has_its_defaults():
    assert parse_options("csv", {}).format == CsvOptions()
    assert parse_options("text", {}).format == TextOptions()
    assert parse_options("slices", {}).format == SlicesOptions()
    options = parse_options("fixed", {"recordLength": "7"})
    assert options.format == FixedOptions(7)
    assert options.files == FileOptions()
    assert options.reading == ReadingOptions()


def test_the_defaults_are_sparks_where_spark_has_them():
    csv = CsvOptions()
    assert (csv.sep, csv.quote, csv.escape, csv.comment, csv.header) == (",", '"', "\\", None, False)
    assert (csv.encoding, csv.line_sep, csv.multi_line) == ("UTF-8", None, False)
    assert (csv.null_value, csv.empty_value, csv.nan_value) == ("", "", "NaN")
    assert (csv.positive_inf, csv.negative_inf) == ("Inf", "-Inf")
    assert (csv.ignore_leading_white_space, csv.ignore_trailing_white_space) == (False, False)
    assert (csv.max_columns, csv.max_chars_per_column, csv.prefer_date) == (20480, -1, True)
    assert csv.enforce_schema is None
    files = FileOptions()
    assert (files.block_bytes, files.open_cost_bytes) == (134_217_728, 262_144)
    assert files.ignored_path_segment_regex == "^[._]"
    reading = ReadingOptions()
    assert (reading.mode, reading.column_name_of_corrupt_record) == (Mode.PERMISSIVE, "_corrupt_record")


@pytest.mark.parametrize("record_format", FORMATS)
def test_every_declared_default_can_be_written_back_as_text(record_format):
    for option in options_of(record_format):
        if option.default in (None, REQUIRED) or option.kind.name in SHOWN_IN_QUOTES:
            continue
        assert option.kind.parse(option.show_default()) == option.default, option.name


@pytest.mark.parametrize("record_format", FORMATS)
def test_every_field_of_every_class_is_an_option_under_its_own_name_too(record_format):
    spellings = {spelling for option in options_of(record_format) for spelling in option.spellings()}
    for options_class in (FORMATS[record_format].options_class, ReadingOptions, FileOptions):
        fields = {field.name for field in dataclasses.fields(options_class)}
        assert fields - {"modified_before_us", "modified_after_us"} <= spellings


@pytest.mark.parametrize("record_format", FORMATS)
def test_no_spelling_names_two_options(record_format):
    spellings = [spelling for option in options_of(record_format) for spelling in option.spellings()]
    foreign = {name.lower() for name in (*ACCEPTED_UNUSED, *REFUSED, *REFUSED_IF_TRUE)}
    assert len(set(spellings)) == len(spellings)
    assert not foreign & set(spellings)


def test_none_means_not_given():
    assert parse_options("csv", {"sep": None, "quote": None, "badRecordsPath": None}).format == CsvOptions()
    assert parse_options("csv", {"sep": None, "delimiter": ";"}).format.sep == ";"


def test_one_option_in_two_spellings_must_have_one_value():
    assert parse_options("csv", {"multiLine": "true", "multi_line": True}).format.multi_line
    error = refused("csv", {"sep": ",", "delimiter": ";"})
    assert str(error).splitlines() == [
        "options sep and delimiter are the same option with two values [bad-option]",
        "  seen:  ',' and ';'",
        "  fix:   give one of them",
    ]


VALUES = ("true", "false", "1", "2", "a", "b", "{}", '{"a": 1}', "1 MiB", "2024-01-01", "UTC", "PERMISSIVE", "FAILFAST")


def accepted(record_format: str, name: str) -> list[str]:
    """Values that an option takes, all else being as it must."""
    found = []
    for value in VALUES:
        with contextlib.suppress(UsageError):
            parse_options(record_format, {**NEEDED.get(record_format, {}), name: value})
            found.append(value)
    return found


@pytest.mark.thin(3)
@pytest.mark.parametrize("record_format", FORMATS)
def test_no_option_has_two_values_by_two_of_its_names(record_format):
    compared = 0
    for option in options_of(record_format):
        values = accepted(record_format, option.name)[:2]
        for name in {option.name.upper(), python_twin(option.name), *option.aliases} - {option.name}:
            if len(values) > 1:
                error = refused(record_format, dict(zip((option.name, name), values, strict=True)))
                assert "are the same option with two values" in str(error), (option.name, name)
                compared += 1
    assert compared > 30


def test_a_misspelt_option_is_refused_with_a_suggestion_and_what_lists_the_names():
    error = refused("csv", {"multilne": "true"})
    assert str(error).startswith("record format csv has no option multilne [unknown-option]")
    assert error.fix == "did you mean multiLine? splitscan options csv lists all of them"


def test_a_misspelt_twin_is_answered_with_the_twin():
    assert refused("csv", {"multi_lin": True}).fix.startswith("did you mean multi_line? ")


def test_a_name_like_no_other_gets_no_suggestion():
    assert refused("csv", {"zzzzqqqq": 1}).fix == "leave it out; splitscan options csv lists all of them"


def test_an_option_of_another_format_is_refused_by_name_of_its_format():
    error = refused("text", {"header": True})
    assert error.reason_code == "unknown-option"
    assert error.fix == "it is an option of csv, not of text; splitscan options text lists all of them"


def test_the_value_of_an_unknown_option_is_not_quoted():
    assert "hunter2" not in str(refused("csv", {"storageOption": '{"secret": "hunter2"}'}))


def test_a_value_of_the_wrong_kind_is_named_and_the_allowed_ones_listed():
    assert str(refused("csv", {"MODE": "nonsense"})).splitlines() == [
        "option MODE takes PERMISSIVE, DROPMALFORMED or FAILFAST [bad-option]",
        "  seen:  'nonsense'",
        "  fix:   correct it or leave MODE out: then it is PERMISSIVE",
    ]


def test_a_fixed_length_record_format_needs_its_length():
    assert str(refused("fixed", {})).splitlines() == [
        "record format fixed needs option recordLength [bad-option]",
        "  seen:  nothing",
        "  fix:   give recordLength: a whole number from 1 on",
    ]


@pytest.mark.parametrize("name", ["csv", "CSV", " Csv "])
def test_a_record_format_is_found_in_any_case(name):
    assert parse_options(name, {}).record_format == "csv"


@pytest.mark.parametrize("name", ["tab", "TAB", "space", "comma", "semicolon", "pipe", "none"])
def test_the_name_of_a_separator_is_no_separator(name):
    with pytest.raises(UsageError, match="write the character itself"):
        parse_options("csv", {"sep": name})


@pytest.mark.parametrize("name", ["cvs", "", None, 3])
def test_an_unknown_record_format_is_refused(name):
    with pytest.raises(
        UsageError, match="option recordFormat takes one of csv, text, fixed, fixed_width, slices"
    ) as caught:
        resolve_format(name)
    assert caught.value.fix == ("did you mean csv?" if name == "cvs" else "name one of them")


@pytest.mark.parametrize("name", ["recordFormat", "record_format", "RECORDFORMAT"])
def test_the_record_format_may_be_named_again_but_not_another(name):
    assert parse_options("csv", {name: "Csv"}) == parse_options("csv", {name: None}) == parse_options("csv", {})
    with pytest.raises(UsageError, match=rf"two record formats are named(.|\n)*csv, and {name}='text'"):
        parse_options("csv", {name: "text"})
    with pytest.raises(UsageError, match="did you mean text"):
        parse_options("csv", {name: "txt"})


@pytest.mark.thin(40)
@pytest.mark.parametrize("name", [*ACCEPTED_UNUSED, "SAMPLINGRATIO", "sampling_ratio"])
@pytest.mark.parametrize("record_format", FORMATS)
def test_harmless_spark_options_are_accepted_whatever_their_value(record_format, name):
    needed = NEEDED.get(record_format, {})
    assert parse_options(record_format, {name: object(), **needed}) == parse_options(record_format, needed)


@pytest.mark.parametrize("name", [*REFUSED, "PREFERSDATE", "bad_records_path"])
def test_spark_options_that_we_cannot_honour_are_refused_with_a_way_out(name):
    error = refused("csv", {name: "x"})
    assert error.rule == f"option {name} is not supported"
    assert error.fix in REFUSED.values()


@pytest.mark.parametrize("name", [*REFUSED_IF_TRUE, "LATESTFIRST", "file_name_only"])
def test_flags_of_spark_that_say_what_happens_here_are_accepted_and_others_refused(name):
    error = refused("json", {name: "true"})
    assert error.rule == f"option {name} is not supported"
    assert error.fix in REFUSED_IF_TRUE.values()
    assert parse_options("json", {name: "FALSE"}) == parse_options("json", {name: None}) == parse_options("json", {})
    assert refused("json", {name: "maybe"}).rule == f"option {name} takes true or false"


@pytest.mark.parametrize("name", ["wholetext", "wholeText", "whole_text"])
def test_whole_documents_are_refused_and_false_is_accepted(name):
    error = refused("text", {name: "TRUE"})
    assert "one document, which cannot be split" in error.fix
    assert "Spark's own text reader" in error.fix
    assert parse_options("text", {name: "false"}).format == TextOptions()
    assert parse_options("text", {name: None}).format == TextOptions()
    assert refused("text", {name: "maybe"}).rule == f"option {name} takes true or false"
    assert refused("csv", {name: "true"}).reason_code == "unknown-option"


def test_options_travel_and_compare_and_cannot_be_changed():
    raw = {"sep": ";", "mode": "failfast", "storageOptions": {"key": "k", "nested": {"a": [1]}}, "columns": "a,b"}
    options = parse_options("csv", raw)
    copy = pickle.loads(pickle.dumps(options))
    assert copy == options
    assert hash(copy) == hash(options)
    assert copy.files.storage_options["nested"] == {"a": [1]}
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.format.sep = ","


def test_the_time_zone_belongs_to_every_format_and_places_modification_times():
    raw = {"modifiedAfter": "2024-07-01T02:00:00", "timeZone": "Europe/Berlin"}
    assert parse_options("text", raw).files.modified_after_us == 1_719_792_000_000_000
    csv = parse_options("csv", raw)
    assert csv.files.modified_after_us == 1_719_792_000_000_000
    assert csv.format.time_zone == "Europe/Berlin"
    assert (
        parse_options("text", {"modifiedAfter": raw["modifiedAfter"]}).files.modified_after_us == 1_719_799_200_000_000
    )


@pytest.mark.parametrize("record_format", FORMATS)
def test_descriptions_say_everything_about_every_option(record_format):
    described = describe_options(record_format)
    assert [option.name for option in described] == list(spark_names(record_format))
    for option in described:
        assert record_format in option.formats
        assert option.type
        assert option.allowed
        assert option.meaning.endswith(".")


def test_a_description_carries_names_default_and_formats():
    encoding = next(option for option in describe_options("csv") if option.name == "encoding")
    assert (encoding.aliases, encoding.python_name, encoding.type) == (("charset",), "encoding", "text")
    formats = ("csv", "text", "fixed_width", "json", "log", "cobol", "xml")
    assert (encoding.default, encoding.formats) == ('"UTF-8"', formats)
    block = next(option for option in describe_options("csv") if option.name == "blockSize")
    assert (block.python_name, block.default, block.formats) == ("block_size", "128 MiB", tuple(FORMATS))


@pytest.mark.parametrize(("record_format", "name"), [("fixed", "recordLength"), ("slices", "sliceSize")])
def test_records_of_a_known_length_must_fit_into_the_longest_record(record_format, name):
    parse_options(record_format, {name: 100, "maxRecordBytes": 100})
    assert str(refused(record_format, {name: 101, "maxRecordBytes": 100})).splitlines() == [
        f"option {name} is larger than maxRecordBytes, so every record would be a reject [bad-option]",
        f"  seen:  {name}=101, maxRecordBytes=100",
        "  fix:   raise maxRecordBytes",
    ]


def test_two_values_of_one_option_are_shown_as_they_were_written():
    assert refused("text", {"mode": "failfast", "MODE": Mode.PERMISSIVE}).seen == "'failfast' and 'PERMISSIVE'"
