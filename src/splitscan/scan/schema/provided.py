"""Columns that a Python caller provides as an Arrow schema, as the texts that options are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from splitscan.formats.column_rules import options_of
from splitscan.formats.decoding.type_names import format_ddl

_PROVIDED = frozenset({"providedschema", "provided_schema"})
_COLUMNS = frozenset({"columnoptions", "column_options"})


def as_options(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Options in which a provided Arrow schema is DDL, and what its fields' metadata says is in ``columnOptions``.

    Example:
        >>> field = pa.field("n", pa.int64(), metadata={"splitscan.default": "0"})
        >>> as_options({"provided_schema": pa.schema([field])})
        {'provided_schema': 'n bigint', 'columnOptions': {'n': {'default': '0'}}}
    """
    options = dict(raw)
    for name, value in raw.items():
        if str(name).lower() not in _PROVIDED or not isinstance(value, pa.Schema):
            continue
        options[name] = format_ddl(value)
        said = {field.name: found for field in value if (found := options_of(field).to_json())}
        if said:
            given = next((other for other in options if str(other).lower() in _COLUMNS), "columnOptions")
            options[given] = {**said, **_as_mapping(options.get(given))}
    return options


def _as_mapping(value: Any) -> Mapping[str, Any]:
    """Column options as they were written; what is no mapping is refused where options are parsed."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}
