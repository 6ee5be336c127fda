"""What a message says about a header that disagrees with the schema."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.errors import SchemaError


def test_a_header_that_is_data_is_quoted_on_one_line_and_cut(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('"a\nb' + "x" * 1000 + '",b\n1,2\n')
    with pytest.raises(SchemaError) as caught:
        ss.scan_csv(str(file), "a int, b int", header=True, multiLine=True).to_arrow()
    assert "seen:  column 1 is a\\nbxxx" in str(caught.value)
    assert "; schema a, b" in str(caught.value)
    assert len(caught.value.seen or "") < 300


def test_a_header_that_is_too_short_or_too_long_says_so(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(SchemaError, match="column 2 is b, not there"):
        ss.scan_csv(str(file), "a int", header=True).to_arrow()
    with pytest.raises(SchemaError, match="column 3 is missing, not c"):
        ss.scan_csv(str(file), "a int, b int, c int", header=True).to_arrow()


RECORDS = ["5,x", "5,", ",x", "x,y", '"5","x"', "2024-01-02,x", "5,x,z", "5", "-1.5,n/a", "idx,named", "5,\u00e4"]


@pytest.mark.parametrize("schema", [None, "id string, name string"])
@pytest.mark.parametrize("record", RECORDS)
def test_names_are_not_to_be_matched_where_a_file_lacks_its_header(tmp_path: Path, record: str, schema: str) -> None:
    (tmp_path / "a.csv").write_text("id,name\n1,a\n")
    (tmp_path / "b.csv").write_text(f"{record}\n6,y\n")
    for by_name in ({}, {"header_mapping": "byName"}):
        with pytest.raises(SchemaError, match="header-mismatch") as caught:
            ss.scan_csv(tmp_path, schema, header=True, **by_name).to_arrow()
        assert "b.csv" in str(caught.value)
        assert "byName" not in str(caught.value.fix)
        assert "if it is a record, read this file by itself, with header=false" in str(caught.value.fix)
    columns = "a string, b string, c string"
    assert ss.scan_csv(tmp_path / "b.csv", columns, header=False).to_arrow().num_rows == 2


@pytest.mark.parametrize("header", ["name,id", "NAME,Id", "name,id,more", "other,id"])
def test_names_in_another_order_are_to_be_matched(tmp_path: Path, header: str) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\na,1,\n")
    with pytest.raises(SchemaError, match="headerMapping=byName to match columns by name"):
        ss.scan_csv(tmp_path / "a.csv", "id long, name string", header=True).to_arrow()


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("id,Name,name,NAME", "Name, name, NAME are read as Name1, name2, NAME3"),
        ("a,a,b", "a, a are read as a0, a1"),
        ("a,A,a0", "a, A are read as a0_0, A1"),
        ("x,,X", "x, X are read as x0, X2"),
    ],
)
@pytest.mark.parametrize("infer_schema", [False, True])
def test_names_that_differ_in_case_only_are_not_renamed_without_a_word(tmp_path, caplog, header, said, infer_schema):
    (tmp_path / "a.csv").write_text(f"{header}\n{','.join('1' * (header.count(',') + 1))}\n")
    with caplog.at_level(logging.WARNING, "splitscan"):
        _ = ss.scan_csv(tmp_path / "a.csv", header=True, infer_schema=infer_schema).schema
    assert f"a.csv has names that differ in nothing, or in case only: {said}" in caplog.text


@pytest.mark.parametrize("header", ["x0,x1,x2", "a,,", "a0,a", "id,name"])
def test_names_that_differ_are_kept_without_a_word(tmp_path, caplog, header):
    (tmp_path / "a.csv").write_text(f"{header}\n{','.join('1' * (header.count(',') + 1))}\n")
    _ = ss.scan_csv(tmp_path / "a.csv", header=True).schema
    assert "in case only" not in caplog.text
