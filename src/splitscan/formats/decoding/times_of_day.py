"""Times of day without a pattern, as Spark's readers take them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_CONTROLS = "".join(map(chr, (*range(33), 127)))  # the blanks and control characters that may surround a time
_TIME = re.compile(r"(T)?([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?)?[\0- \x7f]*(?:(?i:([ap])m) *)?")
_NOON = 12


def parse_time(text: str) -> int | None:
    """Microseconds since midnight of ``10:20``, ``1:2:3``, ``10:20:30.5``, or of these and an hour alone after a ``T``.

    AM or PM may follow. Digits after the sixth of a fraction do not count.

    Example:
        >>> [parse_time(text) for text in ("0:1", "T1", "1", "12:00:00.5 AM", "24:00")]
        [60000000, 3600000000, None, 500000, None]
    """
    match = _TIME.fullmatch(text.lstrip(_CONTROLS))
    if match is None or (not text.startswith("T") if match[1] else match[3] is None):
        return None  # Spark wants nothing before the letter
    hour, minute, second = (int(match[i] or 0) for i in (2, 3, 4))
    if match[6]:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if match[6] in "pP" else 0)
    try:
        return time_of(datetime(1970, 1, 1, hour, minute, second, int((match[5] or "").ljust(6, "0")[:6])))
    except ValueError:
        return None


def time_of(moment: datetime) -> int:
    """Microseconds since midnight, whatever the day and the zone."""
    return (moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)) // timedelta(microseconds=1)
