"""What is not certain of a file is said at every door: by the commands, in Python, on Spark, with defaults too."""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

import splitscan as ss
from splitscan.errors import SplitscanError, UsageError
from splitscan.formats.csv.sniffing import found
from splitscan.spark.source import SplitscanDataSource

ROWS = range(12)


def lines(line: str) -> str:
    """Twelve lines; in each, ``{n}`` is its number, and ``{w}`` a word."""
    words = ("oak", "elm", "fir", "ash", "box", "yew")
    return "".join(line.format(n=n, w=words[n % 6], many="," * (n % 3), s=" x" * (n % 4)) + "\n" for n in ROWS)


ONE = "no separator was found|between blanks|whole lines|probably wants option|may be one text|settings in sections"
HEADER = "is a header is not clear|is probably (a header|data)|option header|names the columns"
ODD = {
    "words": ("a.txt", lines("{w}"), ONE),
    "numbers": ("a.csv", lines("{n}"), ONE),
    "a name above numbers": ("a.csv", "n\n" + lines("{n}"), ONE),
    "a name above words": ("a.tsv", "tree\n" + lines("{w}") * 2, ONE),
    "sentences": ("a.txt", lines("It was day {n}. Nobody came, and we left"), ONE),
    "paragraphs": ("a.txt", lines("the {w} of {n}\nwas{s} there\nand left\n"), ONE),
    "blocks of three lines": ("a.txt", lines("{w}_{n}.dds\n{n}\n0.5,{n}\n"), ONE),
    "words and numbers": ("a.dat", lines("{w} {n}{s}"), ONE),
    "parameters": ("a.txt", "# made by hand\n" + lines('{w}{n} "--{w} " r ({n}, 1{n})'), ONE),
    "keys and values": ("a.txt", lines("{w}{n}: the {w}"), ONE),
    "names and =": ("a.txt", lines("{w}{n} = {n}.5"), ONE),
    "sections": ("a.cfg", lines("[{w}{n}]\n{w} = {n}"), ONE),
    "stanzas": ("a.txt", lines("Name: {w}\nSize: {n}\n"), ONE),
    "a fixed width": ("a.txt", lines("{n:06d}{w}   2020"), ONE),
    "places": ("a.txt", lines("{w:<8}a b{n:4d}{s}"), ONE),
    "marks": ("a.txt", lines("#{w}#{n}#"), f"{ONE}|character #"),
    "rules of a program": ("a.rul", lines("IF {w} > {n} THEN go{s}"), ONE),
    "one line of words": ("a.txt", "one two three\n", ONE),
    "a text in one long line": ("a.txt", "We came, and saw; nothing was there, my friend. " * 2000, f"{ONE}|sep=, is"),
    "one value": ("a.txt", "x\n", ONE),
    "quoted values": ("a.csv", lines('"{w}, {n}"'), ONE),
    "numbers between blanks": ("a.dat", lines("{n}.5  {n}.25  -{n}.5"), r"sep=\\s\+|--sep|between blanks"),
    "numbers of many widths": ("a.dat", lines("{n}.5 {n}{s} 2"), ONE),
    "texts without a header": ("a.csv", lines("{w},b{n}"), HEADER),
    "texts of many lengths": ("a.csv", lines("{w}{s},{w}x{s}"), HEADER),
    "names above texts": ("a.csv", "word,kind\n" + lines("{w}{n},tree") + "a,bush\nb,bush\n", HEADER),
    "an empty name": ("a.csv", ",v\n" + lines("{w}{n},{w}"), HEADER),
    "one record": ("a.csv", "a,b,c\n", HEADER),
    "ragged records": ("a.csv", "a,b\n" + lines("{n},{n}{many}"), "fields|columnsArray"),
    "a comma in some texts": ("a.csv", "id,note\n" + lines("{n},a {w}") + "3,x, y\n", "sep=, is probably|fields"),
    "comments": ("a.csv", "# by hand, in a hurry\nid,v\n" + lines("{n},{n}.5"), "comment"),
    "names in a comment": ("a.csv", "# id, v\n" + lines("{n},{n}.5"), "names may stand|name the columns|comment"),
    "lines above": ("a.csv", "Report of 2020\n\nid,v,w\n" + lines("{n},{n}.5,{w}"), "skipRows|may be the header"),
    "units": ("a.csv", "t,v\ns,m\n" + lines("{n},{n}.5"), "units"),
    "a sum": ("a.csv", "t,v\n" + lines("{n},{n}.5") + "Total,66\n", "Total"),
    "two tables": ("a.csv", "id,v\n" + lines("{n},1") + "\nid,v\n" + lines("{n},1"), "again|second"),
    "open quotes": ("a.tsv", "id\ttitle\n" + lines('{n}\t"{w}\n9\tb'), "quote"),
    "backslashes and doubled quotes": ("a.csv", "i,t\n" + lines('{n},"a \\"b"\n{n},"a ""b"'), "escape|[Qq]uote"),
}  # fmt: skip

JSON_AS_TEXT = {
    "texts and arrays": ('{{"a": "{w}"}}', '{{"a": ["{w}"]}}', "a"),
    "numbers and objects": ('{{"a": {n}}}', '{{"a": {{"b": {n}}}}}', "a"),
    "arrays and objects": ('{{"a": [{n}]}}', '{{"a": {{"b": {n}}}}}', "a"),
    "objects without members": ('{{"a": {{}}}}', '{{"a": null}}', "a"),
    "values in arrays": ('{{"a": [1, "x"]}}', '{{"a": [{{"b": 1}}]}}', "a.element"),
    "members of members": ('{{"m": {{"a b": true}}}}', '{{"m": {{"a b": []}}}}', "m.a b"),
    "numbers and texts": ('{{"a": {n}.0}}', '{{"a": "{n}"}}', "a"),
    "truth values and numbers": ('{{"a": true}}', '{{"a": {n}}}', "a"),
    "fractions and whole numbers that no double holds": ('{{"a": {n}.5}}', '{{"a": 900719925474099{n}}}', "a"),
    "more levels than types have": ('{{"a": ' + "[" * 55 + "]" * 55 + "}}", '{{"a": []}}', "a"),
}
"""Two kinds of records, and the member whose values are texts because no type holds all of them."""

CERTAIN = {
    "semicolons in a .tsv": ("a.tsv", "id;v\n" + lines("{n};{n}.5"), "option.* sep=;|--sep ';'|sep *;"),
    "commas in a .tsv": ("a.tsv", "id,v\n" + lines("{n},{n}.5"), "option.* sep=,|option header"),
    "pipes": ("a.csv", "id|v\n" + lines("{n}|{n}.5"), r"option.* sep=\||--sep '\|'|sep *\|"),
    "tabs in a .csv": ("a.csv", "id\tv\n" + lines("{n}\t{n}.5"), r"option.* sep=\\t|--sep|sep *tab"),
    "years above numbers": ("a.csv", "k,2001,2002\n" + lines("{w},{n},3{n}"), f"{HEADER}|--header"),
    "single quotes": ("a.csv", "id,title\n" + lines("{n},'{w}, b'"), "quote"),
    "doubled quotes": ("a.csv", "id,title\n" + lines('{n},"a ""{w}"", b"'), "escape"),
    "quotes over lines": ("a.csv", "id,title\n" + lines('{n},"{w}\nb"'), "multiLine"),
    "a header above doubled quotes": ("a.csv", "id,say,v\n" + lines('{n},"a ""b"" c",{n}.5'), "header=true"),
    "tabs and doubled quotes": ("a.dat", "id\tsay\tv\n" + lines('{n}\t"a ""b"" c"\t{n}.5'), r"sep=\\t"),
    "semicolons and doubled quotes": ("a.csv", "id;say;v\n" + lines('{n};"a ""b"" c";{n}.5'), "sep=;"),
    "pipes and one doubled quote": ("a.txt", "id|v|s\n" + lines("{n}|{n}.5|x") + '99|1.5|"a ""b"" c"\n', r"sep=\|"),
    "comments and doubled quotes": ("a.csv", "# made by hand\n" + lines('{n},"a ""b"" c",{n}.5'), "comment=#"),
    "lines above doubled quotes": ("a.csv", "Report\n\nid,say,v\n" + lines('{n},"a ""b"" c",{n}.5'), "skipRows|header"),
    "no table, and doubled quotes": ("a.txt", lines('{w}{n} is "the ""{w}"" <U00{n}>" /,{s}'), "is probably data"),
}  # fmt: skip
"""Files that show for certain how they are written, and that the defaults read otherwise."""

COMMANDS = ("count", "head", "sniff", "schema", "stats", "check", "convert", "ingest")


def spark(**options: str) -> None:
    source = SplitscanDataSource(options)
    source.reader(source.schema()).partitions()


DEFAULTS = {
    "ss.scan": lambda path: ss.scan(path).count(),
    "ss.scan_csv": lambda path: ss.scan_csv(path).to_arrow(),
    "Spark": lambda path: spark(path=str(path)),
}
PLACES = {
    **DEFAULTS,
    "ss.scan, dialect=auto": lambda path: ss.scan(path, dialect="auto").count(),
    "ss.sniff_csv": lambda path: logging.getLogger("splitscan").warning("%s", _of(ss.sniff_csv(path))),
    "Spark, dialect=auto": lambda path: spark(path=str(path), dialect="auto"),
}  # fmt: skip


def _of(dialect: ss.Dialect) -> tuple[object, ...]:
    return dialect.doubts, *dialect.guesses().values(), *dialect.options().items()


def silent_doors(
    run, caplog, name: str, text: str, seen: str, places: Mapping[str, Callable[[Path], object]]
) -> list[str]:
    """The doors that say nothing of a file, or nothing of what is odd in it."""
    silent = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text)
        for command in COMMANDS if places is PLACES else ():
            out = {"convert": [Path(folder) / "out.parquet"], "ingest": [Path(folder) / "out"]}.get(command, [])
            _, shown, said = run(command, path, *out)
            if not re.search(seen, said + (shown if command == "sniff" else "")):
                silent.append(f"{command}: {said or shown}")
        for place, read in places.items():
            caplog.clear()
            try:
                read(path)
                said = "\n".join(caplog.messages)
            except SplitscanError as error:
                said = str(error)
            if not re.search(seen, said):
                silent.append(f"{place}: {said}")
    return silent


@pytest.mark.thin(12)
@pytest.mark.parametrize("kind", ODD)
def test_nothing_odd_is_read_in_silence(run, caplog, without_spark, kind):
    assert silent_doors(run, caplog, *ODD[kind], PLACES) == []


@pytest.mark.parametrize("kind", JSON_AS_TEXT)
def test_a_member_that_becomes_text_is_told(run, caplog, without_spark, kind):
    first, last, member = JSON_AS_TEXT[kind]
    seen = f"no type holds the values of {member}.* each is read as its text in the file"
    text = lines(first) + lines(last)
    places = {"ss.scan": lambda path: ss.scan(path).to_arrow(), "Spark": DEFAULTS["Spark"]}
    assert silent_doors(run, caplog, "a.json", text, seen, places) == []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_text(text)
        for command in ("head", "schema", "stats", "convert", "ingest"):
            out = {"convert": [path.with_suffix(".parquet")], "ingest": [path.with_suffix("")]}.get(command, [])
            caplog.clear()
            said = run(command, path, *out)[2]
            assert re.search(seen, "\n".join([said, *caplog.messages])), command
        caplog.clear()
        assert ss.scan(path).count() == 24
        _ = ss.scan(path).schema
        hint = re.search("schemaHints='([^']*) variant'", caplog.messages[-1])
        for type_name in ("variant", "string"):
            caplog.clear()
            ss.scan(path, schema_hints=f"{hint[1]} {type_name}").to_arrow()
            assert caplog.messages == []


@pytest.mark.parametrize("text", ['{{"a": {n}, "a": "{w}"}}', '{{"b": [{{"a": {n}, "c": 1, "\\u0061": {n}}}]}}'])
def test_values_of_a_name_that_comes_twice_are_told(run, caplog, without_spark, text):
    places = {"ss.scan": lambda path: ss.scan(path).to_arrow(), "Spark": DEFAULTS["Spark"]}
    seen = "an object has member 'a' twice: the last value is read"
    assert silent_doors(run, caplog, "a.json", '{"b": []}\n' + lines(text), seen, places) == []
    caplog.clear()
    assert silent_doors(run, caplog, "a.json", lines('{{"a": {n}, "b": [{{"a": 1}}, {{"a": 2}}]}}'), "^$", places) == []


def test_a_header_in_arrays_of_fields_is_told(run, caplog, without_spark, tmp_path):
    text = "name kind min\n" + lines("{w} a 0.{n} 1.{n}")
    options = {"sep": r"\s+", "columnsArray": "true"}
    seen = "probably a header, and is read as data: skipRows=1 leaves it out"
    places = {
        "ss.scan": lambda path: ss.scan(path, **options).to_arrow(),
        "Spark": lambda path: spark(path=str(path), **options),
    }
    assert silent_doors(run, caplog, "a.csv", text, seen, places) == []
    (tmp_path / "a.csv").write_text(text)
    caplog.clear()
    assert ss.scan(tmp_path / "a.csv", **options, skipRows=1).count() == len(ROWS)
    assert caplog.messages == []


NUMBERS = StructType([StructField("v", IntegerType())])
WRONG_NAMES = {
    "a path": ("a.json", '{"rows": [{"v": 1}]}', {"recordPath": "$.row[*]"}, r"no array at recordPath=\$.row"),
    "a path of levels": (
        "a.json", '[{"r": {"a": []}}, {"r": {"b": []}}]', {"recordPath": "$[*].r.c[*]"}, "no array at recordPath",
    ),
    "a tag": ("a.xml", "<a><b><c>1</c></b></a>", {"rowTag": "x"}, "no element x in its first .*the root: b"),
    "a tag with a prefix": ("a.xml", "<a><p:b><c>1</c></p:b></a>", {"rowTag": "b"}, "the root: p:b"),
}  # fmt: skip
RIGHT_NAMES = {
    "a path": ("a.json", '{"rows": [{"v": 1}, {"v": 2}]}', {"recordPath": "$.rows[*]"}),
    "an empty array": ("a.json", '[{"r": {"c": []}}, {"r": {"b": []}}]', {"recordPath": "$[*].r.c[*]"}),
    "a null": ("a.json", '{"r": null}', {"recordPath": "$.r[*]"}),
    "a tag": ("a.xml", "<a><b><v>1</v></b></a>", {"rowTag": "b"}),
    "a tag without its prefix": ("a.xml", "<a><p:b><v>1</v></p:b></a>", {"rowTag": "b", "ignoreNamespace": "true"}),
}


@pytest.mark.parametrize("kind", [*WRONG_NAMES, *(f"no {kind}" for kind in RIGHT_NAMES)])
def test_names_of_records_that_no_file_has_are_told(run, caplog, without_spark, kind):
    name, text, options, seen = WRONG_NAMES.get(kind) or (*RIGHT_NAMES[kind.removeprefix("no ")], "^$")
    read = {**options, "schema": "v int"}
    places = {
        "count": lambda path: ss.scan(path, **options).count(),
        "to_arrow": lambda path: ss.scan(path, **read).to_arrow(),
        "Spark": lambda path: (
            SplitscanDataSource({"path": str(path), **options})
            .reader(StructType([StructField("v", IntegerType())]))
            .partitions()
        ),
    }
    assert silent_doors(run, caplog, name, text, seen, places) == []


def test_a_header_above_columns_of_fixed_width_is_told(run, caplog, without_spark):
    text = "name  size\n" + lines("{w:<6}{n:4d}")
    places = {"ss.scan": lambda path: ss.scan_fixed_width(path, "name 1 6, size 7 4").count()}
    assert silent_doors(run, caplog, "a.txt", text, "column size has numbers below it", places) == []
    caplog.clear()
    assert silent_doors(run, caplog, "a.txt", text.partition("\n")[2], "^$", places) == []


def test_records_that_are_dropped_are_told(run, caplog, without_spark):
    text = "1,2\n3\n" + lines("{n},{n}")
    options = {"schema": "a int, b int", "mode": "DROPMALFORMED"}
    places = {
        "count": lambda path: ss.scan_csv(path, **options).count(),
        "to_arrow": lambda path: ss.scan_csv(path, **options).to_arrow(),
        "batches": lambda path: list(ss.scan_csv(path, **options).to_batches()),
        "head": lambda path: ss.scan_csv(path, **options).limit(3).to_arrow(),
    }
    seen = "1 record is no row; the first begins at byte 4 .* the record has 1 fields where 2 are expected"
    assert silent_doors(run, caplog, "a.csv", text, seen, places) == []


@pytest.mark.parametrize("kind", CERTAIN)
def test_the_defaults_read_nothing_otherwise_in_silence(run, caplog, kind):
    assert silent_doors(run, caplog, *CERTAIN[kind], DEFAULTS) == []


WITH_HEADER = {
    "ss.scan": lambda path: ss.scan(path, header=True).count(),
    "ss.scan_csv": lambda path: ss.scan_csv(path, header=True).to_arrow(),
    "Spark": lambda path: spark(path=str(path), header="true"),
    "ss.scan, dialect=auto": lambda path: ss.scan(path, dialect="auto", header=True).count(),
}
FILLED = "id,a,b,c,d\n" + "".join(f"{n},{n}.5,x{n},y,{n}\n" for n in range(3000))
NOTES = [
    ",Computational note:,,,",
    ",  For large values the numerical,,,",
    ",,,,",
    ",  precision is not enough,,,",
]


@pytest.mark.parametrize("repeated", [1, 12])
def test_notes_below_a_large_table_are_told_with_a_header_that_is_given(run, caplog, repeated):
    text = FILLED + "\n".join([",,,,", *NOTES * repeated]) + "\n"
    assert silent_doors(run, caplog, "a.csv", text, "The file ends with", WITH_HEADER) == []


def test_a_guess_that_is_kept_back_is_seen(run, caplog, without_spark, monkeypatch):
    monkeypatch.setattr(found.Dialect, "guesses", lambda self, has_schema=False: {})
    assert len(silent_doors(run, caplog, *ODD["words"], PLACES)) > len(COMMANDS)


@pytest.mark.parametrize("given", [{"sep": "\t"}, {"sep": "s+"}, {"sep": ";"}, {"sep": "\x1f"}])
def test_whoever_gives_a_separator_is_told_that_it_divides_nothing(caplog, tmp_path, given):
    (tmp_path / "a.tsv").write_text("oak\nelm\nfir\n")
    assert ss.scan(tmp_path / "a.tsv", header=False, **given).count() == 3
    assert ss.scan(tmp_path / "a.tsv", header=False, dialect="auto", **given).count() == 3
    told = [said for said in caplog.messages if "stands in no record of the samples" in said]
    assert len(told) == len(caplog.messages) == (0 if given["sep"] == "\x1f" else 2)
    caplog.clear()
    assert ss.scan(tmp_path / "a.tsv", header=False).count() == 3
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("hint", [{"sep": r"\s+"}, {"recordFormat": "text"}])
def test_the_hint_about_a_single_column_reads_it_in_silence(caplog, tmp_path, hint):
    (tmp_path / "a.txt").write_text("".join(f"w{n} {n}\n" for n in ROWS))
    format = hint.pop("recordFormat", "csv")
    options = {**hint, "header": False} if format == "csv" else hint
    assert ss.scan(tmp_path / "a.txt", format, **options).count() == len(ROWS)
    assert caplog.messages == []


@pytest.mark.parametrize("name", ["recordFormat", "record_format"])
def test_the_option_record_format_is_obeyed(tmp_path, run, name):
    path = tmp_path / "a.csv"
    path.write_text("id,note\n1,x\n")
    assert ss.scan(path, **{name: "text"}).schema.names == ["value"]
    assert [ss.scan(path, **{name: each}).count() for each in ("text", "csv")] == [2, 2]
    assert run("count", path, "-o", f"{name}=text")[1] == run("count", path, "-f", "text")[1] == "2\n"
    with pytest.raises(UsageError, match="option recordFormat takes one of"):
        ss.scan(path, **{name: "nonsense"})
    for another in (ss.scan_text, ss.scan_csv, lambda path, **options: ss.scan(path, "csv", **options)):
        with pytest.raises(UsageError, match="two record formats are named"):
            another(path, **{name: "json"})
    code, _, said = run("count", path, "-f", "csv", "-o", f"{name}=text")
    assert code == 2
    assert "two record formats are named" in said


def test_sniffing_lines_of_a_log_tells_that_other_commands_read_text(run, tmp_path):
    path = tmp_path / "a.log"
    path.write_text("id,v,w\n" + lines("{n},{n}.5,{w}"))
    _, shown, said = run("sniff", path)
    assert "other commands read it as text" in said
    assert "header=True" in shown
    assert run("count", path)[1] == "13\n"
    assert run("count", path, "-f", "csv")[1] == "12\n"
    path.rename(tmp_path / "a.csv")
    assert "other commands" not in run("sniff", tmp_path / "a.csv")[2]
