"""Values as JSON: whole columns at a time, as Spark writes them."""

from __future__ import annotations

import base64
import json
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.arrays import text_scalar
from splitscan.formats.decoding.contract import is_variant
from splitscan.formats.decoding.values import json_texts
from splitscan.formats.decoding.variant import variant_as_json

_STRING = pa.string()
_NULL = text_scalar("null", _STRING)


def json_lines(batch: pa.RecordBatch) -> bytes:
    r"""Each row as an object on a line of its own.

    Example:
        >>> json_lines(pa.record_batch({"a": [1, None], "b": [["x"], []]}))
        b'{"a":1,"b":["x"]}\n{"a":null,"b":[]}\n'
    """
    if not batch.num_rows:
        return b""
    lines = _objects(list(batch.schema.names), list(batch.columns), batch.num_rows, "}\n")
    return bytes(pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "")[0].as_buffer())


def json_values(values: pa.Array) -> pa.Array:
    """Each value as JSON has it, ``null`` among them. Bytes are base64; numbers that JSON lacks are texts."""
    texts = _variants(values) if is_variant(values.type) else _written(values)
    if not values.null_count:
        return texts
    if pa.types.is_nested(values.type):  # texts of others are null where the value is
        texts = pc.if_else(values.is_valid(), texts, None)
    return pc.fill_null(texts, _NULL)


def plain_texts(values: pa.Array) -> pa.Array:
    """Values that hold no others, as text: of numbers and times as of texts. Null stays null."""
    kind = values.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        encoded = [None if value is None else base64.b64encode(value).decode("ascii") for value in values.to_pylist()]
        return pa.array(encoded, pa.string())
    texts = pc.cast(values, pa.string())
    if pa.types.is_floating(kind):
        for odd, spelled in (("nan", "NaN"), ("-nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity")):
            texts = pc.if_else(pc.equal(texts, odd), spelled, texts)
    return pc.replace_substring(texts, " ", "T") if pa.types.is_timestamp(kind) else texts


def _written(values: pa.Array) -> pa.Array:
    """Values as JSON; what is written for null does not matter."""
    kind = values.type
    if pa.types.is_struct(kind):
        return _objects([field.name for field in kind], values.flatten(), len(values), "}")
    if pa.types.is_map(kind):
        keys = plain_texts(values.keys)
        pairs = pc.binary_join_element_wise(json_texts(keys), json_values(values.items), ":")
        return _joined(values.offsets, pairs, "{", "}")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _joined(values.offsets.cast(pa.int32()), json_values(values.values), "[", "]")
    texts = plain_texts(values)
    if pa.types.is_floating(kind):
        fractions = pc.replace_substring_regex(texts, r"^(-?\d+)$", r"\1.0")  # so that 7.0 stays no whole number
        return pc.if_else(pc.is_finite(values), fractions, json_texts(texts))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        return texts
    return json_texts(texts)


def _variants(values: pa.Array) -> pa.Array:
    rows = values.to_pylist()
    return pa.array([row and variant_as_json(row["value"], row["metadata"]) for row in rows], pa.string())


def _objects(names: list[str], columns: list[pa.Array], rows: int, end: str) -> pa.Array:
    if not names:
        return pa.array(["{" + end] * rows, pa.string())
    pairs = zip(_begins(tuple(names)), map(json_values, columns), strict=True)
    parts: list[pa.Array | pa.Scalar] = [part for pair in pairs for part in pair]
    return pc.binary_join_element_wise(*parts, text_scalar(end, _STRING), text_scalar("", _STRING))


@lru_cache(maxsize=16)
def _begins(names: tuple[str, ...]) -> list[pa.Scalar]:
    """The text in front of each value of an object."""
    marks = ("{", *[","] * (len(names) - 1))
    return [
        text_scalar(f"{mark}{json.dumps(name, ensure_ascii=False)}:", _STRING)
        for mark, name in zip(marks, names, strict=True)
    ]


def _joined(offsets: pa.Array, items: pa.Array, begin: str, end: str) -> pa.Array:
    inside = pc.binary_join(pa.ListArray.from_arrays(offsets, items), ",")
    outside = (text_scalar(text, _STRING) for text in (begin, end, ""))
    return pc.binary_join_element_wise(next(outside), inside, *outside)
