"""What a user gave for options: names resolved, values parsed, mistakes explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from splitscan.errors import UsageError
from splitscan.options.kinds import ValueRefusedError, bad_option, show_value
from splitscan.options.table import Option, declared_options


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
    by_spelling = {spelling: option for option in known for spelling in option.spellings()}
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
