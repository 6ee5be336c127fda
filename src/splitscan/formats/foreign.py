"""Names that are no option of a record format: harmless ones of Spark, refused ones, and mistakes, each explained."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from splitscan.errors import UsageError
from splitscan.formats.declared import options_of, spark_names
from splitscan.formats.registry import FORMATS
from splitscan.options.kinds import FLAG, ValueRefusedError, bad_option, show_value
from splitscan.options.spark_only import ACCEPTED_UNUSED, REFUSED, WHOLE_TEXT, WHOLE_TEXT_FIX
from splitscan.options.table import python_twin


def check_foreign(name: str, value: Any, format_name: str, asker: str | None) -> None:
    """Accept a name that is no option of ours but harmless; explain any other.

    Args:
        name: What was given.
        value: Its value.
        format_name: Record format.
        asker: Who takes the options, where that is not a record format that was named.

    Raises:
        UsageError: ``[unknown-option]``, ``[bad-option]``.
    """
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
    others = [other for other in FORMATS if _has_option(other, name)]
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
