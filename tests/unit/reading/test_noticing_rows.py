"""Columns that are noticed while rows are counted change no count."""

from dataclasses import replace

import pytest
from tests.kernel.two_loops import by_kernel

import splitscan as ss
from splitscan.reading.block_request import BlockRequest
from splitscan.reading.record_reader import RecordBlockReader


@pytest.mark.parametrize("reader", [RecordBlockReader, by_kernel])
@pytest.mark.parametrize("columns", [(), ("m",), ("n",), ("m", "n")])
def test_records_that_lack_a_required_column_are_dropped_whatever_is_read(tmp_path, reader, columns):
    path = tmp_path / "f.json"
    path.write_bytes(b'{"n": 1}\n{"m": "x"}\n{"m": "y"}\n')
    scan = ss.scan(path, format="json", schema="n int, m string NOT NULL", mode="DROPMALFORMED")
    spec = replace(scan.spec, notices=5).select(columns)
    (block,) = scan.plan()
    rows = [row for batch in reader(BlockRequest(spec, block)) for row in batch.to_pylist()]
    assert rows == [{name: {"m": value}.get(name) for name in columns} for value in "xy"]
    assert reader(BlockRequest(spec, block)).count().rows == 2
