"""Options of the record format ``text``: one record per line, or per any other delimiter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from splitscan.options.kinds import character, text
from splitscan.options.table import Option


@dataclass(frozen=True, slots=True)
class TextOptions:
    r"""How text is cut into records.

    Attributes:
        line_sep: The delimiter; ``None`` means ``\r``, ``\n`` and ``\r\n``.
        encoding: Name of the character set.
        escape: Character that makes a delimiter behind it data when an odd run of it stands there.

    Pickling: plain values only.
    """

    line_sep: Annotated[
        str | None,
        Option("lineSep", text(empty=False), r"Record delimiter, one character or more; `\r`, `\n`, `\r\n` if unset."),
    ] = None
    encoding: Annotated[str, Option("encoding", text(empty=False), "Character set of the file.", ("charset",))] = (
        "UTF-8"
    )
    escape: Annotated[
        str | None, Option("escape", character(off=True), "A delimiter behind an odd run of this character is data.")
    ] = None
