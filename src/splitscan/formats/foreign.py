"""Names that are no option of a record format: harmless ones of Spark, refused ones, and mistakes, each explained."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from splitscan.errors import UsageError
from splitscan.formats.declared import options_of, spark_names
from splitscan.formats.registry import FORMATS
from splitscan.options.kinds import show_value
from splitscan.options.spark_only import (
    ACCEPTED_UNUSED,
    REFUSED,
    REFUSED_IF_TRUE,
    WHOLE_TEXT,
    WHOLE_TEXT_FIX,
    check_refused,
    is_listed,
)
from splitscan.options.table import python_twin

_OF_FORMAT: Mapping[str, Mapping[str, str]] = {"text": dict.fromkeys((WHOLE_TEXT, "whole_text"), WHOLE_TEXT_FIX)}


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
    if is_listed(name, ACCEPTED_UNUSED):
        return
    if_true = {**REFUSED_IF_TRUE, **_OF_FORMAT.get(format_name, {})}
    if check_refused(name, value, REFUSED, if_true):
        return
    raise _unknown_option(name, format_name, asker)


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
