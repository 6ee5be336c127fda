"""Options as people see them, for help and documentation."""

from __future__ import annotations

from dataclasses import dataclass

from splitscan.options.table import Option, python_twin


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
