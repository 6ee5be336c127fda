"""Lines that found options drop, and headers that come again: both engines say how many there are, and where."""

import logging
import random

import pytest

import splitscan as ss
from splitscan.scan.oddities import HEADER_AGAIN

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
                self._add(names, HEADER_AGAIN, draw)
            elif kind < 0.3 and self.marks and has_record:
                self._add("#" + self._record(draw), "comment-record" if self.columns > 1 else None, draw)
            elif kind < 0.4 and self.marks:
                self._add(draw.choice(["# no record", "#", "##1,2", "#x;;;;", "#x,,,,,"]), None, draw)
            elif kind < 0.45:
                self._add("", None, draw)
            else:
                self._add(self._record(draw), None, draw)
                has_record = True
        if not has_record:
            self.expected.pop("skipped-record", None)

    def _record(self, draw):
        return self.sep.join([str(draw.randint(0, 999)), draw.choice(["x", "#y", '"q"']), "z"][: self.columns])

    def _add(self, line, code, draw):
        if code is not None:
            records, place = self.expected.get(code, (0, len(self.content)))
            self.expected[code] = (records + 1, place)
        self.content += (line + draw.choice(["\n", END])).encode(self.encoding)

    def scan(self, path, **more):
        path.write_bytes(self.content)
        schema = ", ".join(["id string", "b string", "c string"][: self.columns])
        options = {"sep": self.sep, "header": self.header, "skip_rows": self.skipped, "encoding": self.encoding}
        return ss.scan_csv(path, schema, **{**options, "comment": "#", "enforce_schema": True, **FOUND, **more})


def odd(scan):
    return {each.code: (each.records, each.offset) for each in scan.check().odd}


@pytest.mark.parametrize("engine", ["kernel", "reference"])
@pytest.mark.parametrize("multi_line", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_each_line_is_counted_once_however_a_file_is_cut(tmp_path, monkeypatch, engine, multi_line, seed):
    monkeypatch.setenv("SPLITSCAN_ENGINE", engine)
    drawn = Drawn(seed)
    for size, read_bytes in ((7, 1 << 20), (64, 16), (1 << 20, 16), (1 << 20, 1 << 20)):
        scan = drawn.scan(tmp_path / "a", multi_line=multi_line, block_size=size, read_bytes=read_bytes)
        assert odd(scan) == drawn.expected, (size, read_bytes, drawn.content)


@pytest.mark.parametrize("engine", ["kernel", "reference"])
def test_what_the_user_gave_is_obeyed_without_a_word(tmp_path, monkeypatch, engine):
    monkeypatch.setenv("SPLITSCAN_ENGINE", engine)
    path = tmp_path / "a"
    path.write_bytes(b"7,8\nid,n\n1,2\n#3,4\n5,6\n")
    options = {"header": True, "infer_schema": True}
    assert ss.scan_csv(path, comment="#", skip_rows=1, **options).check().ok
    assert odd(ss.scan_csv(path, comment="#", skip_rows=1, **FOUND, **options)) == {
        "skipped-record": (1, 0), "comment-record": (1, 13),
    }  # fmt: skip


@pytest.mark.parametrize("engine", ["kernel", "reference"])
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
def test_what_is_found_in_samples_is_held_against_all_lines(tmp_path, monkeypatch, caplog, engine, rest, expected):
    monkeypatch.setenv("SPLITSCAN_ENGINE", engine)
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
    found = () if "skip_rows" in given else ("skipRows",)
    assert scan.options.format.found_options == found
    expected = [("skipped-record", 1, str(tmp_path / "f05"), 0)] if found else []
    assert [(*each,) for each in scan.check().odd] == expected
