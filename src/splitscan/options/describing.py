"""Options as people see them, for help and documentation."""

from __future__ import annotations

from dataclasses import dataclass

from splitscan.options.formats import FORMAT_CLASSES, options_of, resolve_format, spark_names
from splitscan.options.stream import StreamOptions
from splitscan.options.table import Option, declared_options, python_twin


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
