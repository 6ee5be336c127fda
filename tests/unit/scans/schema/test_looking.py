"""How much is read to find columns: all of it once, a spread sample of what is too much, nothing the second time."""

from __future__ import annotations

import gzip
import json
import logging
import os
import pickle
import random
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import splitscan as ss
from splitscan.scans.inference import Workers

LONG_AGO = 1_700_000_000


def rows(kind, values):
    """A file of these values in a column ``v``, beside others that cannot be compressed."""
    draw = random.Random(1)
    both = [(value, f"w{draw.getrandbits(64):x}") for value in values]
    if kind.startswith("csv"):
        text = "v,w\n" + "".join(f'{value},"a\n{other}"\n' for value, other in both)
    elif kind.startswith("json"):
        text = "".join(json.dumps({"v": value, "w": other}) + "\n" for value, other in both)
    else:
        text = "<all>" + "".join(f"<r><v>{value}</v><w>{other}</w></r>\n" for value, other in both) + "</all>"
    return gzip.compress(text.encode()) if kind.endswith("gz") else text.encode()


def scan(paths, kind, **options):
    """A scan of files of :func:`rows`."""
    if kind.startswith("csv"):
        return ss.scan_csv(paths, header=True, infer_schema=True, multi_line=True, escape='"', **options)
    return ss.scan_json(paths, **options) if kind.startswith("json") else ss.scan_xml(paths, row_tag="r", **options)


def bytes_read(work):
    """How many bytes this process reads, from files of any kind, while it works."""
    if not Path("/proc/self/io").exists():
        pytest.skip("the system does not count them")

    def counted():
        return int(Path("/proc/self/io").read_text().split()[1])

    before = counted()
    work()
    return counted() - before


@pytest.fixture(autouse=True)
def _without_advice(monkeypatch):
    """Advice looks at the head of the first file, whatever is kept of it."""
    monkeypatch.setattr(sys.modules["splitscan.scans.planner"], "advise", lambda *_, **__: None)


@pytest.fixture
def settled(tmp_path, monkeypatch):
    """Writes files that nobody has changed for long; what is found in them is kept."""
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path / "cache"))

    def write(name, data):
        path = tmp_path / "data" / (f"{name}.gz" if data.startswith(b"\x1f\x8b") else name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (LONG_AGO, LONG_AGO))
        return path

    return write


@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "json", "json.gz", "xml"])
def test_the_same_files_are_not_read_again(settled, kind, monkeypatch):
    monkeypatch.setattr(
        sys.modules["splitscan.scans.planner"], "advise", lambda *_, **__: None
    )  # it looks at the head of the first file
    values = [1] * 40_000 + ["x"]
    path = settled("a", rows(kind, values))
    for number in range(3):
        settled(f"b{number}", rows(kind, [number]))
    first = scan(path.parent, kind, block_size="64k").schema
    assert str(first.field("v").type) == "string"
    assert bytes_read(lambda: scan(path.parent, kind, block_size="64k").schema) < 20_000 < path.stat().st_size
    path.write_bytes(b"\0" * path.stat().st_size)  # another content, which its fingerprint does not show
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert scan(path.parent, kind, block_size="64k").schema == first


@pytest.mark.parametrize("change", ["time", "size", "option", "another file", "just written"])
def test_files_that_may_be_others_are_read_again(settled, change):
    path = settled("a", rows("csv", [1, 2]))
    options = {}
    if change == "just written":
        os.utime(path)
    assert scan(path.parent, "csv").schema.field("v").type == pa.int32()
    if change == "option":
        options = {"null_value": "2"}
        assert scan(path.parent, "csv", **options).schema.field("v").type == pa.int32()
        path.write_bytes(rows("csv", [1, "x"]))
        os.utime(path, (LONG_AGO, LONG_AGO))
        options = {"null_value": "1"}
    elif change == "another file":
        settled("b", rows("csv", ["x"]))
    else:
        path.write_bytes(rows("csv", [1, "xx" if change == "size" else "x"]))
        if change != "just written":
            os.utime(path, (LONG_AGO + (change == "time"),) * 2)
    assert scan(path.parent, "csv", **options).schema.field("v").type == pa.string()


@pytest.mark.parametrize("kind", ["csv.gz", "json.gz"])
def test_what_cannot_be_entered_is_decompressed_once(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(rows(kind, [1] * 60_000))
    found = scan(path, kind, block_size="16k", sample_bytes="1k").schema  # whatever is loaded for it
    assert bytes_read(lambda: scan(path, kind, block_size="16k").schema) < 3 * path.stat().st_size  # and its beginning
    assert scan(path, kind, block_size="16k").schema == found


def test_a_file_that_changes_while_it_is_read_is_not_kept(settled, monkeypatch):
    path = settled("a", rows("json", [1] * 10))
    from splitscan.scans import inference

    def changes(file, source):
        raise ss.SourceChangedError("a file has changed")

    monkeypatch.setattr(inference, "check_unchanged", changes)
    assert scan(path, "json").schema.field("v").type == pa.int64()
    monkeypatch.undo()
    assert not list(path.parent.parent.glob("cache/summaries/*"))


@pytest.mark.thin(1)
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_of_too_much_data_a_sample_is_spread_over_files_and_inside_them(settled, kind, caplog):
    """One file has another type in its middle, one in all of it, among others that are as they begin."""
    for number in range(6):
        settled(f"{number}", rows(kind, [1] * 60_000))
    settled("3", rows(kind, [1] * 20_000 + [0.5] * 20_000 + [1] * 20_000))
    path = settled("5", rows(kind, ["x"]))
    total = sum(file.stat().st_size for file in path.parent.iterdir())

    def find():
        assert scan(path.parent, kind, infer_bytes="2m").schema.field("v").type == pa.string()

    with caplog.at_level(logging.WARNING, "splitscan"):
        assert bytes_read(find) < total * (0.7 if kind == "json" else 2)  # what is before a piece tells where it begins
    assert "sample of about 2.0 MiB, spread over all files" in caplog.text
    path.unlink()
    assert scan(path.parent, kind, infer_bytes="2m").schema.field("v").type == pa.float64()
    caplog.clear()
    with caplog.at_level(logging.WARNING, "splitscan"):  # what is kept is still a sample
        assert bytes_read(lambda: scan(path.parent, kind, infer_bytes="2m").schema) < 20_000
    assert "sample of about 2.0 MiB" in caplog.text


@pytest.mark.thin(1)
@pytest.mark.parametrize("kind", ["csv.gz", "json.gz", "xml"])
def test_of_what_cannot_be_entered_the_sample_is_the_beginning(settled, kind):
    path = settled("a", rows(kind, [1] * 60_000 + ["x"]))
    found = scan(path, kind, infer_bytes=path.stat().st_size - 1).schema
    assert found.field("v").type in {pa.int32(), pa.int64()}


def test_a_file_without_records_beside_a_sample(settled):
    settled("a", b"")
    path = settled("b", rows("csv", [1] * 60_000))
    assert scan(path.parent, "csv", infer_bytes="64k").schema.field("v").type == pa.int32()


@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", ["csv", "json", "xml", "csv.gz"])
def test_others_find_what_is_found_here(tmp_path, kind):
    """Work and blocks travel to whoever reads them, and what these answer travels back as JSON."""
    for number in range(3):
        (tmp_path / f"{number}.{kind}").write_bytes(rows(kind, [1] * 3000 + [0.5 if number else "2020-01-31"]))
    run = []

    def travelling(work, blocks):
        run.append(len(blocks))
        for block in blocks:
            there, piece = pickle.loads(cloudpickle.dumps((work, block)))
            yield json.loads(json.dumps(there(piece)))

    planner = scan(tmp_path, kind, block_size=10_000)
    found = planner.found_by(Workers(travelling))
    assert found.schema == planner.schema
    assert len(run) == 1
    assert run[0] >= 3
    assert planner.found_by(Workers(travelling)) is planner  # its columns are known
    assert replace(found).schema == found.schema
    assert len(run) == 1


def in_array(lines):
    """JSON Lines as the elements of one array."""
    return b"[" + b",\n".join(lines.splitlines()) + b"]"


@pytest.mark.thin(1)
@pytest.mark.parametrize("kind", ["csv", "json", "xml"])
def test_columns_and_index_are_found_in_one_pass(settled, kind, monkeypatch):
    index = sys.modules["splitscan.scans.index"]
    monkeypatch.setattr(index.IndexTask, "run", lambda _: pytest.fail("the file is read for its index"))
    content = rows(kind, [1] * 240_000 + ["x"])
    path = settled("a", in_array(content) if kind == "json" else content)
    options = {"multi_line": True} if kind == "json" else {}
    cut = scan(path, kind, block_size="2m", **options)
    assert bytes_read(lambda: cut.schema) < 1.4 * path.stat().st_size  # also the bytes around the start of each block
    assert cut.schema.field("v").type == pa.string()
    blocks = cut.plan()
    assert len(blocks) > 2
    assert all(block.first_record_start is not None for block in blocks[1:])
    assert sum(batch.num_rows for batch in cut.to_batches()) == 240_001


@pytest.mark.parametrize("kind", ["csv", "json", "xml"])
def test_a_block_that_begins_in_other_content_than_it_seems_to_is_read_again(tmp_path, kind):
    """In the middle one value is longer than a block, and holds what looks like records."""
    row = {"csv": "{},{}\n", "json": '{{"v": {}, "w": {}}},\n', "xml": "<r><v>{}</v><w>{}</w></r>\n"}[kind]
    long = {"csv": '"{}"', "json": '"{}"', "xml": "<![CDATA[{}]]>"}[kind]
    trap = row.format(0.5, "x").replace('"', "'").replace("\n", " " if kind == "json" else "\n") * 400_000
    content = row.format(1, 2) * 10 + row.format(long.format(trap), 2) + row.format(1, 2) * 10
    before, after = {"csv": ("v,w\n", ""), "json": ("[", '{"v": 1}]'), "xml": ("<all>", "</all>")}[kind]
    path = tmp_path / "a"
    path.write_text(before + content + after)
    options = {"multi_line": True} if kind == "json" else {}
    whole = scan(path, kind, **options).schema
    assert scan(path, kind, block_size="600k", **options).schema == whole
    assert [str(field.type) for field in whole] == ["string", "int32" if kind == "csv" else "int64"]
