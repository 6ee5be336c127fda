"""The native engine makes of every text what the reference makes of it."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

pytest.importorskip("splitscan_kernel")

import splitscan_kernel
from tests.kernel import value_laws
from tests.kernel.value_cases import KINDS

from splitscan.formats.decoding.conversions import Rules

CASES = [150, pytest.param(400, marks=pytest.mark.slow)]
BAD = ["", " ", "abc", "n/a", "null", "-", "1.2.3", "unknown", "#REF!", "2024-13-01", "31.31.2024", "é"]


@pytest.mark.parametrize(
    ("check", "unmet"), [(value_laws.check_text_case, set()), (value_laws.check_json_case, {"bool", "string"})]
)
@pytest.mark.parametrize("cases", CASES)
def test_texts_are_what_the_reference_makes_of_them(check, unmet, cases):
    met: Counter[str] = Counter()
    for seed in range(cases):
        met.update(check(seed))
    nested = [kind for kind in KINDS if pa.types.is_nested(kind) or pa.types.is_null(kind)]
    wanted = {str(kind) for kind in KINDS if kind not in nested} - unmet
    wanted |= {f"{kind} patterned" for kind in KINDS if pa.types.is_temporal(kind)} | {
        "bad",
        "zone",
        "refused",
    }
    assert all(met[situation] for situation in wanted), met


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if not pa.types.is_string(kind) and not pa.types.is_binary(kind)]
)
@pytest.mark.parametrize("pattern", [None, "yyyy-MM-dd HH:mm", "dd.MM.yyyy[ HH:mm:ss]XXX"])
def test_ordinary_bad_data_is_decided(kind, pattern):
    rules = Rules(
        date_format=pattern, timestamp_format=pattern, timestamp_ntz_format=pattern, time_zone="Europe/Berlin"
    )
    _, bad = splitscan_kernel.convert_texts(BAD, pa.schema([("c", kind)]), vars(rules))
    assert bad == list(range(len(BAD)))


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.large_string(), pa.timestamp("s"), pa.uint8(), pa.date64()])
def test_other_types_are_not_supported(kind):
    with pytest.raises(splitscan_kernel.Unsupported, match="not supported"):
        splitscan_kernel.convert_texts([], pa.schema([("c", kind)]), vars(Rules()))


def test_schemas_come_back_as_they_were():
    kind = pa.struct([
        pa.field("a", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("b", pa.map_(pa.string(), pa.timestamp("us", "Europe/Berlin"))),
        pa.field("c", pa.struct([])),
    ])  # fmt: skip
    schema = pa.schema([pa.field("x", kind, metadata={"k": "v"})])
    batch = pa.record_batch(splitscan_kernel.convert_texts([None, "{}"], schema, vars(Rules()))[0])
    batch.validate(full=True)
    assert batch.schema.equals(schema, check_metadata=True)
    assert batch.column(0).null_count == 2
