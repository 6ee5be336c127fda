"""Which options each record format has: its own, and those of all."""

from __future__ import annotations

import difflib

from splitscan.formats.registry import FORMATS
from splitscan.options.files import FileOptions
from splitscan.options.kinds import bad_option, show_value
from splitscan.options.reading import ReadingOptions
from splitscan.options.schema import SchemaOptions
from splitscan.options.table import Option, declared_options
from splitscan.options.zones import ZONE

_ZONE_OF_FILES = Option("timeZone", ZONE, "Zone of `modifiedBefore` and `modifiedAfter`.", default="UTC")


def resolve_format(record_format: str) -> str:
    """Return the name of a record format in lower case.

    Raises:
        UsageError: ``[bad-option]`` if there is no such format, with a suggestion.
    """
    name = record_format.strip().lower() if isinstance(record_format, str) else ""
    if name not in FORMATS:
        close = difflib.get_close_matches(name, FORMATS, n=1)
        fix = f"did you mean {close[0]}?" if close else "name one of them"
        raise bad_option("recordFormat", show_value(record_format), f"one of {', '.join(FORMATS)}", fix)
    return name


def options_of(format_name: str, *, has_columns: bool | None = None) -> tuple[Option, ...]:
    """Return every option of a record format: its own, then those of all formats."""
    options_class = FORMATS[format_name].options_class
    own = declared_options(options_class)
    if options_class.has_columns if has_columns is None else has_columns:
        own += declared_options(SchemaOptions)
    shared = declared_options(ReadingOptions) + declared_options(FileOptions)
    zone = () if any(option.name == _ZONE_OF_FILES.name for option in own) else (_ZONE_OF_FILES,)
    return own + shared + zone


def spark_names(record_format: str) -> tuple[str, ...]:
    """Return the names of a record format's options, in Spark's spelling, aliases left out."""
    return tuple(option.name for option in options_of(resolve_format(record_format)))
