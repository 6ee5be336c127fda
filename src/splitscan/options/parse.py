"""From what a user wrote to the typed options of a scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from splitscan.errors import UsageError
from splitscan.options.csv import HeaderMapping
from splitscan.options.files import FileOptions
from splitscan.options.fixed import FixedOptions, SlicesOptions
from splitscan.options.formats import FORMAT_CLASSES, options_of, resolve_format
from splitscan.options.given import fields_given, parsed_values
from splitscan.options.reading import ReadingOptions
from splitscan.options.record import RecordOptions
from splitscan.options.schema import SchemaOptions
from splitscan.options.table import REQUIRED, declared_options
from splitscan.options.zones import epoch_us

_MOMENTS = ("modified_before_us", "modified_after_us")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Everything a user may say about one scan, validated.

    Attributes:
        record_format: Name of the record format, lower case.
        files: Which files, and how they are cut.
        reading: What is delivered, in which portions.
        format: The record format's own options.
        schema: Which columns there are; with its defaults for record formats without named columns.
        given: Names of the options that the user gave, in Spark's spelling. They make no other scan of the same values.

    Pickling: yes.
    """

    record_format: str
    files: FileOptions
    reading: ReadingOptions
    format: RecordOptions
    schema: SchemaOptions = field(default_factory=SchemaOptions)
    given: frozenset[str] = field(default=frozenset(), compare=False)


def parse_options(
    record_format: str, raw: Mapping[str, Any], asker: str | None = None, *, has_columns: bool | None = None
) -> ReadOptions:
    """Turn options as the user wrote them into typed, validated ones.

    Names are Spark's, in any case, or their snake_case twins. Values are Python values or the text of them.
    ``None`` means that the option was not given.

    Args:
        record_format: ``csv``, ``text``, ``fixed``, ``slices`` or ``json``, in any case.
        raw: Options by name.
        asker: Who takes options of this format without having been told one, for the message.
        has_columns: Whether records have named columns, so that :class:`SchemaOptions` are taken; by default those of
            the formats in :data:`WITH_COLUMNS` have.

    Raises:
        UsageError: ``[unknown-option]`` for a name that this record format does not have, with a suggestion;
            ``[bad-option]`` for a value that is not allowed, options that contradict each other, and an
            unknown record format.

    Example:
        >>> options = parse_options("csv", {"delimiter": ";", "multi_line": "true", "blockSize": "64 MiB"})
        >>> options.format.sep, options.format.multi_line, options.files.block_bytes
        (';', True, 67108864)
    """
    format_name = resolve_format(record_format)
    format_class = FORMAT_CLASSES[format_name]
    known = options_of(format_name, has_columns=has_columns)
    values = parsed_values(format_name, known, raw, asker)
    zone = values.get("timeZone", "UTC")
    files = _build_files(values, zone)
    reading = ReadingOptions(**fields_given(ReadingOptions, values))
    own = fields_given(format_class, values)
    schema = SchemaOptions(**fields_given(SchemaOptions, values))
    if schema.provided_schema is not None and own.get("header") and own.get("enforce_schema") is not True:
        own["header_mapping"] = HeaderMapping.NAME  # provided columns have an order of their own
    for option in declared_options(format_class):
        if option.default is REQUIRED and option.attribute not in own:
            raise UsageError(
                f"record format {format_name} needs option {option.name}", seen="nothing",
                fix=f"give {option.kind.allowed}", code="bad-option",
            )  # fmt: skip
    options = ReadOptions(format_name, files, reading, format_class(**own), schema, frozenset(values))
    _check_record_fits(options)
    return options


def _check_record_fits(options: ReadOptions) -> None:
    """Records of one known length must not all be too long."""
    own = options.format
    if isinstance(own, FixedOptions):
        name, length_bytes = "recordLength", own.record_length
    elif isinstance(own, SlicesOptions):
        name, length_bytes = "sliceSize", own.slice_bytes
    else:
        return
    if length_bytes > options.reading.max_record_bytes:
        raise UsageError(
            f"option {name} is larger than maxRecordBytes, so every record would be a reject",
            seen=f"{name}={length_bytes}, maxRecordBytes={options.reading.max_record_bytes}",
            fix="raise maxRecordBytes", code="bad-option",
        )  # fmt: skip


def _build_files(values: Mapping[str, Any], zone: str) -> FileOptions:
    fields = fields_given(FileOptions, values)
    for attribute in _MOMENTS:
        if attribute in fields:
            fields[attribute] = epoch_us(fields[attribute], zone)
    files = FileOptions(**fields)
    before, after = files.modified_before_us, files.modified_after_us
    if before is not None and after is not None and after >= before:
        raise UsageError(
            "options modifiedAfter and modifiedBefore leave no time between them",
            seen=f"modifiedAfter={values['modifiedAfter']}, modifiedBefore={values['modifiedBefore']}",
            fix="make modifiedAfter the earlier one", code="bad-option",
        )  # fmt: skip
    return files
