"""From what a user wrote to typed options: names resolved, values parsed, mistakes explained."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from splitscan.errors import UsageError
from splitscan.options.csv import CsvOptions, HeaderMapping
from splitscan.options.files import FileOptions
from splitscan.options.fixed import FixedOptions, SlicesOptions
from splitscan.options.json import JsonOptions
from splitscan.options.kinds import FLAG, ValueRefusedError, bad_option, show_value
from splitscan.options.reading import ReadingOptions
from splitscan.options.schema import SchemaOptions
from splitscan.options.spark_only import ACCEPTED_UNUSED, REFUSED, WHOLE_TEXT, WHOLE_TEXT_FIX
from splitscan.options.stream import CleanSource, FileMode, StreamOptions, WindowLogChoice
from splitscan.options.table import REQUIRED, Option, declared_options, python_twin
from splitscan.options.text import TextOptions
from splitscan.options.zones import ZONE, epoch_us

FormatOptions: TypeAlias = CsvOptions | TextOptions | FixedOptions | SlicesOptions | JsonOptions

FORMAT_CLASSES: Mapping[str, type[FormatOptions]] = {
    "csv": CsvOptions,
    "text": TextOptions,
    "fixed": FixedOptions,
    "slices": SlicesOptions,
    "json": JsonOptions,
}
"""The options class of every record format."""

WITH_COLUMNS = ("csv", "json")
"""Record formats whose records have named columns, and so :class:`SchemaOptions`."""

_ZONE_OF_FILES = Option("timeZone", ZONE, "Zone of `modifiedBefore` and `modifiedAfter`.", default="UTC")
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

    Pickling: yes.
    """

    record_format: str
    files: FileOptions
    reading: ReadingOptions
    format: FormatOptions
    schema: SchemaOptions = field(default_factory=SchemaOptions)


@dataclass(frozen=True, slots=True)
class OptionDescription:
    """One option as people see it.

    Attributes:
        name: Spark's name.
        aliases: Other names, as Spark has them.
        python_name: The snake_case twin of ``name``.
        type: Kind of values.
        allowed: Which values are allowed.
        default: Default, rendered; empty when there is none, ``required`` when it must be given.
        meaning: What it does.
        formats: Record formats that have it.
    """

    name: str
    aliases: tuple[str, ...]
    python_name: str
    type: str
    allowed: str
    default: str
    meaning: str
    formats: tuple[str, ...]


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
    options = ReadOptions(format_name, files, reading, format_class(**own), schema)
    _check_record_fits(options)
    return options


def parse_stream_options(raw: Mapping[str, Any]) -> tuple[StreamOptions, dict[str, Any]]:
    """Take the options of streams out of what a user wrote.

    Returns:
        The typed options, and all others as they were.

    Raises:
        UsageError: ``[bad-option]`` for a value that is not allowed, or options that contradict each other.

    Example:
        >>> options, others = parse_stream_options({"blocksThreshold": "8", "header": "true"})
        >>> options.blocks_threshold, others
        (8, {'header': 'true'})
    """
    known = declared_options(StreamOptions)
    spellings = {spelling for option in known for spelling in option.spellings()}
    own = {name: value for name, value in raw.items() if str(name).lower() in spellings}
    values = parsed_values("of a stream", known, own, None)
    options = StreamOptions(**fields_given(StreamOptions, values))
    archives = options.clean_source is CleanSource.ARCHIVE
    if archives != (options.source_archive_dir is not None):
        raise UsageError(
            "options cleanSource=archive and sourceArchiveDir go together",
            seen=f"cleanSource={options.clean_source.value}, sourceArchiveDir={options.source_archive_dir}",
            fix="give both or neither",
            code="bad-option",
        )
    if options.clean_source is not CleanSource.OFF and options.file_mode is FileMode.APPEND:
        raise UsageError(
            "option cleanSource takes complete files away, and a file that grows is never complete",
            seen=f"cleanSource={options.clean_source.value}, fileMode=append",
            fix="leave out one of them",
            code="bad-option",
        )
    if options.window_log is WindowLogChoice.NONE and options.state_location is not None:
        raise UsageError(
            "option windowLog=none keeps no state, so stateLocation has no meaning",
            seen="windowLog=none, and a stateLocation",
            fix="leave out one of them",
            code="bad-option",
        )
    if options.max_readers is not None and (options.min_readers or 1) > options.max_readers:
        raise UsageError(
            "option minReaders is larger than maxReaders",
            seen=f"minReaders={options.min_readers}, maxReaders={options.max_readers}",
            fix="raise maxReaders",
            code="bad-option",
        )
    return options, {name: value for name, value in raw.items() if name not in own}


def resolve_format(record_format: str) -> str:
    """Return the name of a record format in lower case.

    Raises:
        UsageError: ``[bad-option]`` if there is no such format, with a suggestion.
    """
    name = record_format.strip().lower() if isinstance(record_format, str) else ""
    if name not in FORMAT_CLASSES:
        close = difflib.get_close_matches(name, FORMAT_CLASSES, n=1)
        fix = f"did you mean {close[0]}?" if close else "name one of them"
        raise bad_option("recordFormat", show_value(record_format), f"one of {', '.join(FORMAT_CLASSES)}", fix)
    return name


def options_of(format_name: str, *, has_columns: bool | None = None) -> tuple[Option, ...]:
    """Return every option of a record format: its own, then those of all formats."""
    own = declared_options(FORMAT_CLASSES[format_name])
    if format_name in WITH_COLUMNS if has_columns is None else has_columns:
        own += declared_options(SchemaOptions)
    shared = declared_options(ReadingOptions) + declared_options(FileOptions)
    zone = () if any(option.name == _ZONE_OF_FILES.name for option in own) else (_ZONE_OF_FILES,)
    return own + shared + zone


def describe_options(record_format: str) -> list[OptionDescription]:
    """Describe the options of a record format, for help and documentation: its own first.

    Example:
        >>> describe_options("fixed")[0].name, describe_options("fixed")[0].default
        ('recordLength', 'required')
    """
    return [
        describe(option, tuple(name for name in FORMAT_CLASSES if option.name in spark_names(name)))
        for option in options_of(resolve_format(record_format))
    ]


def describe_stream_options() -> list[OptionDescription]:
    """Describe the options of streams, for help and documentation.

    Example:
        >>> describe_stream_options()[0].name
        'stateLocation'
    """
    return [describe(option, tuple(FORMAT_CLASSES)) for option in declared_options(StreamOptions)]


def describe(option: Option, formats: tuple[str, ...]) -> OptionDescription:
    """One option as people see it; *formats* have it."""
    return OptionDescription(
        name=option.name,
        aliases=option.aliases,
        python_name=python_twin(option.name),
        type=option.kind.name,
        allowed=option.kind.allowed,
        default=option.show_default(),
        meaning=option.meaning,
        formats=formats,
    )


def spark_names(record_format: str) -> tuple[str, ...]:
    """Return the names of a record format's options, in Spark's spelling, aliases left out."""
    return tuple(option.name for option in options_of(resolve_format(record_format)))


def parsed_values(
    format_name: str, known: tuple[Option, ...], raw: Mapping[str, Any], asker: str | None
) -> dict[str, Any]:
    """Parse what was given, by option name; one option given twice must have one value.

    Args:
        format_name: Record format, for what is said of names that are not known.
        known: The options that there are.
        raw: What was given.
        asker: Who takes the options, where that is not a record format that was named.

    Raises:
        UsageError: ``[unknown-option]``, ``[bad-option]``.
    """
    by_spelling = {spelling: option for option in known for spelling in option.spellings()}
    values: dict[str, Any] = {}
    given: dict[str, tuple[str, Any]] = {}
    for name, value in raw.items():
        option = by_spelling.get(str(name).lower())
        if option is None:
            _check_foreign(str(name), value, format_name, asker)
            continue
        if value is None:
            continue
        parsed = _parse_value(str(name), option, value)
        if option.name in values and values[option.name] != parsed:
            first, first_value = given[option.name]
            seen = None if option.kind.secret else f"{show_value(first_value)} and {show_value(value)}"
            raise UsageError(
                f"options {first} and {name} are the same option with two values", seen=seen,
                fix="give one of them", code="bad-option",
            )  # fmt: skip
        values[option.name], given[option.name] = parsed, (str(name), value)
    return values


def _parse_value(name: str, option: Option, value: Any) -> Any:
    try:
        return option.kind.parse(value)
    except ValueRefusedError as refused:
        seen = "a value that is not shown" if option.kind.secret else show_value(value)
        default = option.show_default()
        leave = f" or leave {name} out: then it is {default}" if default not in ("", "required") else ""
        raise bad_option(name, seen, option.kind.allowed, refused.fix or f"correct it{leave}") from None


def _check_foreign(name: str, value: Any, format_name: str, asker: str | None) -> None:
    """Accept a name that is no option of ours but harmless; explain any other."""
    lower = name.lower()
    if _find(lower, ACCEPTED_UNUSED) is not None:
        return
    if lower in (WHOLE_TEXT, "whole_text") and format_name == "text":
        _check_whole_text(name, value)
        return
    refused = _find(lower, REFUSED)
    if refused is not None:
        if value is None:
            return
        raise UsageError(
            f"option {name} is not supported",
            seen=f"{name}={show_value(value)}",
            fix=REFUSED[refused],
            code="bad-option",
        )
    raise _unknown_option(name, format_name, asker)


def _find(lower: str, known: Mapping[str, str]) -> str | None:
    return next((name for name in known if lower in (name.lower(), python_twin(name))), None)


def _check_whole_text(name: str, value: Any) -> None:
    try:
        refused = value is not None and FLAG.parse(value)
    except ValueRefusedError:
        raise bad_option(name, show_value(value), FLAG.allowed, "leave it out") from None
    if refused:
        raise UsageError(
            f"option {name} is not supported", seen=f"{name}={show_value(value)}", fix=WHOLE_TEXT_FIX, code="bad-option"
        )


def _unknown_option(name: str, format_name: str, asker: str | None) -> UsageError:
    """Return the error for an unknown name: the nearest option, or the format it belongs to, and what there is."""
    spellings = {spelling: o.name for o in options_of(format_name) for spelling in o.spellings()}
    valid = ", ".join(sorted(spark_names(format_name), key=str.lower))
    others = [other for other in FORMAT_CLASSES if _has_option(other, name)]
    close = difflib.get_close_matches(name.lower(), spellings, n=1)
    if others and asker is not None:
        hint = f"it is an option of {' and '.join(others)}: name the format too; "
    elif others:
        hint = f"it is an option of {' and '.join(others)}, not of {format_name}; "
    elif close:
        suggestion = python_twin(spellings[close[0]]) if "_" in name else spellings[close[0]]
        hint = f"did you mean {suggestion}? "
    else:
        hint = "leave it out; "
    return UsageError(
        f"{asker or f'record format {format_name}'} has no option {name}", seen=show_value(name),
        fix=f"{hint}valid options: {valid}", code="unknown-option",
    )  # fmt: skip


def _has_option(format_name: str, name: str) -> bool:
    return any(name.lower() in option.spellings() for option in options_of(format_name))


def fields_given(options_class: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """What was given of the options of a class, by its attributes."""
    return {o.attribute: values[o.name] for o in declared_options(options_class) if o.name in values}


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
