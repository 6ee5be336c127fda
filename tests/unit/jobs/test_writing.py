import hashlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from splitscan.blocks import Reject
from splitscan.content.storage import open_storage
from splitscan.errors import InvariantError
from splitscan.jobs.parquet import ParquetFileWriter, RejectFileWriter, check_schema
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.staging import Staging

SCHEMA = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("text", pa.string())])


def batch(start, rows):
    numbers = range(start, start + rows)
    return pa.record_batch([pa.array(numbers), pa.array([f"text {n}" for n in numbers])], schema=SCHEMA)


def write(folder, batches, **settings):
    sink = ParquetFileWriter(Staging(open_storage(folder), "job"), "a.parquet", SCHEMA, IngestSettings(**settings))
    with sink:
        for each in batches:
            sink.write(each)
    return sink.written


def test_rows_come_back_and_the_record_of_the_file_is_true(tmp_path):
    written = write(tmp_path, [batch(0, 10), batch(10, 0), batch(10, 5)])
    data = (tmp_path / "job/files/a.parquet").read_bytes()
    assert (written.name, written.size_bytes, written.rows) == ("a.parquet", len(data), 15)
    assert written.sha256 == hashlib.sha256(data).hexdigest()
    table = pq.read_table(tmp_path / "job/files/a.parquet")
    assert table.schema.equals(SCHEMA)
    assert table["n"].to_pylist() == list(range(15))


def test_the_same_rows_give_the_same_bytes(tmp_path):
    first = write(tmp_path / "1", [batch(0, 1000), batch(1000, 1000)])
    assert write(tmp_path / "2", [batch(0, 1000), batch(1000, 1000)]) == first


def test_row_groups_are_bounded_by_rows_also_within_one_batch(tmp_path):
    write(tmp_path, [batch(0, 25), batch(25, 3)], row_group_rows=10)
    metadata = pq.read_metadata(tmp_path / "job/files/a.parquet")
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [10, 10, 8]
    assert pq.read_table(tmp_path / "job/files/a.parquet")["n"].to_pylist() == list(range(28))


def test_row_groups_are_bounded_by_bytes(tmp_path):
    one = batch(0, 100)
    write(tmp_path, [batch(100 * i, 100) for i in range(6)], row_group_bytes=2 * one.nbytes)
    metadata = pq.read_metadata(tmp_path / "job/files/a.parquet")
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [200, 200, 200]


def test_pages_end_by_their_bytes_and_not_by_a_number_of_rows(tmp_path):
    rows = batch(0, 1).take(pa.array([0] * 100_000))
    write(tmp_path, [rows], compression="none")
    paged = tmp_path / "paged.parquet"
    pq.write_table(pa.Table.from_batches([rows]), paged, compression="none", max_rows_per_page=20_000)
    own, other = (pq.read_metadata(path).row_group(0) for path in (tmp_path / "job/files/a.parquet", paged))
    for column in range(2):  # each page has a head
        assert own.column(column).total_compressed_size < other.column(column).total_compressed_size


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "none"])
def test_the_codec_is_the_one_that_was_asked_for(tmp_path, codec):
    write(tmp_path, [batch(0, 100)], compression=codec)
    found = pq.read_metadata(tmp_path / "job/files/a.parquet").row_group(0).column(0).compression
    assert found == ("UNCOMPRESSED" if codec == "none" else codec.upper())


def test_without_rows_there_is_no_file(tmp_path):
    assert write(tmp_path, [batch(0, 0)]) is None
    assert list(tmp_path.iterdir()) == []


def test_an_error_on_the_way_leaves_nothing(tmp_path):
    def failing():
        yield batch(0, 100)
        raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        write(tmp_path, failing(), row_group_rows=10)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def reject(offset, raw=b"x", delivered=True, path="/in/a.csv"):
    return Reject(path, offset, len(raw), "ragged", "too few fields", raw, delivered)


def test_rejects_become_rows_with_their_bytes(tmp_path):
    with RejectFileWriter(Staging(open_storage(tmp_path), "job"), "r.parquet", IngestSettings()) as rejects:
        rejects.add([reject(3, b"\xff\x00", delivered=False)])
        rejects.add([reject(9, path="/in/\udcff.csv")])
    rows = pq.read_table(tmp_path / "job/files/r.parquet").to_pylist()
    assert rows[0] == {
        "path": "/in/a.csv", "offset": 3, "length": 2, "code": "ragged", "reason": "too few fields",
        "raw": b"\xff\x00", "delivered": False,
    }  # fmt: skip
    assert rows[1]["path"] == "/in/\\udcff.csv"
    assert (rejects.count, rejects.dropped) == (2, 1)
    assert rejects.examples[0] == "/in/a.csv, byte 3: too few fields [ragged]"


def test_many_rejects_are_not_held_in_memory(tmp_path):
    sizes = []

    class Counting(RejectFileWriter):
        def write(self, batch):
            sizes.append(batch.num_rows)
            super().write(batch)

    with Counting(Staging(open_storage(tmp_path), "job"), "r.parquet", IngestSettings()) as rejects:
        for offset in range(10_000):
            rejects.add([reject(offset)])
        for offset in range(40):
            rejects.add([reject(offset, b"y" * 1024 * 1024)])
    assert max(sizes) == 4096
    assert sum(sizes) == 10_040 == rejects.written.rows
    assert len(sizes) >= 2 + 40 // 8


def test_a_batch_with_other_columns_is_our_fault():
    with pytest.raises(InvariantError, match="planned columns"):
        check_schema(batch(0, 1).select(["n"]), SCHEMA)
