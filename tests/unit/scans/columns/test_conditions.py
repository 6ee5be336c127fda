"""Conditions on files and blocks: what they say, what they refuse, what they leave unread."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counting import at_most_cpu_seconds

import splitscan as ss
from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import SourceMissingError, UsageError
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.steps import IngestTarget, plan_ingest
from splitscan.options.files import FileOptions
from splitscan.reading.block_scan import open_reader
from splitscan.scans.condition_text import parse_condition
from splitscan.scans.conditions import Typed, matcher
from splitscan.scans.files import FileSet, NamedPaths

NAMES = (
    "y=2024/d=2024-01-31/f=1.5/a.csv", "y=2025/d=2024-02-01/f=NaN/b.CSV.gz",
    "y=__HIVE_DEFAULT_PARTITION__/d=__HIVE_DEFAULT_PARTITION__/f=2/c_%.txt",
)  # fmt: skip
FILES = [
    FileMetadata(f"s3://lake/t/{name}", 10 * i, 1_700_000_000_000_000 + i, "", name) for i, name in enumerate(NAMES)
]


def kept(condition: str) -> str:
    files = FileSet(NamedPaths(), FileOptions(), chosen=tuple(FILES))
    return "".join(file.name[0] for file in files.narrowed(condition).files)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("y = 2024", "a"), ("Y == 2024", "a"), ("y <> 2024", "b"), ("y != '2024'", "b"), ("y < 2025.5", "ab"),
        ("y <= 2024 or y > 2024", "ab"), ("y is null", "c"), ("y is not null", "ab"), ("not y = 2024", "b"),
        ("not not y = 2024", "a"), ("y <=> null", "c"), ("not y <=> null", "ab"), ("y = null", ""),
        ("y in (1, 2024)", "a"),
        ("y not in (1, 2024)", "b"), ("y not in (1, null)", ""), ("y in (2025, null)", "b"), ("2024 < y", "b"),
        ("y between 2024 and 2024", "a"), ("y not between 2024 and 2024", "b"), ("y between 2025 and 2024", ""),
        ("y = 2024 or y = 2025 and filename like 'x%'", "a"), ("(y = 2024 or y = 2025) and filename like 'b%'", "b"),
        ("y = 2024 and y is null", ""), ("y is null or y = 1 and 1 = 2", "c"),
        ("d = '2024-01-31'", "a"), ("d > date '2024-01-31'", "b"), ("d < timestamp '2024-01-31 00:00:01'", "a"),
        ("f > 2", "b"), ("f = 'NaN'", "b"), ("f <= 2", "ac"), ("f = 1.5", "a"),
        ("file_size > 0", "bc"), ("file_size between 10 and 1e1", "b"), ("file_size in ('0', 20)", "ac"),
        ("file_modification_time > '2023-11-14 22:13:20'", "bc"), ("file_modification_time < '2024-01-01'", "abc"),
        ("filename like '%.csv'", "a"), ("filename ilike '%.CSV%'", "ab"), ("filename like 'c\\_\\%.___'", "c"),
        ("filename not like '%.csv'", "bc"), ("filename glob '*.{csv,txt}'", "ac"),
        ("fqn glob '/lake/t/*/*/*/?.csv'", "a"),
        ("suffix in ('gz', 'txt')", "bc"), ("dir0 = 'y=2024'", "a"), ("dir9 is null", "abc"),
        ("filepath like '%f=2'", "c"),
        ("file_path like 's3://lake/%'", "abc"), ("`filename` = \"a.csv\"", "a"), ("filename = 'it''s'", ""),
        ("filename < 'b'", "a"), ("null is null", "abc"), ("true = true and 'a' < 'b' and 1 < 2.5", "abc"),
        ("null = 'x' or y = 2024", "a"), ("filename = filename", "abc"),
    ],
)  # fmt: skip
def test_conditions_keep_what_is_true(condition: str, expected: str) -> None:
    assert kept(condition) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "y", "y =", "= 1", "y = 1 and", "(y = 1", "y = 1)", "y in ()", "y in (1", "y in (y)",
        "y like 5", "y is 1",
        "y between 1", "y not 5", "y = 'open", "y == == 1", "y = 1 y = 2", "__import__('os')", "y ; 1", "f(y) = 1",
        "y.x = 1", "lambda: 1", "(" * 70 + "y = 1" + ")" * 70, "not", "in (1)", "date = ", "y + 1 = 2",
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused_with_the_place(text: str) -> None:
    with pytest.raises(UsageError, match="at character") as caught:
        parse_condition(text)
    assert caught.value.reason_code == "bad-where"


@pytest.mark.parametrize(
    ("condition", "what"),
    [
        ("dir0 = 2024", "dir0 is text, 2024 is a number"), ("y = 'x'", "'x' is no number"),
        ("d = 5", "d is a date, 5 is a"),
        ("d = 'soon'", "'soon' is no date"), ("y like '2%'", "use like with text"), ("y = true", "true|True"),
        ("price > 5", "none of: y, d, f, dir0, filename"), ("filname = 'a'", "did you mean filename"),
        ("record_offset > 5", "none of"), ("filename glob '[a'", "glob"),
        ("y = filename", "y is a number, filename is text"),
        ("timestamp 'x' > d", "is no timestamp"), ("d = '\udcff'", "is no date"),
    ],
)  # fmt: skip
def test_conditions_without_meaning_are_refused(condition: str, what: str) -> None:
    with pytest.raises(UsageError, match=what) as caught:
        kept(condition)
    assert caught.value.reason_code == "bad-where"


def test_like_takes_no_more_steps_than_text_times_pattern() -> None:
    with at_most_cpu_seconds(1):
        assert not matcher("%a" * 200 + "b", any_case=False)("a" * 20_000)


def test_like_takes_patterns_of_any_length_and_bytes_that_are_no_utf_8() -> None:
    assert [matcher("_" * 100_000, any_case=False)("a" * length) for length in (99_999, 100_000)] == [False, True]
    assert [matcher("%\udcff_", any_case=False)(text) for text in ("a\udcff\udcfe", "a\udcfe\udcff")] == [True, False]


def test_ilike_compares_small_letters() -> None:
    texts = {"\u0130": "i\u0307", "\u017f": "s", "A\u03a3": "a\u03c2", "A\u03a3A": "a\u03c3a"}
    assert [matcher(pattern, any_case=True)(text) for pattern, text in texts.items()] == [True, False, True, True]


def test_a_backslash_at_the_end_of_a_pattern_stands_for_itself() -> None:
    assert [matcher("a\\", any_case=False)(text) for text in ("a\\", "a", "a\\\\")] == [True, False, False]
    assert [matcher("%\\\\", any_case=False)(text) for text in ("a\\", "a")] == [True, False]


VALUES = st.one_of(st.none(), st.integers(-2, 2))
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
ATOMS = st.one_of(
    st.tuples(st.sampled_from("xyz"), SIGNS, st.sampled_from(["x", "y", "0", "1", "null"])).map(" ".join),
    st.sampled_from(["x is null", "y is not null", "x in (0, 1)", "y not in (1, null)"]),
    st.sampled_from(["z between 0 and x", "z not between -1 and 1"]),
)
JOINS = st.sampled_from(["and", "or"])


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair, three = st.tuples(inner, JOINS, inner), st.tuples(inner, JOINS, inner, JOINS, inner)
    return st.one_of(
        pair.map(" ".join).map("({})".format), three.map(" ".join).map("({})".format), inner.map("not {}".format)
    )


TREES = st.recursive(ATOMS, joined, max_leaves=6)


@given(TREES, VALUES, VALUES, VALUES)
def test_logic_has_three_values_as_in_sql(text: str, x: Any, y: Any, z: Any) -> None:
    values = {"x": x, "y": y, "z": z}
    block = BlockMetadata(FILES[0], 0, 1, 0)
    found = parse_condition(text).bind(lambda name: Typed(pa.int64(), lambda _: values[name]))(block)
    with sqlite3.connect(":memory:") as database:
        expected = database.execute(f"select {text} from (select ? as x, ? as y, ? as z)", (x, y, z)).fetchone()[0]
    database.close()
    assert found == (None if expected is None else bool(expected))


# --------------------------------------------------------------- in scans


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for month in (1, 2, 3):
        part = tmp_path / "in" / f"m={month}"
        part.mkdir(parents=True)
        (part / f"{month}.csv").write_text("".join(f"{month},{n}\n" for n in range(10)))
    return tmp_path / "in"


def test_files_that_are_ruled_out_are_never_opened(folder: Path) -> None:
    original = ss.scan_csv(str(folder), "a int, b int")
    scan = original.where("m > 1").where(lambda file: "3" in file.name)
    assert len(original.files()) == 3
    for month in (1, 2):
        (folder / f"m={month}" / f"{month}.csv").unlink()
    assert (scan.count(), scan.to_arrow().num_rows, [file.name for file in scan.files()]) == (10, 10, ["3.csv"])
    with pytest.raises(SourceMissingError):
        original.count()
    assert pickle.loads(pickle.dumps(original.where("m = 3"))).count() == 10


def test_the_option_and_the_method_hold_together(folder: Path) -> None:
    scan = ss.scan_csv(str(folder), "a int, b int", where="m >= 2")
    assert scan.count() == 20
    assert scan.where("m <= 2").select("m").to_arrow().to_pylist() == [{"m": 2}] * 10
    assert scan.where("m <= 1").to_arrow().num_rows == 0
    assert scan.where("m <= 1").schema == scan.schema
    nothing = ss.scan_csv(str(folder), infer_schema=True, where="m > 99")
    assert nothing.schema == ss.scan_csv(str(folder), infer_schema=True).schema
    assert (nothing.to_arrow().num_rows, nothing.count(), nothing.plan()) == (0, 0, [])
    assert ss.scan_csv(str(folder), where="m = 2").schema.names == ["_c0", "_c1", "m"]
    with pytest.raises(UsageError, match="at character"):
        ss.scan_csv(str(folder), where="m >")
    with pytest.raises(UsageError, match="filter by columns of the records in Spark"):
        ss.scan_csv(str(folder), "a int, b int", where="a > 1").count()


def test_types_of_the_schema_hold_in_conditions(folder: Path) -> None:
    scan = ss.scan_csv(str(folder), "a int, b int, m string")
    assert scan.where("m > '1'").count() == 20
    with pytest.raises(UsageError, match="m is text, 1 is a number"):
        scan.where("m > 1").count()


@pytest.mark.parametrize("multi_line", [False, True])
def test_blocks_are_chosen_whatever_reads_them(folder: Path, multi_line: bool) -> None:
    finer: dict[str, Any] = {"min_partition_num": 50, "open_cost_in_bytes": 0}
    scan = ss.scan_csv(str(folder), "a int, b int", block_size=8, multi_line=multi_line, **finer)
    whole = scan.select("b", "file_block_start", "m")
    blocks = scan.where("file_block_start >= 0").plan()
    rows = [row for block in blocks for batch in open_reader(whole.spec, block) for row in batch.to_pylist()]
    expected = [row for row in rows if row["file_block_start"] >= 16 and row["m"] == 2]
    chosen = whole.where("file_block_start >= 16 and m = 2")
    assert expected
    assert chosen.to_arrow().to_pylist() == expected
    assert chosen.count() == len(expected)
    assert chosen.limit(3).count() == 3 == chosen.limit(3).to_arrow().num_rows
    planned = [block for task in chosen.plan_tasks(4) for block in task]
    assert planned == chosen.plan()
    assert [block.start for block in planned] == [block.start for block in chosen.blocks()] == [16, 24, 32]
    assert whole.where("file_block_start >= 16").where("m = 2").to_arrow().to_pylist() == expected


def test_an_ingest_takes_files_whole(folder: Path, tmp_path: Path) -> None:
    scan = ss.scan_csv(str(folder), "a int, b int")
    plan = plan_ingest(FileSource(scan.where("m = 2 and file_size > 0")), IngestTarget(str(tmp_path / "out")))
    assert [Path(path).name for path in plan.paths] == ["2.csv"]
    with pytest.raises(UsageError, match="from end to end"):
        plan_ingest(FileSource(scan.where("m = 2 and file_block_start > 0")), IngestTarget(str(tmp_path / "out")))
