"""Options of the record format ``text``: one record per line, or per any other delimiter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, ClassVar

from splitscan.options.kinds import character
from splitscan.options.record import RecordOptions
from splitscan.options.table import Option
from splitscan.options.written import Encoding, LineSep

_WHOLE_TEXT = (
    "leave it out (false is accepted), or use Spark's own text reader: "
    "with wholetext every file is one document, which cannot be split"
)


@dataclass(frozen=True, slots=True)
class TextOptions(RecordOptions):
    r"""How text is cut into records.

    Attributes:
        line_sep: The delimiter; ``None`` means ``\r``, ``\n`` and ``\r\n``.
        encoding: Name of the character set.
        escape: Character that makes a delimiter after it data when an odd run of it stands there.

    Pickling: plain values only.
    """

    refused_if_true: ClassVar[Mapping[str, str]] = MappingProxyType({"wholeText": _WHOLE_TEXT})

    line_sep: LineSep = None
    encoding: Encoding = "UTF-8"
    escape: Annotated[
        str | None, Option("escape", character(off=True), "A delimiter after an odd run of this character is data.")
    ] = None

    @property
    def text_encoding(self) -> str:
        """The character set."""
        return self.encoding

    @property
    def line_end(self) -> str:
        """The line separator, if there is one."""
        return self.line_sep or "\n"
