"""The options of record formats and of streams as people see them."""

from __future__ import annotations

from splitscan.formats.declared import options_of, resolve_format, spark_names
from splitscan.formats.registry import FORMATS
from splitscan.options.describing import OptionDescription, describe
from splitscan.options.stream import StreamOptions
from splitscan.options.table import declared_options


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


def describe_stream_options() -> list[OptionDescription]:
    """Describe the options of streams, for help and documentation.

    Example:
        >>> describe_stream_options()[0].name
        'stateLocation'
    """
    return [describe(option, tuple(FORMATS)) for option in declared_options(StreamOptions)]
