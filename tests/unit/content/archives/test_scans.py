"""Members of archives are read as the files that were packed, wherever they are cut."""

import gzip
import zipfile
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import pytest

import splitscan as ss
from splitscan.blocks import UNKNOWN_END, BlockMetadata, Compression
from splitscan.content.archives.opening import open_planned
from splitscan.errors import SourceChangedError, SourceError, SourceMissingError, UsageError
from splitscan.options.files import FileOptions
from splitscan.options.stream import StreamOptions
from splitscan.reading.contents import open_file
from splitscan.scans import fill_index
from splitscan.scans.listing import list_files
from splitscan.streaming.planner import StreamPlanner
from splitscan.testing.faults import check_byte_source
from splitscan.testing.scan_laws import check_block_law, check_ledger_law, read_block

from ...reading.compressed_scans import METADATA, SCANS
from .packed import DEFLATED, PACK, tar_of, zip_of

LINES = b"".join(b"%d\n" % (i * i) for i in range(400))
DAMAGE = {"truncated-container", "corrupt-container"}


def scan_one(scan_of, path, **options):
    return scan_of(path, archive_path_filter="*", metadata_columns=METADATA, **options)


def shared_out(scan, cuts, codec="deflate"):
    """Blocks of one stream between these offsets of its content."""
    (file,) = scan.files()
    bounds = [0, *cuts, UNKNOWN_END]
    planned = replace(file, compression=Compression(codec))
    blocks = [BlockMetadata(planned, start, stop, index) for index, (start, stop) in enumerate(pairwise(bounds))]
    return list(fill_index(blocks, scan.framing, scan.options))


@pytest.mark.slow
@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("format", SCANS)
def test_members_hold_the_records_of_the_files_that_were_packed(tmp_path, kind, format):
    content, scan_of = SCANS[format]
    name, pack = PACK[kind]
    (tmp_path / "plain").write_bytes(content)
    packed = tmp_path / name
    packed.write_bytes(pack({"first": content, "folder/second": content}))
    expected = scan_of(tmp_path / "plain", metadata_columns=METADATA).to_arrow().to_pylist()
    for block_bytes in (97, 1000, 1_000_000):
        scan = scan_one(scan_of, packed, block_size=block_bytes)
        assert [file.relative_path for file in scan.files()] == [f"{name}!/first", f"{name}!/folder/second"]
        assert scan.to_arrow().to_pylist() == expected * 2
        assert scan.count() == len(expected) * 2
    assert len(scan_one(scan_of, packed, block_size=97).plan()) == 2 * (
        4 if kind in DEFLATED else -(-len(content) // 97)
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tar of pax", "zip", "zip64"])
@pytest.mark.parametrize("format", ["csv with newlines", "escaped lines"])
def test_blocks_of_any_size_give_what_one_reading_of_a_member_gives(tmp_path, kind, format):
    content, scan_of = SCANS[format]
    content = content[: content.index(b"\n", 100) + 1]
    packed = tmp_path / PACK[kind][0]
    packed.write_bytes(PACK[kind][1]({"x": b"before", "y": content, "z": b"behind"}))
    scan = scan_of(packed, archive_path_filter="y", metadata_columns=METADATA)
    assert check_block_law(scan, range(1, len(content) + 1)) == len(
        list(scan_of(packed, archive_path_filter="y").to_arrow()[0])
    )


@pytest.mark.slow
@pytest.mark.parametrize("format", SCANS)
def test_any_cut_of_a_compressed_member_gives_what_one_reading_gives(tmp_path, format):
    content, scan_of = SCANS[format]
    (tmp_path / "plain").write_bytes(content)
    (tmp_path / "a.zip").write_bytes(zip_of({"x": b"before", "y": content, "z": b"behind"}, zipfile.ZIP_DEFLATED))
    expected = scan_of(tmp_path / "plain", metadata_columns=METADATA).to_arrow().to_pylist()
    scan = scan_of(tmp_path / "a.zip", archive_path_filter="y", metadata_columns=METADATA)
    for cut in range(1, len(content), 61):
        results = [read_block(scan, block) for block in shared_out(scan, [cut])]
        assert [row for result in results for row in result.rows] == expected, cut
        check_ledger_law(scan, [result.report for result in results])
        assert results[-1].report.content_bytes == len(content)


def test_a_compressed_file_in_an_archive_is_decompressed_too(tmp_path):
    (tmp_path / "a.tar").write_bytes(tar_of({"x.csv.gz": gzip.compress(LINES), "y.csv": LINES}))
    (tmp_path / "b.zip").write_bytes(zip_of({"x.csv.gz": gzip.compress(LINES)}))
    scan = ss.scan_text(tmp_path, archive_path_filter="*", block_size=300)
    assert [row["value"] for row in scan.to_arrow().to_pylist()] == LINES.decode().split() * 3
    assert scan.count() == 1200


def test_what_is_compressed_twice_or_packed_twice_is_refused(tmp_path):
    (tmp_path / "a.zip").write_bytes(zip_of({"x.gz": gzip.compress(LINES)}, zipfile.ZIP_DEFLATED))
    (tmp_path / "b.tar").write_bytes(tar_of({"x.zip": zip_of({"y": LINES})}))
    for path in tmp_path.iterdir():
        with pytest.raises(SourceError, match=r"\[compressed-input\]"):
            ss.scan_text(path, archive_path_filter="*").to_arrow()


@pytest.mark.parametrize("name", ["a.tar", "a.csv", "a.zip"])
@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_an_archive_is_never_read_as_text(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack({"x": LINES}))
    with pytest.raises(SourceError, match=r"archivePathFilter=\*") as caught:
        ss.scan_text(tmp_path / name).to_arrow()
    assert caught.value.reason_code == "compressed-input"
    with pytest.raises(SourceError, match=r"\[compressed-input\]"):
        ss.scan_text(tmp_path / name, max_record_bytes=100).count()


def test_a_file_that_is_no_archive_is_read_as_what_it_is(tmp_path, caplog):
    (tmp_path / "a.zip").write_bytes(b"PK is no header\n")
    (tmp_path / "b.tar").write_bytes(LINES)
    (tmp_path / "c.tar").write_bytes(b"")
    assert ss.scan_text(tmp_path, archive_path_filter="*").count() == 401
    assert "a.zip is no zip file, though it is named like one" in caplog.text


def test_a_member_that_is_not_as_it_was_planned_is_an_error(tmp_path):
    packed = tmp_path / "a.zip"
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        packed.write_bytes(zip_of({"x": LINES, "y": b"1\n"}, method))
        strict, lax = (ss.scan_text(packed, archive_path_filter="*", on_file_change=on) for on in ("fail", "ignore"))
        assert strict.count() == lax.count() == 401
        packed.write_bytes(zip_of({"y": b"2\n3\n", "x": LINES[:50]}, method))
        with pytest.raises(SourceChangedError, match=r"\[source-changed\]"):
            strict.to_arrow()
        if method == zipfile.ZIP_DEFLATED:
            assert lax.to_arrow()["value"].to_pylist()[-2:] == ["2", "3"]
        packed.write_bytes(zip_of({"z": LINES}, method))
        with pytest.raises(SourceMissingError, match="no member of this name"):
            strict.to_arrow()


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.zip", lambda entries: zip_of(entries, zipfile.ZIP_STORED)),
        ("a.tar", tar_of),
        ("a.tar.gz", lambda entries: gzip.compress(tar_of(entries))),
    ],
    ids=["zip", "tar", "tar.gz"],
)
def test_a_stored_member_is_a_source_of_bytes_like_any_file(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack({"before": b"0\n", "x": LINES, "y": b"1\n"}))
    (file,) = list_files(tmp_path / name, FileOptions(archive_path_filter="x"))
    check_byte_source(lambda: open_planned(file), LINES)


def test_a_missing_archive_is_missing_with_all_its_members(tmp_path):
    packed = tmp_path / "a.tar"
    packed.write_bytes(tar_of({"x": LINES, "y": LINES}))
    strict = ss.scan_text(packed, archive_path_filter="*")
    lax = ss.scan_text(packed, archive_path_filter="*", ignore_missing_files=True)
    assert strict.count() == lax.count() == 800
    packed.unlink()
    with pytest.raises(SourceMissingError):
        strict.to_arrow()
    assert lax.to_arrow().num_rows == 0


def damaged_zip(tmp_path, at):
    data = bytearray(zip_of({"x": LINES, "y": b"1\n2\n"}, zipfile.ZIP_DEFLATED))
    data[at] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(data)
    return tmp_path / "a.zip"


@pytest.mark.parametrize("at", [100, 300, 500])
def test_a_damaged_member_fails_or_is_read_up_to_its_damage(tmp_path, at):
    path = damaged_zip(tmp_path, at)
    with pytest.raises(SourceError, match=r"\[(corrupt|truncated)-container\]") as caught:
        ss.scan_text(path, archive_path_filter="*").to_arrow()
    assert "a.zip!/x" in str(caught.value)
    scan = ss.scan_text(path, archive_path_filter="*", ignore_corrupt_files=True, metadata_columns=METADATA)
    rejects = []
    rows = [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
    assert [row["value"] for row in rows[-2:]] == ["1", "2"]
    (told,) = [reject for reject in rejects if reject.code in DAMAGE]
    assert told.path == f"{path}!/x"
    alone = ss.scan_text(path, archive_path_filter="x", ignore_corrupt_files=True, metadata_columns=METADATA)
    for cuts in ([], [50], [17, 300, 1100], [told.offset or 1]):
        results = [read_block(alone, block) for block in shared_out(alone, cuts)]
        assert [row for result in results for row in result.rows] == rows[:-2], cuts
        check_ledger_law(alone, [result.report for result in results])


def test_a_checksum_that_is_not_the_directorys_is_damage(tmp_path):
    data = zip_of({"x": LINES}, zipfile.ZIP_DEFLATED)
    at = data.rindex(b"PK\x01\x02") + 16
    (tmp_path / "a.zip").write_bytes(data[:at] + b"abcd" + data[at + 4 :])
    with pytest.raises(SourceError, match=r"its directory says 64636261") as caught:
        ss.scan_text(tmp_path / "a.zip", archive_path_filter="*").to_arrow()
    assert caught.value.reason_code == "corrupt-container"


@pytest.mark.parametrize(("change", "text"), [(-1, "holds more than its"), (1, "holds 1 bytes less than its")])
def test_a_length_that_is_not_the_directorys_is_damage(tmp_path, change, text):
    data = bytearray(zip_of({"x": LINES}, zipfile.ZIP_DEFLATED))
    at = data.rindex(b"PK\x01\x02") + 24
    data[at : at + 4] = (len(LINES) + change).to_bytes(4, "little")
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(SourceError, match=f"it {text} directory says"):
        ss.scan_text(tmp_path / "a.zip", archive_path_filter="*").to_arrow()


def test_a_stream_does_not_follow_archives(tmp_path):
    (tmp_path / "a.zip").write_bytes(zip_of({"x": LINES}))
    scan = ss.scan_text(tmp_path, archive_path_filter="*")
    with pytest.raises(UsageError, match="archivePathFilter has no meaning for a stream"):
        StreamPlanner(scan, StreamOptions(state_location=str(tmp_path / "state")))


def test_slices_are_of_the_content_of_members(tmp_path):
    (tmp_path / "a.tar").write_bytes(tar_of({"x": LINES}))
    (tmp_path / "a.zip").write_bytes(zip_of({"x": LINES}, zipfile.ZIP_DEFLATED))
    for name in ("a.tar", "a.zip"):
        scan = ss.scan_slices(tmp_path / name, archive_path_filter="*", block_size=100)
        assert b"".join(scan.to_arrow()["value"].to_pylist()) == LINES


def test_readers_of_ones_own_are_not_given_compressed_bytes_for_content(tmp_path):
    files = FileOptions(archive_path_filter="*")
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        (tmp_path / "a.zip").write_bytes(zip_of({"x": LINES}, method))
        (file,) = list_files(tmp_path, files)
        if method == zipfile.ZIP_STORED:
            with closing(open_file(file, files, "a reader")) as source:
                assert source.read_at(0, len(LINES)) == LINES
        else:
            with pytest.raises(SourceError, match=r"\[unsupported-member\]"):
                open_file(file, files, "a reader")


@pytest.mark.parametrize(("said", "code"), [("none", None), ("gzip", "other-codec")])
def test_what_is_said_of_compression_is_said_of_the_content_of_members(tmp_path, said, code):
    for name, data in (("a.zip", zip_of({"x": LINES}, zipfile.ZIP_DEFLATED)), ("a.tar", tar_of({"x": LINES}))):
        (tmp_path / name).write_bytes(data)
        scan = ss.scan_text(tmp_path / name, archive_path_filter="*", source_compression=said)
        if code is None:
            assert scan.count() == 400
        else:
            with pytest.raises(SourceError) as caught:
                scan.to_arrow()
            assert caught.value.reason_code == code


def test_globs_find_archives(tmp_path):
    for name in ("a.zip", "b.zip", "c.tar"):
        (tmp_path / name).write_bytes((tar_of if name == "c.tar" else zip_of)({"x": LINES}))
    assert ss.scan_text(tmp_path / "[ac].*", archive_path_filter="*").count() == 800
    assert ss.scan_text(tmp_path / "*.zip", archive_path_filter="*").count() == 800
    assert ss.scan_text(tmp_path, archive_path_filter="*", path_glob_filter="*.tar").count() == 400
