"""Tars that are compressed as a whole: their members are read like those of any tar, and the archive once for many."""

import gc
import gzip
import os
import random
import weakref
from contextlib import closing

import pytest
from backports import zstd

import splitscan as ss
from splitscan.blocks import ArchiveEntry, BlockMetadata, FileMetadata, SeekPoint
from splitscan.content.archives import compressed
from splitscan.content.archives.compressed import ArchiveContent
from splitscan.content.archives.opening import open_planned, open_source
from splitscan.content.codecs.content import ContentStream
from splitscan.content.codecs.formats import CODECS
from splitscan.errors import SourceChangedError, SourceError, SplitscanError
from splitscan.options.files import FileOptions
from splitscan.rebalance.chunk_reader import PathSecrets, block_of, segment_of
from splitscan.scans.cutting import describe_cut
from splitscan.scans.listing import list_files
from splitscan.scans.tasks import balance_blocks, fill_evenly
from splitscan.spark.frames import pack_payload, unpack_payload
from splitscan.testing.faults import MemorySource
from splitscan.testing.scan_laws import check_block_law

from ...reading.compressed_scans import METADATA, SCANS, pieces_of
from .packed import COMPRESS, in_parts, tar_of, tar_of_entries
from .test_listing import entry

ALL = FileOptions(archive_path_filter="*")
LINES = b"".join(b"%d\n" % (i * i) for i in range(400))
MEMBERS = {"z.csv": LINES, "in/y.csv": b"1\n2\n", "empty": b"", "x.csv.gz": gzip.compress(LINES)}
LONG_AGO = (1_000_000_000, 1_000_000_000)


@pytest.fixture
def put(tmp_path):
    """Write an archive that is old enough for what is found in it to be kept."""

    def write(data, name="a.tar.gz"):
        path = tmp_path / name
        path.write_bytes(data)
        os.utime(path, LONG_AGO)
        return path

    return write


@pytest.fixture
def decompressed(monkeypatch):
    """The lengths of all pieces that were decompressed of archives and other files."""
    lengths = []
    read = ContentStream.read

    def counted(stream):
        piece = read(stream)
        lengths.append(len(piece))
        return piece

    monkeypatch.setattr(ContentStream, "read", counted)
    compressed.KEPT_ARCHIVES.close()
    with closing(compressed.KEPT_ARCHIVES):
        yield lengths


def refused(path, options=ALL):
    with pytest.raises(SplitscanError) as caught:
        list(list_files(path, options))
    return caught.value.reason_code, str(caught.value)


@pytest.mark.parametrize("kind", COMPRESS)
def test_members_are_listed_as_they_lie_in_the_archive_and_read(put, kind):
    name, compress = COMPRESS[kind]
    path = put(compress(tar_of(MEMBERS)), name)
    for _ in range(2):  # what was found is kept
        scan = ss.scan_text(path, archive_path_filter="*", metadata_columns=["file_path"], block_size=100)
        assert [file.relative_path for file in scan.files()] == [f"{name}!/{member}" for member in MEMBERS]
        assert [file.size_bytes for file in scan.files()] == [len(data) for data in MEMBERS.values()]
        assert scan.to_arrow()["value"].to_pylist() == (LINES + b"1\n2\n" + LINES).decode().split()
        assert scan.count() == 802
    chosen = ss.scan_text(path, archive_path_filter="in/*").to_arrow()
    assert chosen["value"].to_pylist() == ["1", "2"]
    with closing(open_source(f"{path}!/in/y.csv")) as source:
        assert (source.size_bytes, source.read_at(0, 9), source.read_at(2, 9)) == (4, b"1\n2\n", b"2\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tar in gzip", "tar in bzip2", "tar in zstd frames"])
@pytest.mark.parametrize("format", ["csv with newlines", "escaped lines", "json"])
def test_blocks_of_any_size_give_what_one_reading_of_a_member_gives(put, kind, format):
    content, scan_of = SCANS[format]
    if format != "json":
        content = content[: content.index(b"\n", 90) + 1]
    name, compress = COMPRESS[kind]
    path = put(compress(tar_of({"x": b"before", "y": content, "z": b"behind"})), name)
    scan = scan_of(path, archive_path_filter="y", metadata_columns=METADATA)
    plain = put(content, "plain")
    assert scan.to_arrow().equals(scan_of(plain, metadata_columns=METADATA).to_arrow())
    sizes = range(1, len(content) + 1) if format != "json" else range(50, len(content), 400)
    assert check_block_law(scan, sizes) == scan.to_arrow().num_rows


def test_an_archive_is_decompressed_once_however_many_of_its_members_are_read(put, decompressed):
    archive = tar_of({f"{number}.csv": LINES for number in range(30)})
    path = put(gzip.compress(archive))
    scan = ss.scan_text(path, archive_path_filter="*", block_size=100)
    assert len(list(scan.files())) == 30
    assert sum(decompressed) == len(archive)
    decompressed.clear()
    assert scan.to_arrow().num_rows == 30 * 400
    assert 0 < sum(decompressed) <= len(archive)
    decompressed.clear()
    assert len(list(ss.scan_text(path, archive_path_filter="*").files())) == 30
    assert not decompressed


def test_an_archive_that_says_where_it_can_be_entered_is_entered_there(put, decompressed):
    members = {"first": b"1\n" * 100_000, "middle": b"2\n" * 100_000, "last": b"3\n" * 10}
    path = put(in_parts(zstd.compress, tar_of(members), 1000), "a.tar.zst")
    scan = ss.scan_text(path, archive_path_filter="last")
    assert scan.count() == scan.to_arrow().num_rows == 10
    assert sum(decompressed) < 200_000
    decompressed.clear()
    middle = ss.scan_text(path, archive_path_filter="middle", block_size=100_000)
    blocks = middle.plan()
    assert len(blocks) == 2
    assert blocks[1].seek is not None
    assert blocks[0].seek is None
    assert "tar in zstd: decompressed from byte" in describe_cut(blocks[1])


def test_how_a_member_is_entered_travels_with_its_blocks(put):
    path = put(in_parts(zstd.compress, tar_of({"x": LINES, "y": LINES})), "a.tar.zst")
    blocks = ss.scan_text(path, archive_path_filter="y", block_size=500).plan()
    packed = blocks[1].file.packed
    known = ArchiveEntry(packed.codec, packed.archive_bytes, packed.offset, packed.points[:1])
    assert len(packed.points) > 1
    assert all(isinstance(point, SeekPoint) for point in packed.points)
    assert [block.file.packed for block in unpack_payload(pack_payload(blocks))] == [known] * len(blocks)
    segment = segment_of(blocks[1], PathSecrets())
    assert block_of(segment.text, ())[0].file.packed == known


def test_the_first_bytes_decide_and_not_the_name(put, caplog):
    archive = tar_of({"x": LINES})
    for data, name in ((gzip.compress(archive), "a.tar"), (archive, "b.tar.gz"), (zstd.compress(archive), "c.tgz"),
                       (gzip.compress(archive), "d.zip"), (archive, "e.zip")):  # fmt: skip
        assert ss.scan_text(put(data, name), archive_path_filter="*").count() == 400, name
    assert not caplog.records
    path = put(gzip.compress(LINES), "f.tar.gz")
    assert ss.scan_text(path, archive_path_filter="*").count() == 400
    assert "f.tar.gz is no tar file, though it is named like one" in caplog.text


@pytest.mark.parametrize("kind", ["tar in gzip", "tar in zstd frames", "tar in xz"])
def test_an_archive_that_breaks_off_is_noticed_wherever_it_does(put, kind):
    name, compress = COMPRESS[kind]
    archive = tar_of({"x": LINES, "y": b"2\n"})
    data = compress(archive)
    for stop in range(600 if "frames" in kind else 100, len(data) - 20, 97):
        code, text = refused(put(data[:stop], name))
        assert code in {"truncated-container", "corrupt-container"}, stop
        assert name in text
    end = len(archive.rstrip(b"\0"))
    end += -end % 512
    for stop in (*range(513, end, 211), end):
        code, text = refused(put(compress(archive[:stop]), name))
        assert code == "truncated-container", stop
        assert "content=byte" in text
    assert len(list(list_files(put(compress(archive[: end + 512]), name), ALL))) == 2


@pytest.mark.parametrize("behind", [b"\0" * 512 + b"x", b"\0" * 1024 + tar_of({"z": b""})])
def test_what_stands_behind_the_end_of_the_tar_is_not_lost_silently(put, behind):
    data = tar_of({"x": b"1\n"})
    code, text = refused(put(gzip.compress(data[:1024] + behind)))
    assert code == "corrupt-container"
    assert "codec=gzip, content=byte" in text


def test_damage_that_listing_passes_over_is_found_by_who_reads_the_member(put):
    archive = tar_of({"x": LINES * 100})
    options = {zstd.CompressionParameter.checksum_flag: 1}
    parts = [bytearray(zstd.compress(part, options=options)) for part in pieces_of(archive, 1000)]
    parts[100][-1] ^= 0xFF  # a checksum
    path = put(b"".join(parts), "a.tar.zst")
    with pytest.raises(SourceError, match=r"\[corrupt-container\]") as caught:
        ss.scan_text(path, archive_path_filter="*").to_arrow()
    assert f"where: {path}!/x, byte " in str(caught.value)
    assert "codec=zstd, content=byte" in str(caught.value)
    lenient = ss.scan_text(path, archive_path_filter="*", ignore_corrupt_files=True)
    assert 0 < lenient.count() < 400 * 100


def test_bombs_are_refused_outside_and_inside(put, monkeypatch):
    path = put(gzip.compress(tar_of({"x": bytes(3_000_000)})))
    assert refused(path, FileOptions(archive_path_filter="*", max_archive_bytes=2_999_999))[0] == "archive-too-large"
    late = put(gzip.compress(tar_of({"x": bytes(3_000_000), "y": b"1\n"})), "b.tgz")
    code, text = refused(late, FileOptions(archive_path_filter="y", max_archive_bytes=2_000_000))
    assert code == "archive-too-large"
    assert "maxArchiveSize=2000000" in text
    monkeypatch.setattr("splitscan.content.codecs.content.JUDGED_BYTES", 1_000_000)
    code, _ = refused(path, FileOptions(archive_path_filter="*", max_decompression_ratio=100))
    assert code == "decompression-bomb"


@pytest.mark.parametrize("name", ["/etc/passwd", "a/../../x", "C:\\x"])
def test_names_that_lead_out_of_the_archive_are_refused(put, name):
    path = put(gzip.compress(tar_of({"good.csv": b"1\n", name: b"2\n"})))
    for _ in range(2):  # kept or not
        assert refused(path)[0] == "path-escapes"
        assert ss.scan_text(path, archive_path_filter="*.csv").count() == 1


def test_sparse_members_links_and_two_of_one_name_are_as_in_any_tar(put, caplog):
    sparse = {"GNU.sparse.map": "0,1", "GNU.sparse.size": "9"}
    path = put(gzip.compress(tar_of_entries(entry("x", b"0", pax_headers=sparse), entry("l", b"2", linkname="x"))))
    for _ in range(2):
        assert refused(path)[0] == "unsupported-member"
        assert list(list_files(path, FileOptions(archive_path_filter="l"))) == []
        assert "l is a link; it is left out" in caplog.text
        caplog.clear()
    path = put(gzip.compress(tar_of({"x": b"1\n", "./x": b"2\n"})), "b.tgz")
    assert refused(path)[0] == "duplicate-member"


def test_a_member_that_is_closed_twice_leaves_its_archive_open_for_the_next(put):
    far = random.Random(1).randbytes(4 << 20)
    path = put(gzip.compress(tar_of({"x": LINES, "y": far}), 1))
    first, second = list_files(path, ALL)
    source = open_planned(first)
    assert source.read_at(0, len(LINES)) == LINES
    source.close()
    source.close()
    with closing(open_planned(second)) as following:
        assert following.read_at(0, len(far)) == far


def test_a_member_that_is_not_as_it_was_planned_is_an_error(put):
    path = put(gzip.compress(tar_of({"x": LINES, "y": b"1\n"})))
    strict, lax = (ss.scan_text(path, archive_path_filter="*", on_file_change=on) for on in ("fail", "ignore"))
    assert strict.count() == lax.count() == 401
    path.write_bytes(gzip.compress(tar_of({"y": b"2\n", "x": LINES})))
    with pytest.raises(SourceChangedError, match=r"\[source-changed\]"):
        strict.to_arrow()
    assert lax.to_arrow()["value"].to_pylist()[-1] == "2"


@pytest.mark.parametrize("spoil", [b"{", b'{"members": 3}', b'{"members": [["x", 0, 9, null, "zz"]]}', b"[]"])
def test_a_kept_directory_that_cannot_be_believed_is_found_anew(put, spoil, monkeypatch, tmp_path):
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path / "cache"))
    path = put(gzip.compress(tar_of(MEMBERS)))
    listed = list(list_files(path, ALL))
    (kept,) = (tmp_path / "cache" / "archives").iterdir()
    kept.write_bytes(spoil)
    assert list(list_files(path, ALL)) == listed
    assert [file.packed for file in list_files(path, ALL)] == [file.packed for file in listed]


def blocks_of(codec, points=(), members=40, member_bytes=4 << 20):
    path = "/data/a.tgz!/"
    files = [
        FileMetadata(f"{path}{n}", member_bytes, 0, f"{n}", f"{n}", None,
                               ArchiveEntry(codec, members * member_bytes, n * member_bytes, points))
        for n in range(members)
    ]  # fmt: skip
    return [BlockMetadata(file, 0, member_bytes, 0) for file in files]


def one_block_each(blocks):
    """As many tasks as there may be."""
    return list(fill_evenly(blocks, sum(block.cost_bytes for block in blocks), 1, 0, len(blocks)))


@pytest.mark.parametrize(("codec", "most"), [("gzip", 4), ("zstd", 4), ("xz", 1), ("bzip2", 1)])
def test_no_more_tasks_decompress_an_archive_than_one_stream_has_shares(codec, most):
    blocks = blocks_of(codec)
    for tasks in (one_block_each(blocks), balance_blocks(blocks, 1 << 30, 0, 16)):
        assert [block for task in tasks for block in task] == blocks
        assert len(tasks) <= most
    assert len(one_block_each(blocks)) == most
    assert len(one_block_each(blocks_of(codec, (SeekPoint(0, 0),)))) == len(blocks)


def test_an_archive_that_is_dropped_before_its_end_lets_go_of_its_buffers():
    gc.disable()
    try:
        for length_bytes in (10, 10_000):
            content = ArchiveContent(MemorySource(gzip.compress(LINES) + gzip.compress(LINES)), CODECS["gzip"])
            content.read_at(0, length_bytes)
            assert (content.members is None) is (length_bytes == 10)
            dropped = weakref.ref(content)
            del content
            assert dropped() is None
    finally:
        gc.enable()
