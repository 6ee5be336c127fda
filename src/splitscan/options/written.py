"""Options of several record formats, with one meaning in all of them: how text and times are written."""

from __future__ import annotations

from typing import Annotated, Any

from splitscan.options.kinds import Kind, ValueRefusedError, text
from splitscan.options.table import Option
from splitscan.options.zones import ZONE

_TEXT = text(empty=False)


def _parse_locale(value: Any) -> str:
    if isinstance(value, str) and value.replace("_", "-").lower().partition("-")[0] == "en":
        return value
    raise ValueRefusedError("read numbers, month and day names of other languages as text and convert them in Spark")


LOCALE = Kind("locale", "an English locale such as en-US", _parse_locale)

LineSep = Annotated[
    str | None, Option("lineSep", _TEXT, r"Record delimiter, one character or more; `\r`, `\n`, `\r\n` if unset.")
]
Encoding = Annotated[str, Option("encoding", _TEXT, "Character set of the file.", ("charset",))]
DateFormat = Annotated[str | None, Option("dateFormat", _TEXT, "Pattern of dates, in Spark's letters.")]
TimestampFormat = Annotated[str | None, Option("timestampFormat", _TEXT, "Pattern of timestamps, in Spark's letters.")]
TimestampNtzFormat = Annotated[
    str | None, Option("timestampNTZFormat", _TEXT, "Pattern of timestamps without time zone.")
]
TimeZone = Annotated[
    str,
    Option("timeZone", ZONE, "Zone of times that name none; that of the session if not given, and UTC without one."),
]
