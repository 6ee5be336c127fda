"""With ``ignoreCorruptFiles`` a damaged file gives the records before its damage, the same ones under every plan."""

import bz2
import gzip
import lzma
import random
import zlib
from dataclasses import replace
from itertools import pairwise

import cramjam
import lz4.frame
import pytest
from backports import zstd
from tests.cuts import some

import splitscan as ss
from splitscan.blocks import UNKNOWN_END, BlockMetadata, Compression, Damage
from splitscan.content.codecs.content import DamagedStream
from splitscan.content.codecs.formats import CODECS
from splitscan.errors import SourceError
from splitscan.scans.counting import count_blocks
from splitscan.scans.cutting import BlockLengths
from splitscan.testing.faults import MemorySource
from splitscan.testing.scan_laws import check_ledger_law, read_block

from ..content.codecs.hadoop_files import hadoop
from .compressed_scans import METADATA, SCANS

COMPRESS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "zstd": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}),
    "lz4": lambda data: lz4.frame.compress(data, block_size=4, content_checksum=True),
    "snappy": lambda data: bytes(cramjam.snappy.compress(data)),
    "zlib": zlib.compress,
    "hadoop-snappy": lambda data: hadoop("hadoop-snappy", data, 300, 100),
    "hadoop-lz4": lambda data: hadoop("hadoop-lz4", data, 300, 100),
}
BLOCK_BY_BLOCK = {"bzip2", "snappy", "hadoop-snappy", "hadoop-lz4"}
PLACES = {"bzip2": -30, "hadoop-snappy": 4, "hadoop-lz4": 4}  # of damage that is noticed: of a block, of a length
LINES = b"".join(b"%d,%d\n" % (i, i * i) for i in range(500))
OF_DAMAGE = {"truncated-container", "corrupt-container"}


def of_members(compress, data, length):
    return b"".join(compress(data[i : i + length]) for i in range(0, len(data), length))


def shared_out(scan, codec, cuts):
    """Blocks of one stream between these offsets of its content."""
    (file,) = scan.files()
    bounds = [0, *cuts, UNKNOWN_END]
    planned = replace(file, compression=Compression(codec))
    return [BlockMetadata(planned, start, stop, index) for index, (start, stop) in enumerate(pairwise(bounds))]


def check_damaged(scan_of, path, codec, plans):
    """Read under every plan: the rows, and the damage, which is told once."""
    scan = scan_of(path, metadata_columns=METADATA, ignore_corrupt_files=True)
    rejects = []
    rows = [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
    (told,) = [reject for reject in rejects if reject.code in OF_DAMAGE]
    for blocks in (
        *(shared_out(scan, codec, cuts) for cuts in plans),
        scan.cut(BlockLengths(64)).plan(),
    ):
        results = [read_block(scan, block) for block in blocks]
        assert [row for result in results for row in result.rows] == rows, blocks
        assert [reject for result in results for reject in result.rejects] == rejects, blocks
        check_ledger_law(scan, [result.report for result in results])
        (damage,) = [result.report.damage for result in results if result.report.damage]
        assert (damage.content_offset, damage.code) == (told.offset, told.code)
        assert results[-1].report.content_bytes == damage.content_offset
        assert count_blocks(scan.counting_spec, blocks).rows == len(rows), blocks
    assert scan.count() == scan.cut(BlockLengths(64)).count() == len(rows)
    return rows, damage


def plans_around(chance, stop):
    """Cuts at the place of the damage, around it, and inside the record before it."""
    positions = sorted({max(stop + near, 1) for near in (-5, 0, 1)} | {chance.randrange(1, stop + 2)})
    return [*([cut] for cut in positions), sorted(chance.sample(positions, min(2, len(positions))))]


@pytest.mark.slow
@pytest.mark.parametrize("codec", COMPRESS)
@pytest.mark.parametrize("name", SCANS)
def test_a_file_that_breaks_off_gives_the_records_before_that(tmp_path, name, codec):
    data, scan_of = SCANS[name]
    whole, path = tmp_path / "whole", tmp_path / f"a{CODECS[codec].extensions[0]}"
    whole.write_bytes(data)
    every = scan_of(str(whole), metadata_columns=METADATA).to_arrow().to_pylist()
    packed = of_members(COMPRESS[codec], data, 400)
    chance = random.Random(f"{name} {codec}")
    for length in sorted(chance.sample(range(20, len(packed) - 1), 2)):
        path.write_bytes(packed[:length])
        if ends_well(path, scan_of):
            continue  # between two members
        stop = content_of(path, scan_of)
        rows, damage = check_damaged(scan_of, str(path), codec, plans_around(chance, stop))
        assert (damage.content_offset, damage.code) == (stop, "truncated-container")
        assert damage.file_offset + damage.lost_bytes == length
        assert damage.lost_bytes == 0 or codec in {*BLOCK_BY_BLOCK, "xz"}  # what follows the last whole block
        ended = [row for row in every if row["record_offset"] + row["record_length"] <= stop]
        assert rows in (ended, ended[:-1])  # whose terminator may be cut off
        with pytest.raises(SourceError, match="truncated-container"):
            scan_of(str(path)).to_arrow()


def content_of(path, scan_of):
    scan = scan_of(str(path), ignore_corrupt_files=True)
    (file,) = scan.files()
    return read_block(scan, BlockMetadata(file, 0, file.size_bytes, 0)).report.content_bytes


def ends_well(path, scan_of):
    try:
        scan_of(str(path)).count()
    except SourceError:
        return False
    return True


@pytest.mark.thin(3)
@pytest.mark.parametrize("codec", COMPRESS)
def test_damage_in_the_middle_ends_a_file_there(tmp_path, codec):
    path = tmp_path / f"a{CODECS[codec].extensions[0]}"
    compress = COMPRESS[codec]
    first, second, third = LINES[:2002], LINES[2002:4000], LINES[4000:]
    members = compress(first), bytearray(compress(second)), compress(third)
    members[1][PLACES.get(codec, -2)] ^= 0x55  # a checksum, the end of the last chunk, or another of these
    path.write_bytes(b"".join(members))
    with pytest.raises(SourceError, match="corrupt-container") as error:
        ss.scan_text(str(path)).to_arrow()
    assert "content=byte" in str(error.value)
    assert error.value.where.row is not None
    chance = random.Random(codec)
    rows, damage = check_damaged(ss.scan_text, str(path), codec, plans_around(chance, len(first)))
    lines = LINES.split(b"\n")
    assert [row["value"].encode() for row in rows] == lines[: len(rows)]
    assert damage.code == "corrupt-container"
    gone = codec in BLOCK_BY_BLOCK  # all of the block that is damaged
    assert damage.content_offset == len(first) + (0 if gone else len(second))
    assert len(rows) == LINES[: damage.content_offset].count(b"\n")
    assert len(members[0]) <= damage.file_offset <= len(members[0]) + len(members[1])
    assert damage.lost_bytes == path.stat().st_size - damage.file_offset >= len(members[2])


def test_nothing_is_given_of_a_damaged_block_of_bzip2_however_much_it_holds():
    content = (b"a" * 49 + b"\n") * 60_000
    packed = bytearray(bz2.compress(content))
    packed[10] ^= 1  # the checksum of the block, which comes before it
    stream = DamagedStream(MemorySource(bytes(packed)), CODECS["bzip2"], max_ratio=10**6)
    assert (stream.read(), stream.damage) == (b"", Damage("corrupt-container", 4, 0, len(packed) - 4))


@pytest.mark.parametrize("codec", COMPRESS)
def test_something_behind_the_last_member_loses_no_record(tmp_path, codec):
    path = tmp_path / f"a{CODECS[codec].extensions[0]}"
    packed = COMPRESS[codec](LINES)
    path.write_bytes(packed + b"\x7fsomething else")
    rows, damage = check_damaged(ss.scan_text, str(path), codec, [[1000], [len(LINES) - 1], [len(LINES)]])
    assert "".join(row["value"] + "\n" for row in rows).encode() == LINES
    assert damage.content_offset == len(LINES)
    assert damage.lost_bytes == 15


@pytest.mark.slow
@pytest.mark.parametrize("codec", COMPRESS)
def test_every_place_a_file_may_break_off_at(tmp_path, codec):
    path = tmp_path / f"a{CODECS[codec].extensions[0]}"
    packed = of_members(COMPRESS[codec], LINES[:40], 20)
    for length in some(range(1, len(packed))):
        path.write_bytes(packed[:length])
        if ends_well(path, ss.scan_text):
            continue  # between two members
        stop = content_of(path, ss.scan_text)
        rows, damage = check_damaged(ss.scan_text, str(path), codec, [[max(stop - 3, 1)], [stop + 1]])
        assert damage.content_offset == stop
        assert [row["value"].encode() for row in rows] == LINES[:stop].split(b"\n")[:-1]


def test_a_header_that_is_cut_off_is_none(tmp_path):
    path = tmp_path / "a.csv.gz"
    packed = gzip.compress(b"first,second\n1,2\n", compresslevel=0)
    for length in some(range(1, len(packed))):
        path.write_bytes(packed[:length])
        scan = ss.scan_csv(str(path), "first int, second int", header=True, ignore_corrupt_files=True)
        assert scan.count() == scan.to_arrow().num_rows == (length >= len(packed) - 8)
    path.write_bytes(packed[:20])
    sampled = ss.scan_csv([str(path), str(write(tmp_path / "b.csv", b"a,b\n1,x\n"))], header=True, inferSchema=True)
    with pytest.raises(SourceError, match="truncated-container"):
        _ = sampled.schema
    lenient = ss.scan_csv(str(tmp_path), header=True, inferSchema=True, ignoreCorruptFiles=True)
    assert lenient.schema.names == ["a", "b"]
    assert lenient.to_arrow().to_pylist() == [{"a": 1, "b": "x"}]


def write(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_every_mode_goes_on_behind_a_damaged_file(tmp_path, mode, caplog):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(LINES)[:-200])
    (tmp_path / "b.csv").write_bytes(b"7,8\n")
    rejects = []
    scan = ss.scan_csv(str(tmp_path), "a long, b long", mode=mode, ignoreCorruptFiles=True)
    rows = [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
    assert rows[-1] == {"a": 7, "b": 8}
    assert rows[:-1] == [{"a": i, "b": i * i} for i in range(len(rows) - 1)]
    assert 300 < len(rows) < 501
    assert scan.count() == len(rows)
    assert [(reject.path.endswith("a.csv.gz"), reject.code) for reject in rejects] == [(True, "truncated-container")]
    assert "a.csv.gz: the compressed file breaks off at byte" in caplog.text


def test_a_sound_file_is_read_as_ever(tmp_path):
    path = write(tmp_path / "a.csv.gz", of_members(gzip.compress, LINES, 500))
    scan = ss.scan_text(str(path), ignoreCorruptFiles=True, blockSize=100)
    results = [read_block(scan, block) for block in scan.plan()]
    assert len(results) > 2
    assert "".join(row["value"] + "\n" for result in results for row in result.rows).encode() == LINES
    assert not any(result.rejects or result.report.damage for result in results)
