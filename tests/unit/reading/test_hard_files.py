"""Files as they come: names that are no text, thousands of columns."""

import os
import sys

import pytest
from tests.counting import steps_of

import splitscan as ss
from splitscan.errors import UsageError


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_file_whose_name_is_no_text_is_read_and_its_name_is_shown_escaped(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    with open(os.path.join(os.fsencode(folder), b"x\xff.csv"), "wb") as output:  # noqa: PTH118, PTH123
        output.write(b"1,a\n")
    scan = ss.scan_csv(str(folder), "id int, name string", metadataColumns="file_path,file_name")
    assert scan.to_arrow().to_pylist() == [
        {"id": 1, "name": "a", "file_path": f"{folder}/x\\udcff.csv", "file_name": "x\\udcff.csv"}
    ]


@pytest.mark.slow
def test_the_work_for_many_columns_grows_with_their_number_and_not_with_its_square(tmp_path):
    def steps(columns):
        path = tmp_path / f"{columns}.csv"
        names, values = (",".join(f"{kind}{i}" for i in range(columns)) for kind in "cv")
        path.write_text(f"{names}\n{values}\n")
        scan = ss.scan_csv(str(path), header=True)
        assert scan.to_arrow().num_columns == columns
        return steps_of(ss.scan_csv(str(path), header=True).to_arrow)

    assert steps(8000) < 10 * steps(1000)  # eight times as many columns; their square would be 64 times as much


@pytest.mark.parametrize(
    "schema",
    [
        "id int, a array<int>",
        "id int, a struct<b: int>",
        "id int, a map<string, int>",
    ],
    ids=str,
)
def test_a_type_that_no_csv_field_can_hold_is_refused_before_anything_is_read(tmp_path, schema):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n")
    with pytest.raises(UsageError, match="bad-schema") as error:
        _ = ss.scan_csv(str(path), schema).schema
    assert "column 'a'" in str(error.value)


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("a1,a,a", ["a1", "a1_1", "a2"]),
        ("_c1,,x", ["_c1", "_c1_1", "x"]),
        ("a,a,A0", ["a0_0", "a1", "A0"]),
        ("a,a,b", ["a0", "a1", "b"]),
    ],
)
def test_columns_have_different_names_whatever_the_header_says(tmp_path, header, names):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n1,2,3\n")
    scan = ss.scan_csv(str(path), header=True)
    assert scan.schema.names == names
    assert scan.to_arrow().to_pylist() == [dict(zip(names, "123", strict=True))]
    assert scan.count() == 1
