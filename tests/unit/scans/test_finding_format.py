"""The record format that nobody names: by names of files, by first bytes; and texts that need options to be records."""

from __future__ import annotations

import bz2
import gzip
import json
import logging
import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.cli import main
from splitscan.errors import SplitscanError, UsageError
from splitscan.formats.decoding.ddl import as_schema
from splitscan.formats.first_bytes import beginning_of, other_text, row_tags
from splitscan.spark.session import spark_schema
from splitscan.spark.source import SplitscanDataSource

LINES = b'{"a": 1}\n{"a": 2}\n'
ROWS = [{"a": 1}, {"a": 2}]
XML = b'<?xml version="1.0"?><all><!-- <no/> --><meta/><x k="1"><y>1</y></x><x k="2"><y>2</y></x></all>'
ARFF = b"% about\n@RELATION r\n@attribute a numeric\n@attribute b string\n@DATA\n1,'x, y'\n% no\n2,z\n"
SAM = b'@HD\tVN:1.6\n@SQ\tSN:r\tLN:4\nr1\t0\t"x\t8M\nr2\t0\tx\t8M\tNM:i:1\n'
RECORD_JAR = b"File-Date: 2021-08-06\n%%\nType: language\nDescription: A\n B\n"
STANZAS = b"Package: a\nVersion: 1\nDescription: one\n two\n\nPackage: b\nVersion: 2\nDescription: three\n"


@pytest.mark.parametrize(
    "name", ["a.json", "a.jsonl", "A.NDJSON", "a.geojson", "a.txt", "a.dat", "a", "a.json.gz", "b.bz2"]
)
def test_json_is_known_by_every_name(tmp_path, name):
    pack = {"gz": gzip.compress, "bz2": bz2.compress}.get(name.rpartition(".")[2], bytes)
    (tmp_path / name).write_bytes(pack(LINES))
    for path in (tmp_path / name, tmp_path, str(tmp_path / "*")):
        assert ss.scan(path).to_arrow().to_pylist() == ROWS


@pytest.mark.parametrize("data", [b'[{"a": 1},\n{"a": 2}]', b'{\n"a": 1}\n{"a":\n2}', b"\xef\xbb\xbf " + LINES])
def test_first_bytes_show_json_of_any_layout(tmp_path, data):
    (tmp_path / "a").write_bytes(data)
    assert ss.scan(tmp_path / "a").options.record_format == "json"
    assert ss.scan(tmp_path / "a", multi_line=True).to_arrow().to_pylist() == ROWS


@pytest.mark.parametrize(
    "data",
    [b"a,b\n1,2\n", b"<5,1\n<6,2\n", b"[x],k\n1,2\n", b"{x},1\n", b"@home,1\n", b"Note: a\n\nNote: b\n", b"", b"\n"],
)
def test_other_first_bytes_are_csv(tmp_path, data):
    (tmp_path / "a.txt").write_bytes(data)
    assert ss.scan(tmp_path / "a.txt").options.record_format == "csv"


def test_the_name_of_a_file_gives_its_separator(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"a,x\tb\n")
    assert ss.scan(tmp_path / "a.tsv").to_arrow().to_pylist() == [{"_c0": "a,x", "_c1": "b"}]
    assert ss.scan(tmp_path).options.format.sep == "\t"
    assert ss.scan(tmp_path / "a.tsv", delimiter=",").options.format.sep == ","


def test_a_format_that_is_given_stands(tmp_path):
    (tmp_path / "a.json").write_bytes(LINES)
    assert ss.scan(tmp_path / "a.json", "text").count() == 2
    assert ss.scan(tmp_path / "a.json", "text").schema.names == ["value"]


def test_an_option_that_only_csv_has_outweighs_first_bytes(tmp_path):
    (tmp_path / "a.txt").write_bytes(b'{"a"|1\n{"b"|2\n')
    assert ss.scan(tmp_path / "a.txt", sep="|").to_arrow().to_pylist()[1] == {"_c0": '{"b"', "_c1": "2"}


def test_names_that_differ_inside_a_directory_are_refused(tmp_path):
    for name in ("a.csv", "b.json", "README"):
        (tmp_path / name).write_bytes(LINES)
    with pytest.raises(UsageError, match=r"several kinds[\s\S]*a\.csv and [\s\S]*b\.json") as caught:
        ss.scan(tmp_path)
    assert "pathGlobFilter=*.csv" in caught.value.fix
    assert ss.scan(tmp_path, path_glob_filter="*.json").to_arrow().to_pylist() == ROWS


def test_what_is_not_there_is_told_when_it_is_read(tmp_path):
    scan = ss.scan(tmp_path / "none")
    with pytest.raises(ss.SplitscanError, match="path-not-found"):
        scan.count()


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.csv", LINES, "JSON"),
        ("a.csv", XML, "XML"),
        ("a.json", XML, "XML"),
        ("a.json", b"<html>\n", "a page of HTML"),
    ],
)
def test_a_contradiction_of_name_and_first_bytes_is_said(tmp_path, caplog, name, data, kind):
    (tmp_path / name).write_bytes(data)
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        ss.scan(tmp_path / name, header=False).count() if name.endswith("csv") else ss.scan(tmp_path / name).count()
    assert f"begins like {kind}, and is read as {name[2:]}" in caplog.text


def test_xml_without_a_row_tag_names_elements_that_could_be_it(tmp_path):
    for name in ("a.xml", "a.txt"):
        (tmp_path / name).write_bytes(XML)
        with pytest.raises(UsageError, match="elements below the root: x, y") as caught:
            ss.scan(tmp_path / name)
        assert caught.value.fix.endswith("perhaps rowTag=x")
        assert ss.scan(tmp_path / name, rowTag="x").count() == 2
    with pytest.raises(UsageError, match="elements below the root: x, y"):
        ss.scan(tmp_path / "a.xml", "xml")


@pytest.mark.parametrize(
    ("data", "tags"),
    [
        (b"<r><a/><b/></r>", ["a", "b"]),
        (b"<r><h><t/></h><i><p>1</p></i><i><p>2</p><p/></i></r>", ["i", "p"]),
        (b"<r><![CDATA[<z/><z/>]]><q x='1'/><q/>", ["q"]),
        (b"<o><to><name>a</name></to><by><name>b</name></by><i><p>1</p></i><i><p>2</p></i></o>", ["i", "name", "p"]),
        (b"<g><w><name>a</name></w><t><name>b</name><s><k x='1'/><k x='2'/></s></t></g>", ["k", "name"]),
        (b"<r><x a='1'/><x a='2'/><y><z>1</z></y><y><z>2</z></y></r>", ["x", "y", "z"]),
        (b"<r><n>1</n><n>2</n></r>", ["n"]),
        (b"no marks", []),
        ("<été><naïf/><naïf/></été>".encode(), ["naïf"]),
    ],
)
def test_row_tags(data, tags):
    assert row_tags(data) == tags


@pytest.mark.parametrize(
    ("data", "says", "options"),
    [
        (ARFF, "skipRows=5", {"format": "csv", "skipRows": 5, "comment": "%", "quote": "'", "header": False}),
        (SAM, "comment=@", {"format": "csv", "sep": "\t", "comment": "@", "quote": "", "columns": ["columns"]}),
        (STANZAS, "lineSep", {"format": "text", "lineSep": "\n\n"}),
        (RECORD_JAR, "lineSep", {"format": "text", "lineSep": "%%\n"}),
    ],
)
def test_texts_that_need_options_are_refused_with_what_reads_them(tmp_path, data, says, options):
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(UsageError, match="not-records") as caught:
        ss.scan(path)
    assert says in caught.value.fix
    rows = ss.scan(path, **options).to_arrow().to_pylist()
    assert len(rows) == 2
    assert rows[0] in (
        {"_c0": "1", "_c1": "x, y"},
        {"columns": ["r1", "0", '"x', "8M"]},
        {"value": "Package: a\nVersion: 1\nDescription: one\n two"},
        {"value": "File-Date: 2021-08-06\n"},
    )


def test_an_object_around_the_records_is_told(tmp_path, caplog):
    (tmp_path / "a.geojson").write_text(json.dumps({"type": "F", "features": ROWS}))
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        assert ss.scan(tmp_path / "a.geojson").count() == 1
    assert "one JSON object around the array 'features'" in caplog.text


def test_the_command_line_decides_alike(tmp_path, capsys):
    (tmp_path / "a.dat").write_bytes(LINES)
    assert main(["count", str(tmp_path / "a.dat")]) == 0
    assert main(["head", str(tmp_path), "--json"]) == 0
    assert main(["sniff", str(tmp_path / "a.dat")]) == 0
    out = capsys.readouterr().out
    assert out.replace(": ", ":") == '2\n{"a":1}\n{"a":2}\nformat: json\nschema: a bigint\ncommand:-f json\n' + (
        f"Python: ss.scan({str(tmp_path / 'a.dat')!r}, 'json')\n"
    )
    assert main(["convert", str(tmp_path / "a.dat"), str(tmp_path / "b.parquet")]) == 0
    assert ss.scan(tmp_path / "a.dat").to_arrow().schema.names == ["a"]


def test_sniff_tells_the_options_that_json_and_xml_need(tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(b'[{"a": 1},\n{"a": 2}]')
    (tmp_path / "b.xml").write_bytes(XML)
    assert main(["sniff", str(tmp_path / "a.txt"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "format": "json", "options": {"multiLine": "true"}, "schema": "a bigint",
    }  # fmt: skip
    assert main(["sniff", str(tmp_path / "b.xml")]) == 2
    assert "-o rowTag=x" in capsys.readouterr().err
    assert main(["sniff", str(tmp_path / "b.xml"), "-o", "rowTag=x"]) == 0
    assert "command: -f xml -o rowTag=x" in capsys.readouterr().out


def test_utf_16_is_looked_through():
    assert beginning_of(LINES.decode().encode("utf-16")) is other_text(LINES)


def test_nothing_is_listed_where_paths_say_it(monkeypatch, tmp_path):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(sys.modules["splitscan.scans.files"], "FileListing", fail)
    assert ss.scan(tmp_path / "a.json").options.record_format == "json"
    assert ss.scan(Path("in") / "*.csv.gz").options.record_format == "csv"


@pytest.mark.parametrize(
    "read",
    [
        lambda folder: ss.scan(folder).to_arrow(),
        lambda folder: ss.scan(folder).count(),
        lambda folder: ss.scan(folder).schema,
        lambda folder: ss.scan([folder], header=True).files(),
        lambda folder: ss.scan(folder, dialect="auto").to_arrow(),
        lambda folder: ss.scan(folder, "csv", dialect="auto").to_arrow(),
        lambda folder: ss.scan(folder, ignore_missing_files=True).to_arrow(),
        lambda folder: ss.scan(folder).rejects().to_arrow(),
        lambda folder: ss.scan(folder).check(),
        lambda folder: main(["head", str(folder)]),
        lambda folder: main(["count", str(folder)]),
        lambda folder: main(["schema", str(folder)]),
        lambda folder: main(["check", str(folder)]),
    ],
    ids=range(13),
)
def test_a_directory_without_a_format_is_listed_once(tmp_path, monkeypatch, read):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("id,name\n1,ada\n2,grace\n")
    listed, scandir = [], os.scandir

    def listing(path="."):
        listed.append(os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", listing)
    read(tmp_path)
    assert [path.rstrip("/") for path in listed] == [str(tmp_path)]


def test_another_scan_of_the_same_directory_lists_it_again(tmp_path):
    (tmp_path / "a.txt").write_text("id\n1\n")
    first = ss.scan(tmp_path)
    assert first.count() == 2
    (tmp_path / "b.txt").write_text("id\n1\n")
    assert (first.count(), ss.scan(tmp_path).count()) == (2, 4)
    assert pickle.loads(pickle.dumps(first)).count() == 4


NAMED = [
    ("a.log", "id,name\n1,a\n2,b\n", "csv"),
    ("a.log", "id;t\n1;a\n2;b, c\n", "csv"),
    ("a.log", "n\tt\n1\tx\n2\ty\n", "csv"),
    ("a.log.gz", "a|b\n1|2\n3|4\n", "csv"),
    ("a.log", "1,2,3,x\n4,5,6,y\n" * 4, "csv"),
    ("a.LOG", "time,level,message\n" + "2024-01-01,WARN,x\n" * 5, "csv"),
    ("a.log", '{"a": 1}\n{"a": 2}\n', "json"),
    ("a.log", '[{"a": 1},\n{"a": 2}]\n', "json"),
    ("a.log", '<r><x a="1"/></r>\n', "xml"),
    ("a.json", "id,name\n1,a\n2,b\n", "csv"),
    ("a.jsonl", "id\tn\n1\ta\n2\tb\n", "csv"),
]


def _named(tmp_path, name, text):
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return tmp_path / name


def _load(source):
    source.reader(source.schema()).partitions()


def _said(caplog, capsys, path, option):
    """What is said by each door: the command, Python, and Spark with and without a schema."""
    given = {"recordFormat": option} if option else {}
    main(["head", str(path), *(["-f", option] if option else [])])
    yield capsys.readouterr().err.replace("--format ", "recordFormat=")
    caplog.clear()
    ss.scan(path, option).count()
    yield caplog.text
    for read in (
        lambda: _load(SplitscanDataSource({"path": str(path), **given})),
        lambda: (
            SplitscanDataSource({"path": str(path), **given})
            .reader(spark_schema(as_schema("value string")))
            .partitions()
        ),
    ):
        caplog.clear()
        with suppress(SplitscanError):  # lines of CSV are no JSON, and show no column
            read()
        yield caplog.text


@pytest.mark.parametrize(("name", "text", "other"), NAMED)
def test_a_name_that_says_another_format_than_the_bytes_is_told_once_at_every_door(
    caplog, capsys, tmp_path, name, text, other
):
    path = _named(tmp_path, name, text)
    for told in _said(caplog, capsys, path, None):
        assert told.count(f"recordFormat={other} reads it") == 1
    for told in _said(caplog, capsys, path, "text"):
        assert "as its name says" not in told


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.log", "2024-01-01 10:00:00,123 INFO x\n2024-01-01 10:00:01,124 INFO y, z\n"),
        ("a.log", "just words, and more\nother words, too\n"),
        ("a.log", "start\n  step 1\nend\n"),
        ("a.log", 'Jan  1 00:00:01 host sshd[123]: in, and out\nJan  1 00:00:02 host sshd[123]: in\n'),
        ("a.log", "INFO a, b, c\nWARN d\n"),
        ("a.log", "\n"),
        ("a.json", '{"a": 1}\n'),
        ("a.json", '"x,y"\n"z,t"\n'),
        ("a.txt", "id,name\n1,a\n2,b\n"),
        ("a.csv", "id,name\n1,a\n2,b\n"),
    ],
)  # fmt: skip
def test_a_name_that_says_what_the_bytes_may_be_is_not_told(caplog, capsys, tmp_path, name, text):
    for told in _said(caplog, capsys, _named(tmp_path, name, text), None):
        assert "as its name says" not in told
