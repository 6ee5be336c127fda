"""Local times to moments, by Arrow where its time zone rules are those of Python."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.options.files import zone_of

_LAST_KNOWN_YEAR = 2036  # Arrow reads transitions from the system's files, which list them up to 2037 at most
_PROBED = [datetime(year, month, 1, 12) for year in range(1975, _LAST_KNOWN_YEAR + 1) for month in (1, 4, 7, 10)]
_KNOWN_BEFORE = datetime(_LAST_KNOWN_YEAR + 1, 1, 1)  # no Arrow scalar: making one would import pandas here


def to_moments(column: pa.Array, zone: str) -> pa.Array:
    """Place a column of local times in *zone*.

    Of two moments with the same local time the earlier is taken.

    Raises:
        pa.ArrowInvalid: If a local time does not exist, or Arrow cannot be trusted with it; Python then places each
            value on its own.
    """
    if isinstance(zone_of(zone), type(UTC)):
        return pc.assume_timezone(column, zone).cast(pa.timestamp("us", "UTC"))
    limit = pa.scalar(_KNOWN_BEFORE, pa.timestamp("us"))
    if not _arrow_agrees(zone) or pc.any(pc.greater_equal(column, limit)).as_py():
        raise pa.ArrowInvalid(f"rules of {zone} that Arrow does not have")
    return _place(column, zone)


def _place(column: pa.Array, zone: str) -> pa.Array:
    local = pc.assume_timezone(column, zone, ambiguous="earliest", nonexistent="raise")
    return local.cast(pa.timestamp("us", "UTC"))


@lru_cache(maxsize=64)
def _arrow_agrees(zone: str) -> bool:
    """True if Arrow's rules, read from the system, give what Python's give; some systems keep only old transitions."""
    try:
        found = _place(pa.array(_PROBED, pa.timestamp("us")), zone).to_pylist()
    except pa.ArrowInvalid:  # a zone it does not know
        return False
    return bool(found == [moment.replace(tzinfo=zone_of(zone)).astimezone(UTC) for moment in _PROBED])
