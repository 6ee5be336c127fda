"""Every record format by its name, and what a user wrote as its options. A new format is a folder here, and a line."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from splitscan.errors import UsageError, bad_option
from splitscan.formats.contract import Format
from splitscan.formats.first_bytes import row_tags
from splitscan.formats.framing.contract import RecordFormat
from splitscan.options.files import ZONE, FileOptions, epoch_us
from splitscan.options.read import ReadingOptions, ReadOptions, RecordOptions, SchemaOptions
from splitscan.options.spark_only import ACCEPTED_UNUSED, REFUSED, REFUSED_IF_TRUE, check_refused, is_listed
from splitscan.options.table import (
    Option,
    OptionDescription,
    by_spellings,
    check_required,
    declared_options,
    describe,
    fields_given,
    parsed_values,
    plain_name,
    show_value,
    suggestion_for,
)

DEFAULT_FORMAT = "csv"
"""The format of files whose names say nothing."""
_ZONE_OF_FILES = Option("timeZone", ZONE, "Zone of `modifiedBefore` and `modifiedAfter`.", default="UTC")

_MOMENTS = ("modified_before_us", "modified_after_us")


class Known(NamedTuple):
    """Module of a format, and which names of files say that they are of it.

    Attributes:
        module: Its module.
        name: Its class there.
        endings: Endings of names, in lower case, with the options that follow from each.
        candidates: For a required option, what finds values that may be meant in the first bytes of a file.
    """

    module: str
    name: str
    endings: Mapping[str, Mapping[str, str]] = {}
    candidates: Mapping[str, Callable[[bytes], Sequence[str]]] = {}


KNOWN = {
    "csv": Known(
        "splitscan.formats.csv.format",
        "Csv",
        {"csv": {}, "tsv": {"sep": "\t"}, "tab": {"sep": "\t"}, "psv": {"sep": "|"}},
    ),
    "text": Known("splitscan.formats.text.format", "Text", {"log": {}}),
    "fixed": Known("splitscan.formats.fixed.format", "Fixed"),
    "fixed_width": Known("splitscan.formats.fixed.format", "FixedWidth"),
    "slices": Known("splitscan.formats.fixed.format", "Slices"),
    "json": Known("splitscan.formats.json.format", "Json", {"json": {}, "jsonl": {}, "ndjson": {}, "geojson": {}}),
    "log": Known("splitscan.formats.log.format", "Log"),
    "cobol": Known("splitscan.formats.cobol.format", "Cobol"),
    "xml": Known("splitscan.formats.xml.format", "Xml", {"xml": {}}, {"rowTag": row_tags}),
}
"""Every format by its name."""


class _Formats(Mapping[str, Format[Any]]):
    """Imports a format when it is asked for: reading CSV does not wait for XML."""

    def __getitem__(self, name: str) -> Format[Any]:
        return _load(*KNOWN[name][:2])

    def __iter__(self) -> Iterator[str]:
        return iter(KNOWN)

    def __len__(self) -> int:
        return len(KNOWN)

    def __contains__(self, name: object) -> bool:
        return name in KNOWN


FORMATS: Mapping[str, Format[Any]] = _Formats()


@functools.cache
def _load(module: str, name: str) -> Format[Any]:
    found: Format[Any] = getattr(import_module(module), name)()
    return found


def endings() -> dict[str, tuple[str, Mapping[str, str]]]:
    """By the ending of a name: the format of such files, and its options that follow from the name."""
    return {ending: (name, given) for name, known in KNOWN.items() for ending, given in known.endings.items()}


def format_of(options: ReadOptions) -> Format[Any]:
    """The format that *options* name."""
    return FORMATS[options.record_format]


def record_format(options: ReadOptions) -> RecordFormat:
    """The way to find records that *options* describe."""
    return format_of(options).framing(options.format)


def formats_of_messages() -> dict[str, str]:
    """The record formats that the values of messages may have, by what they are called there."""
    called = {each.options_class.in_messages: name for name, each in FORMATS.items()}
    return {name: called[name] for name in sorted(filter(None, called))}


def resolve_format(record_format: str) -> str:
    """Return the name of a record format in lower case.

    Raises:
        UsageError: ``[bad-option]`` if there is no such format, with a suggestion.
    """
    name = record_format.strip().lower() if isinstance(record_format, str) else ""
    name = next((known for known in FORMATS if plain_name(known) == name), name)  # fixedWidth, as in Spark
    if name not in FORMATS:
        close = difflib.get_close_matches(name, FORMATS, n=1)
        fix = f"did you mean {close[0]}?" if close else "name one of them"
        raise bad_option(f"option recordFormat takes one of {', '.join(FORMATS)}", show_value(record_format), fix)
    return name


def named_format(format: Any, raw: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The record format that is given, as an argument or as an option, and the other options.

    Example:
        >>> named_format(None, {"record_format": "text", "limit": 3})
        ('text', {'limit': 3})
    """
    if format is not None:
        return format, dict(raw)
    named = [name for name in raw if plain_name(name) == _RECORD_FORMAT]
    others = {name: value for name, value in raw.items() if name not in named}
    return next((raw[name] for name in named if raw[name] is not None), None), others


_RECORD_FORMAT = "recordformat"  # in lower case, without what divides words


def finds_dialect(record_format: object) -> bool:
    """True if *record_format* names one whose dialect can be found by a look at the files."""
    name = record_format.strip().lower() if isinstance(record_format, str) else ""
    return name in FORMATS and FORMATS[name].options_class.finds_dialect


def options_of(format_name: str, *, has_columns: bool | None = None) -> tuple[Option, ...]:
    """Return every option of a record format: its own, then those of all formats."""
    options_class = FORMATS[format_name].options_class
    own = declared_options(options_class)
    if options_class.has_columns if has_columns is None else has_columns:
        own += declared_options(SchemaOptions)
    shared = declared_options(ReadingOptions) + declared_options(FileOptions)
    zone = () if _ZONE_OF_FILES.name in [option.name for option in own] else (_ZONE_OF_FILES,)
    return own + shared + zone


def spark_names(record_format: str) -> tuple[str, ...]:
    """Return the names of a record format's options, in Spark's spelling, aliases left out."""
    return tuple(option.name for option in options_of(resolve_format(record_format)))


def check_foreign(name: str, value: Any, format_name: str, asker: str | None) -> None:
    """Accept a name that is no option of ours but harmless; explain any other.

    Raises:
        UsageError: ``[unknown-option]``, ``[bad-option]``.
    """
    if is_listed(name, ACCEPTED_UNUSED):
        return
    if plain_name(name) == _RECORD_FORMAT:
        if value is not None and resolve_format(value) != format_name:
            raise bad_option(
                "two record formats are named",
                f"{format_name}, and {name}={show_value(value)}",
                "keep one of the two",
            )
        return
    own = FORMATS[format_name].options_class
    if check_refused(name, value, {**REFUSED, **own.refused}, {**REFUSED_IF_TRUE, **own.refused_if_true}):
        return
    raise _unknown_option(name, format_name, asker)


_OF_FORMATS = {"format", "fileformat", "sourceformat", "inputformat"}  # names under which a record format is looked for


def _unknown_option(name: str, format_name: str, asker: str | None) -> UsageError:
    """Return the error for an unknown name: the nearest option, or the format it belongs to, and what lists all."""
    others = [other for other in FORMATS if name.lower() in by_spellings(options_of(other))]
    if plain_name(name) in _OF_FORMATS:
        hint = "did you mean recordFormat? "
    elif others and asker is not None:
        hint = f"it is an option of {' and '.join(others)}: name the format too; "
    elif others:
        hint = f"it is an option of {' and '.join(others)}, not of {format_name}; "
    else:
        hint = suggestion_for(name, options_of(format_name))
    return UsageError(
        f"{asker or f'record format {format_name}'} has no option {name}", seen=show_value(name),
        fix=f"{hint}splitscan options {format_name} lists all of them", code="unknown-option",
    )  # fmt: skip


def parse_options(
    record_format: str,
    raw: Mapping[str, Any],
    asker: str | None = None,
    *,
    has_columns: bool | None = None,
    cuts_files: bool = True,
) -> ReadOptions:
    """Turn options as the user wrote them into typed, validated ones.

    Names are Spark's, in any case, or their snake_case twins. Values are Python values or the text of them.
    ``None`` means that the option was not given.

    Args:
        record_format: Its name, in any case.
        raw: Options by name.
        asker: Who takes options of this format without having been told one, for the message.
        has_columns: Whether records have named columns, so that :class:`SchemaOptions` are taken; by default those of
            the format's own class says so.
        cuts_files: Whether records are found in files, so that their length must be one that reading allows.

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
    check_required(f"record format {format_name}", options_class, own)
    record = options_class.of_given(own, has_provided_schema=schema.provided_schema is not None)
    if cuts_files:
        _check_record_fits(record, reading)
    return ReadOptions(format_name, files, reading, record, schema, frozenset(values))


def _check_record_fits(record: RecordOptions, reading: ReadingOptions) -> None:
    """Records of one known length must not all be too long."""
    if record.fixed_length is None:
        return
    name, length_bytes = record.fixed_length
    if length_bytes > reading.max_record_bytes:
        raise bad_option(
            f"option {name} is larger than maxRecordBytes, so every record would be a reject",
            f"{name}={length_bytes}, maxRecordBytes={reading.max_record_bytes}",
            "raise maxRecordBytes",
        )


def _build_files(values: Mapping[str, Any], zone: str) -> FileOptions:
    fields = fields_given(FileOptions, values)
    for attribute in _MOMENTS:
        if attribute in fields:
            fields[attribute] = epoch_us(fields[attribute], zone)
    files = FileOptions(**fields)
    before, after = files.modified_before_us, files.modified_after_us
    if before is not None and after is not None and after >= before:
        raise bad_option(
            "options modifiedAfter and modifiedBefore leave no time between them",
            f"modifiedAfter={values['modifiedAfter']}, modifiedBefore={values['modifiedBefore']}",
            "make modifiedAfter the earlier one",
        )
    return files


def describe_options(record_format: str) -> list[OptionDescription]:
    """Describe the options of a record format, for help and documentation: its own first.

    Example:
        >>> describe_options("fixed")[0].name, describe_options("fixed")[0].default
        ('recordLength', 'required')
    """
    return [
        describe(option, tuple(name for name in FORMATS if option.name in spark_names(name)))
        for option in options_of(resolve_format(record_format))
    ]
