"""Records that show no column are counted in the error that says so, as counting counts them."""

import pytest

import splitscan as ss
from splitscan.errors import SchemaError

JSON = {
    "empty objects": ("{}\n{}\n", 2),
    "numbers": ("1\n2\n3\n", 3),
    "texts": ('"a"\n', 1),
    "arrays": ("[1]\n[2]\n", 2),
    "nothing that is JSON": ("a,b\n1,2\n", 2),
    "objects and null": ("{}\nnull\n", 2),
    "many": ("{}\n" * 1500, 1500),
}


@pytest.mark.parametrize("case", JSON)
def test_records_of_json_without_members_are_no_missing_records(tmp_path, case):
    text, records = JSON[case]
    (tmp_path / "a.json").write_text(text)
    scan = ss.scan_json(tmp_path / "a.json")
    with pytest.raises(SchemaError, match="no record shows a column") as caught:
        _ = scan.schema
    assert caught.value.seen.startswith(f"{records:,} record")
    assert scan.count() == records
    assert ss.scan_json(tmp_path / "a.json", "a string").to_arrow().num_rows == records


@pytest.mark.parametrize("text", ["[[1,2],[3,4]]\n", "[1,2]\n[3,4]\n", "1\n2\n", '"a"\n"b"\n', "[1, [2]]\n[]\n"])
def test_arrays_and_values_of_json_are_read_as_the_hint_says(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(SchemaError, match="no record shows a column") as caught:
        _ = ss.scan_json(path).schema
    assert "schema='_corrupt_record string' with mode=PERMISSIVE" in caught.value.fix
    assert "reads each as text, and recordFormat=text whole lines" in caught.value.fix
    records = ss.scan_json(path, "_corrupt_record string").to_arrow()["_corrupt_record"].to_pylist()
    assert records == ss.scan(path, "text").to_arrow()["value"].to_pylist() == text.splitlines()


@pytest.mark.parametrize("text", ["<a><r/><r/></a>", "<a><r></r><r> </r></a>"])
def test_elements_that_hold_nothing_are_no_missing_records(tmp_path, text):
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(SchemaError, match="no record shows a column") as caught:
        _ = ss.scan_xml(tmp_path / "a.xml", "r").schema
    assert caught.value.seen.startswith("2 records in samples")


def test_files_without_a_record_are_still_told_as_such(tmp_path):
    (tmp_path / "a.json").write_text(" \n")
    with pytest.raises(SchemaError, match="no file has a record to take the columns from"):
        _ = ss.scan_json(tmp_path / "a.json").schema


XML = [
    "<rows>\n<r><a>1</a></r>\n</rows>\n",
    "<rows><r><a>1</a></r></rows>",
    "<!-- of today -->\n<rows><r/></rows>\n",
    "<!DOCTYPE rows>\n<rows>\n<r/>\n</rows>\n",
    "\ufeff<rows>\n<r/>\n</rows>\n",
    '<rows xmlns="http://x" v="1">\n  <r id="1">a, b</r>\n  <r id="2">c, d</r>\n</rows>\n',
    "<x:rows xmlns:x='u'>\n<x:r>1</x:r>\n</x:rows>\n",
    "<?xml version='1.0'?>\n<a>\n<b/>\n</a>",
    '<osm>\n <node id="1" lat="1.5" lon="2,5"/>\n <node id="2" lat="1.5" lon="2,5"/>\n</osm>',
    "\n<gpx version='1.1'>\n<wpt lat='1'/>\n</gpx>\n",
]


@pytest.mark.parametrize("text", XML)
def test_text_that_begins_with_a_tag_is_hinted_at_as_xml(tmp_path, text):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    found = ss.sniff_csv(tmp_path / "a.txt")
    assert not found.is_clear
    assert any("-f xml -o rowTag=NAME" in doubt for doubt in found.doubts)


@pytest.mark.parametrize(
    "text", ["<a>,<b>\n1,2\n3,4\n", "<5,>6\n1,2\n3,4\n", "<html>\n<p>x</p></html>\n", "a,<b>\n1,<c>\n"]
)
def test_other_text_with_angle_brackets_is_not(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    assert not any("XML" in doubt for doubt in ss.sniff_csv(tmp_path / "a.txt").doubts)
