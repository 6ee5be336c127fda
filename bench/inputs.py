"""Generated inputs for benchmarks and for tests at scale: content known without reading it back.

Every value is a function of the record's number, so that the count and a 64-bit sum of hashes are known from the
generator alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SCHEMA = "id long, name string, price double, qty int, comment string"
_CHUNK = 1 << 17


def columns(start: int, count: int) -> dict[str, pa.Array]:
    """The values of records ``start`` to ``start + count - 1``; every fifth comment has a newline in quotes."""
    number = np.arange(start, start + count, dtype=np.int64)
    text = pc.cast(pa.array(number), pa.string())
    word = pa.array(["alpha", 'be"ta', "gam,ma", "delta", "epsilon"])
    words = word.take(pa.array(number % 5))
    plain = pc.binary_join_element_wise("comment of record", text, words, " ")
    split = pc.binary_join_element_wise("first line of", text, "\nsecond, line of it", " ")
    return {
        "id": pa.array(number),
        "name": pc.binary_join_element_wise("name", pc.cast(pa.array(number % 9973), pa.string()), "-"),
        "price": pa.array((number % 100_000) / 100.0),
        "qty": pa.array((number * 7 % 1000).astype(np.int32)),
        "comment": pc.if_else(pa.array(number % 5 == 0), split, plain),
    }


def _rendered(start: int, count: int) -> bytes:
    values = columns(start, count)
    quoted = pc.binary_join_element_wise(
        '"', pc.replace_substring(values["comment"], '"', '""'), '"', ""
    )  # every comment is quoted, quotes doubled
    fields = [values["id"], values["name"], values["price"], values["qty"]]
    texts = [pc.cast(field, pa.string()) for field in fields]
    lines = pc.binary_join_element_wise(*texts, quoted, ",").to_pylist()
    return ("\n".join(lines) + "\n").encode()


def write_csv(path: Path, target_bytes: int) -> int:
    """Write at least *target_bytes* of CSV with newlines in quotes; return the number of records."""
    written = count = 0
    with path.open("wb") as out:
        while written < target_bytes:
            chunk = _rendered(count, _CHUNK)
            out.write(chunk)
            written += len(chunk)
            count += _CHUNK
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--mb", type=int, default=512)
    args = parser.parse_args()
    print(write_csv(args.path, args.mb * 1_000_000), "records")


if __name__ == "__main__":
    main()
