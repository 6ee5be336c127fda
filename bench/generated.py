"""Generated CSV whose content is known without reading it back: for tests at scale and for measurements.

Every value is a function of the record's number, so that the number of records and any sum over them are known from
the generator alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SCHEMA = "id long, name string, price double, qty int, comment string"
"""Schema of the generated records."""

CHUNK_RECORDS = 1 << 17
"""Records are generated in chunks of this many."""

_WORDS = ("alpha", 'be"ta', "gam,ma", "delta", "epsilon")


def generated_batch(start: int, count: int) -> pa.RecordBatch:
    r"""The values of records ``start`` to ``start + count - 1``.

    Every fifth comment has a newline in it, others have quotes and separators.

    Example:
        >>> generated_batch(0, 6)["comment"][5].as_py()
        'first line of 5 \nsecond, line of it'
    """
    number = np.arange(start, start + count, dtype=np.int64)
    text = pc.cast(pa.array(number), pa.string())
    words = pa.array(_WORDS).take(pa.array(number % 5))
    plain = pc.binary_join_element_wise("comment of record", text, words, " ")
    split = pc.binary_join_element_wise("first line of", text, "\nsecond, line of it", " ")
    return pa.RecordBatch.from_pydict(
        {
            "id": pa.array(number),
            "name": pc.binary_join_element_wise("name", pc.cast(pa.array(number % 9973), pa.string()), "-"),
            "price": pa.array((number % 100_000) / 100.0),
            "qty": pa.array((number * 7 % 1000).astype(np.int32)),
            "comment": pc.if_else(pa.array(number % 5 == 0), split, plain),
        }
    )


def write_generated_csv(path: Path, target_bytes: int, newline: str = "\n") -> int:
    """Write at least *target_bytes* of generated CSV (RFC 4180, no header).

    Args:
        path: The file.
        target_bytes: How long it is at least.
        newline: What stands for the newlines inside the comments.

    Returns:
        The number of records.
    """
    written = count = 0
    with path.open("wb") as out:
        while written < target_bytes:
            chunk = render_csv(generated_batch(count, CHUNK_RECORDS), newline)
            out.write(chunk)
            written += len(chunk)
            count += CHUNK_RECORDS
    return count


def render_csv(batch: pa.RecordBatch, newline: str = "\n") -> bytes:
    r"""Generated records as CSV; *newline* stands for the newlines inside the comments.

    Example:
        >>> render_csv(generated_batch(5, 1), " - ")
        b'5,name-5,0.05,35,"first line of 5  - second, line of it"\n'
    """
    doubled = pc.replace_substring(pc.replace_substring(batch["comment"], "\n", newline), '"', '""')
    quoted = pc.binary_join_element_wise('"', doubled, '"', "")
    plain = [pc.cast(batch[name], pa.string()) for name in ("id", "name", "price", "qty")]
    lines = pc.binary_join_element_wise(*plain, quoted, ",").to_pylist()
    return ("\n".join(lines) + "\n").encode()
