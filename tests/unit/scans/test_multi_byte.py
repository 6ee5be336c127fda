"""Files in GBK, Shift_JIS and the like: cut anywhere, and read as Python reads the whole of them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.testing.scan_laws import check_ledger_law, cut_blocks, read_block

# Each has characters whose second byte is that of a backslash, a bar, a bracket or a digit, where the encoding has any.
WORDS = {
    "GBK": "乗俓倈 中文, 丂 乶",
    "GB18030": "乗㐀𠀀 中文, 倈",
    "GB2312": "中文, 测试",
    "Shift_JIS": "表ソ十 日本, ポ能ー",
    "windows-31j": "表ソ十 日本, ①ポ能",
    "EUC-KR": "한국어, 가나다",
    "MS949": "한국어, 똠방각하 믜",
    "Big5": "功許蓋 中文, 成",
    "Big5-HKSCS": "功許蓋 中文, 成",
}
SIZES = (1, 3, 8, 1 << 20)  # the first cuts everywhere


def write(tmp_path: Path, text: str, encoding: str) -> str:
    path = tmp_path / "in.txt"
    path.write_bytes(text.encode(resolve_encoding(encoding).codec))
    return str(path)


def rows(scan: ss.Scan) -> list[list[str]]:
    return [list(row.values()) for row in scan.to_arrow().to_pylist()]


@pytest.mark.thin(9)
@pytest.mark.parametrize("encoding", WORDS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_csv_is_what_the_csv_module_reads_from_the_whole_file(tmp_path: Path, encoding: str, end: str) -> None:
    words = WORDS[encoding]
    lines = [f'{n},"{words}{end}{words[:n]}""x{words}",{words[n:2]}' for n in range(3)]
    text = end.join(lines) + end
    path = write(tmp_path, text, encoding)
    expected = list(csv.reader(io.StringIO(text, newline="")))
    for size in SIZES:
        scan = ss.scan_csv(
            path, encoding=encoding, escape='"', multi_line=True, schema="a string, b string, c string", block_size=size
        )
        found = [[value or "" for value in row] for row in rows(scan)]
        assert found == expected, size
        assert scan.count() == 3


@pytest.mark.parametrize("encoding", WORDS)
@pytest.mark.parametrize("separator", [None, ";\t", '"'])
def test_text_is_what_splitting_the_whole_file_gives(tmp_path: Path, encoding: str, separator: str | None) -> None:
    words = WORDS[encoding]
    end = separator or "\n"
    lines = [words, "", words[::-1], *words]
    path = write(tmp_path, end.join(lines), encoding)
    for size in SIZES:
        options = {} if separator is None else {"line_sep": separator}
        assert rows(ss.scan_text(path, encoding=encoding, block_size=size, **options)) == [[line] for line in lines], (
            size
        )


@pytest.mark.parametrize("encoding", WORDS)
def test_json_lines_are_those_of_the_whole_file(tmp_path: Path, encoding: str) -> None:
    words = WORDS[encoding]
    values = [{"a": words[n:]} for n in range(5)]
    path = write(tmp_path, "\n".join(json.dumps(value, ensure_ascii=False) for value in values), encoding)
    for size in SIZES:
        scan = ss.scan_json(path, encoding=encoding, schema="a string", block_size=size)
        assert rows(scan) == [[value["a"]] for value in values], size


def test_damaged_characters_take_no_mark_with_them(tmp_path: Path) -> None:
    """Codecs that look further ahead for a character, at the end of a record."""
    path = tmp_path / "in.csv"
    for encoding, damaged in (("GB18030", b"\x81\x30\x81"), ("EUC-KR", b"\xa4\xd4\xa4"), ("GBK", b"\x81")):
        path.write_bytes(b'1,"' + damaged + b'"\n2,' + damaged + b"\n3," + damaged)
        scan = ss.scan_csv(str(path), encoding=encoding, escape='"', schema="a int, b string")
        shown = {value.replace("\ufffd", "") for _, value in rows(scan)}
        assert [key for key, _ in rows(scan)] == [1, 2, 3]
        assert len(shown) == 1


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"encoding": "GBK"}, "escape"),  # a backslash, if nothing else is said
        ({"encoding": "GBK", "escape": '"', "sep": "|"}, "sep"),
        ({"encoding": "Big5", "escape": '"', "sep": "中"}, "sep"),
        ({"encoding": "GB18030", "escape": '"', "quote": "1"}, "quote"),
        ({"encoding": "Shift_JIS", "escape": '"', "line_sep": "~"}, "lineSep"),
    ],
)
def test_marks_that_may_be_part_of_a_character_are_refused(
    tmp_path: Path, options: dict[str, str], option: str
) -> None:
    (tmp_path / "in.csv").write_bytes(b"a\n")
    with pytest.raises(UsageError) as refused:
        ss.scan_csv(str(tmp_path / "in.csv"), schema="a string", **options).to_arrow()
    assert f"option {option} must not be, or begin with, what may be part of another character" in str(refused.value)
    assert f"choose another {option} (comma, semicolon, tab, quotes and line ends are safe" in str(refused.value)


def test_a_backslash_escapes_where_no_character_contains_it(tmp_path: Path) -> None:
    for encoding in ("EUC-KR", "MS949", "GB2312"):
        path = write(tmp_path, '"a\\"b"\n', encoding)
        assert rows(ss.scan_csv(path, encoding=encoding, schema="a string")) == [['a"b']]


def test_json_over_several_lines_needs_brackets_that_are_in_no_character(tmp_path: Path) -> None:
    path = write(tmp_path, '[{"a":\n"한국어"}]', "EUC-KR")
    assert rows(ss.scan_json(path, encoding="EUC-KR", multi_line=True, schema="a string")) == [["한국어"]]
    with pytest.raises(UsageError, match="in UTF-8 and in encodings that extend ASCII byte by byte"):
        ss.scan_json(path, encoding="GBK", multi_line=True, schema="a string").to_arrow()


@pytest.mark.thin(3)
@pytest.mark.parametrize("end", ["\n", "\r\n", ";億"])
@pytest.mark.parametrize("separator", [",亅", ";亅億", ",亅,"])
def test_a_comment_may_begin_with_what_is_in_a_character_of_the_separator(
    tmp_path: Path, separator: str, end: str
) -> None:
    assert b"|" in separator.encode("GBK")
    lines = [f"億|{separator}1", f"|a{separator}2", f"||{separator}", "", f"b{separator}|", f"亅,{separator}", "|"]
    path = write(tmp_path, end.join(lines), "GBK")
    given = {"sep": separator, "comment": "|", "escape": "", "schema": "a string, b string", "encoding": "GBK"}
    given["line_sep"] = None if end.strip() == "" else end
    for size in SIZES:
        for multi_line in (False, True):
            scan = ss.scan_csv(path, multi_line=multi_line, block_size=size, **given)
            assert rows(scan) == [["億|", "1"], ["b", "|"], ["亅,", None]], (size, multi_line)
            assert scan.count() == 3


def test_a_part_of_a_code_unit_after_blank_lines_belongs_to_the_block_before_them(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("a,b\n\r".encode("UTF-32BE") + bytes(2))
    scan = ss.scan_csv(path, "a string, b string", encoding="UTF-32BE", multi_line=True)
    for size in (4, 11, 1 << 20):
        check_ledger_law(scan, [read_block(scan, block).report for block in cut_blocks(scan, size)])
