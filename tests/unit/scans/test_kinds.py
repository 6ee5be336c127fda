"""What kind a file is, by its name and its first bytes."""

from __future__ import annotations

import zipfile

import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.scans.finding_format import kind_of


@pytest.mark.parametrize(
    ("path", "format", "options"),
    [
        ("in/a.csv", "csv", {}),
        ("in/A.TSV", "csv", {"sep": "\t"}),
        ("a.tab.gz", "csv", {"sep": "\t"}),
        ("s3://b/a.jsonl.zst", "json", {}),
        ("a.json", "json", {}),
        ("access.log", "text", {}),
    ],
)
def test_names_say_the_format(path, format, options):
    assert kind_of([path]) == (format, options)


@pytest.mark.parametrize("path", ["in/", "in/*.txt", "no_ending", "in/*"])
def test_names_that_say_nothing(path):
    assert kind_of([path]) is None
    assert kind_of([path, "a.json"]) == ("json", {})


@pytest.mark.parametrize("name", ["a.parquet", "b.ORC", "c.avro", "d.xlsx", "e.db"])
def test_files_of_other_formats_are_refused_with_what_reads_them(name):
    with pytest.raises(UsageError, match="not-records") as caught:
        kind_of(["in/" + name])
    assert caught.value.fix is not None


def test_names_that_say_different_things_are_refused():
    with pytest.raises(UsageError, match=r"a\.csv and b\.json"):
        kind_of(["a.csv", "b.json"])


@pytest.mark.parametrize("magic", [b"PAR1", b"ORC", b"Obj\x01", b"SQLite format 3\0", b"%PDF-1.7"])
def test_first_bytes_of_another_format_are_refused(tmp_path, magic):
    path = tmp_path / "a.csv"
    path.write_bytes(magic + b"\x15\x04\x00\x00,,\n")
    with pytest.raises(UsageError, match="not-records"):
        ss.sniff_csv(path)


@pytest.mark.parametrize(
    ("member", "fix"),
    [("a.csv", ".zip, and set archivePathFilter=*"), ("[Content_Types].xml", "save the sheet")],
)
def test_an_archive_under_another_name_is_refused_with_what_to_do(tmp_path, member, fix):
    path = tmp_path / "a.csv"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "id,name\n1,a\n")
    with pytest.raises(UsageError, match="not-records") as caught:
        ss.sniff_csv(path)
    assert fix in caught.value.fix


def test_what_is_advised_for_an_archive_fits_its_name_and_works(tmp_path):
    for name, advice in (("a.zip", "fix:   set archivePathFilter=*"), ("a.csv", "fix:   give it a name that ends in")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("x.csv", "a,b\n1,2\n")
        with pytest.raises(UsageError, match="not-records") as caught:
            ss.sniff_csv(tmp_path / name)
        assert advice in str(caught.value)
    assert ss.scan_csv(tmp_path / "a.zip", archivePathFilter="*", header=True).count() == 1


def test_names_of_xml_and_geojson_say_their_format():
    assert [kind_of([name]).format for name in ("a.xml", "a.xml.gz", "a.geojson")] == ["xml", "xml", "json"]


@pytest.mark.parametrize(
    "text", ["id,name\n1,a\n", "name\nann\n", "true story\n", "1,2,3\n4,5,6\n", "-\n", "# note\n1\n"]
)
def test_a_text_that_is_no_json_is_not_counted_as_json_without_a_word(tmp_path, caplog, text):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert ss.scan(path, "json", "a long").count() == text.count("\n")
    assert f"a.csv begins with {text.splitlines()[0]!r}, which is no JSON, and is read as json" in caplog.text


BROKEN = [
    ("{a: 1}\n{a: 2}\n", "allowUnquotedFieldNames=true accepts it"),
    ('{"a": 1} # one\n', "a comment begins here"),
    ('[\n {"a": 007},\n {"a": 8}\n]\n', "allowNumericLeadingZeros=true accepts it"),
    ('{\n // one\n "a": 1\n}\n', "a comment begins here"),
]


@pytest.mark.parametrize(("text", "cause"), BROKEN)
def test_a_first_record_that_is_broken_is_told_with_its_cause(tmp_path, caplog, text, cause):
    path = tmp_path / "a.json"
    path.write_text(text)
    ss.scan(path, schema="a long", multiLine=text[1] == "\n").count()
    assert "a record that is broken: " in caplog.text
    assert cause in caplog.text


@pytest.mark.parametrize(
    "text", ['{"a": 1}\n', '{"a": 1\n', "[1]\n[2]\n", "1\n2\n", '"a"\n', "null\n", "\n\n{}\n", "\ufeff{}\n"]
)
def test_json_and_broken_objects_are_not_told_of_as_another_format(tmp_path, caplog, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    ss.scan(path, "json", "a long").count()
    assert "which is no JSON" not in caplog.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(("text", "is_said"), [("id,name\n1,a\n", True), ("<r><a/></r>", False), (" \n", False)])
def test_a_text_without_elements_is_not_counted_as_xml_without_a_word(tmp_path, caplog, encoding, text, is_said):
    path = tmp_path / "a.txt"
    path.write_text(text, encoding=encoding)
    ss.scan(path, "xml", "a long", row_tag="a", encoding=encoding).count()
    assert ("has no element in its first" in caplog.text) is is_said


@pytest.mark.parametrize(
    "text", ["<note>hello</note>", "<?xml version='1.0'?>\n<note>a text, and no more</note>\n", "<a/>"]
)
def test_xml_without_elements_below_its_root_is_told_as_such(tmp_path, text):
    path = tmp_path / "a.xml"
    path.write_text(text)
    with pytest.raises(UsageError, match="elements below the root: none in the first bytes") as caught:
        ss.scan(path)
    assert caught.value.fix.endswith("or read lines as text with recordFormat=text")
    assert ss.scan(path, "text").count() == len(text.splitlines())
