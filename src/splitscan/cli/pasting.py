"""Options as the command line takes them, so that what was found can be pasted into any command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

from splitscan.formats.csv.sniffing.found import Confidence, Dialect
from splitscan.formats.registry import FORMATS, options_of
from splitscan.options.table import declared_options

_CONTROL = re.compile(r"[\x00-\x1f]")
_SHOWN_CELLS = 3


def pasted(options: Mapping[str, Any]) -> str:
    r"""Options as they are pasted into any command.

    Example:
        >>> pasted({"sep": ";", "header": True})
        "-o 'sep=;' -o header=true"
    """
    return " ".join(f"-o {shlex.quote(f'{name}={spelled(value)}')}" for name, value in options.items())


def _flags(options: Mapping[str, Any]) -> str:
    r"""Options as the commands take them that look for a dialect: by a flag where there is one.

    Example:
        >>> _flags({"sep": ";", "header": True, "multiLine": True})
        "--sep ';' --header -o multiLine=true"
    """
    return " ".join(_flag(name, spelled(value)) or pasted({name: value}) for name, value in options.items())


def _flag(name: str, value: str) -> str | None:
    if name == "header":
        return "--header"  # false is the default, and is never pinned
    return f"--{name} {shlex.quote(value)}" if name in {"sep", "quote"} else None


def spelled(value: object) -> str:
    r"""The value of an option as the command line takes it.

    Example:
        >>> spelled(True), spelled(";"), spelled(chr(31))
        ('true', ';', '\\u001f')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return r"\t" if value == "\t" else _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", str(value))


def note_of(found: Dialect) -> str | None:
    """Findings and assumptions in one line, and how to pin it.

    ``None`` where the user gave all that the samples tell.
    """
    given = {name for name, each in found.settings.items() if each.confidence is Confidence.GIVEN}
    options = {name: each for name, each in found.options().items() if name not in given}
    assumed = {name: each for name, each in options.items() if found.settings[name].confidence is Confidence.ASSUMED}
    seen = {name: each for name, each in options.items() if name not in assumed}
    parts = [f"{_flags(each)} ({how})" for each, how in ((seen, "found in samples"), (assumed, "assumed")) if each]
    notes = ["give all of these to pin them"] if options else []
    if "skipRows" in options:
        notes.append(found.settings["skipRows"].evidence)
    if found.unread_names is not None:
        notes.append(found.unread_names)
    first = []
    if found.settings["header"].confidence is Confidence.UNSURE:
        kind = "a header" if found.settings["header"].value else "data"
        cells = ", ".join(map(repr, found.first_record[:_SHOWN_CELLS])) + ", ..." * (
            len(found.first_record) > _SHOWN_CELLS
        )
        first = [f"whether the first record ({cells}) is a header is not clear, it is read as {kind}"]
    if given - {"encoding"} and not seen and len(first) + len(notes) <= bool(assumed):
        return None
    read = f"read with {' and '.join(parts) or 'the defaults (no sample speaks against them)'}"
    return "; ".join([*first, read, *notes])


_IN_PYTHON = re.compile(
    r"\b(max_rejects|max_reject_ratio|on_changed|replace_changed|partition_by|schema_evolution_mode)\b"
    r"(?:(?:=|: (?=addNew))'?([\w.]+)'?)?"
    r"|\b(layout|table|compression)='(\w+)'"
)
_OPTION = re.compile(r"(?:-o )?(?<![-\w.'\"?&])([a-z]\w*)=('[^']*'|\"[^\"]*\"|[^\s,;)'\"]*[^\s,;:)'\"]|:)")
_BESIDE_PYTHON = re.compile(r" \(on the command line [^()]*\)")  # here it is the only spelling
_REJECTS_IN_PYTHON = "scan.rejects() lists them"
_REJECTS = "'splitscan check' shows the first of each rule"
_FLAGS = {
    "blocksize": "--block-size",
    "columns": "--columns",
    "where": "--where",
    "recordformat": "--format",
    "schema": "--schema",
}


def spell_hint(text: str) -> str:
    r"""Hint of an error, with settings and options as the command line takes them.

    Example:
        >>> spell_hint("set schema_evolution_mode: addNewColumns adds it, or raise max_rejects")
        'set --schema-evolution-mode addNewColumns adds it, or raise --max-rejects'
        >>> spell_hint("pass replace_changed=True, or on_changed='skip'")
        'pass --replace-changed, or --on-changed skip'
        >>> spell_hint("set header=true and headerMapping=byName, or escape='\"'; did you mean recordFormat?")
        'set --header and -o headerMapping=byName, or -o \'escape="\'; did you mean --format?'
    """
    text = re.sub(r"\brecordFormat\b(?!=)", _FLAGS["recordformat"], spell_settings(text))
    text = _BESIDE_PYTHON.sub("", text.replace(_REJECTS_IN_PYTHON, _REJECTS))
    return _OPTION.sub(_as_option, text)


def spell_settings(text: str) -> str:
    """A text with the settings of an ingest as flags.

    Example:
        >>> spell_settings("more records broke a rule than max_rejects=3 allows")
        'more records broke a rule than --max-rejects 3 allows'
    """
    return _IN_PYTHON.sub(_as_flag, text)


@cache
def _known_options() -> frozenset[str]:
    from splitscan.options.stream import StreamOptions  # noqa: PLC0415 -- few commands have a stream

    names = (option.name for name in FORMATS for option in options_of(name))
    return frozenset(name.lower() for name in (*names, *(option.name for option in declared_options(StreamOptions))))


def _as_flag(found: re.Match[str]) -> str:
    name, value = (found[1], found[2]) if found[1] else (found[3], found[4])
    return f"--{name.replace('_', '-')}{f' {value}' if value and value != 'True' else ''}"


def _as_option(found: re.Match[str]) -> str:
    name = found[1]
    value = found[2][1:-1] if found[2][0] in "'\"" else found[2]
    if name.lower() not in _known_options() | {"schema", "recordformat"}:
        return found[0]
    if name == "header" and value in {"true", "false"}:
        return "--header" if value == "true" else "--no-header"
    flag = _FLAGS.get(name.lower())
    return f"{flag} {shlex.quote(value)}" if flag else _flag(name, value) or pasted({name: value})
