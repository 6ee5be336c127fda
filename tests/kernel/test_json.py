"""The native engine reads JSON as the reference does, whatever the dialect, the bytes and the cuts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings

pytest.importorskip("splitscan_kernel")

import splitscan_kernel
from tests.counting import at_most_cpu_seconds
from tests.kernel import json_framing, json_inferring

import splitscan as ss
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.members import inference_document

CASES = 15 * settings().max_examples  # fewer in make check


def test_framing_gives_what_the_reference_gives() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(json_framing.check_case(seed))
    assert all(met[situation] for situation in ("records", "unfinished", "told", "untold", "lines", "wide")), met


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
def test_hostile_bytes_are_read_in_linear_time(tmp_path: Path, head: bytes, unit: bytes, tail: bytes) -> None:
    """In seconds; in quadratic time it would be minutes at the speed of memory, and hours at that of a loop."""
    data = head + unit * (4_000_000 // len(unit)) + tail
    path = tmp_path / "hostile.json"
    path.write_bytes(data)
    schema = "a int, b string, m map<string, int>"
    with at_most_cpu_seconds(30):
        for json in (splitscan_kernel.Json("values"), splitscan_kernel.Json("array"), splitscan_kernel.Json.lines()):
            json.frame(data, 0, len(data), True)
        for multi_line in (True, False):
            ss.scan_json(path, schema, multiLine=multi_line, rescuedDataColumn="r").to_arrow()
        splitscan_kernel.Json("values").summarise(data, 0, len(data), b"x", b"", 0)


@pytest.mark.slow
def test_a_million_levels_members_and_digits_are_read(tmp_path: Path) -> None:
    deep = b"[" * 500_000 + b'{"x":' * 500_000 + b"null" + b"}" * 500_000 + b"]" * 500_000
    digits, members = b"9" * 1_000_000, b",".join(b'"m%d":%d' % (number, number) for number in range(1_000_000))
    data = b'{"a":1,"b":' + deep + b'}{"a":' + digits + b',"b":-' + digits + b'e99}{"a":2,' + members + b"}"
    path = tmp_path / "deep.json"
    path.write_bytes(data)
    rejects: list[ss.Reject] = []
    scan = ss.scan_json(path, "a int, b string", multiLine=True, maxRecordBytes=1 << 26)
    table = pa.Table.from_batches(scan.to_batches(on_reject=rejects.append))
    assert table["a"].to_pylist() == [1, None, 2]
    assert [len(text or "") for text in table["b"].to_pylist()] == [len(deep), 1_000_004, 0]
    assert [(reject.code, reject.offset) for reject in rejects] == [("bad-value", len(deep) + 12)]


def test_what_is_not_supported_is_refused() -> None:
    with pytest.raises(ValueError, match="values, array, nowhere, or below and a path"):
        splitscan_kernel.Json("object")
    with pytest.raises(ValueError, match="positions"):
        splitscan_kernel.Json("values").count(b"{}", 1, 9, True)
    with pytest.raises(splitscan_kernel.Unsupported, match="inference"):
        splitscan_kernel.MemberSummary("{}")
    with pytest.raises(splitscan_kernel.Unsupported, match="csv"):
        splitscan_kernel.MemberSummary(inference_document({"csv": Rules().spelled}))
