"""Statistics of a data file, as a Delta table has them: from its Parquet footer, for engines that skip files by them.

A bound that is too narrow loses rows without a word, so every bound here is exact or too wide. So does one bound that
is missing among others: ``deltalake`` takes it for a null, which no value is below. Where one column has no greatest
value that can be told, no column of the file has one; the same with the least. A file without bounds is read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from splitscan.jobs.parquet import WITHOUT_NAN

INDEXED_LEAVES = 32
"""Leaf columns with statistics, from the first: what Delta tables index unless they say otherwise."""

_TEXT_LENGTH = 32  # characters of a bound
_LAST_CHARACTER = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MOST_MOMENT = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_MOST_DAY = date(9999, 12, 31).toordinal()

Nested = dict[str, Any]


def render_stats(footer: pq.FileMetaData, schema: pa.Schema, table: pa.Schema | None = None) -> str:
    """Spell the statistics of a file as the JSON that its ``add`` action holds.

    Args:
        footer: Of the file.
        schema: Of the file.
        table: Of the table, without the columns that it is partitioned by; those that the file lacks are null in it.

    Returns:
        ``numRecords``, ``nullCount`` of the columns of which it is known, and ``minValues`` and ``maxValues`` where
        they are known of all. Floating point columns that may hold a NaN have none: engines sort it above all.
    """
    sure = json.loads((footer.metadata or {}).get(WITHOUT_NAN.encode(), b"[]"))
    whole = {"minValues": True, "maxValues": True}
    least: Nested = {}
    most: Nested = {}
    nulls: Nested = {column.name: footer.num_rows for column in table or () if column.name not in schema.names}
    for number, (path, kind) in enumerate(_leaves(schema)):
        if number >= INDEXED_LEAVES:
            break
        if path is None:
            continue
        groups = [footer.row_group(group).column(number) for group in range(footer.num_row_groups)]
        known = [group.statistics for group in groups]
        counted = all(each is not None and each.has_null_count for each in known)
        if counted:
            _put(nulls, path, sum(each.null_count for each in known))
            known = [each for each, group in zip(known, groups, strict=True) if each.null_count < group.num_values]
            if not known:
                continue
        bounded = (
            counted and all(each.has_min_max for each in known) and (len(path) > 1 or _is_sure(path[0], kind, sure))
        )
        for name, bounds, which in (("minValues", least, "min"), ("maxValues", most, "max")):
            value = _bound(known, kind, which) if bounded else None
            if value is not None:
                _put(bounds, path, value)
            elif len(path) == 1 and not pa.types.is_binary(kind):
                whole[name] = False
    stats = {"numRecords": footer.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls}
    return _render({name: value for name, value in stats.items() if whole.get(name, True)})


def _is_sure(name: str, kind: pa.DataType, without_nan: Sequence[str]) -> bool:
    return not pa.types.is_floating(kind) or name in without_nan


def _leaves(schema: pa.Schema) -> Iterator[tuple[tuple[str, ...] | None, pa.DataType]]:
    """The leaf columns in the order of the footer; those inside lists and maps have no path."""
    for column in schema:
        yield from _leaves_of((column.name,), column.type)


def _leaves_of(path: tuple[str, ...] | None, kind: pa.DataType) -> Iterator[tuple[tuple[str, ...] | None, pa.DataType]]:
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves_of(None if path is None else (*path, field.name), field.type)
    elif pa.types.is_map(kind):
        yield from _leaves_of(None, kind.key_type)
        yield from _leaves_of(None, kind.item_type)
    elif pa.types.is_list(kind):
        yield from _leaves_of(None, kind.value_type)
    else:
        yield path, kind


def _put(tree: Nested, path: tuple[str, ...], value: object) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _bound(groups: list[Any], kind: pa.DataType, which: str) -> object:
    """The ``min`` or ``max`` of a column as the JSON has it: a short text or a millisecond that no value is beyond."""
    types, is_least = pa.types, which == "min"
    choose = min if is_least else max
    value: Any = None
    if types.is_date(kind):
        value = _day(choose(getattr(each, f"{which}_raw") for each in groups))
    elif types.is_timestamp(kind):
        raw = choose(getattr(each, f"{which}_raw") for each in groups)
        value = _moment(raw // 1000 * 1000 if is_least else min(-(-raw // 1000) * 1000, _MOST_MOMENT), kind)
    elif types.is_floating(kind):
        bound = choose(float(getattr(each, which)) for each in groups)
        value = bound if math.isfinite(bound) else None
    elif types.is_integer(kind) or types.is_decimal(kind) or types.is_boolean(kind) or types.is_string(kind):
        value = choose(getattr(each, which) for each in groups)
        if types.is_string(kind):
            value = value[:_TEXT_LENGTH] if is_least else raise_text(value)
    return value


def raise_text(text: str) -> str:
    """A short text that is not less than any text with the same beginning; the text itself if there is none.

    Example:
        >>> raise_text("short"), raise_text("a" * 31 + "bcd") == "a" * 31 + "c"
        ('short', True)
    """
    if len(text) <= _TEXT_LENGTH:
        return text
    kept = text[:_TEXT_LENGTH]
    while kept:
        code = ord(kept[-1]) + 1
        if code <= _LAST_CHARACTER:
            return kept[:-1] + chr(_SURROGATES[1] + 1 if code == _SURROGATES[0] else code)
        kept = kept[:-1]
    return text


def _day(days: int) -> str | None:
    ordinal = _EPOCH_DAY + days
    return date.fromordinal(ordinal).isoformat() if 1 <= ordinal <= _MOST_DAY else None


def _moment(microseconds: int, kind: pa.DataType) -> str | None:
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    text = moment.replace(tzinfo=None).isoformat(timespec="microseconds" if microseconds % 1000 else "milliseconds")
    return f"{text}Z" if kind.tz else text


def _render(value: object) -> str:
    """JSON in which a decimal keeps its digits, and a character its bytes: ``deltalake`` misreads escaped pairs."""
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{_render(item)}" for name, item in value.items())
            + "}"
        )
    if isinstance(value, Decimal):
        return format(value, "f")
    return json.dumps(value, allow_nan=False, ensure_ascii=False)
