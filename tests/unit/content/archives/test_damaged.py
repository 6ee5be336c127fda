"""Damaged compressed tars: with ``ignoreCorruptFiles`` what comes before the damage is read, and the loss is told."""

import gzip
import io
import os
import random
import tarfile
from contextlib import closing

import pytest

import splitscan as ss
from splitscan.content.archives import compressed
from splitscan.content.codecs.content import DamagedStream
from splitscan.content.codecs.formats import SIGNATURE_BYTES, recognise
from splitscan.errors import SourceError, SourceMissingError
from splitscan.testing.faults import MemorySource
from splitscan.testing.scan_laws import check_ledger_law, read_block

from .packed import COMPRESS, tar_of

OF_DAMAGE = {"truncated-container", "corrupt-container"}
LINES = b"".join(b"%d\n" % (i * i) for i in range(300))
MEMBERS = {"b": LINES, "in/a": b"x\ny\n", "empty": b"", "c": LINES[500:]}
METADATA = ["file_path", "record_offset", "record_length"]
LENIENT = {"archive_path_filter": "*", "ignore_corrupt_files": True}


@pytest.fixture(autouse=True)
def _own_archives():
    compressed.KEPT_ARCHIVES.close()
    with closing(compressed.KEPT_ARCHIVES):
        yield


def damage_of(data):
    """What a damaged file gives, and where its damage is."""
    stream = DamagedStream(MemorySource(data), recognise(data[:SIGNATURE_BYTES]), max_ratio=1000)
    content = b"".join(iter(stream.read, b""))
    return content, stream.damage


def expected_rows(path, archive, stop):
    """The lines of members that end before an offset of a tar; of the one that holds the offset those before it."""
    rows = []
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for info in opened:
            content = archive[info.offset_data : info.offset_data + info.size]
            left = stop - info.offset_data
            lines = content.split(b"\n")[:-1] if left >= info.size else content[: max(left, 0)].split(b"\n")[:-1]
            rows += [(f"{path}!/{info.name}", line.decode()) for line in lines]
    return rows


def check_damaged(path, archive):
    """Read a damaged archive under several plans: the same rows, and the damage once."""
    content, damage = damage_of(path.read_bytes())
    rejects = []
    scan = ss.scan_text(path, metadata_columns=METADATA, **LENIENT)
    rows = [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
    assert [(row["file_path"], row["value"]) for row in rows] == expected_rows(path, archive, len(content))
    (told,) = rejects
    assert (told.code, told.reason) == (damage.code, str(damage))
    for block_bytes in (100, 10**6):
        again = scan.cut_at_most(block_bytes)
        results = [read_block(again, block) for block in again.plan()]
        assert [row for result in results for row in result.rows] == rows
        assert [reject for result in results for reject in result.rejects] == rejects
        check_ledger_law(again, [result.report for result in results])
    assert scan.count() == len(rows)
    return rows, told, damage


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", COMPRESS)
def test_an_archive_that_breaks_off_gives_what_comes_before(tmp_path, kind):
    name, compress = COMPRESS[kind]
    archive, path = tar_of(MEMBERS), tmp_path / name
    data, chance = compress(archive), random.Random(kind)
    for length in sorted(chance.sample(range(20, len(data) - 1), 4)):
        if damage_of(data[:length])[1] is None:
            continue  # between two members of the container: the tar is damaged, not the container
        path.write_bytes(data[:length])
        with pytest.raises(SourceError):
            ss.scan_text(path, archive_path_filter="*").count()
        check_damaged(path, archive)


@pytest.mark.parametrize("stop", [0, 1, 511, 512, 513, 600, 1700, 2048, 2500, 4000])
def test_wherever_in_the_tar_the_damage_is_it_is_told_once(tmp_path, stop):
    """Inside headers, members, what fills them up, and after the end mark; of a member that was stored as it is."""
    archive, path = tar_of(MEMBERS), tmp_path / "a.tar.gz"
    data = gzip.compress(archive, compresslevel=0)
    head = data.index(archive[:50])
    path.write_bytes(data[: head + stop])
    _, told, damage = check_damaged(path, archive)
    assert damage.content_offset == stop
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        cut_off = [info for info in opened if info.offset_data < stop < info.offset_data + info.size]
    name, offset = (cut_off[0].name, stop - cut_off[0].offset_data) if cut_off else ("", 0)
    assert (told.path, told.offset) == (f"{path}!/{name}", offset)


def test_a_checksum_at_the_end_takes_no_record_away(tmp_path):
    archive, path = tar_of(MEMBERS), tmp_path / "a.tgz"
    data = bytearray(gzip.compress(archive))
    data[-5] ^= 1
    path.write_bytes(data)
    rows, told, damage = check_damaged(path, archive)
    assert len(rows) == sum(content.count(b"\n") for content in MEMBERS.values())
    assert (told.path, damage.code) == (f"{path}!/", "corrupt-container")


@pytest.mark.parametrize("wanted", ["b", "c", "z*"])
def test_what_was_not_wanted_may_hold_the_damage(tmp_path, wanted):
    archive, path = tar_of(MEMBERS), tmp_path / "a.tar.gz"
    data = gzip.compress(archive, compresslevel=0)
    stop = 512 + 700
    path.write_bytes(data[: data.index(archive[:50]) + stop])
    rejects = []
    scan = ss.scan_text(path, **(LENIENT | {"archive_path_filter": wanted}))
    rows = [row["value"] for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
    assert rows == (LINES[:700].decode().split("\n")[:-1] if wanted == "b" else [])
    assert [reject.path for reject in rejects] == [f"{path}!/b" if wanted == "b" else f"{path}!/"]


def test_a_member_that_is_named_may_be_before_or_behind_the_damage(tmp_path):
    archive, path = tar_of(MEMBERS), tmp_path / "a.tar.gz"
    data = gzip.compress(archive, compresslevel=0)
    path.write_bytes(data[: data.index(archive[:50]) + archive.index(b"ustar", 1024 + len(LINES))])
    rejects = []

    def rows_of(name):
        scan = ss.scan_text(f"{path}!/{name}", ignore_corrupt_files=True)
        return sum(batch.num_rows for batch in scan.to_batches(rejects.append))

    assert (rows_of("b"), rejects) == (300, [])
    assert (rows_of("c"), [reject.path for reject in rejects]) == (0, [f"{path}!/"])
    with pytest.raises(SourceMissingError, match="Path does not exist"):
        ss.scan_text(f"{put_sound(tmp_path)}!/c", ignore_corrupt_files=True).count()


def put_sound(tmp_path):
    (tmp_path / "s.tgz").write_bytes(gzip.compress(tar_of({"b": LINES})))
    return tmp_path / "s.tgz"


def test_a_compressed_member_ends_where_its_archive_does(tmp_path):
    inner = gzip.compress(LINES, compresslevel=0)
    archive, path = tar_of({"x.gz": inner, "y": b"1\n"}), tmp_path / "a.tar.gz"
    data = gzip.compress(archive, compresslevel=0)
    path.write_bytes(data[: data.index(archive[:50]) + 512 + 800])
    for block_size in (200, 10**6):
        rejects = []
        scan = ss.scan_text(path, **LENIENT, block_size=block_size)
        rows = [row["value"] for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
        assert rows == LINES[: 800 - inner.index(LINES[:50])].decode().split("\n")[:-1]
        (told,) = rejects
        assert told.path == f"{path}!/x.gz"
        assert str(damage_of(path.read_bytes())[1]) == told.reason


def test_other_files_are_read_and_what_is_no_tar_before_its_damage_is_one_reject(tmp_path, caplog):
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(tar_of(MEMBERS))[:30])
    (tmp_path / "b.txt").write_bytes(b"1\n")
    rejects = []
    scan = ss.scan_csv(tmp_path, infer_schema=True, **LENIENT)
    assert [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()] == [{"_c0": 1}]
    assert [reject.path for reject in rejects] == [f"{tmp_path}/a.tar.gz!/"]
    assert "a.tar.gz: the compressed file breaks off at byte 30" in caplog.text


def test_readers_of_users_own_get_no_half_of_a_file(tmp_path):
    archive, path = tar_of(MEMBERS), tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(archive, compresslevel=0)[:900])
    scan = ss.scan(path, ss.LineReaderContext, "value string", **LENIENT)
    with pytest.raises(SourceError, match="readers of your own get whole files"):
        scan.to_arrow()


def test_where_damage_is_ignored_nothing_is_believed_that_was_kept_before(tmp_path, monkeypatch):
    path, packed = tmp_path / "a.tar.gz", bytearray(gzip.compress(tar_of(MEMBERS), mtime=0))

    def listed(cache, **options):
        path.write_bytes(packed)
        os.utime(path, (1_000_000_000, 1_000_000_000))
        monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path / cache))
        return [(file.name, file.size_bytes) for file in ss.scan_text(path, archive_path_filter="*", **options).files()]

    whole = listed("used")
    packed[len(packed) // 2] ^= 0xFF  # in place, and with the same modification time: only all of the bytes tell
    assert listed("used") == whole
    assert listed("used", ignore_corrupt_files=True) == listed("fresh", ignore_corrupt_files=True) != whole
