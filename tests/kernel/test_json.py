"""The native engine reads JSON as the reference does, whatever the dialect, the bytes and the cuts."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import asdict

import pyarrow as pa
import pytest
from hypothesis import settings

pytest.importorskip("splitscan_kernel")

import splitscan_kernel
from tests.counting import at_most_cpu_seconds
from tests.kernel import json_framing, json_inferring, json_parsing
from tests.kernel.native_faults import native_faults

from splitscan.formats.json.text import JsonDialect

CASES = 15 * settings().max_examples  # fewer in make check
STRICT = asdict(JsonDialect())


def test_framing_gives_what_the_reference_gives() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(json_framing.check_case(seed))
    assert all(met[situation] for situation in ("records", "unfinished", "told", "untold", "lines", "wide")), met


def test_parsing_gives_what_the_exact_parser_gives() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(json_parsing.check_case(seed))
    situations = ("long", "invalid", "rescued", "bad-json", "bad-value", "not-an-object", "nested", "unfinished")
    assert all(met[situation] for situation in situations), met


def test_inference_finds_what_the_reference_finds_and_merges_in_any_order() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(json_inferring.check_case(seed))
    kinds = ("decimal", "double", "int64", "bool", "list", "string", "null")
    assert all(met[situation] for situation in ("invalid", "broken", "records", *kinds)), met


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "unit", "tail"),
    [
        (b"", b'{"a":[', b""),
        (b"", b"[", b""),
        (b"", b'{"a":', b""),
        (b'{"a":1,"b":', b"[", b"]"),
        (b'{"a":{', b'"a":1,', b'"b":2}}'),
        (b"{", b'"a":1,', b'"b":2}'),
        (b'{"b":', b"1", b"}"),
        (b'{"b":"', b"\\\\", b'"}'),
        (b'{"b":"', b"\xff", b'"}'),
        (b"{", b" ", b"}"),
        (b"", b"}", b""),
        (b"", b" ", b""),
        (b"", b"x ", b""),
        (b"", b'"', b""),
        (b"", b'{"\n', b""),
        (b"", b'{"a', b""),
        (b"", b"{", b""),
        (b"", b"\xff\n", b""),
        (b"", b'{"a":1}x', b""),
        (b'{"m":{', b'"\\u0061":1,', b'"b":2}}'),
    ],
)
def test_hostile_bytes_are_read_in_linear_time(head: bytes, unit: bytes, tail: bytes) -> None:
    """In seconds; in quadratic time it would be minutes at the speed of memory, and hours at that of a loop."""
    data = head + unit * (4_000_000 // len(unit)) + tail
    schema = pa.schema([("a", pa.int32()), ("b", pa.string()), ("m", pa.map_(pa.string(), pa.int32()))])
    with at_most_cpu_seconds(30):
        for json in (splitscan_kernel.Json("values"), splitscan_kernel.Json("array"), splitscan_kernel.Json.lines()):
            starts, stops, _, _ = json.frame(data, 0, len(data), True)
            parser = splitscan_kernel.JsonParser(json, schema, **STRICT, rescue=("}", True))
            parsed = parser.parse(data, 0, len(data), len(data), True, 1 << 40, 1 << 40)
            framed = parser.parse_framed(data, starts, stops)
            assert parsed.rows == framed.rows
        splitscan_kernel.Json("values").summarise(data, 0, len(data), b"x", b"", 0)


def test_a_million_levels_members_and_digits_are_read() -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.string())])
    parser = splitscan_kernel.JsonParser(splitscan_kernel.Json("values"), schema, **STRICT)
    deep = b"[" * 500_000 + b'{"x":' * 500_000 + b"null" + b"}" * 500_000 + b"]" * 500_000
    digits, members = b"9" * 1_000_000, b",".join(b'"m%d":%d' % (number, number) for number in range(1_000_000))
    data = b'{"a":1,"b":' + deep + b'}{"a":' + digits + b',"b":-' + digits + b'e99}{"a":2,' + members + b"}"
    parsed = parser.parse(data, 0, len(data), len(data), True, 1 << 40, 1 << 40)
    batch = pa.record_batch(parsed.batch)
    assert batch.column(0).to_pylist() == [1, None, 2]
    assert [len(text or "") for text in batch.column(1).to_pylist()] == [len(deep), 1_000_004, 0]
    assert [(record, column) for record, _, column, _, _ in native_faults(parsed)] == [(1, "a")]


def test_any_bytes_are_read() -> None:
    draw = random.Random(7)
    for json in (splitscan_kernel.Json("values"), splitscan_kernel.Json("array"), splitscan_kernel.Json.lines()):
        parser = splitscan_kernel.JsonParser(json, pa.schema([("a", pa.int32()), ("b", pa.string())]), **STRICT)
        for _ in range(200):
            data = draw.randbytes(draw.randint(0, 700))
            parsed = parser.parse(data, 0, len(data), len(data), True, 1 << 40, 1 << 40)
            pa.record_batch(parsed.batch).validate(full=True)
            assert (parsed.rows, parsed.next_start) == json.count(data, 0, len(data), True)


def test_what_is_not_supported_is_refused() -> None:
    schema = pa.schema([("a", pa.int32())])
    wide = splitscan_kernel.Json.lines(None, 2, False)
    with pytest.raises(splitscan_kernel.Unsupported, match="transcode"):
        splitscan_kernel.JsonParser(wide, schema, **STRICT)
    with pytest.raises(splitscan_kernel.Unsupported, match="not supported"):
        splitscan_kernel.JsonParser(splitscan_kernel.Json("values"), pa.schema([("a", pa.time64("us"))]), **STRICT)
    with pytest.raises(ValueError, match="values or array"):
        splitscan_kernel.Json("object")
    with pytest.raises(ValueError, match="positions"):
        splitscan_kernel.Json("values").count(b"{}", 1, 9, True)
