"""What the native engine must make of a text: what ``convert`` and ``scalar_value`` make of it."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import splitscan_kernel
from tests.kernel.value_cases import KINDS, SAMPLERS, json_number, random_case, random_texts

from splitscan.errors import UsageError
from splitscan.formats.decoding.conversions import Rules, convert
from splitscan.formats.json.decoder import scalar_value

VALUES = 200  # of a case


def check_text_case(seed: int) -> Counter[str]:
    """Compare a column of texts; answers how often each situation was met."""
    rng = random.Random(seed)
    case = random_case(rng)
    texts = random_texts(rng, case, VALUES)
    schema = pa.schema([pa.field("c", case.kind)])
    try:
        expected, mask = convert(pa.array(texts, pa.string()), case.kind, case.rules)
    except UsageError:
        try:
            splitscan_kernel.convert_texts(texts, schema, vars(case.rules))
        except splitscan_kernel.Unsupported:
            return Counter(refused=1)
        raise AssertionError(f"a pattern has no meaning: {case.rules}") from None
    except pa.ArrowInvalid:  # the reference has no answer for a type of nested values
        expected, mask = pa.nulls(VALUES, case.kind), np.array([text is not None for text in texts])
    found, bad = splitscan_kernel.convert_texts(texts, schema, vars(case.rules))
    wrong = set() if mask is None else set(np.flatnonzero(mask).tolist())
    where = f"{case.kind} {case.rules}"
    _compare(texts, found, expected, (set(bad), wrong), where)
    return _met(case.kind, case.rules, wrong)


def check_json_case(seed: int) -> Counter[str]:
    """Compare numbers and strings of JSON."""
    rng = random.Random(seed)
    case = random_case(rng)
    while case.kind not in SCALARS:
        case = random_case(rng)
    allow_named = rng.random() < 0.7
    values = [
        (text or "", True) if rng.random() < 0.6 else (json_number(rng), False)
        for text in random_texts(rng, case, VALUES)
    ]
    schema = pa.schema([pa.field("c", case.kind)])
    try:
        read = [
            scalar_value(written, case.kind, case.rules, is_text=is_text, allow_named=allow_named)
            for written, is_text in values
        ]
    except UsageError:
        return Counter(refused=1)
    storage = (
        pa.int64() if pa.types.is_timestamp(case.kind) else pa.int32() if pa.types.is_date32(case.kind) else case.kind
    )
    expected = pa.array(read, storage).cast(case.kind)
    found, bad = splitscan_kernel.convert_json(values, schema, vars(case.rules), allow_named)
    wrong = {index for index, value in enumerate(read) if value is None}
    _compare(values, found, expected, (set(bad), wrong), f"{case.kind} {case.rules} {allow_named}")
    return _met(case.kind, case.rules, wrong)


SCALARS = [kind for kind in KINDS if (kind in SAMPLERS and kind != pa.bool_()) or pa.types.is_decimal(kind)]


def _compare(values: list[Any], found: Any, expected: pa.Array, bad: tuple[set[int], set[int]], where: str) -> None:
    batch = pa.record_batch(found)
    batch.validate(full=True)
    column = batch.column(0)
    assert column.type == expected.type, where
    for index in range(len(values)):
        assert (index in bad[0]) == (index in bad[1]), (values[index], column[index], expected[index], where)
    left, right = _bits(column), _bits(expected)
    if not left.equals(right):
        differences = [
            (value, a, b) for value, a, b in zip(values, left.to_pylist(), right.to_pylist(), strict=True) if a != b
        ]
        raise AssertionError(f"{differences[:3]} {where}")


def _bits(column: pa.Array) -> pa.Array:
    """Fractions as the bits that they are: so are minus zero, and each NaN, told apart."""
    if not pa.types.is_floating(column.type):
        return column
    return column.view(pa.int32() if pa.types.is_float32(column.type) else pa.int64())


def _met(kind: pa.DataType, rules: Rules, wrong: set[int]) -> Counter[str]:
    patterned = rules.date_format is not None
    met = Counter({"values": VALUES, "bad": len(wrong), "zone": "/" in rules.time_zone})
    met[str(kind) + (" patterned" if patterned else "")] += VALUES - len(wrong)
    return met
