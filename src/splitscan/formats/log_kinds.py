"""Logs that many programs write: how their records begin, and which columns they have."""

from __future__ import annotations

from typing import NamedTuple

_QUOTED = r'"(?P<{}>(?:[^"\\]|\\.)*)"'
_COMMON = (
    r"(?P<host>\S+) (?P<ident>\S+) (?P<user>\S+) \[(?P<time>[^\]]+)\] "
    + _QUOTED.format("request")
    + r" (?P<status>\d{3}|-) (?P<bytes>\d+|-)"
)
_ACCESS_TIME = "timestamp", "dd/MMM/yyyy:HH:mm:ss xx"
_DATE_TIME = r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}"


class Preset(NamedTuple):
    """A kind of log.

    Attributes:
        pattern: What a record matches; its named groups are the columns.
        types: Types of those that are no texts, as in DDL, with the pattern of times where they have one of their own.
        start: What the first line of a record begins with; ``None`` if every line is a record.
    """

    pattern: str
    types: dict[str, tuple[str, str | None]]
    start: str | None = None


PRESETS = {
    "common": Preset(_COMMON, {"time": _ACCESS_TIME, "status": ("int", None), "bytes": ("bigint", None)}),
    "combined": Preset(
        f"{_COMMON} {_QUOTED.format('referer')} {_QUOTED.format('agent')}",
        {"time": _ACCESS_TIME, "status": ("int", None), "bytes": ("bigint", None)},
    ),
    "syslog": Preset(
        r"(?:<(?P<priority>\d{1,3})>)?(?P<time>[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}) (?P<host>\S+) "
        r"(?P<program>[^:\[\s]+)(?:\[(?P<pid>\d+)\])?: ?(?P<message>.*)",
        {"priority": ("int", None), "pid": ("int", None)},
    ),
    "syslog5424": Preset(
        r"<(?P<priority>\d{1,3})>(?P<version>\d{1,2}) (?P<time>\S+) (?P<host>\S+) (?P<program>\S+) (?P<pid>\S+) "
        r'(?P<id>\S+) (?P<data>-|(?:\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\])+)(?: (?P<message>.*))?',
        {"priority": ("int", None), "version": ("int", None), "time": ("timestamp", None)},
    ),
    "java": Preset(
        rf"(?P<time>{_DATE_TIME}[,.]\d{{3}}) +(?:\[(?P<thread>[^\]]*)\] +)?(?P<level>[A-Z]+) +(?P<logger>\S+) +- "
        r"(?P<message>(?s:.*))",
        {"time": ("timestamp", "yyyy-MM-dd HH:mm:ss[,][.]SSS")},
        _DATE_TIME,
    ),
    "python": Preset(
        rf"(?P<time>{_DATE_TIME},\d{{3}}) - (?P<logger>\S+) - (?P<level>[A-Z]+) - (?P<message>(?s:.*))",
        {"time": ("timestamp", "yyyy-MM-dd HH:mm:ss,SSS")},
        _DATE_TIME,
    ),
}
"""Each by its name."""
