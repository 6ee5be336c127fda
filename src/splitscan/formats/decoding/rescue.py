"""Data that does not fit its columns, kept as one JSON text for each record that has some."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

FILE_PATH = "_file_path"
"""The member that names the file, after the rescued ones."""

_ODD = r'["\\\x00-\x1f]'  # what JSON escapes
_CONTROL = r"[\x00-\x1f]"


@dataclass(frozen=True, slots=True)
class Rescue:
    """That data which does not fit is kept, so that it is no fault.

    Attributes:
        path: The file, as the kept text names it.
        max_fields: Most fields in a record of CSV; one with more is broken all the same.
        wanted: Whether the text is asked for; if not, what does not fit is no fault either.
    """

    path: str
    max_fields: int = 0
    wanted: bool = True


def json_texts(values: pa.Array) -> pa.Array:
    """Strings as JSON writes them; null stays null."""
    if pc.any(pc.match_substring_regex(values, _ODD)).as_py():
        escaped = pc.replace_substring(pc.replace_substring(values, "\\", "\\\\"), '"', '\\"')
        controls = pc.fill_null(pc.match_substring_regex(values, _CONTROL), False)
        if pc.any(controls).as_py():  # rare in data, and of many kinds
            exact = [json.dumps(text, ensure_ascii=False)[1:-1] for text in values.filter(controls).to_pylist()]
            escaped = pc.replace_with_mask(escaped, controls, pa.array(exact, pa.string()))
        values = escaped
    quote = pa.scalar('"')
    return pc.binary_join_element_wise(quote, values, quote, "", null_handling="emit_null")


def rescued_column(members: Mapping[str, pa.Array], extras: Mapping[int, str], rows: int, path: str) -> pa.Array:
    """The rescued data of some records: one JSON object each, null where nothing is to be kept.

    Members are JSON texts by name, extras further members by record, as JSON has them: ``"name":value,"name":value``.

    Example:
        >>> rescued_column({"a": pa.array([None, '"x"'])}, {}, 2, "f.csv").to_pylist()
        [None, '{"a":"x","_file_path":"f.csv"}']
    """
    columns = [(json.dumps(name, ensure_ascii=False), values.to_pylist()) for name, values in members.items()]
    found = []
    for row in range(rows):
        parts = [f"{name}:{values[row]}" for name, values in columns if values[row] is not None]
        found.append(with_path([*parts, extras[row]] if row in extras else parts, path))
    return pa.array(found, pa.string())


def with_path(members: Sequence[str], path: str) -> str | None:
    """The rescued data of one record, from its members as JSON has them; ``None`` without any."""
    return "{" + ",".join(members) + tail_of(path) if members else None


def tail_of(path: str) -> str:
    """End of the kept text: the file, and the closing brace."""
    return f",{json.dumps(FILE_PATH)}:{json.dumps(path, ensure_ascii=False)}}}"


def extra_members(names: Sequence[str], values: Sequence[str | None]) -> str | None:
    """Members of one record, as JSON has them; ``None`` without any value."""
    pairs = zip(names, values, strict=True)
    return ",".join(f"{json.dumps(n, ensure_ascii=False)}:{json.dumps(v, ensure_ascii=False)}"
                    for n, v in pairs if v is not None) or None  # fmt: skip
