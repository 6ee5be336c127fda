"""The lines of rejects: counted in the bytes that the scan reads, the same at every cut, with no byte read for them."""

import bz2
import gzip
import random
import zipfile

import pytest
from tests.cuts import some

import splitscan as ss
from splitscan.reading import opened_file
from splitscan.reading import rejects as scan_rejects
from splitscan.reading.opened_file import CountingSource
from splitscan.testing import MemorySource

SCHEMA = "n int, t string"


def line_of(data, offset):
    """By the text of Python: a return, a feed, and both together end a line."""
    text = data[:offset].decode("latin-1") + ("x" if data[offset - 1 : offset + 1] != b"\r\n" else "")
    return len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def drawn(seed, most=60):
    rng = random.Random(seed)
    parts = [b"1,a", b"x,b", b"2", b'"3\n",c', b"", b'4,"\r\nq"', b"y,\xff"]
    ends = [b"\n", b"\r\n", b"\r", b"\n\r", b"\n\n"]
    return b"".join(rng.choice(parts) + rng.choice(ends) for _ in range(rng.randint(1, most)))


@pytest.fixture
def nothing_twice(monkeypatch):
    """No file is opened for the lines."""
    monkeypatch.setattr(scan_rejects, "open_file", lambda *_: pytest.fail("a file is read a second time"))


def lines_of(scan):
    return [(row["line"], row["offset"]) for row in scan.rejects().to_arrow().to_pylist()]


@pytest.mark.thin(6)
@pytest.mark.usefixtures("nothing_twice")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("multi_line", [False, True])
def test_lines_do_not_depend_on_the_cut(tmp_path, seed, multi_line):
    data = drawn(seed, 12)
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    whole = lines_of(ss.scan_csv(path, SCHEMA, multi_line=multi_line))
    assert [line for line, _ in whole] == [line_of(data, offset) for _, offset in whole]
    for size in some(range(1, len(data) + 1)):
        assert lines_of(ss.scan_csv(path, SCHEMA, multi_line=multi_line, block_size=size)) == whole, size


@pytest.mark.thin(2)
@pytest.mark.usefixtures("nothing_twice")
@pytest.mark.parametrize("seed", range(10))
def test_nor_on_the_size_of_reads_or_batches_or_what_is_kept(tmp_path, monkeypatch, seed):
    rng = random.Random(900 + seed)
    data = drawn(seed, 400)
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    expected = lines_of(ss.scan_csv(path, SCHEMA))
    assert [line for line, _ in expected] == [line_of(data, offset) for _, offset in expected]
    monkeypatch.setattr(opened_file, "_MOST_PLACES", rng.choice([0, 5, 50]))
    for _ in range(10):
        given = {"read_bytes": rng.randint(1, 99), "batch_rows": rng.randint(1, 9), "block_size": rng.randint(1, 300)}
        given["mode"] = rng.choice(["PERMISSIVE", "DROPMALFORMED"])
        assert lines_of(ss.scan_csv(path, SCHEMA, **given)) == expected, given


@pytest.mark.usefixtures("nothing_twice")
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress], ids=["gz", "bz2"])
@pytest.mark.parametrize("block_size", [20, "1 MiB"])
def test_of_compressed_files_the_content_counts(tmp_path, pack, block_size):
    data = drawn(3, 300)
    path = tmp_path / "a.csv"
    path.write_bytes(pack(data))
    found = lines_of(ss.scan_csv(path, SCHEMA, block_size=block_size))
    assert found
    assert [line for line, _ in found] == [line_of(data, offset) for _, offset in found]


@pytest.mark.usefixtures("nothing_twice")
def test_several_files_and_members_of_archives_each_begin_with_line_one(tmp_path):
    data = b"1,a\nx,b\n"
    (tmp_path / "a.csv").write_bytes(data)
    (tmp_path / "b.csv").write_bytes(b"x,b\n" + data)
    with zipfile.ZipFile(tmp_path / "c.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("m.csv", b"\n\n" + data)
    assert lines_of(ss.scan_csv(tmp_path, SCHEMA, path_glob_filter="*.csv")) == [(2, 4), (1, 0), (3, 8)]
    assert lines_of(ss.scan_csv(tmp_path / "c.zip", SCHEMA, archive_path_filter="*")) == [(4, 6)]


@pytest.mark.usefixtures("nothing_twice")
@pytest.mark.parametrize(
    ("format", "data", "options"),
    [
        ("csv", b"#c\nn,t\n1,a\nx,b\n", {"header": True, "comment": "#"}),
        ("csv", b"about\n\nn,t\n1,a\nx,b\n", {"header": True, "skip_rows": 2}),
        ("json", b'{"n":1}\n{"n":"x"}\n[\n', {}),
        ("json", b'[\n{"n":1},\n{"n":\n"x"},3]', {"multiLine": True}),
        ("xml", b"<r><n>1</n></r>\n<r><n>x</n></r><r><n>1</r>", {"rowTag": "r"}),
        ("fixed_width", b"1\nx\n1\n", {"layout": "n 1 1 int"}),
    ],
)
def test_every_format_counts_alike(tmp_path, format, data, options):
    path = tmp_path / "a"
    path.write_bytes(data)
    schema = {"csv": SCHEMA, "fixed_width": None}.get(format, "n int")
    whole = lines_of(ss.scan(path, format, schema, **options))
    assert whole
    assert [line for line, _ in whole] == [line_of(data, offset) for _, offset in whole]
    for size in some(range(1, len(data))):
        assert lines_of(ss.scan(path, format, schema, block_size=size, **options)) == whole


def test_blocks_that_nobody_reads_are_read_for_the_lines_behind_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"1,a\n" * 10 + b"x,b\n" * 10)
    for start in range(0, 80, 8):
        scan = ss.scan_csv(path, SCHEMA, block_size=8).where_files(f"file_block_start >= {start}")
        expected = [(1 + offset // 4, offset) for offset in range(max(start, 40), 80, 4)]
        assert lines_of(scan) == expected
        examples = [(each["line"], each["offset"]) for broken in scan.check().broken for each in broken.examples]
        assert examples == expected[:3]


@pytest.mark.thin(2)
@pytest.mark.usefixtures("nothing_twice")
@pytest.mark.parametrize("seed", range(5))
def test_check_gives_the_same_lines(tmp_path, seed):
    data = drawn(70 + seed)
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    known = dict(map(reversed, lines_of(ss.scan_csv(path, SCHEMA))))
    for size in (1, 7, 40, "1 MiB"):
        for broken in ss.scan_csv(path, SCHEMA, block_size=size).check().broken:
            assert [known[each["offset"]] for each in broken.examples] == [each["line"] for each in broken.examples]


@pytest.mark.parametrize("seed", range(20))
def test_a_range_counts_what_is_in_it_whatever_is_read_in_whatever_order(monkeypatch, seed):
    rng = random.Random(seed)
    data = bytes(rng.choices(b"\r\na", k=rng.randint(1, 80)))
    monkeypatch.setattr(opened_file, "_MOST_PLACES", rng.choice([0, 3, 1000]))
    ends = [at for at, byte in enumerate(data) if byte == 13 or (byte == 10 and data[at - 1 : at] != b"\r")]
    start = rng.randint(0, len(data))
    stop = rng.choice([None, rng.randint(start, len(data))])
    source = CountingSource(MemorySource(data), start, stop)
    for _ in range(rng.randint(0, 10)):
        source.read_at(rng.randint(0, len(data)), rng.randint(0, 20))
    for offset in sorted(rng.randint(start, len(data) if stop is None else stop) for _ in range(10)):
        assert source.before(offset) == sum(start <= at < offset for at in ends)


def test_rejects_end_with_the_rows_of_a_limit(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\ny\n")
    offsets = [ss.scan_csv(path, "a int", limit=limit).rejects().to_arrow()["offset"].to_pylist() for limit in range(3)]
    assert offsets == [[], [0], [0, 2]]
