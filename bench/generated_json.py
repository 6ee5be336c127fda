r"""Generated JSON whose content is known without reading it back: for tests at scale and for measurements.

Every value is a function of the record's number, as in :mod:`bench.generated`. The records are nested, have
strings with brackets, quotes, backslashes and escapes of every kind, nulls, and fields that are missing.
"""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.generated import CHUNK_RECORDS

JSON_SCHEMA = (
    "id long, name string, price double, active boolean, at timestamp, note string, "
    "address struct<street: string, zip: int, geo: struct<lat: double, lon: double>>, "
    "tags array<string>, lines array<struct<sku: string, qty: int>>"
)
"""Schema of the generated records."""

_NOTES = (
    "plain words",
    "braces } ] and { [ that open",
    'a "quoted" word',
    "a path C:\\temp\\",
    "tab\tand\nnewline",
    "caf\u00e9 \u2603 \U0001f600",
    '\\" }, {',
)
_TAGS: tuple[list[str], ...] = (["a"], [], ["b", 'c"d', "}"], ["\u00e9\\", "["])
_ACTIVE = (True, False, None)
_FIRST_MS = 1_700_000_000_000


class JsonLayout(enum.Enum):
    """How the generated records are laid out."""

    ARRAY = "one array, pretty-printed with two blanks for each level"
    LINES = "one record in each line"
    DOCUMENT = "one object whose member ``data`` is the array, pretty-printed"


_AROUND = {
    JsonLayout.ARRAY: (b"[\n", b",\n", b"\n]\n"),
    JsonLayout.LINES: (b"", b"\n", b"\n"),
    JsonLayout.DOCUMENT: (b'{"source": "generated", "data": [\n', b",\n", b'\n], "version": 1}\n'),
}
"""What stands before all records, between two of them, and after them."""


def generated_json_batch(start: int, count: int) -> pa.RecordBatch:
    r"""The values of records ``start`` to ``start + count - 1``.

    Example:
        >>> generated_json_batch(3, 1).to_pylist()[0]["note"]
        '3 a path C:\\temp\\'
    """
    number = np.arange(start, start + count, dtype=np.int64)
    text = pc.cast(pa.array(number), pa.string())
    geo = pa.StructArray.from_arrays(
        [pa.array(number % 180 * 0.5 - 45), pa.array(number % 360 * 0.25 - 90)], names=["lat", "lon"]
    )
    street = pc.binary_join_element_wise("street", pc.cast(pa.array(number % 997), pa.string()), " ")
    address = pa.StructArray.from_arrays(
        [street, pa.array((number * 31 % 100_000).astype(np.int32)), geo],
        names=["street", "zip", "geo"],
        mask=pa.array(number % 13 == 0),
    )
    items = pa.StructArray.from_arrays(
        [
            pc.binary_join_element_wise("sku", pc.cast(pa.array(np.repeat(number, 2) % 4999), pa.string()), "-"),
            pa.array((np.repeat(number, 2) + np.tile([0, 1], count)).astype(np.int32) % 10),
        ],
        names=["sku", "qty"],
    ).filter(pa.array(np.repeat(number % 3 != 0, 2)))
    ends = np.concatenate([[0], np.cumsum(np.where(number % 3 == 0, 0, 2))]).astype(np.int32)
    notes = pc.binary_join_element_wise(text, pa.array(_NOTES).take(pa.array(number % len(_NOTES))), " ")
    return pa.RecordBatch.from_pydict(
        {
            "id": pa.array(number),
            "name": pc.if_else(pa.array(number % 11 == 0), None, pc.binary_join_element_wise("name", text, "-")),
            "price": pa.array(number % 100_000 / 100.0),
            "active": pa.array(_ACTIVE, pa.bool_()).take(pa.array(number % len(_ACTIVE))),
            "at": pa.array(_FIRST_MS * 1000 + number * 977_000).cast(pa.timestamp("us", "UTC")),
            "note": pc.if_else(pa.array(number % 17 == 0), None, notes),
            "address": address,
            "tags": pa.array(_TAGS, pa.list_(pa.string())).take(pa.array(number % len(_TAGS))),
            "lines": pa.ListArray.from_arrays(pa.array(ends), items),
        }
    )


def write_generated_json(
    path: Path, target_bytes: int, layout: JsonLayout, *, chunk_records: int = CHUNK_RECORDS
) -> int:
    """Write generated JSON.

    Args:
        path: The file.
        target_bytes: Chunks are written until the file has at least this many bytes.
        layout: How records are laid out.
        chunk_records: Records in a chunk.

    Returns:
        The number of records, a multiple of *chunk_records*.
    """
    written = count = 0
    head, between, tail = _AROUND[layout]
    with path.open("wb") as out:
        while written < target_bytes:
            written += out.write(between if count else head)
            written += out.write(_rendered(generated_json_batch(count, chunk_records), layout))
            count += chunk_records
        out.write(tail)
    return count


def _rendered(batch: pa.RecordBatch, layout: JsonLayout) -> memoryview:
    """The records of a batch as text, with what divides them but not what surrounds them."""
    render = _Renderer(layout, batch["id"].to_numpy())
    quoted = {name: _quoted(batch[name]) for name in ("name", "note")}
    address = batch["address"]
    geo = address.field("geo")
    place = {
        "street": _quoted(address.field("street")),
        "zip": address.field("zip"),
        "geo": render.object({"lat": geo.field("lat"), "lon": geo.field("lon")}, 2),
    }
    values = {
        "id": batch["id"],
        "name": quoted["name"],
        "price": batch["price"],
        "active": batch["active"],
        "at": pc.binary_join_element_wise('"', pc.strftime(batch["at"], "%Y-%m-%dT%H:%M:%SZ"), '"', ""),
        "note": quoted["note"],
        "address": pc.if_else(address.is_null(), "null", render.object(place, 1)),
        "tags": pa.array([render.plain(tags, 1) for tags in _TAGS]).take(pa.array(render.number % len(_TAGS))),
        "lines": render.pairs(batch["lines"]),
    }
    records = render.object(values, 0, optional="note")
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(records)], pa.int32()), records), render.between)
    return memoryview(joined.buffers()[2])


class _Renderer:
    """Writes whole columns as JSON text.

    Args:
        layout: Pretty-printed or not.
        number: Numbers of the records.
    """

    def __init__(self, layout: JsonLayout, number: npt.NDArray[np.int64]) -> None:
        self._is_pretty = layout is not JsonLayout.LINES
        self.number = number
        self.between = ",\n" if self._is_pretty else "\n"

    def object(self, values: dict[str, pa.Array], level: int, optional: str = "") -> pa.Array:
        """Objects, one per record; *optional* is left out where it is null."""
        inner, outer = self._line(level + 1), self._line(level)
        parts: list[pa.Array | str] = [(outer[1:] if level == 0 else "") + "{"]
        for index, (name, column) in enumerate(values.items()):
            head = ("," if index else "") + inner + json.dumps(name) + (": " if self._is_pretty else ":")
            text = column if pa.types.is_string(column.type) else pc.cast(column, pa.string())
            if name == optional:
                parts.append(pc.fill_null(pc.binary_join_element_wise(head, text, ""), ""))
            else:
                parts += [head, pc.fill_null(text, "null")]
        return pc.binary_join_element_wise(*parts, outer + "}", "")

    def pairs(self, lines: pa.ListArray) -> pa.Array:
        """Lists of no object or of two."""
        items = lines.flatten()
        whole = self.object({"sku": _quoted(items.field("sku")), "qty": items.field("qty")}, 2)
        first, second = (whole.take(pa.array(np.arange(which, len(whole), 2))) for which in (0, 1))
        inner, outer = self._line(2), self._line(1)
        full = pc.binary_join_element_wise("[" + inner, first, "," + inner, second, outer + "]", "")
        return pc.replace_with_mask(pa.repeat("[]", len(lines)), pc.greater(pc.list_value_length(lines), 0), full)

    def plain(self, value: Any, level: int) -> str:
        """A constant, as ``json.dumps`` writes it."""
        if not self._is_pretty:
            return json.dumps(value, separators=(",", ":"))
        return json.dumps(value, indent=2).replace("\n", self._line(level))

    def _line(self, level: int) -> str:
        return "\n" + "  " * (level + 1) if self._is_pretty else ""


def _quoted(strings: pa.Array) -> pa.Array:
    r"""Strings as JSON: ``\u`` escapes for what is beyond ASCII in one of two, as it is in the other."""
    for symbol, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        strings = pc.replace_substring(strings, symbol, written)
    escaped = strings
    for symbol in ("\u00e9", "\u2603", "\U0001f600"):
        escaped = pc.replace_substring(escaped, symbol, json.dumps(symbol)[1:-1])
    is_even = pa.array(np.arange(len(strings)) % 2 == 0)
    return pc.binary_join_element_wise('"', pc.if_else(is_even, escaped, strings), '"', "")
