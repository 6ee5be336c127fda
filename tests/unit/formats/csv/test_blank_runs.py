r"""Fields between runs of blanks (``sep=\s+``): as ``str.split`` and pandas find them, at every cut."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest
from tests.cuts import some

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.formats.csv.grammar import CsvGrammar, split_fields
from splitscan.formats.framing.encodings import resolve_encoding

RUNS = CsvGrammar(resolve_encoding("UTF-8"), sep=r"\s+", escape='"')
TABLE = '  id   name\t val  \n\n \t \n 1  "a  b"   2.5\n# c c\n\t# d\n\t2 c  3 \n3 "" x"y\n  4 "e\n f" "g""h" \n 5 \n'
ROWS = [("1", "a  b", "2.5"), ("2", "c", "3"), ("3", None, 'x"y'), ("4", "e\n f", 'g"h'), ("5", None, None)]


def rows(scan: ss.Scan) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in scan.to_arrow().to_pylist()]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b"a b", [b"a", b"b"]),
        (b"  a \t b\t", [b"a", b"b"]),
        (b"a", [b"a"]),
        (b' "a b" c ', [b"a b", b"c"]),
        (b'"a"b c', [b'"a"b', b"c"]),
        (b'a"b c"', [b'a"b', b'c"']),
        (b'"" ""', [b"", b""]),
        (b'a  "b  ', [b"a", b"b  "]),
        (b"a\x0bb\xc2\xa0c\x0c d", [b"a\x0bb\xc2\xa0c\x0c", b"d"]),  # only spaces and tabs are blanks
    ],
)
def test_fields_stand_between_runs_of_spaces_and_tabs(line: bytes, fields: list[bytes]) -> None:
    assert [value for value, _ in split_fields(line, RUNS)] == fields


@pytest.mark.thin(1)
@pytest.mark.usefixtures("engine")
def test_a_table_is_read_alike_at_every_cut(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    for end in ("\n", "\r\n", "\r"):
        path.write_text(TABLE.replace("\n", end), newline="")
        expected = [tuple(each and each.replace("\n", end) for each in row) for row in ROWS]
        for cut in some(range(1, path.stat().st_size, 1 if end == "\n" else 7)):
            scan = ss.scan_csv(
                path, sep=r"\s+", header=True, comment="#", escape='"', multi_line=True, block_bytes=cut, read_bytes=9
            )
            assert rows(scan) == expected, cut
            assert scan.count() == len(expected)


@pytest.mark.usefixtures("engine")
def test_lines_are_divided_as_split_divides_them(tmp_path: Path) -> None:
    choose = random.Random(7)
    for number in range(40):
        text = "".join(choose.choices(["a", "bc", " ", "  ", "\t", "\n", "\r\n", "é", "1"], k=choose.randint(0, 60)))
        path = tmp_path / f"{number}.txt"
        path.write_text(text, newline="", encoding="utf-8")
        expected = [line.split() for line in text.replace("\r\n", "\n").split("\n") if line.strip(" \t")]
        scan = ss.scan_csv(path, sep=r"\s+", quote="", columns_array=True, block_bytes=choose.randint(1, 20))
        assert [row for (row,) in rows(scan)] == expected
        assert scan.count() == len(expected)


@pytest.mark.usefixtures("engine")
def test_tables_are_read_as_pandas_reads_them(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    choose = random.Random(11)
    for number in range(25):
        width, path = choose.randint(1, 4), tmp_path / f"{number}.txt"
        lines = []
        for _ in range(choose.randint(1, 8)):
            fields = [choose.choice(["a", "12", '"x y"', "b'c", '"q""r"', '"two\nlines"']) for _ in range(width)]
            blanks = [choose.choice([" ", "  ", "\t", " \t"]) for _ in fields]
            indent = choose.choice(["", " ", "\t "])
            lines.append(indent + "".join(map("".join, zip(fields, blanks, strict=True))))
            lines += choose.choice([[], [], ["  "], [""]])
        text = "\n".join(lines) + choose.choice(["", "\n"])
        path.write_text(text, newline="")
        frame = pandas.read_csv(io.StringIO(text), sep=r"\s+", header=None, dtype=str, keep_default_na=False)
        scan = ss.scan_csv(path, sep=r"\s+", escape='"', multi_line=True, block_bytes=choose.randint(1, 30))
        assert rows(scan) == [tuple(row) for row in frame.itertuples(index=False)], text


@pytest.mark.parametrize("text", ["a  b\n", " a b \n \n1\t2\n", "\n\n a b", "a b\n   "])
@pytest.mark.parametrize("encoding", ["UTF-16", "ISO-8859-1", "GBK"])
@pytest.mark.usefixtures("engine")
def test_other_encodings_have_blanks_too(tmp_path: Path, text: str, encoding: str) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(text.encode(encoding))
    scan = ss.scan_csv(path, "a string, b string", sep=r"\s+", escape='"', encoding=encoding, block_bytes=3)
    assert rows(scan) == [tuple(line.split()) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(
    "options",
    [{"quote": " "}, {"escape": "\t"}, {"comment": " "}, {"line_sep": "; "}, {"sep": r"\\s+"}, {"sep": r"\s"}],
)
def test_what_contradicts_blanks_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="bad-option"):
        ss.scan_csv("x.txt", **{"sep": r"\s+", **options}).schema  # noqa: B018 - where options are checked


@pytest.mark.thin(1)
@pytest.mark.usefixtures("engine")
def test_a_line_of_blanks_is_no_record_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("a b\n" + " " * 5000 + "\nc d\n" + " " * 5000 + "e f\ng h\n")
    scan = ss.scan_csv(
        path, "x string, y string", sep=r"\s+", max_record_bytes=1000, read_bytes=64, mode="DROPMALFORMED"
    )
    assert rows(scan) == [("a", "b"), ("c", "d"), ("g", "h")]
