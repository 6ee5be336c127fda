"""What ``option("source", ...)`` of the data source names, beside files."""

from __future__ import annotations

from collections.abc import Mapping

from splitscan.options.table import bad_option, show_value
from splitscan.spark.messages import MessageSource
from splitscan.spark.tables import TableSource

_FILES = "files"
_OTHERS: Mapping[str, type[MessageSource] | type[TableSource]] = {"kafka": MessageSource, "table": TableSource}


def other_source(options: Mapping[str, str]) -> MessageSource | TableSource | None:
    """What reads something else than files, if option ``source`` asks for it; ``None`` for files.

    Raises:
        UsageError: ``[bad-option]`` if there is no such source, or its options have no meaning.
    """
    lower = {key.lower(): value for key, value in options.items()}
    source = str(lower.get("source", _FILES)).strip().lower()
    if source == _FILES:
        return None
    if source not in _OTHERS:
        raise bad_option("source", show_value(source), f"one of {', '.join((_FILES, *_OTHERS))}", "name one of them")
    return _OTHERS[source](options)
