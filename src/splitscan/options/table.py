"""One option, declared once: its names, kind, default and meaning.

The option classes annotate their fields with :class:`Option`; everything else (parsing, suggestions, help,
``docs/options.md``) is derived from these declarations.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing
from dataclasses import dataclass
from typing import Any

from splitscan.options.kinds import Kind

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
REQUIRED = object()  # stands for the default of an option that has none


def python_twin(spark_name: str) -> str:
    """Return the snake_case twin of a camelCase option name.

    Example:
        >>> python_twin("lineSep"), python_twin("timestampNTZFormat")
        ('line_sep', 'timestamp_ntz_format')
    """
    return _HUMP.sub("_", spark_name).lower()


@dataclass(frozen=True, slots=True)
class Option:
    """The declaration of one option.

    Attributes:
        name: Spark's name, camelCase.
        kind: Kind of its values.
        meaning: One sentence or clause, for help and documentation.
        aliases: Other camelCase names of the same option.
        attribute: Field that holds the value; filled in by :func:`declared_options`.
        default: Value when it is not given, ``REQUIRED`` when it must be given; filled in likewise.
    """

    name: str
    kind: Kind
    meaning: str
    aliases: tuple[str, ...] = ()
    attribute: str = ""
    default: Any = None

    def spellings(self) -> frozenset[str]:
        """Every spelling that names this option, in lower case."""
        camel = (self.name, *self.aliases)
        return frozenset({name.lower() for name in camel} | {python_twin(name) for name in camel})

    def show_default(self) -> str:
        """Render the default for people: empty when there is none."""
        if self.default is REQUIRED:
            return "required"
        return "" if self.default is None else self.kind.show(self.default)


def declared_options(options_class: type) -> tuple[Option, ...]:
    """Return the options that the fields of a dataclass declare, in order.

    A field declares one with ``Annotated[type, Option(...)]``; its own default is the option's default.
    """
    return _declared(options_class)


@functools.cache
def _declared(options_class: type) -> tuple[Option, ...]:
    hints = typing.get_type_hints(options_class, include_extras=True)
    return tuple(
        dataclasses.replace(extra, attribute=field.name, default=_default_of(field))
        for field in dataclasses.fields(options_class)
        for extra in getattr(hints[field.name], "__metadata__", ())
        if isinstance(extra, Option)
    )


def _default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return REQUIRED
