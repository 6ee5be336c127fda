"""From what a user wrote to the typed options of a scan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from splitscan.errors import UsageError
from splitscan.formats.declared import options_of, resolve_format
from splitscan.formats.foreign import check_foreign
from splitscan.formats.registry import FORMATS
from splitscan.options.files import FileOptions
from splitscan.options.given import fields_given, parsed_values
from splitscan.options.read import ReadOptions
from splitscan.options.reading import ReadingOptions
from splitscan.options.record import RecordOptions
from splitscan.options.schema import SchemaOptions
from splitscan.options.table import REQUIRED, declared_options
from splitscan.options.zones import epoch_us

_MOMENTS = ("modified_before_us", "modified_after_us")


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
            the format's own class says so.

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
    options_class = FORMATS[format_name].options_class
    known = options_of(format_name, has_columns=has_columns)
    values = parsed_values(known, raw, lambda name, value: check_foreign(name, value, format_name, asker))
    zone = values.get("timeZone", "UTC")
    files = _build_files(values, zone)
    reading = ReadingOptions(**fields_given(ReadingOptions, values))
    own = fields_given(options_class, values)
    schema = SchemaOptions(**fields_given(SchemaOptions, values))
    for option in declared_options(options_class):
        if option.default is REQUIRED and option.attribute not in own:
            raise UsageError(
                f"record format {format_name} needs option {option.name}", seen="nothing",
                fix=f"give {option.kind.allowed}", code="bad-option",
            )  # fmt: skip
    record = options_class.of_given(own, has_provided_schema=schema.provided_schema is not None)
    _check_record_fits(record, reading)
    return ReadOptions(format_name, files, reading, record, schema, frozenset(values))


def _check_record_fits(record: RecordOptions, reading: ReadingOptions) -> None:
    """Records of one known length must not all be too long."""
    if record.fixed_length is None:
        return
    name, length_bytes = record.fixed_length
    if length_bytes > reading.max_record_bytes:
        raise UsageError(
            f"option {name} is larger than maxRecordBytes, so every record would be a reject",
            seen=f"{name}={length_bytes}, maxRecordBytes={reading.max_record_bytes}",
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
