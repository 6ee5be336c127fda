from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.errors import RecordError, SchemaError, UsageError
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.messages import make_message_spec, scan_messages
from splitscan.messages.kafka import MessageRange, TopicPartition
from splitscan.messages.spec import parse_kafka_options

from ...kafka.fakes import FakeConsumer, FakeMessage


def spec_of(record_format=None, schema=None, **raw):
    kafka, others = parse_kafka_options({"kafka.bootstrap.servers": "b", "subscribe": "t", **raw})
    return make_message_spec(kafka, record_format, others, None if schema is None else parse_ddl(schema))


def scan(values, record_format=None, schema=None, rejects=None, **raw):
    spec = pickle.loads(pickle.dumps(spec_of(record_format, schema, **raw)))
    consumer = FakeConsumer(dict(enumerate(values, 10)))
    wanted = [MessageRange(TopicPartition("t", 0), 10, 10 + len(values))]
    batches = list(scan_messages(spec, wanted, None if rejects is None else rejects.append, lambda: consumer))
    assert consumer.closed == 1
    return [row for batch in batches for row in batch.to_pylist()]


def test_bytes_are_delivered_as_they_are():
    values = [b"a\nb", None, b"", b"\xff\x00"]
    assert [row["value"] for row in scan(values)] == values


def test_text_may_have_any_lines():
    values = [b"a\nb", None, b"", "é".encode()]
    assert [row["value"] for row in scan(values, "text")] == ["a\nb", None, "", "é"]
    assert [row["value"] for row in scan([b"\xe9", b"b"], "text", encoding="ISO-8859-1")] == ["é", "b"]
    assert [row["value"] for row in scan([b"\xe9\n", b"b"], "text")] == ["�\n", "b"]


@pytest.mark.parametrize(
    ("record_format", "schema", "options", "odd"),
    [
        ("text", None, {}, [11]),
        ("csv", "a string, b string", {}, [11]),
        ("csv", "a string, b string", {"encoding": "windows-1252"}, []),
        ("csv", "a string, b string", {"mode": "DROPMALFORMED"}, [11]),
        ("csv", "a binary, b binary", {}, []),
        (None, None, {}, []),
    ],
)
def test_values_that_are_no_utf8_are_told(caplog, record_format, schema, options, odd):
    values = [b"a,\xc3\xa9", b"b,\xe9", None, b"\xff,\xff", b"d,e"]
    assert len(scan(values, record_format, schema, **options)) == 5
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        f"2 records have bytes that are no UTF-8, the first at kafka:t/0, offset {first}; in texts they became U+FFFD: "
        "give their encoding, perhaps encoding=windows-1252 [not-utf8]"
        for first in odd
    ]


def test_messages_that_break_a_rule_are_told(caplog):
    values = [b"1,x", b"y,z", b"2,x", b"1,2,3"]
    assert [row["a"] for row in scan(values, "csv", "a int, b string")] == [1, None, 2, 1]
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith("each of 2 records breaks a rule, and has nulls where its values do not fit; the first has ")
    assert "the first has offset 11 of kafka:t/0: " in told
    assert told.endswith(". rejectReasonColumn=_reject_reason says why in each row")


@pytest.mark.parametrize(
    "options", [{"rejectReasonColumn": "_reject_reason"}, {"mode": "DROPMALFORMED"}, {"rejects": []}]
)
def test_nothing_is_told_of_messages_that_are_shown_or_dropped_as_wanted(caplog, options):
    assert len(scan([b"1,x", b"1,2,3"], "csv", "a int, b string", **options)) in {1, 2}
    assert not caplog.records


def test_columns_beside_the_value():
    names = "key,headers,topic,partition,offset,timestamp,timestampType"
    spec = spec_of(metadataColumns=names)
    consumer = FakeConsumer({10: b"v"})
    consumer.consume = lambda *_: [FakeMessage(10, b"v", key=b"k")]
    batches = scan_messages(spec, [MessageRange(TopicPartition("t", 0), 10, 11)], None, lambda: consumer)
    (row,) = [row for batch in batches for row in batch.to_pylist()]
    assert row["timestamp"].isoformat() == "1970-01-01T00:00:01.500000+00:00"
    del row["timestamp"]
    headers = [{"key": "h", "value": b"1"}, {"key": "none", "value": None}]
    assert row == {
        "value": b"v", "key": b"k", "headers": headers, "topic": "t", "partition": 0, "offset": 10, "timestampType": 0
    }  # fmt: skip
    assert scan([b"v"], metadataColumns="timestamp,timestampType")[0]["timestamp"] is None


def test_columns_come_as_the_schema_has_them():
    rows = scan([b"1,x", b"2,y"], "csv", "offset long, n int, name string", metadataColumns="offset")
    assert [tuple(row.items()) for row in rows] == [
        (("offset", 10), ("n", 1), ("name", "x")), (("offset", 11), ("n", 2), ("name", "y"))
    ]  # fmt: skip
    assert list(spec_of("csv", "n int", metadataColumns="key").schema.names) == ["n", "key"]
    assert scan([b"1", b"2"], "csv", "offset long", metadataColumns="offset") == [{"offset": 10}, {"offset": 11}]


BROKEN = [b"1,a", b"x,b", None, b"", b'3,"c\nd"', b'4,"open', b"5,e\n6,f", b"7,g\n", b"8", b"9,h"]


def test_a_broken_message_costs_one_row_and_says_why():
    rejects = []
    rows = scan(BROKEN, "csv", "n int, s string, _corrupt_record string", rejects, multiLine="true")
    assert [(row["n"], row["s"]) for row in rows] == [
        (1, "a"), (None, "b"), (None, None), (None, None), (3, "c\nd"), (None, None), (None, None), (7, "g"), (8, None),
        (9, "h"),
    ]  # fmt: skip
    assert [(reject.offset, reject.code, reject.raw) for reject in rejects] == [
        (11, "bad-value", b"x,b"), (13, "not-one-record", b""), (15, "not-one-record", b'4,"open'),
        (16, "not-one-record", b"5,e\n6,f"), (18, "field-count", b"8"),
    ]  # fmt: skip
    assert [row["_corrupt_record"] for row in rows if row["_corrupt_record"] is not None] == [
        reject.raw.decode() for reject in rejects
    ]


def test_broken_messages_are_dropped_and_offsets_still_belong_to_their_rows():
    rows = scan(
        BROKEN, "csv", "n int, s string, offset long", multiLine="true", mode="DROPMALFORMED", metadataColumns="offset"
    )
    assert [(row["n"], row["offset"]) for row in rows] == [(1, 10), (None, 11), (None, 12), (3, 14), (7, 17), (9, 19)]


def test_as_many_records_as_messages_is_not_enough():
    rejects = []
    rows = scan([b"1,a\n2,b", b"", b"3,c"], "csv", "n int, s string", rejects)
    assert [row["n"] for row in rows] == [None, None, 3]
    assert [reject.offset for reject in rejects] == [10, 11]


def test_or_end_the_scan_with_their_place():
    with pytest.raises(RecordError, match="not-one-record") as failed:
        scan([b"1,a", b"2,b\n3,c"], "csv", "n int, s string", mode="FAILFAST")
    assert "kafka:t/0, offset 11, in block [10, 12)" in str(failed.value)
    assert "multiLine=true" in str(failed.value)


def test_a_value_that_is_too_long_is_a_reject():
    rejects = []
    rows = scan([b"1,a", b"2," + b"b" * 50], "csv", "n int, s string", rejects, maxRecordBytes=40)
    assert [row["n"] for row in rows] == [1, None]
    assert [reject.code for reject in rejects] == ["record-too-long"]


def test_nulls_alone_and_no_value_at_all():
    assert scan([None, None], "csv", "n int") == [{"n": None}, {"n": None}]
    assert scan([None, None], "json", "n int") == [{"n": None}, {"n": None}]
    assert scan([], "json", "n int") == []


def test_a_column_that_must_not_be_null():
    assert scan([b'{"n":1}', None], "json", "n int not null", mode="DROPMALFORMED") == [{"n": 1}]
    with pytest.raises(SchemaError, match="null-in-not-null") as failed:
        scan([b'{"n":1}', None], "json", "n int not null")
    assert "kafka:t/0, offset 11, row 1, column 'n', in block [10, 12)" in str(failed.value)


def test_json_over_many_lines():
    rejects = []
    values = [b'{"n":\n 1}', b'{"n": 2} {"n": 3}', b'[{"n": 4}]', b'{"n": 5', b'{"n": 6}']
    rows = scan(values, "json", "n int", rejects, multiLine="true")
    assert [row["n"] for row in rows][0::4] == [1, 6]
    assert {reject.offset for reject in rejects} >= {11, 13}


def test_what_does_not_fit_is_kept_where_it_is_rescued():
    rows = scan([b'{"n":1,"m":2}', None, b'{"n":"x"}'], "json", "n int, r string", rescuedDataColumn="r")
    assert [row["n"] for row in rows] == [1, None, None]
    assert json.loads(rows[0]["r"])["m"] == 2
    assert rows[1]["r"] is None


@pytest.mark.parametrize(
    ("record_format", "schema", "raw", "error", "seen"),
    [
        ("json", None, {}, SchemaError, "no-schema"),
        (None, "n int", {}, SchemaError, "declare value binary"),
        (None, "value string", {}, SchemaError, "declare value binary"),
        ("text", "value string, key binary", {}, SchemaError, "metadataColumns"),
        ("csv", "n int, offset int", {"metadataColumns": "offset"}, SchemaError, "declare it as: offset bigint"),
        ("csv", "offset int, n int", {"metadataColumns": "offset"}, SchemaError, "declare it as: offset bigint"),
        ("csv", "n int", {"encoding": "UTF-16"}, UsageError, "extend ASCII"),
    ],
)
def test_schemas_that_have_no_meaning(record_format, schema, raw, error, seen):
    with pytest.raises(error) as refused:
        spec_of(record_format, schema, **raw)
    assert seen in str(refused.value)


def test_secrets_are_in_no_text_of_a_spec():
    spec = spec_of(**{"kafka.sasl.password": "hunter22"})
    assert "hunter22" not in repr(spec)
    assert pickle.loads(pickle.dumps(spec)).kafka.client == {"sasl.password": "hunter22"}


VALUE = st.none() | st.sampled_from(
    [
        b"",
        b"1,a",
        b"2,b\n",
        b'3,"c\nd"',
        b'"',
        b'4,"',
        b'"5","e""',
        b"6,f\n7,g",
        b"\n",
        b"x",
        b"\xff,\xe9",
        b'8,"h',
        b"#",
    ]
)


@pytest.mark.slow
@given(st.lists(VALUE, max_size=12))
def test_a_message_does_not_depend_on_its_neighbours(values):
    options = {"record_format": "csv", "schema": "n int, s string, _corrupt_record string", "multiLine": "true"}
    together = scan(values, **options)
    alone = [row for value in values for row in scan([value], **options)]
    assert together == alone
    assert len(together) == len(values)


JSON_VALUE = st.none() | st.sampled_from(
    [
        b"",
        b'{"n":1}',
        b'{"n":\n2}',
        b'{"n":3',
        b"}",
        b'"',
        b'{"n":4} {"n":5}',
        b"[1]",
        b'[{"n":6}]',
        b"null",
        b"7",
        b'{"n":"8"}',
        b"{}\n",
    ]
)


@pytest.mark.slow
@given(st.lists(JSON_VALUE, max_size=12), st.booleans())
def test_nor_does_json(values, multi_line):
    options = {"record_format": "json", "schema": "n int, _corrupt_record string", "multiLine": str(multi_line)}
    together = scan(values, **options)
    assert together == [row for value in values for row in scan([value], **options)]
    assert len(together) == len(values)


def test_schema_of_columns_beside_the_value_is_that_of_spark():
    pytest.importorskip("pyspark")
    from splitscan.spark.session import arrow_schema, spark_schema

    spec = spec_of(metadataColumns="key,headers,topic,partition,offset,timestamp,timestampType")
    declared = (
        "struct<value:binary,key:binary,headers:array<struct<key:string,value:binary>>,topic:string,partition:int,"
        "offset:bigint,timestamp:timestamp,timestampType:int>"
    )
    assert spark_schema(spec.schema).simpleString() == declared
    assert arrow_schema(spark_schema(spec.schema)).equals(spec.schema)
