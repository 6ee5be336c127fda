"""What a user gave for options: names resolved, values parsed, mistakes explained."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from splitscan.errors import UsageError
from splitscan.options.formats import FORMAT_CLASSES, options_of, spark_names
from splitscan.options.kinds import FLAG, ValueRefusedError, bad_option, show_value
from splitscan.options.spark_only import ACCEPTED_UNUSED, REFUSED, WHOLE_TEXT, WHOLE_TEXT_FIX
from splitscan.options.table import Option, declared_options, python_twin


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
