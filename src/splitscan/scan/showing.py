"""A scan as people see it in a shell or a notebook, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from splitscan.options import ReadOptions
from splitscan.options.kinds import show_value
from splitscan.options.table import declared_options
from splitscan.redaction import redact


def facts(paths: Sequence[str], options: ReadOptions, columns: Sequence[str] | None) -> list[tuple[str, str]]:
    """What is known of a scan without a look at its files, as names and texts.

    Args:
        paths: What is read.
        options: How.
        columns: Which columns; ``None`` for those that the files show.
    """
    own = options.format
    given = [
        f"{option.name}={show_value(getattr(own, option.attribute))}"
        for option in declared_options(type(own))
        if option.name in options.given and not option.kind.secret
    ]
    found = [
        ("files", ", ".join(redact(path) for path in paths)),
        ("format", options.record_format),
        ("options", ", ".join(given) or "the defaults"),
        ("columns", "as the files show" if columns is None else ", ".join(columns)),
        ("mode", options.reading.mode.value),
    ]
    if options.reading.limit is not None:
        found.append(("limit", str(options.reading.limit)))
    return found


def as_text(name: str, known: Sequence[tuple[str, str]]) -> str:
    """One line.

    Example:
        >>> as_text("Scan", [("files", "a.csv"), ("format", "csv")])
        '<Scan files: a.csv; format: csv>'
    """
    return f"<{name} " + "; ".join(f"{key}: {text}" for key, text in known) + ">"


def as_html(name: str, known: Sequence[tuple[str, str]]) -> str:
    """A small table for notebooks."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(key)}</th><td style='text-align:left'>{escape(text)}</td></tr>"
        for key, text in known
    )
    note = "nothing is read before you ask for rows; each record is delivered exactly once"
    return f"<table><caption>{escape(name)}: {note}</caption>{rows}</table>"
