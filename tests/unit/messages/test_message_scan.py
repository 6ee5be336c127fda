"""A scan of messages is narrowed as one of files is, by the library's own mock of a cluster."""

from __future__ import annotations

import pytest

import splitscan as ss

from ...kafka.mock import MockCluster

VALUES = [b'{"id":1,"name":"a"}', b'{"id":"x","name":"b"}', b"broken", b'{"id":4,"name":"d"}']


@pytest.fixture(scope="module")
def brokers():
    started = MockCluster(1)
    started.create("t", 1)
    started.send("t", VALUES, 0)
    yield started
    started.close()


def scan(brokers, **options):
    return ss.scan_kafka(brokers.servers, "json", "id int, name string", subscribe="t", **options)


def test_columns_are_selected_in_their_order_and_no_row_changes(brokers):
    narrow = scan(brokers, metadataColumns="offset").select("offset", "id")
    assert narrow.schema.names == ["offset", "id"]
    assert [tuple(row.values()) for row in narrow.to_arrow().to_pylist()] == [(0, 1), (1, None), (2, None), (3, 4)]
    assert scan(brokers).select().to_arrow().num_rows == 4
    with pytest.raises(ss.SchemaError, match="messages have no column 'nope'"):
        scan(brokers).select("nope")


def test_a_limit_ends_reading_and_counting(brokers):
    assert scan(brokers).limit(2).select("name").to_arrow().to_pydict() == {"name": ["a", "b"]}
    assert [scan(brokers).limit(rows).count() for rows in (0, 3, 9)] == [0, 3, 4]
    with pytest.raises(ss.UsageError, match="bad-limit"):
        scan(brokers).limit(-1)


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_counting_gives_the_number_of_rows(brokers, mode):
    narrowed = scan(brokers, mode=mode)
    assert narrowed.count() == narrowed.to_arrow().num_rows == (4 if mode == "PERMISSIVE" else 3)


def test_counting_fails_where_reading_does(brokers):
    with pytest.raises(ss.RecordError, match="FAILFAST"):
        scan(brokers, mode="FAILFAST").count()
