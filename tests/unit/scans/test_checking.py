"""A check reads everything: its numbers are those of the scan, whatever is broken and however files are cut."""

import gzip
import random
from collections import Counter

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.scans.checking import MOST_EXAMPLES

SCHEMA = "id int, n int, note string"


def write(path, seed, rows=300):
    draw = random.Random(seed)
    values = ["1", "x", "5000000000", '"a\nb"', "", "7,8", '"', "2"]
    lines = [f'{number},{draw.choice(values)},"note {number}\n"' for number in range(rows)]
    content = "\n".join(["id,n,note", *lines, ""]).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.mark.thin(4)
@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
@pytest.mark.parametrize("seed", range(4))
def test_the_numbers_are_those_of_the_scan_at_any_cut(tmp_path, seed, mode):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv.gz"]
    for number, path in enumerate(paths):
        write(path, seed * 2 + number)
    given = {"header": True, "multi_line": True, "max_record_bytes": 400, "block_size": 100 + 300 * seed}
    found = ss.scan_csv(paths, SCHEMA, mode=mode, limit=5, **given).check()
    lenient = ss.scan_csv(paths, SCHEMA, mode="PERMISSIVE" if mode == "FAILFAST" else mode, **given)
    rejects = lenient.rejects().to_arrow().to_pylist()
    assert rejects
    assert (found.files, found.rows, found.rejects) == (2, lenient.to_arrow().num_rows, len(rejects))
    assert {each.code: each.records for each in found.broken} == Counter(row["code"] for row in rejects)
    for each in found.broken:
        first = [row for row in rejects if row["code"] == each.code][:MOST_EXAMPLES]
        assert list(each.examples) == [
            {name: value for name, value in row.items() if name not in {"code", "delivered"}} for row in first
        ]
    assert not found.ok


def test_a_column_whose_type_does_not_hold_has_one_that_does(tmp_path):
    (tmp_path / "a.csv").write_text("id,n,day\n1,2,2024-01-01\n2,5000000000,2024-01-02\n")
    found = ss.scan_csv(tmp_path / "a.csv", "key int, n int, day date", header=True, enforce_schema=True).check()
    assert [(each.name, each.type, each.holds) for each in found.columns] == [
        ("key", pa.int32(), pa.int32()),
        ("n", pa.int32(), pa.int64()),
        ("day", pa.date32(), pa.date32()),
    ]


def test_by_name_where_records_name_their_values(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"n": 1}\n{"b": true, "n": "x"}\n')
    found = ss.scan_json(tmp_path / "a.jsonl", "gone int, n int").check()
    assert [(each.name, each.holds) for each in found.columns] == [("gone", None), ("n", pa.string())]


def test_files_whose_types_hold_are_whole(tmp_path):
    (tmp_path / "a.csv").write_text("id,n\n1,2\n")
    found = ss.scan_csv(tmp_path / "a.csv", "id smallint, n int", header=True).check()
    assert found.ok
    assert (found.rows, found.bytes, found.broken) == (1, 9, ())
    assert [each.holds for each in found.columns] == [pa.int16(), pa.int32()]
