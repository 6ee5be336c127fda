"""Lines that found options drop, and headers that come again: both engines say how many there are, and where."""

import logging
import random

import pyarrow as pa
import pytest
from tests.cuts import some

import splitscan as ss
from splitscan.reading.oddities import HEADER_AGAIN

FOUND = {"found_options": "comment,skipRows"}
ENCODINGS = ["UTF-8", "UTF-16LE", "UTF-16BE", "windows-1252"]
END = "\r\n"


class Drawn:
    """A file of lines, and which of them are odd: code and place by how it was made, and not by any reader."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.header, self.skipped = draw.random() < 0.6, draw.choice([0, 0, 1, 2])
        self.encoding, self.sep = draw.choice(ENCODINGS), draw.choice(",;")
        self.columns, self.marks = draw.choice([1, 2, 2, 3]), draw.random() < 0.8
        self.comment, self.quote = draw.choice([("#", '"'), ("#", '"'), ("¡", "«")])
        self.expected, self.content = {}, b""
        names = self.sep.join(["id", "b", "c"][: self.columns])
        for _ in range(self.skipped):
            kind = draw.choice(["Report", self._record(draw)])
            self._add(kind, "skipped-record" if kind != "Report" and self.columns > 1 else None, draw)
        if self.header:
            self._add(names, None, draw)
        has_record = self.header
        for _ in range(draw.choice([3, 20, 60])):
            kind = draw.random()
            if kind < 0.1 and self.header:
                quoted = self.sep.join(f"{self.quote}{name}{self.quote}" for name in names.split(self.sep))
                spaced = f" {names.replace(self.sep, f' {self.sep}  ')} "
                self._add(draw.choice([names, quoted, spaced]), HEADER_AGAIN, draw)
            elif kind < 0.3 and self.marks and has_record:
                self._add(self.comment + self._record(draw), "comment-record" if self.columns > 1 else None, draw)
            elif kind < 0.4 and self.marks:
                rest = draw.choice([" no record", "", f"{self.comment}1,2", "x;;;;", "x,,,,,"])
                self._add(self.comment + rest, None, draw)
            elif kind < 0.45:
                self._add("", None, draw)
            else:
                self._add(self._record(draw), None, draw)
                has_record = True
        if not has_record:
            self.expected.pop("skipped-record", None)

    def _record(self, draw):
        return self.sep.join(
            [str(draw.randint(0, 999)), draw.choice(["x", "#y", f"{self.quote}q©{self.quote}"]), "z"][: self.columns]
        )

    def _add(self, line, code, draw):
        if code is not None:
            records, place = self.expected.get(code, (0, len(self.content)))
            self.expected[code] = (records + 1, place)
        self.content += (line + draw.choice(["\n", END])).encode(self.encoding)

    def scan(self, path, **more):
        path.write_bytes(self.content)
        schema = ", ".join(["id string", "b string", "c string"][: self.columns])
        options = {"sep": self.sep, "header": self.header, "skip_rows": self.skipped, "encoding": self.encoding}
        return ss.scan_csv(
            path,
            schema,
            **{**options, "comment": self.comment, "quote": self.quote, "enforce_schema": True, **FOUND, **more},
        )


def odd(scan):
    """The oddities by code; a count tells the same, where it is not values that decide."""
    found = scan.check().odd
    if pa.types.is_string(scan.schema.types[-1]):
        assert scan.counted(1).odd == found
    return {each.code: (each.records, each.offset) for each in found}


@pytest.mark.thin(6)
@pytest.mark.parametrize("multi_line", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_each_line_is_counted_once_however_a_file_is_cut(tmp_path, engine, multi_line, seed):
    drawn = Drawn(seed)
    for size, read_bytes in ((7, 1 << 20), (64, 16), (1 << 20, 16), (1 << 20, 1 << 20)):
        scan = drawn.scan(tmp_path / "a", multi_line=multi_line, block_size=size, read_bytes=read_bytes)
        assert odd(scan) == drawn.expected, (size, read_bytes, drawn.content)


def test_what_the_user_gave_is_obeyed_without_a_word(tmp_path, engine):
    path = tmp_path / "a"
    path.write_bytes(b"7,8\nid,n\n1,2\n#3,4\n5,6\n")
    options = {"header": True, "infer_schema": True}
    assert ss.scan_csv(path, comment="#", skip_rows=1, **options).check().ok
    assert odd(ss.scan_csv(path, comment="#", skip_rows=1, **FOUND, **options)) == {
        "skipped-record": (1, 0), "comment-record": (1, 13),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (b"#a,1\n", {"comment-record": (1, 40)}),
        (b"#a,x\n", {}),  # no number: prose
        (b"#a,1,2\n", {}),
        (b"tag,count\n", {HEADER_AGAIN: (1, 40)}),
        (b"\xef\xbb\xbftag,count\n", {HEADER_AGAIN: (1, 40)}),
        (b"tag,counts\n", {}),
        (b"#a,1", {"comment-record": (1, 40)}),
    ],
)
def test_what_is_found_in_samples_is_held_against_all_lines(tmp_path, caplog, engine, rest, expected):
    path = tmp_path / "a"
    path.write_bytes(b"# exported 2024\n# me\ntag,count\nx,1\ny,22\n" + rest)
    assert len(b"# exported 2024\n# me\ntag,count\nx,1\ny,22\n") == 40
    scan = ss.scan_csv(path, "tag string, count int", comment="#", header=True, **FOUND)
    assert odd(scan) == expected
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        assert scan.to_arrow().num_rows >= 2
    assert [code for code in expected if code in caplog.text] == list(expected)


@pytest.mark.parametrize("given", [{}, {"comment": "#"}, {"skip_rows": 1}])
def test_dialects_that_are_found_say_which_options_samples_showed(tmp_path, given):
    rows = b"".join(b"%d,n%d\n" % (i, i) for i in range(10))
    for i in range(12):  # of which eight are looked at
        (tmp_path / f"f{i:02}").write_bytes(rows if i == 5 else b"Report X\n" + rows)
    scan = ss.scan_csv(tmp_path, dialect="auto", **given)
    found = ("header",) if "skip_rows" in given else ("header", "skipRows")
    assert scan.options.format.found_options == found
    expected = [("skipped-record", 1, str(tmp_path / "f05"), 0)] if "skipRows" in found else []
    assert [each[:4] for each in scan.check().odd] == expected


ROWS = [b"7,x", b"8,y", b"9,z"]


@pytest.mark.thin(6)
@pytest.mark.parametrize(
    ("first", "rows", "is_header"),
    [
        (b"id,name", ROWS, True),
        (b'"id"," name "', ROWS, True),
        (b"id,name", [b'"7","x"'], True),
        (b"day,n", [b"2024-01-02,x", b"2024-01-03T04:05:06Z,y"], True),
        (b"n,price", [b"x,1.5e3", b"y,", b"z,-2"], True),
        (b"id,name", [], False),  # nothing below tells
        (b"tag,name", [b"x,y", b"z,y"], False),  # texts above texts
        (b"6,w", ROWS, False),
        (b"id,5", ROWS, False),
        (b"x,", ROWS, False),
        (b"id,ID", ROWS, False),
        (b"NA,w", ROWS, False),  # a value that is missing
        (b"id,name", [b"7,x", b"a8,y"], False),
        (b"a7,x", [b"a8,y", b"a9,z"], False),
    ],
)
def test_a_first_record_that_names_the_columns_is_told(tmp_path, engine, first, rows, is_header):
    path = tmp_path / "a"
    expected = {"header-record": (1, 7)} if is_header else {}
    for line_end in (b"\n", b"\r\n"):
        path.write_bytes(b"Report\n" + line_end.join([first, *rows, b""]))
        for size in some(range(1, path.stat().st_size + 1)):
            options = {"block_size": size, "read_bytes": 1 + size % 7, "multi_line": size % 2 == 0, "skip_rows": 1}
            assert odd(ss.scan_csv(path, found_options="header", **options)) == expected, size
        assert ss.scan_csv(path, skip_rows=1).check().ok  # header=false was given


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("header", "is_record"), [(b"6,w", True), (b"number,label", False), (b"6,w,x", False), (b"1960,1961x", True)]
)
def test_a_record_that_is_skipped_as_a_header_unread_is_told(tmp_path, engine, header, is_record):
    path = tmp_path / "a"
    path.write_bytes(b"Report\n" + b"\n".join([header, *ROWS]))
    given = {"header": True, "enforce_schema": True, "skip_rows": 1}
    for size in some(range(1, path.stat().st_size + 1)):
        scan = ss.scan_csv(path, "id int, name string", found_options="header", block_size=size, **given)
        assert [(each.code, each.offset) for each in scan.check().odd] == ([("skipped-record", 7)] if is_record else [])
    assert ss.scan_csv(path, "id int, name string", **given).check().ok


@pytest.mark.parametrize("door", ["count", "to_arrow", "head", "to_batches"])
def test_a_header_in_one_of_many_files_is_said_by_every_door(tmp_path, caplog, door):
    for i in range(12):  # of which eight are looked at
        (tmp_path / f"f{i:02}").write_bytes((b"id,name\n" if i == 5 else b"") + b"\n".join(ROWS))
    scan = ss.scan_csv(tmp_path, dialect="auto")
    doors = {"to_batches": lambda: list(scan.to_batches()), "head": lambda: scan.head(100)}
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        doors.get(door, getattr(scan, door))()
    said = [record.getMessage() for record in caplog.records if "header-record" in record.getMessage()]
    assert len(said) == 1
    assert f"1 record looks like the header of a file, the first at {tmp_path / 'f05'}, byte 0;" in said[0]


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "again", [b"id,name", b'"id","name"', b'id,"name"', b" id , name", b'"id" ,name', b'\xef\xbb\xbf"id",name']
)
def test_a_header_that_comes_again_in_other_quotes_is_the_header(tmp_path, engine, again):
    path = tmp_path / "a"
    path.write_bytes(b"\n".join([b"id,name", b"7,x", again, b'7,"id,name"', b"idname,", b"id,names", b"xid,name", b""]))
    for size in some(range(1, path.stat().st_size + 1)):
        for multi_line in (False, True) if size > 16 else (size % 2 == 0,):
            scan = ss.scan_csv(path, header=True, block_size=size, read_bytes=16, multi_line=multi_line)
            assert odd(scan) == {HEADER_AGAIN: (1, 12)}, size
