"""Partition directories and columns of files: names, types, values."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.blocks import FileMetadata
from splitscan.errors import SchemaError, UsageError
from splitscan.formats.decoding.contract import format_ddl
from splitscan.reading.partitions import file_value, find_partitions, infer_type, partition_of


def file(relative_path: str, root: str = "/t") -> FileMetadata:
    return FileMetadata(f"{root}/{relative_path}", 1, 0, "", relative_path)


def ddl_of(*relative_paths: str, **options: Any) -> str:
    return format_ddl(find_partitions(map(file, relative_paths), **options).fields)


def write(root: Path, **files: str) -> str:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return str(root)


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("", ("", ())),
        ("p=1", ("", (("p", "1"),))),
        ("p=1/q=x%2Fy", ("", (("p", "1"), ("q", "x/y")))),
        ("p=1/below", ("", (("p", "1"),))),
        ("base/p=1/q=2", ("base", (("p", "1"), ("q", "2")))),
        ("p=1/base/q=2", ("p=1/base", (("q", "2"),))),
        ("p=__HIVE_DEFAULT_PARTITION__", ("", (("p", None),))),
        ("p=", ("", (("p", None),))),
        ("=1", ("=1", ())),
        ("p=a=b", ("", (("p", "a=b"),))),
        ("%70=%E9", ("", (("p", "é"),))),
    ],
)
def test_the_run_of_partition_directories_nearest_above_a_file_counts(folder: str, expected: Any) -> None:
    base, pairs = partition_of(folder)
    assert (base if pairs else folder, pairs) == expected


def test_types_are_the_narrowest_that_fit_whatever_the_order() -> None:
    assert ddl_of("y=2024/m=01/d=2024-01-31/s=a/f", "y=2025/m=2147483648/d=__HIVE_DEFAULT_PARTITION__/s=1/f") == (
        "y int, m bigint, d date, s string"
    )
    assert ddl_of("y=1/f", infer_types=False) == "y string"
    for texts in (["1", "1.5", "2147483648"], ["2147483648", "1.5", "1"], ["1.5", "2147483648", "1"]):
        assert str(infer_type(texts)) == "string"  # a double would round the large one
    assert str(infer_type([None, None])) == "string"


@pytest.mark.parametrize(
    ("paths", "what"),
    [
        (("p=1/f", "q=1/f"), "different partition columns"),
        (("p=1/f", "p=1/q=1/f"), "different partition columns"),
        (("p=1/q=1/f", "q=1/p=1/f"), "different partition columns"),
        (("a/p=1/f", "b/p=1/f"), "below different directories"),
        (("p=1/P=2/f",), "named twice"),
    ],
)
def test_directories_that_disagree_are_an_error_naming_both(paths: tuple[str, ...], what: str) -> None:
    with pytest.raises(SchemaError, match=f"conflicting directory structures.*{what}") as caught:
        find_partitions(map(file, paths))
    assert caught.value.reason_code == "conflicting-partitions"
    assert all(repr(path.rpartition("/")[0]) in str(caught.value) for path in paths)


def test_names_may_differ_in_case_and_files_may_lie_beside_the_directories() -> None:
    found = find_partitions(map(file, ["f", "p=1/f", "P=2/f"]))
    assert [found.value("p", file(name)).as_py() for name in ("f", "p=1/f", "P=2/f")] == [None, 1, 2]


def test_partition_columns_stand_behind_those_of_the_records(tmp_path: Path) -> None:
    root = write(tmp_path, **{"y=2024/m=1/a.csv": "1\n", "y=2025/m=__HIVE_DEFAULT_PARTITION__/b.csv": "2\n"})
    scan = ss.scan_csv(root, "a int", metadata_columns="file_name")
    assert format_ddl(scan.schema) == "a int, y int, m int, file_name string"
    assert [tuple(row.values()) for row in scan.to_arrow().to_pylist()] == [
        (1, 2024, 1, "a.csv"),
        (2, 2025, None, "b.csv"),
    ]
    assert scan.select("M", "Y").schema.names == ["m", "y"]
    assert scan.count() == 2
    assert ss.scan_csv(root, "a int", recursive_file_lookup=True).schema.names == ["a"]
    assert (
        format_ddl(ss.scan_text(root, partition_column_type_inference=False).schema)
        == "value string, y string, m string"
    )


def test_a_schema_places_and_types_partition_columns(tmp_path: Path) -> None:
    root = write(tmp_path, **{"y=2024/m=01/a.csv": "1,2\n"})
    scan = ss.scan_csv(root, "M string, a int, y bigint, b int")
    assert format_ddl(scan.schema) == "M string, a int, y bigint, b int"
    assert scan.to_arrow().to_pylist() == [{"M": "01", "a": 1, "y": 2024, "b": 2}]
    with pytest.raises(SchemaError, match="does not fit the type") as caught:
        ss.scan_csv(root, "a int, b int, m date").to_arrow()
    assert caught.value.reason_code == "bad-partition"


@pytest.mark.parametrize("number", ["2147483648", "9223372036854775808", "-99999999999999999999"])
def test_a_number_of_a_directory_that_is_too_large_for_its_type_is_an_error(tmp_path: Path, number: str) -> None:
    root = write(tmp_path, **{f"n={number}/a.csv": "1\n"})
    with pytest.raises(SchemaError, match="does not fit the type") as caught:
        ss.scan_csv(root, "a int, n int").to_arrow()
    assert caught.value.reason_code == "bad-partition"


def test_provided_columns_type_partition_columns(tmp_path: Path) -> None:
    root = write(tmp_path, **{"y=2024/m=01/a.csv": "a,b\n1,2\n"})
    scan = ss.scan_csv(root, header=True, provided_schema="a int, M string")
    assert format_ddl(scan.schema) == "a int, M string, b string, y int"
    assert scan.to_arrow().to_pylist() == [{"a": 1, "M": "01", "b": "2", "y": 2024}]
    assert scan.where("m = '01'").count() == 1


def test_a_directory_s_value_comes_before_a_field_of_the_same_name(tmp_path: Path) -> None:
    root = write(tmp_path, **{"p=7/a.csv": "P,b\n1,2\n", "p=8/a.csv": "P,b\n3,4\n"})
    scan = ss.scan_csv(root, header=True)
    assert [tuple(row.values()) for row in scan.to_arrow().to_pylist()] == [(7, "2"), (8, "4")]
    assert scan.select("b", "p").to_arrow().to_pylist() == [{"b": "2", "p": 7}, {"b": "4", "p": 8}]
    assert scan.select("P").to_arrow().to_pylist() == [{"p": 7}, {"p": 8}]
    json = write(tmp_path / "j", **{"p=7/a.json": '{"a":1,"p":"x"}\n'})
    assert ss.scan_json(json).to_arrow().to_pylist() == [{"a": 1, "p": 7}]


def test_partitions_begin_at_the_base_path_or_at_the_fixed_part_of_a_glob(tmp_path: Path) -> None:
    root = write(tmp_path, **{"p=1/a.txt": "x\n", "p=2/a.txt": "y\n"})
    assert ss.scan_text(f"{root}/p=1").schema.names == ["value"]
    assert ss.scan_text(f"{root}/p=1/a.txt").schema.names == ["value"]
    assert ss.scan_text(f"{root}/p=1", base_path=root).to_arrow().to_pylist() == [{"value": "x", "p": 1}]
    assert ss.scan_text(f"{root}/p=*").schema.names == ["value", "p"]


def test_directories_are_numbered_from_the_named_path(tmp_path: Path) -> None:  # parity 85, 87, 90, 92
    deep = "/".join(f"n{i}" for i in range(12))
    root = write(tmp_path, **{"a.txt": "0\n", "x/b.txt": "1\n", f"{deep}/c.txt": "2\n"})
    scan = ss.scan_text(root, recursive_file_lookup=True).select("DIR1", "dir0", "dir11", "dir12", "value")
    assert [tuple(row.values()) for row in scan.to_arrow().to_pylist()] == [
        (None, None, None, None, "0"), ("n1", "n0", "n11", None, "2"), (None, "x", None, None, "1"),
    ]  # fmt: skip
    flat = ss.scan_text(f"{root}/a.txt").select("dir5")
    assert flat.to_arrow().to_pylist() == [{"dir5": None}]
    assert ss.scan_text(f"{root}/*/b.txt").select("dir0").to_arrow().to_pylist() == [{"dir0": "x"}]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/t/a.tar.gz", ("a.tar.gz", "/t", "/t/a.tar.gz", "gz")),
        ("/a", ("a", "/", "/a", "")),
        ("s3://bucket/x/b.csv", ("b.csv", "/bucket/x", "/bucket/x/b.csv", "csv")),
        ("hdfs://host:8020/y/c.", ("c.", "/host:8020/y", "/host:8020/y/c.", "")),
        ("/t/a://b", ("b", "/t/a:/", "/t/a://b", "")),
    ],
)
def test_columns_of_a_file_are_parts_of_its_path(path: str, expected: tuple[str, ...]) -> None:  # parity 85
    found = FileMetadata(path, 1, 0, "", path.rpartition("/")[2])
    assert tuple(file_value(name, found) for name in ("filename", "filepath", "fqn", "suffix")) == expected


def test_columns_of_files_may_be_listed_beside_all_others(tmp_path: Path) -> None:  # parity 86, 89
    root = write(tmp_path, **{"a.json": '{"a":1}\n'})
    scan = ss.scan_json(root, metadata_columns="FileName,dir0,SUFFIX")
    assert scan.to_arrow().to_pylist() == [{"a": 1, "filename": "a.json", "dir0": None, "suffix": "json"}]
    placed = ss.scan_json(root, "filename string, a int", metadata_columns="filename")
    assert placed.to_arrow().to_pylist() == [{"filename": "a.json", "a": 1}]
    assert ss.scan_json(root, "filename string, a int").to_arrow().to_pylist() == [{"filename": None, "a": 1}]
    own = write(tmp_path / "own", **{"a.json": '{"filename":"mine"}\n'})
    assert ss.scan_json(own).select("filename").to_arrow().to_pylist() == [{"filename": "mine"}]
    with pytest.raises(UsageError, match="has the name of a column of the data"):
        _ = ss.scan_json(own, metadata_columns="filename").schema


@pytest.mark.skipif(os.name != "posix", reason="names of files are text elsewhere")
def test_names_that_are_no_text_are_shown_with_their_bytes(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/p=\xff"
    Path(os.fsdecode(folder)).mkdir()
    Path(os.fsdecode(folder + b"/\xfe.txt")).write_text("x\n")
    scan = ss.scan_text(str(tmp_path)).select("value", "p", "filename", "dir0")
    assert list(scan.to_arrow().to_pylist()[0].values()) == ["x", "\\udcff", "\\udcfe.txt", "p=\\udcff"]


def test_a_column_of_whole_numbers_is_as_wide_as_its_longest(tmp_path: Path) -> None:
    root = write(tmp_path, **{f"n={number}/x.txt": "v\n" for number in (7, 2**40, 10**20)})
    assert ss.scan_text(root).schema.field("n").type == pa.decimal128(21, 0)
    assert sorted(map(int, ss.scan_text(root).to_arrow()["n"].to_pylist())) == [7, 2**40, 10**20]


def test_values_of_all_types_arrive(tmp_path: Path) -> None:
    root = write(
        tmp_path, **{"d=2024-01-31/t=2024-01-31 10%3A00%3A00.5/f=1.5/n=99999999999999999999/s=a b/x.txt": "v\n"}
    )
    row = ss.scan_text(root).to_arrow().to_pylist()[0]
    assert row["d"] == datetime.date(2024, 1, 31)
    assert row["t"] == datetime.datetime(2024, 1, 31, 10, 0, 0, 500_000, tzinfo=datetime.UTC)
    assert (row["f"], int(row["n"]), row["s"]) == (1.5, 99999999999999999999, "a b")


@pytest.mark.parametrize(
    ("column", "declared"),
    [("filename", "filename int"), ("dir0", "dir0 array<string>"), ("record_offset", "record_offset int"),
     ("file_modification_time", "file_modification_time date")],
)  # fmt: skip
def test_columns_of_files_have_the_types_they_have(tmp_path: Path, column: str, declared: str) -> None:  # parity 89
    root = write(tmp_path, **{"a.json": '{"a":1}\n'})
    with pytest.raises(SchemaError, match="another type than it has") as caught:
        _ = ss.scan_json(root, f"a int, {declared}", metadata_columns=column).schema
    assert caught.value.reason_code == "bad-schema"
    assert f"declare it as: {column} " in str(caught.value)
    assert ss.scan_json(root, f"a int, {declared}").to_arrow().to_pylist() == [{"a": 1, column: None}]


def test_columns_of_files_directories_members_and_all_others_in_any_order(tmp_path: Path) -> None:  # parity 85, 87
    root = write(
        tmp_path, **{"p=7/x/a.json": '{"a":1,"m":{"u":2,"v":3}}\n', "p=8/b.json": '{"a":4}\n', "p=9/c.json": ""}
    )
    scan = ss.scan_json(root)
    chosen = scan.select("suffix", "DIR1", "m.v", "p", "fqn", "dir8", "a", "filepath", "dir0", "filename")
    one, two = chosen.to_arrow().to_pylist()
    assert list(one) == ["suffix", "dir1", "m", "p", "fqn", "dir8", "a", "filepath", "dir0", "filename"]
    assert list(one.values()) == [
        "json", "x", {"v": 3}, 7, f"{root}/p=7/x/a.json", None, 1, f"{root}/p=7/x", "p=7", "a.json",
    ]  # fmt: skip
    assert [two[name] for name in ("dir1", "m", "p", "dir0")] == [None, None, 8, "p=8"]
    assert scan.select("m.u", "filename").schema.names == ["m", "filename"]
    assert scan.select("dir1", "*").schema.names == ["dir1", "a", "m", "p"]
    assert scan.select("*").schema.names == ["a", "m", "p"]  # levels of directories are columns if they are named


def test_members_of_a_column_that_hides_one_of_the_file_are_its_own(tmp_path: Path) -> None:  # parity 88
    root = write(tmp_path, **{"a.json": '{"filename":{"x":1},"dir0":[5]}\n'})
    scan = ss.scan_json(root).select("filename.x", "dir0[0]", "suffix")
    assert scan.to_arrow().to_pylist() == [{"filename": {"x": 1}, "dir0": [5], "suffix": "json"}]
