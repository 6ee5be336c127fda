"""Values of messages by the kernel and by the reference: the same rows and rejects, whatever their neighbours are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.engine import kernel
from splitscan.errors import SplitscanError
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.messages import make_message_spec
from splitscan.messages.decoding import values_reader
from splitscan.messages.spec import parse_kafka_options

pytestmark = pytest.mark.skipif(kernel() is None, reason="there is no kernel to compare")

CSV = [
    b"", b"1,a", b"2,b\n", b'3,"c\nd"', b'"', b'4,"', b'"5","e""', b"6,f\n7,g", b"\n", b"x", b"\xff,\xe9", b'8,"h',
    b"#", b"9,i,j", b"10", b",", b"\r\n11,k\r", b"12," + b"l" * 30, b"|", b"13,m|", b"14,\x00",
]  # fmt: skip
JSON = [
    b"", b'{"n":1}', b'{"n":\n2}', b'{"n":3', b"}", b'"', b'{"n":4} {"n":5}', b"[1]", b'[{"n":6}]', b"null", b"7",
    b'{"n":"8"}', b"{}\n", b'{"m":"a","z":1}', b'{"n":"x","m":"\xff"}', b'{"m":"' + b"b" * 30 + b'"}', b"|", b"\x1e{}",
]  # fmt: skip
SCHEMAS = [
    "n int, m string",
    "n int, m string, _corrupt_record string",
    "n int NOT NULL, m string",
    "m string, n string NOT NULL, k int",
    "n variant, m variant NOT NULL",
]
COMMON = {
    "mode": st.sampled_from(["PERMISSIVE", "PERMISSIVE", "DROPMALFORMED"]),
    "multiLine": st.sampled_from(["true", "false"]),
    "rejectReasonColumn": st.sampled_from([None, None, "why"]),
    "rescuedDataColumn": st.sampled_from([None, None, "rest"]),
    "columnOptions": st.sampled_from([None, None, '{"n": {"default": "5"}}']),
    "encoding": st.sampled_from([None, None, "windows-1252"]),
    "maxRecordBytes": st.sampled_from([20, 1000]),
    "lineSep": st.sampled_from([None, None, "|"]),
}


def read_as(engine: str, record_format: str, schema: str, options: dict[str, Any], values: list[bytes | None]) -> Any:
    given = {name: value for name, value in options.items() if value is not None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPLITSCAN_ENGINE", engine)
        try:
            kafka, others = parse_kafka_options({"kafka.bootstrap.servers": "b", "subscribe": "t", **given})
            spec = make_message_spec(kafka, record_format, others, parse_ddl(schema)).values
        except SplitscanError as error:
            return str(error)
        read = values_reader(spec, "kafka:t/0")
        assert ("_kernel_reader" in read.__qualname__) is (engine == "kernel")
        rows = read(values)
    return rows.batch.schema, rows.batch.to_pylist(), list(rows.rejects or ())


@given(
    st.lists(st.none() | st.sampled_from(CSV), max_size=10),
    st.sampled_from(SCHEMAS),
    st.fixed_dictionaries({**COMMON, "escape": st.sampled_from(["\\", '"'])}),
)
def test_both_engines_read_messages_of_csv_alike(values, schema, options):
    assert read_as("kernel", "csv", schema, options, values) == read_as("reference", "csv", schema, options, values)


@given(
    st.lists(st.none() | st.sampled_from(JSON), max_size=10), st.sampled_from(SCHEMAS), st.fixed_dictionaries(COMMON)
)
def test_both_engines_read_messages_of_json_alike(values, schema, options):
    assert read_as("kernel", "json", schema, options, values) == read_as("reference", "json", schema, options, values)


def test_the_offset_of_a_reject_is_the_number_of_its_message():
    values = [None, b"x,a", b"", b"1,b", b"2,c\n3,d", b"y,e"]
    for engine in ("kernel", "reference"):
        _, rows, rejects = read_as(engine, "csv", "n int, m string", {}, values)
        assert [row["n"] for row in rows] == [None, None, None, 1, None, None]
        assert [(reject.offset, reject.code) for reject in rejects] == [
            (1, "bad-value"), (2, "not-one-record"), (4, "not-one-record"), (5, "bad-value"),
        ]  # fmt: skip
