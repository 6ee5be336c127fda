"""A file whose quotes are doubled is noticed when the escape is Spark's backslash; once, and only then."""

import bz2
import gzip
import logging
import pickle

import pytest

import splitscan as ss
from splitscan.errors import SchemaError, SourceError
from splitscan.formats.csv.sniffing.detection import find_dialect as find
from splitscan.formats.decoding.ddl import as_schema
from splitscan.scans import dialects
from splitscan.spark.session import spark_schema
from splitscan.spark.source import SplitscanDataSource

DOUBLED = b'1,"say ""yes"" now"\n2,b\n'


def _warnings(caplog, tmp_path, data, **options):
    (tmp_path / "a.csv").write_bytes(data)
    scan = ss.scan_csv(str(tmp_path / "a.csv"), "n int, t string", **options)
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        scan.to_arrow()
        scan.plan()
    return [record.getMessage() for record in caplog.records]


def test_doubled_quotes_get_advice_once(caplog, tmp_path):
    (message,) = _warnings(caplog, tmp_path, DOUBLED)
    assert message.endswith('it probably wants option escape="')
    assert "a.csv" in message


@pytest.mark.parametrize(
    "data",
    [b'1,""\n2,""\n', b'"",1\n', b'1,"a \\" b ""c"" d"\n', b"1,plain\n", b"", b'1,""'],
    ids=["empty last", "empty first", "backslashes too", "plain", "nothing", "at the end"],
)
def test_files_that_may_be_right_get_none(caplog, tmp_path, data):
    assert _warnings(caplog, tmp_path, data) == []


def test_the_right_escape_gets_none(caplog, tmp_path):
    assert _warnings(caplog, tmp_path, DOUBLED, escape='"') == []


NOTES = b'id,note,n\n1,"a\nb",10\n2,c,20\n'


@pytest.mark.parametrize(
    ("data", "options", "wanted"),
    [
        (NOTES, {"header": True}, "option multiLine=true (1 quoted value holds a line end)"),
        (NOTES, {"sep": ","}, "options header=true, multiLine=true ("),
        (b"x;n\n1;2\n3;4\n5;6\n", {"header": True}, "option sep=; (2 fields in 4 of 4 records)"),
        (b"# us\nx,n\n1,2\n3,4\n5,6\n", {"header": True}, "option comment=# ("),
        (b"Report\nx,n,m\n1,2,3\n3,4,5\n5,6,7\n", {"header": True}, "option skipRows=1 (the lines before"),
    ],
)
def test_what_the_defaults_read_otherwise_than_the_file_shows_is_a_warning(caplog, tmp_path, data, options, wanted):
    (tmp_path / "a.csv").write_bytes(data)
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        ss.scan_csv(tmp_path / "a.csv", **options).count()
    (record,) = caplog.records
    assert f"a.csv probably wants {wanted}" in record.getMessage()


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"day,rain,wind\n,mm,m/s\n" + b"1.1.2000,1.5,2.5\n" * 9, "may be units or names"),
        (b"day,rain,wind\n#,mm,m/s\n" + b"1.1.2000,1.5,2.5\n" * 9, "may be units"),
        (b"n a b c\nx 1 2.5 3\ny 4 5.5  6\nz 7 8.5 9\nw  1 2 3\n", "between blanks"),
        (b"1.5 2.5 3.5\n4.5 5.5  6.5 7.5\n" * 9, "numbers"),
        (b"0300:-8\n0301:-7\n0302:-6\n", "between colons"),
        (b"1.5\t2\n! Port\t3\n2.5\t4\n3.5\t4\n! Port\t3\n4.5\t1\n", "begin with !"),
        (b"1.5,2\n; Port,3\n2.5,4\n3.5,4\n; Port,3\n4.5,1\n", "begin with ;"),
        (b"name,n\nann,1\nbob,2\ncat,3\ndan,4\neve,5\nname,n\nfay,6\n", "comes again"),
        (b"name,n\nann,1\nbob,2\ncat,3\ndan,4\neve,5\nTotal,15\n", "Total"),
        (b"name,n\n-----,--\nann,1\nbob,2\ncat,3\ndan,4\n", "a rule"),
    ],
)
def test_what_the_search_refuses_is_a_warning_with_the_defaults(caplog, tmp_path, data, seen):
    (tmp_path / "a.csv").write_bytes(data)
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        ss.scan_csv(tmp_path / "a.csv").count()
    (message,) = [each.getMessage() for each in caplog.records if "may be read wrong" in each.getMessage()]
    assert "a.csv may be read wrong: " in message
    assert seen in message


def test_whoever_gives_a_schema_is_not_told_what_the_search_refuses(caplog, tmp_path):
    assert not [said for said in _warnings(caplog, tmp_path, b"1,a\n2,b\n3,c\nTotal,6\n") if "read wrong" in said]


@pytest.mark.parametrize(
    "options",
    [{"header": True, "multi_line": True}, {"header": False, "multi_line": False}, {"dialect": "auto"}],
)
def test_what_is_said_is_meant(caplog, tmp_path, options):
    (tmp_path / "a.csv").write_bytes(NOTES)
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        ss.scan_csv(tmp_path / "a.csv", **options).count()
    assert caplog.records == []


@pytest.mark.parametrize(
    ("data", "options", "seen"),
    [
        (b"b,c\n" + b"r,1,2\n" * 9, {"header": True}, "The header has 2 names and the records have 3 fields"),
        (
            b"a,b\n" + b"1,2,\n" * 9,
            {"header": True},
            "The header has 2 names and the records have 3 fields, the last of them empty: give",
        ),
        (b"1,2\n3,4,5\n6\n7,8\n" * 3, {"sep": ","}, "Only 50 % of the records have 2 fields."),
    ],
)
def test_what_a_file_shows_against_what_is_given_is_a_warning(caplog, tmp_path, data, options, seen):
    (tmp_path / "a.csv").write_bytes(data)
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        ss.scan_csv(tmp_path / "a.csv", **options).count()
    (record,) = caplog.records
    assert f"a.csv contradicts the options: {seen}" in record.getMessage()


def test_json_over_several_lines_gets_advice(caplog, tmp_path):
    (tmp_path / "a.json").write_text('[\n  {"id": 1}\n]\n')
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        ss.scan_json(tmp_path / "a.json", "id int").to_arrow()
        ss.scan_json(tmp_path / "a.json", "id int", multiLine=True).to_arrow()
    assert [record.getMessage().endswith("wants option multiLine=true") for record in caplog.records] == [True, False]
    assert "each of 2 records breaks a rule, and has nulls" in caplog.records[1].getMessage()


def test_where_no_columns_are_found_the_option_is_named_too(caplog, tmp_path):
    (tmp_path / "a.json").write_text('[{"id": 1}, {"id": 2}]\n')
    with caplog.at_level(logging.WARNING, logger="splitscan"), pytest.raises(SchemaError, match="no-schema"):
        _ = ss.scan_json(tmp_path / "a.json").schema
    assert [record.getMessage().endswith("wants option multiLine=true") for record in caplog.records] == [True]


def test_whoever_packs_tasks_is_advised_too_and_no_secret_is_shown(caplog, tmp_path):
    (tmp_path / "a.csv?sig=hunter2").write_bytes(DOUBLED)
    scan = ss.scan_csv(str(tmp_path), "n int, t string")
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        scan.tasks(scan.blocks())
    (record,) = caplog.records
    assert "a.csv?sig=***" in record.getMessage()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("format", ["csv", "json", "text"])
def test_wide_text_that_is_read_as_utf8_gets_advice(caplog, tmp_path, encoding, format):
    (tmp_path / "a").write_bytes('{"a": 1}\n'.encode(encoding))
    wanted = {"utf-16-le": "UTF-16LE", "utf-16-be": "UTF-16BE"}.get(encoding, encoding.upper())
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        ss.scan(str(tmp_path / "a"), format).plan()
        assert caplog.records[0].getMessage().endswith(f"wants option encoding={wanted}")
        caplog.clear()
        ss.scan(
            str(tmp_path / "a"),
            format,
            encoding=wanted,
            **({"sep": "\x1f", "header": False} if format == "csv" else {}),
        ).plan()
    assert not caplog.records


def test_a_stray_zero_is_no_wide_text(caplog, tmp_path):
    assert _warnings(caplog, tmp_path, b"1,a\0b and more text\n") == []


def test_a_compressed_file_of_nothing_gets_none(caplog, tmp_path):
    messages = _warnings(caplog, tmp_path, gzip.compress(b""))
    assert all(message.endswith("it is read as what it is") for message in messages)


@pytest.mark.parametrize(
    "door",
    ["to_arrow", "count", "plan", "explain", "explain_schema", "check", "show", "to_pandas", "to_polars", "schema",
     "limit", "count of a limit", "rejects"],
)  # fmt: skip
def test_every_door_says_it_once(caplog, tmp_path, door, capsys):
    (tmp_path / "a.csv").write_text('id,note,n\n1,"a\nb",10\n2,c,20\n')
    scan = ss.scan_csv(tmp_path / "a.csv", header=True)
    doors = {
        "schema": lambda: scan.schema,
        "limit": lambda: scan.limit(1).to_arrow(),
        "count of a limit": lambda: scan.limit(2).count(),
        "rejects": lambda: scan.rejects().to_arrow(),
    }
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        doors.get(door, getattr(scan, door, None))()
    said = [record.getMessage() for record in caplog.records if "probably wants" in record.getMessage()]
    assert [message.partition(" probably")[2] for message in said] == [
        " wants option multiLine=true (1 quoted value holds a line end)"
    ]
    capsys.readouterr()


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"time,temp,key\ns,C,id\n" + b"1,2.5,k\n" * 9, "The line 's,C,id' below the first one may be units or names"),
        (b"a,b\n" + b"1,2\n" * 9 + b"c,d\n" + b"3,4\n" * 9, "The line 'c,d', line 11, names columns again"),
    ],
)
def test_lines_that_are_no_records_are_said_where_the_header_is_given(caplog, tmp_path, data, seen):
    (tmp_path / "a.csv").write_bytes(data)
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        ss.scan_csv(tmp_path / "a.csv", header=True, dialect="auto").count()
    (record,) = caplog.records
    assert f"a.csv contradicts the options: {seen}" in record.getMessage()
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        ss.scan_csv(tmp_path / "a.csv", header=False).count()
    assert not caplog.records


def test_quotes_that_none_closes_are_advised_to_be_data(caplog, tmp_path):
    rows = b't1\tshort\t"Carmencita\t0\nt2\tshort\t"A" Movie\t0\nt3\tshort\tPauvre\t1\nt4\tmovie\t"Quoted"\t0\n'
    (tmp_path / "a.tsv").write_bytes(b"tconst\ttype\ttitle\tadult\n" + rows)
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        ss.scan_csv(tmp_path / "a.tsv", sep="\t").plan()
        said = caplog.records[0].getMessage()
        ss.scan_csv(tmp_path / "a.tsv", sep="\t", quote="", header=True).to_arrow()
    assert "probably wants options quote='', header=true" in said
    assert len(caplog.records) == 1


@pytest.mark.parametrize("text", [b"abc\n1,2\n2,3\n", b"a,b\n1,2\n" * 40])
@pytest.mark.parametrize("codec", [gzip, bz2])
def test_a_file_that_is_compressed_twice_is_said_to_be(tmp_path, codec, text):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(codec.compress(text)))
    with pytest.raises(SourceError, match="packed twice") as caught:
        ss.scan_csv(tmp_path / "a.csv.gz", dialect="auto")
    assert caught.value.reason_code == "compressed-input"


LONG = b"id,t\n" + b'1,"a ""b"", c\nd"\n' * 2000  # the look ends inside of quotes


@pytest.mark.parametrize(
    ("data", "options", "searches"),
    [
        (b'id,t\n1,"a\nb"\n2,"c"\n', {"multi_line": True}, False),
        (b'id,t\r\n1,"a\r\nb"\r\n"2",c\r\n', {"multi_line": True}, False),
        (b'id,t\n1,"say ""a"", b"\n', {"escape": '"'}, False),
        (b'id||t\n1||"a || b"\n', {"sep": "||"}, False),
        (b"id,t\n1,'a, b'\n2,c\n", {"quote": "'"}, False),
        (LONG, {"multi_line": True, "escape": '"'}, False),
        (b'id,t\n1,"a\nb"\n2,"c"\n', {}, True),  # the line end is no part of a value
        (b'id,t\n1,"a \\"b\\""\n', {}, True),
        (b'id,t\n1,5" pipe\n2,6" bolt\n', {"multi_line": True, "escape": '"'}, True),
        (b'id,t\n1,"a" b\n2,c\n', {"multi_line": True}, True),
        (b'id,t\n1,"a\n2,b\n3,c\n', {"multi_line": True}, True),  # the file ends inside of quotes
        (b"id,t\n1,a\n2,b,c\n", {}, True),
        (b"id\n1\n2\n", {}, True),
    ],
)
def test_quotes_of_a_careful_writer_need_no_search(monkeypatch, tmp_path, data, options, searches):
    searched = []
    monkeypatch.setattr(dialects, "find_dialect", lambda *look: searched.append(look) or find(*look))
    dialects._find_once.cache_clear()
    (tmp_path / "a.csv").write_bytes(data)
    for _ in range(2):
        ss.scan_csv(tmp_path / "a.csv", "id int, t string", header=True, enforce_schema=True, **options).plan()
    assert len(searched) == searches  # once for the same beginning


DIVIDED = [
    "".join(f"k{n}\t{n}\t0.{n}{'' if n % 2 else chr(9) + 'x'}\n" for n in range(100)),
    "".join(f"k{n};{n};0.{n}{'' if n % 2 else ';x'}\n" for n in range(100)),
    "".join(f"k{n}|{n}|0.{n}{'' if n % 2 else '|x|y'}\n" for n in range(100)),
    "".join(f"   {n}.    {n}.5    {n}E+04 {'' if n % 3 else '   0.'}\n" for n in range(30)),
    "".join(f"{n}.0   1.5   2.{n}\n" for n in range(9)) + "mantle\n" + "".join(f"{n}.   3.   4.\n" for n in range(9)),
    "A\tB\tC\n\n" + "x\t1\n\ny\t2\t3\t4\n" * 20,
    "".join(f"a{n}\tb\n" if n % 3 else "a\tb\tc\td\te\tf\n" for n in range(50)),
    "".join("p;q;r;s\n" if n % 2 else "p;q\n" for n in range(50)),
    "".join(f"alpha{n}    beta gamma{'    delta' * (n % 3)}\n" for n in range(40)),
    "".join(f"{n}" + "\tv" * (n % 5 + 1) + "\n" for n in range(60)),
]


@pytest.mark.parametrize("text", DIVIDED)
def test_a_table_that_the_defaults_read_as_one_column_is_told_however_little_it_looks_like_one(caplog, tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    ss.scan_csv(tmp_path / "a.txt").count()
    assert len(caplog.messages) == 1
    assert "may be read wrong" in caplog.text or "probably wants" in caplog.text


PREAMBLES = ["Report\n", "Report of 2024\nmade by hand\n\n", "made in May: all of it\n", "# x\nReport of it\n",
             "Table 3\n\n", "v2\n", "of: Ann\nat: noon\n", "Export,\n", "The stations (north)\n", "1\n"]  # fmt: skip


@pytest.mark.parametrize("above", PREAMBLES)
def test_lines_that_are_skipped_unasked_are_shown_once_at_every_door(caplog, tmp_path, above):
    path = tmp_path / "a.csv"
    path.write_text(f"{above}id,name,v,w\n" + "".join(f"{n},a,{n}.5,x\n" for n in range(9)))
    skipped = ss.sniff_csv(path).skip_rows
    schema = "id int, name string, v double, w string"
    for read in (
        lambda: ss.scan_csv(path, dialect="auto").count(),
        lambda: ss.scan_csv(path, schema, dialect="auto").count(),
        lambda: SplitscanDataSource({"path": str(path), "dialect": "auto"}).schema(),
        lambda: SplitscanDataSource({"path": str(path), "dialect": "auto"}).reader(spark_schema(as_schema(schema))),
    ):
        caplog.clear()
        read()
        assert sum(f"skips lines by skipRows={skipped}: " in each for each in caplog.messages) == 1
    caplog.clear()
    ss.scan_csv(path, dialect="auto", skip_rows=skipped).count()
    assert "skips lines" not in caplog.text


GUESSED = {
    "word above words": ("Oslo\nRome\nLima\nParis\nBonn\n", "is a header is not clear, it is read as data"),
    "texts": ("Oslo,Norway\nRome,Italy\nParis,France\n", "is a header is not clear, it is read as data"),
    "words that repeat": ("word,kind\n" + "oak,tree\nrose,flower\nfir,tree\n" * 4, "is probably a header"),
    "codes": ("code,name\n" + "A1,x y\nB2,zz\nC3,k\nD4,lll m\n", "is probably a header"),
    "first letters": (
        "Word,Kind of it\n" + "".join(f"{'abcdef'[: n % 5 + 1]}{n:b},a {n:b} b\n" for n in range(12)),
        "is probably a header",
    ),
    "small words": ("targets, factors\n" + "".join(f"G{n}, (! A{n} & B)\n" for n in range(12)), "is probably a header"),
    "numbers": (
        "k,1,2,3\n" + "".join(f"a{n},{n * 7 % 11}.5,{n}.25,{3 * n % 5}.5\n" for n in range(9)),
        "is probably a header",
    ),
    "open quotes": ("id\ttitle\n" + '1\t"Carmen\n2\tFaust\n3\t"Aida\n4\tNorma\n' * 3, "quote='' is probably right"),
    "another separator": (
        "n\ta\tb\n" + "".join(f"1\t0,{n},x\t2\n" for n in range(10, 30)),
        r"sep=\t is probably right",
    ),
    "wide": ("id,name\n" + "1,Zoe\n2,Max\n" * 20, "encoding=UTF-16LE is probably right"),
}


def _doors(path, schema):
    """Reading with dialect=auto as every door does: in Python, and on Spark with and without a schema."""
    options = {"path": str(path), "dialect": "auto"}
    yield lambda: ss.scan_csv(path, dialect="auto").to_arrow()

    def load():
        source = SplitscanDataSource(options)
        found = source.schema()
        source.schema()  # as a plan of Spark's connector asks again
        pickle.loads(pickle.dumps(source)).reader(found).partitions()

    yield load
    yield lambda: SplitscanDataSource(options).reader(spark_schema(as_schema(schema))).partitions()


@pytest.mark.parametrize("kind", GUESSED)
def test_a_guess_is_said_once_at_every_door(caplog, tmp_path, kind):
    text, seen = GUESSED[kind]
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode("utf-16-le" if kind == "wide" else "utf-8"))
    width = len(ss.scan_csv(path, dialect="auto").schema)
    for read in _doors(path, ", ".join(f"c{n} string" for n in range(width))):
        caplog.clear()
        read()
        assert sum("a.csv: " in each and seen in each for each in caplog.messages) == 1, caplog.messages


@pytest.mark.parametrize(
    "text",
    ["id,name\n" + "1,Zoe\n2,Max\n" * 5, "a;b\n1;2\n", 'k,v\n1,"a\nb"\n2,"c"\n',
     "x\ty\n1\t2\n", "day,v\n2020-01-01,5\n2020-01-02,6\n", "é,n\nà,1\n", "id|t\n1|a\n"],
)  # fmt: skip
def test_what_is_certain_is_not_said(caplog, tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    width = len(ss.scan_csv(tmp_path / "a.csv", dialect="auto").schema)
    for read in _doors(tmp_path / "a.csv", ", ".join(f"c{n} string" for n in range(width))):
        caplog.clear()
        read()
        assert [each for each in caplog.messages if "Python workers" not in each] == []


@pytest.mark.parametrize(("option", "value"), [("header", "true"), ("header", "false")])
def test_a_guess_that_an_option_settles_is_not_said(caplog, tmp_path, option, value):
    (tmp_path / "a.csv").write_text(GUESSED["texts"][0])
    ss.scan_csv(tmp_path / "a.csv", dialect="auto", **{option: value}).count()
    assert caplog.messages == []


def test_advice_is_said_once_for_what_spark_loads(caplog, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id;t\n1;"a\nb"\n2;"c"\n')
    source = SplitscanDataSource({"path": str(path)})
    found = source.schema()
    source.reader(found).partitions()
    pickle.loads(pickle.dumps(source)).reader(found).partitions()
    assert sum("probably wants options" in each for each in caplog.messages) == 1
    caplog.clear()
    SplitscanDataSource({"path": str(path)}).reader(spark_schema(as_schema("a string"))).partitions()
    assert sum("probably wants options" in each for each in caplog.messages) == 1
