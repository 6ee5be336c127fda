"""What the native engine says is wrong, as rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

Seen = tuple[int, int, str, str, str]
"""Record, number of the reason, column, what was seen, name of the type."""


def native_faults(parsed: Any) -> list[Seen]:
    """The faults of a call, whose batch Arrow finds valid."""
    if parsed.faults is None:
        return []
    batch = pa.record_batch(parsed.faults)
    batch.validate(full=True)
    assert batch.schema.names == ["record", "code", "column", "seen", "type"]
    assert batch.num_rows > 0
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
