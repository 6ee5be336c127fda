"""Options as the command line takes them, so that what was found can be pasted into any command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from splitscan.formats.csv.sniffing.found import Confidence, Dialect

_CONTROL = re.compile(r"[\x00-\x1f]")


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
    """What was found and what was assumed, in one line, and how to pin it.

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
    if found.settings["header"].confidence is Confidence.UNSURE:
        notes.append("whether the first record is a header is not clear, it is read as data")
    if given - {"encoding"} and not seen and len(notes) <= bool(assumed):
        return None
    read = f"read with {' and '.join(parts) or 'the defaults (no sample speaks against them)'}"
    return "; ".join([read, *notes])
