"""A boundary index is kept, found again, and not believed when the bytes are others."""

import hashlib
import json
import os

import pytest
from backports import zstd

import splitscan as ss
from splitscan.content.kept import JsonCache
from splitscan.reading import boundaries
from splitscan.scans import counting, index

ROWS = b"".join(b'%d,"a\nb ""%d"""\n' % (i, i) for i in range(400))


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A scan of a settled file, and the directory of its index."""
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "a.csv"
    path.write_bytes(ROWS)
    _age(path)
    return path, tmp_path / "cache" / "index"


def _age(path, seconds=1_000_000_000):
    os.utime(path, ns=(seconds * 10**9, seconds * 10**9))


def _scan(path):
    return ss.scan_csv(str(path), "n int, t string", multi_line=True, escape='"', block_size=100)


def _refuse(tasks):
    raise AssertionError(f"{len(tasks)} blocks were summarised again")


def test_a_second_scan_does_not_summarise_again(kept):
    path, directory = kept
    first = _scan(path).plan()
    assert len(list(directory.glob("*.json"))) == 1
    again = _scan(path).plan(indexer=_refuse)
    assert again == first


def _plain(file):
    """What a kept file holds, after its checksum."""
    return json.loads(file.read_text().partition("\n")[2])


def _rewrite(file, **changed):
    text = json.dumps({**_plain(file), **changed})
    file.write_text(f"{hashlib.sha256(text.encode()).hexdigest()[:32]}\n{text}")


def _options(**changed):
    return {"multi_line": True, "escape": '"', "block_size": 100, **changed}


def _refuse_reading(*_args):
    raise AssertionError("the file was read again")


def test_a_second_count_reads_no_block(kept, monkeypatch):
    path, directory = kept
    assert _scan(path).count() == 400
    (file,) = directory.glob("*.json")
    assert _plain(file)["records"] == 400
    with monkeypatch.context() as patch:
        patch.setattr(counting, "count_blocks", _refuse_reading)
        patch.setattr(index.IndexTask, "run", _refuse_reading)
        assert _scan(path).count() == 400
    _rewrite(file, records=7)
    assert _scan(path).count() == 7  # so the answer was the kept one
    assert ss.scan_csv(str(path), "n int, t string", **_options(on_file_change="ignore")).count() == 400


def test_a_count_of_other_options_is_not_believed(kept):
    path, directory = kept
    _scan(path).count()
    (file,) = directory.glob("*.json")
    _rewrite(file, records=7, counted="other")
    assert _scan(path).count() == 400


def test_no_count_is_kept_of_a_file_with_a_record_that_is_given_up(kept, caplog):
    path, directory = kept
    path.write_bytes(ROWS + b'400,"never closed\n')
    _age(path)
    first = _scan(path).count()
    assert all(_plain(file)["records"] is None for file in directory.glob("*.json"))
    said = [record.message for record in caplog.records]
    assert any("given up" in text or "unclosed" in text or "never closed" in text for text in said)
    caplog.clear()
    assert _scan(path).count() == first
    assert [record.message for record in caplog.records] == said


def test_a_count_with_a_header_is_kept_and_one_without_is_another(kept, monkeypatch):
    path, _ = kept
    path.write_bytes(b"n,t\n" + ROWS)
    _age(path)

    def count(header):
        return ss.scan_csv(str(path), **_options(schema="n int, t string", header=header)).count()

    assert [count(True), count(False)] == [400, 401]
    monkeypatch.setattr(counting, "count_blocks", _refuse_reading)
    monkeypatch.setattr(index.IndexTask, "run", _refuse_reading)
    assert count(True) == 400


def test_a_header_that_comes_again_is_told_of_by_every_count(kept, caplog):
    path, _ = kept
    path.write_bytes(b"n,t\n" + ROWS + b"n,t\n" + ROWS)
    _age(path)
    said = []
    for _count in range(2):
        caplog.clear()
        scan = ss.scan_csv(str(path), **_options(schema="n int, t string", header=True))
        assert scan.count() == 801
        said.append([record.getMessage() for record in caplog.records if "header" in record.getMessage()])
    assert said[0]
    assert said[0] == said[1]


def test_another_grammar_another_limit_and_other_cuts_have_indexes_of_their_own(kept):
    path, directory = kept
    _scan(path).plan()
    for changed in ({"sep": ";"}, {"max_record_bytes": 1000}, {"block_size": 200}):
        ss.scan_csv(
            str(path), "n int, t string", **{"multi_line": True, "escape": '"', "block_size": 100, **changed}
        ).plan()
    assert len(list(directory.glob("*.json"))) == 4


def test_other_bytes_of_the_same_size_and_time_are_summarised_again(kept):
    path, _ = kept
    first = _scan(path).plan()
    path.write_bytes(ROWS[1:] + b"\n")
    _age(path)
    again = _scan(path).plan()
    assert [block.file.fingerprint for block in again] == [block.file.fingerprint for block in first]
    assert again != first
    assert [block.first_record_start for block in again][1] == first[1].first_record_start - 1


def test_a_file_that_was_just_written_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "a.csv"
    path.write_bytes(ROWS)
    _scan(path).plan()
    assert not list((tmp_path / "cache").glob("**/*.json"))


def test_a_file_whose_modification_time_is_unknown_is_not_kept(kept):
    path, directory = kept
    _age(path, seconds=0)
    _scan(path).plan()
    assert not list(directory.glob("*.json"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: "no json",
        lambda whole: whole[:-2],
        lambda whole: whole.partition("\n")[2],
        lambda whole: whole.replace('"starts": [0, ', '"starts": [1, '),
    ],
    ids=["text", "short", "no checksum", "shifted"],
)
def test_a_damaged_index_is_not_believed(kept, damage):
    path, directory = kept
    first = _scan(path).plan()
    (file,) = directory.glob("*.json")
    file.write_text(damage(file.read_text()))
    assert _scan(path).plan() == first


def test_an_index_of_other_bytes_is_not_believed(kept):
    path, directory = kept
    first = _scan(path).plan()
    (file,) = directory.glob("*.json")
    for changed in ({"witness": "0"}, {"starts": [start + 1 for start in _plain(file)["starts"]]}):
        _rewrite(file, **changed)
        assert _scan(path).plan() == first


def test_a_directory_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path / "file"))
    path = tmp_path / "a.csv"
    path.write_bytes(ROWS)
    _age(path)
    assert len(_scan(path).plan()) == -(-len(ROWS) // 100)


def test_the_oldest_indexes_go_when_there_are_too_many(tmp_path, monkeypatch):
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path))
    files = JsonCache("index", most=2)
    for number, key in enumerate("abc"):
        before = set(tmp_path.rglob("*.json"))
        assert files.write(key, {"key": key})
        (written,) = set(tmp_path.rglob("*.json")) - before
        _age(written, number)
    assert [files.read(key) for key in "abc"] == [None, {"key": "b"}, {"key": "c"}]


def test_the_cache_directory_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("SPLITSCAN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tmp_path / "a.csv"
    path.write_bytes(ROWS)
    _age(path)
    blocks = _scan(path).plan()
    assert len(list((tmp_path / "splitscan" / "index").glob("*.json"))) == 1
    assert JsonCache("index").directory == tmp_path / "splitscan" / "index"
    assert blocks[0].first_record_start == 0


def test_the_index_of_a_compressed_file_is_kept_without_decompressing_to_believe_it(kept, monkeypatch):
    monkeypatch.setattr(boundaries, "LOOKS_BYTES", (1,))  # nothing near a block tells of it
    path, directory = kept
    packed = path.with_name("a.csv.zst")
    packed.write_bytes(b"".join(zstd.compress(ROWS[i : i + 200]) for i in range(0, len(ROWS), 200)))
    _age(packed)
    first = _scan(packed).plan()
    assert len(first) > 3
    assert len(list(directory.glob("*.json"))) == 1
    assert _scan(packed).plan(indexer=_refuse) == first
    data = bytearray(packed.read_bytes())
    data[first[2].seek.bit_offset // 8 + 20] ^= 1
    packed.write_bytes(bytes(data))
    _age(packed)
    with pytest.raises(AssertionError, match="summarised again"):
        _scan(packed).plan(indexer=_refuse)
