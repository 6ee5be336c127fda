"""Log records through whole scans: patterns, kinds of logs, every block, lines that fit nothing."""

import datetime as dt
import gzip
import re
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.first_bytes import PRESETS
from splitscan.formats.log.options import parse_pattern
from splitscan.options.table import ValueRefusedError
from splitscan.testing.scan_laws import check_block_law, check_projection_law

APP = (
    "2024-01-31 10:00:00,123 [main] INFO a.B - one\n"
    "2024-01-31 10:00:01,000 ERROR a.C - two\r\n"
    "java.lang.X: no 2024-02-01\r\n\tat a.C\n\nCaused by: y\n"
    "2024-02-01 00:00:00.500 [t 1] WARN b - é☃"
)
START = r"\d{4}-\d\d-\d\d"


@pytest.fixture
def write(tmp_path):
    def write(data, encoding="utf-8"):
        path = tmp_path / "a.log"
        path.write_bytes(data if isinstance(data, bytes) else data.encode(encoding))
        return str(path)

    return write


def values(scan):
    return scan.to_arrow()["value"].to_pylist()


def codes(scan):
    return scan.rejects().to_arrow()["code"].to_pylist()


def test_lines_after_a_start_belong_to_its_record(write):
    path = write(APP)
    trace = "2024-01-31 10:00:01,000 ERROR a.C - two\r\njava.lang.X: no 2024-02-01\r\n\tat a.C\n\nCaused by: y"
    assert values(ss.scan_log(path, record_start=START))[1] == trace
    assert values(ss.scan_log(path, record_continues=r"\s|java|Caused|$"))[1] == trace
    assert values(ss.scan_log(path, record_continues=r"[^2]"))[1] == trace.removesuffix("\n\nCaused by: y")
    assert ss.scan_log(path, record_start=START).count() == 3
    assert ss.scan_log(path).count() == 7


def test_groups_are_typed_columns(write):
    scan = ss.scan_log(write(APP), log_format="java")
    assert format_ddl(scan.schema) == "time timestamp, thread string, level string, logger string, message string"
    first, second, third = scan.to_arrow().to_pylist()
    assert first == {
        "time": dt.datetime(2024, 1, 31, 10, 0, 0, 123000, dt.UTC), "thread": "main", "level": "INFO", "logger": "a.B",
        "message": "one",
    }  # fmt: skip
    assert (second["thread"], second["message"]) == (
        None,
        "two\r\njava.lang.X: no 2024-02-01\r\n\tat a.C\n\nCaused by: y",
    )
    assert third["message"] == "é☃"
    some = ss.scan_log(write(APP), "LEVEL string, logger int", log_format="java")
    assert codes(some) == ["bad-value"] * 3
    assert some.to_arrow().to_pylist()[0] == {"LEVEL": "INFO", "logger": None}
    with pytest.raises(ss.UsageError, match=r"column 'lvl' is no group of the pattern"):
        ss.scan_log(write(APP), "lvl string", log_format="java").to_arrow()


@pytest.mark.thin(1)
@pytest.mark.parametrize("options", [{"log_format": "java"}, {"record_start": START}])
def test_every_block_size_gives_the_same(write, options):
    path = write("  at the end of another\n" + APP)
    scan = ss.scan_log(path, metadata_columns="record_offset", **options)
    check_block_law(scan, [*range(1, 30), 64, 200])
    if "log_format" in options:
        check_projection_law(scan)
    assert codes(scan) == ["before-first-record"]
    assert ss.scan_log(path, mode="DROPMALFORMED", **options).count() == 3


def test_lines_before_the_first_record_are_one_reject(write):
    scan = ss.scan_log(write("x\ny\n\n"), record_start=START)
    assert (values(scan), codes(scan)) == (["x\ny\n"], ["before-first-record"])
    with pytest.raises(ss.RecordError, match="nothing before it begins a record"):
        ss.scan_log(write("x\n" + APP), record_start=START, mode="FAILFAST").to_arrow()
    assert values(ss.scan_log(write(b"\0\0" + APP.encode()), record_start=START))[1].startswith("2024-01-31 10:00:01")
    assert codes(ss.scan_log(write("\ufeff" + APP), record_start=START)) == []


@pytest.mark.parametrize(("mode", "rows"), [("PERMISSIVE", [1, None, 3]), ("DROPMALFORMED", [1, 3])])
def test_records_that_do_not_match(write, mode, rows):
    pattern = r"(?P<n>\d+)(?: (?P<m>\w*))?"
    schema = "n int, m string, _corrupt_record string"
    scan = ss.scan_log(write("1 a\nx 2\n3\n"), schema, record_pattern=pattern, mode=mode)
    found = scan.to_arrow().to_pylist()
    assert [row["n"] for row in found] == rows
    assert codes(scan) == ["no-match"]
    if mode == "PERMISSIVE":
        assert found[1] == {"n": None, "m": None, "_corrupt_record": "x 2"}
    assert found[-1]["m"] is None
    with pytest.raises(ss.RecordError, match="does not match the pattern"):
        ss.scan_log(write("1 a\nx 2\n3\n"), schema, record_pattern=pattern, mode="FAILFAST").to_arrow()


def test_bytes_that_are_no_text_are_matched_all_the_same(write):
    scan = ss.scan_log(write(b"1 a\xff\n\xff\xfe x\n"), record_pattern=r"(?P<a>.) (?P<b>..)")
    assert scan.to_arrow().to_pylist() == [{"a": "1", "b": "a\ufffd"}, {"a": None, "b": None}]
    latin = ss.scan_log(write("1 é\n2 à\n", "latin-1"), record_pattern=r"(?P<a>\d) (?P<b>.)", encoding="windows-1252")
    assert latin.to_arrow()["b"].to_pylist() == ["é", "à"]


def test_a_record_longer_than_allowed_is_given_up(write):
    data = "1 a\n" + " x\n" * 40 + "2 b\n"
    scan = ss.scan_log(write(data), record_start=r"\d", max_record_bytes=20)
    assert (values(scan), codes(scan)) == (["2 b"], ["record-too-long"])


def test_the_beginning_of_a_line_says_whether_it_begins_a_record(write):
    data = "1\n" + " " * 5000 + "\n2" + "x" * 9000 + "\n" + "y" * 4096 + "3\n"
    assert len(values(ss.scan_log(write(data), record_start=r"\d|y*3", block_bytes=100))) == 2


ACCESS = (
    '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a\\"b HTTP/1.0" 200 2326 "http://x/" "M (a \\\\\\" b; c)"\n'
    '::1 - - [10/Oct/2000:13:55:36 -0700] "-" 408 - "-" "-"\n'
)


def test_access_logs(write):
    first, second = ss.scan_log(write(ACCESS), log_format="combined").to_arrow().to_pylist()
    assert first == {
        "host": "127.0.0.1", "ident": None, "user": "frank", "time": dt.datetime(2000, 10, 10, 20, 55, 36, 0, dt.UTC),
        "request": 'GET /a\\"b HTTP/1.0', "status": 200, "bytes": 2326, "referer": "http://x/",
        "agent": 'M (a \\\\\\" b; c)',
    }  # fmt: skip
    assert (second["host"], second["request"], second["bytes"], second["agent"]) == ("::1", None, None, None)
    assert codes(ss.scan_log(write(ACCESS), log_format="common")) == ["no-match"] * 2
    short = "".join(line.rpartition(' "')[0].rpartition(' "')[0] + "\n" for line in ACCESS.splitlines())
    assert ss.scan_log(write(short), log_format="common").to_arrow()["status"].to_pylist() == [200, 408]


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        (
            "syslog",
            "<34>Oct  1 22:14:15 mymachine su[12]: 'su root' failed",
            (34, "Oct  1 22:14:15", "mymachine", "su", 12, "'su root' failed"),
        ),
        (
            "syslog5424",
            '<165>1 2003-10-11T22:14:15.003Z host app - ID47 [x@1 a="b]\\"c"][y] an event',
            (165, 1, dt.datetime(2003, 10, 11, 22, 14, 15, 3000, dt.UTC), "host", "app", None, "ID47",
             '[x@1 a="b]\\"c"][y]', "an event"),
        ),
        (
            "python",
            "2024-01-31 10:00:00,123 - a.b - INFO - text\nTraceback",
            (dt.datetime(2024, 1, 31, 10, 0, 0, 123000, dt.UTC), "a.b", "INFO", "text\nTraceback"),
        ),
    ],
)  # fmt: skip
def test_other_kinds_of_logs(write, name, line, expected):
    scan = ss.scan_log(write(line + "\n"), log_format=name)
    assert tuple(scan.to_arrow().to_pylist()[0].values()) == expected


def test_every_kind_has_columns_for_its_types():
    for preset in PRESETS.values():
        assert set(preset.types) <= set(parse_pattern(preset.pattern)[1])


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(?=x)", "look around or back"), ("(?<!x)y", "look around or back"), (r"(a)\1", "refers back"),
        (r"\bx", "write the characters"), ("a{1001}", "at most 1000"), ("a**", "repeated twice"),
        ("a++", "repeated twice"),
        ("(?m)^a", r"\(\?i\) or \(\?s\)"), ("[a--b]", "hyphen"), ("[a", "close the bracket"), ("(a", "correct it"),
        ("(?P<a b>x)", "letters, digits"), ("(?P<a>x)(?<A>y)", "one group only"), ("x*", "every line"),
        ("", "a pattern, such as"), ("é?", "every line"),
    ],
)  # fmt: skip
def test_patterns_that_are_refused(write, pattern, said):
    with pytest.raises(ss.UsageError, match=said):
        ss.scan_log(write("a\n"), record_start=pattern).count()


def test_options_that_contradict_each_other(write):
    for options in (
        {"record_start": "a", "record_continues": "b"},
        {"log_format": "java", "record_start": "a", "record_continues": "b"},
        {"log_format": "java", "record_pattern": "(?P<a>x)"},
        {"encoding": "UTF-16"},
        {"log_format": "nginx"},
        {"record_pattern": "abc"},
    ):
        with pytest.raises(ss.UsageError, match=r"^\[?option|option|records of logs"):
            ss.scan_log(write("a\n"), **options)


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"[0-9]+&[a&~\[]{2,3}", ["12&[a", "12&&~a", "x"]),
        (r"(?i)é[^\d\s]\x41{2}\.", ["Éxaa.", "é1AA.", "éxAA."]),
        (r"{a}|\}{2}", ["{a}", "}}", "a"]),
        (r"[]x-]+|\W\D", ["]-x", "-a", "a1", "é☃"]),
    ],
)
def test_patterns_mean_what_those_of_python_do(write, pattern, texts):
    written = pattern.replace("[]x", r"[\]x").replace("{a}", r"\{a}").replace(r"\W", "[^0-9A-Za-z_]")
    expected = [re.fullmatch(written, text) is not None for text in texts]
    scan = ss.scan_log(write("\n".join(texts)), record_pattern=f"(?P<all>{pattern})")
    assert [value is not None for value in scan.to_arrow()["all"].to_pylist()] == expected


def of_grok(pattern):
    """A pattern of grok as one of groups, by the names that the page of logs has; and the types that it says."""
    page = (Path(__file__).parents[3] / "docs" / "logs.md").read_text()
    known = dict(line.split(" ", 1) for line in page.rpartition("```\n")[0].rpartition("```\n")[2].splitlines())
    kinds = []

    def group(found):
        name, column, kind = found.groups()
        kinds.append(f"{column} {kind or 'string'}")
        return f"(?P<{column}>{known[name]})"

    return re.sub(r"%\{(\w+):(\w+)(?::(\w+))?\}", group, pattern), ", ".join(kinds)


def test_patterns_of_grok_are_written_out(write):
    pattern, schema = of_grok(
        r"%{IPORHOST:client} \[%{HTTPDATE:at}\] %{LOGLEVEL:level} %{NUMBER:ms:int} %{QS:agent} "
        r"(?:%{INT:id:long} )?%{TIMESTAMP_ISO8601:ready:timestamp} %{NOTSPACE:path} %{WORD:verb}%{DATA:rest}"
    )
    begin = "::1 [10/Oct/2000:13:55:36 -0700] INFO"
    ends = ('12 "a \\" b" 7 2024-01-31T10:00:00Z /x GET', '.5 "" 2024-01-31 10:00:00,5 /y PUT more', '"" no')
    scan = ss.scan_log(write("".join(f"{begin} {end}\n" for end in ends)), schema, record_pattern=pattern)
    first, second, third = scan.to_arrow().to_pylist()
    assert first == {
        "client": "::1", "at": "10/Oct/2000:13:55:36 -0700", "level": "INFO", "ms": 12, "agent": '"a \\" b"', "id": 7,
        "ready": dt.datetime(2024, 1, 31, 10, tzinfo=dt.UTC), "path": "/x", "verb": "GET", "rest": None,
    }  # fmt: skip
    assert (second["ms"], second["id"], second["rest"], set(third.values())) == (None, None, " more", {None})
    assert codes(scan)[0] == "bad-value"
    assert codes(scan)[-1] == "no-match"


@pytest.mark.parametrize("pattern", ["(a+)+b", "(?:a|a)*b", "(?:a*)*b", "(?:a?){50}a{50}b", "(?:.*a){9}b"])
def test_patterns_that_others_try_in_many_ways_take_time_in_the_length_of_the_text(write, pattern):
    text = "a" * 200_000
    scan = ss.scan_log(write(f"{text}\n{text}b\n"), record_pattern=f"(?P<all>{pattern})", record_start="a")
    found = [None if value is None else len(value) for value in scan.to_arrow()["all"].to_pylist()]
    assert found == ([None, 200_001] if "?" not in pattern or "*" in pattern else [None, None])
    assert ss.scan_log(write(f"{text}\n{text}b\n"), record_start=pattern).count() == 1


@pytest.mark.parametrize("pattern", ["(?:a{1000}){1000}", "(?:(?:a{100}){100}){100}", "(" * 300 + "a" + ")" * 300])
def test_patterns_that_are_too_large_are_refused(write, pattern):
    for option in ({"record_start": pattern}, {"record_pattern": f"(?P<all>{pattern})"}):
        with pytest.raises(ss.UsageError, match="bad-option"):
            ss.scan_log(write("a\n"), **option).count()


def test_compressed_logs_are_cut_as_others_are(write, tmp_path):
    packed = tmp_path / "b.log.gz"
    packed.write_bytes(gzip.compress(APP.encode()))
    for options in ({"record_start": START}, {"log_format": "java"}):
        plain = ss.scan_log(write(APP), **options).to_arrow().to_pylist()
        assert ss.scan_log(str(packed), **options).to_arrow().to_pylist() == plain


def test_refused_patterns_say_what_to_do():
    with pytest.raises(ValueRefusedError):
        parse_pattern("(?>x)")


TRACE = "  at the end of another\n2024-01-31 10:00:01,000 ERROR a.C - two\njava.lang.X: no\n\tat a.C\n" * 2
KINDS = {
    "combined": ACCESS,
    "common": '::1 - - [10/Oct/2000:13:55:36 -0700] "-" 408 -\n',
    "java": TRACE.removeprefix("  at the end of another\n"),
    "python": "2024-01-31 10:00:00,123 - a.b - INFO - text\nTraceback\n",
    "syslog": "<34>Oct  1 22:14:15 mymachine su[12]: 'su root' failed\n",
    "syslog5424": "<165>1 2003-10-11T22:14:15.003Z host app - ID47 - an event\n",
    "w3c": "\ufeff#Version: 1.0\r\n#Fields: date time\r\n2024-01-31 10:00:00\r\n",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["a.log", "a"])
def test_logs_that_are_read_as_something_else_are_told_of(tmp_path, caplog, kind, name):
    path = tmp_path / name
    path.write_text(KINDS[kind], newline="")
    scan = ss.scan(str(path))
    scan.to_arrow()
    said = "text" if name == "a.log" else "csv"
    assert f"and is read as {said}: set recordFormat=log and logFormat={kind}," in caplog.text
    caplog.clear()
    assert ss.scan_log(str(path), log_format=kind).count() > 0
    assert "looks like" not in caplog.text


def test_lines_of_a_log_whose_kind_is_known_are_told_of(write, caplog):
    assert ss.scan_log(write(ACCESS)).schema.names == ["value"]
    assert "is read as lines of a log: set recordFormat=log and logFormat=combined" in caplog.text
    caplog.clear()
    for options in ({"record_pattern": "(?P<all>.*)"}, {"record_start": "1"}):
        ss.scan_log(write(ACCESS), **options).to_arrow()
    assert "looks like" not in caplog.text


def test_other_texts_are_no_logs(write, caplog):
    for text in ("hello\nworld\n", "# a\n#Field: b\n1\n", "2024-01-31 10:00:00 plain\n", ""):
        ss.scan(write(text)).to_arrow()
    ss.scan_csv(write(ACCESS), sep=" ").to_arrow()
    assert "looks like" not in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_the_search_for_a_dialect_names_the_kind_of_log(write, kind):
    found = ss.sniff_csv(write(KINDS[kind] * (1 if kind == "w3c" else 3)))
    assert any(f"-f log -o logFormat={kind}" in each for each in found.doubts)
