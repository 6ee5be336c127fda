"""How options are declared, found by name, and described."""

from __future__ import annotations

import dataclasses
import functools
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from splitscan.errors import UsageError
from splitscan.options.kinds import Kind, ValueRefusedError, bad_option, show_value

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


def _declared(options_class: type) -> tuple[Option, ...]:
    """Return the options that the fields of a dataclass declare, in order.

    A field declares one with ``Annotated[type, Option(...)]``; its own default is the option's default. Options that
    a class shares with others, by its base, come last.
    """
    hints, own = typing.get_type_hints(options_class, include_extras=True), list(options_class.__annotations__)
    fields = {field.name: field for field in dataclasses.fields(options_class)}
    names = [name for name in dict.fromkeys([*own, *fields]) if name in fields]
    found = [
        dataclasses.replace(extra, attribute=name, default=_default_of(fields[name]))
        for name in names
        for extra in getattr(hints[name], "__metadata__", ())
        if isinstance(extra, Option)
    ]
    return tuple(found)


# typed by hand: to mypy, the class of a dataclass without a hash cannot be the argument of a cache
declared_options: Callable[[type], tuple[Option, ...]] = functools.cache(_declared)


@functools.lru_cache(maxsize=64)
def by_spellings(known: tuple[Option, ...]) -> Mapping[str, Option]:
    """Return options by every spelling that names one of them, in lower case."""
    return MappingProxyType({spelling: option for option in known for spelling in option.spellings()})


def _default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return REQUIRED


def parsed_values(
    known: tuple[Option, ...], raw: Mapping[str, Any], on_unknown: Callable[[str, Any], None]
) -> dict[str, Any]:
    """Parse what was given, by option name; one option given twice must have one value.

    Args:
        known: The options that there are.
        raw: What was given.
        on_unknown: Called with every name, and its value, that is none of them; refuses it or lets it pass.

    Raises:
        UsageError: ``[unknown-option]``, ``[bad-option]``.
    """
    by_spelling = by_spellings(known)
    values: dict[str, Any] = {}
    given: dict[str, tuple[str, Any]] = {}
    for name, value in raw.items():
        option = by_spelling.get(str(name).lower())
        if option is None:
            on_unknown(str(name), value)
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


def fields_given(options_class: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """What was given of the options of a class, by its attributes."""
    return {o.attribute: values[o.name] for o in declared_options(options_class) if o.name in values}


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
