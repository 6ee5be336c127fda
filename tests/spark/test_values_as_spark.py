"""Values that a migrating user compares first: both engines and Spark's own readers on the same small files."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import splitscan as ss

QUOTES = [
    '"x"""', '"x""",y', '"""x"""', '"x""y"', 'a,"x""",c', '"x""y",z', '"x"" ",z', '"",""""', '"x\\"",y', '"x\\\\",y',
    '"x"""",y', '"x""', '"x"" ,y', '"x" " ,y', '"x"" y",z', '""",y', '"\\"""",y', '"x\\\\""",y', '" ""  ,y', '"" "",y',
    '"a"b"",y', '"a""b"",y',
]  # fmt: skip
SEPARATORS = ['#a""||b||c', 'a""||b', '#a"||b', '"a"||"b"', 'a||"b""c"||d', '"a""||b', '"a"" ||b']
JSON = [
    '{"a":{"x":2}}', '{"a":{"x":2.0,"y":1e300}}', '{"a":{ "x" : 2 , "y":[1, 2]}}', '{"a":1.0E300}', '{"a":1.0}',
    '{"a":[1, "x\\u00e4", null]}', '{"a":1e2}', '{"a":0.10}', '{"a":{"x":"\\/"}}', '{"a":-0}',
    '{"a":12345678901234567890123}', '{"a":{"x":1.10}}', '{"a":true,"b":null}', "{'a':{'x':'y'}}",
    '{"a":{"x":1,"x":2}}',
]  # fmt: skip
TIMES = '{"a":"2024-01-02 03:04:05","b":"2024-07-02T03:04:05+02:00","c":"2024-07-02"}'


ENGINES = ["kernel", "reference"]


def compare(
    spark: SparkSession, tmp_path: Path, texts: list[str], schema: str, kind: str, **options: Any
) -> Iterator[tuple[Any, Any]]:
    """What Spark reads of one file for each text, beside what each engine reads of it, in the order of the texts."""
    paths = [tmp_path / f"{number:03}.{kind}" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode() + b"\n")
    theirs = spark.read.format(kind).options(**options).schema(schema).load(str(tmp_path))
    expected = sorted((row[-1], *row[:-1]) for row in theirs.select("*", "_metadata.file_name").collect())
    scan = ss.scan(str(tmp_path), kind, schema=schema, metadata_columns=["file_name"], **options)
    for engine in ENGINES:
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("SPLITSCAN_ENGINE", engine)
            ours = [tuple(row.values()) for row in scan.to_arrow().to_pylist()]
        yield expected, sorted((row[-1], *row[:-1]) for row in ours)


@pytest.mark.parametrize("multi_line", [False, True])
@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (QUOTES, {}), (QUOTES, {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True}),
        (SEPARATORS, {"sep": "||"}), (SEPARATORS[:5], {"sep": "||", "escape": '"'}),
        (SEPARATORS, {"sep": "||", "comment": "#"}),
    ],
    ids=["quotes", "quotes, trimmed", "separators", "separators, doubled", "separators, comments"],
)  # fmt: skip
def test_quotes_that_are_not_escaped_are_read_as_spark_reads_them(
    spark: SparkSession, tmp_path: Path, multi_line: bool, texts: list[str], options: dict[str, Any]
) -> None:
    """Several quotes at the end of a field: the last one closes it. Row by row, so that no text hides another."""
    schema = "a string, b string, c string"
    for expected, found in compare(spark, tmp_path, texts, schema, "csv", multiLine=multi_line, **options):
        assert found == expected


def test_json_in_a_string_column_is_written_as_spark_writes_it(spark: SparkSession, tmp_path: Path) -> None:
    for expected, found in compare(spark, tmp_path, JSON, "a string, b string", "json"):
        assert found == expected


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_times_of_json_are_in_the_zone_that_the_option_names(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    columns = "a timestamp, b timestamp, c timestamp"
    as_texts = "cast(unix_micros({0}) as string) {0}"
    path = tmp_path / "a.json"
    path.write_text(TIMES)
    theirs = spark.read.schema(columns).option("timeZone", zone).json(str(path))
    expected = [int(value) for value in theirs.selectExpr(*map(as_texts.format, "abc")).first()]
    ours = ss.scan_json(str(path), schema=columns, time_zone=zone).to_arrow()
    assert [ours[name][0].value for name in "abc"] == expected


@pytest.mark.parametrize("multi_line", [False, True])
def test_counting_fails_on_a_broken_record_where_spark_does_only_with_multi_line(
    spark: SparkSession, tmp_path: Path, multi_line: bool
) -> None:
    """``docs/differences.md`` says so: here the number of rows never depends on what is read of them."""
    path = tmp_path / "a.csv"
    path.write_text("1,2,3\n1,2,3,4\n")
    options = {"mode": "FAILFAST", "multiLine": multi_line}
    theirs = spark.read.options(**options).schema("a int, b int, c int").csv(str(path))
    if multi_line:
        with pytest.raises(Exception, match="MALFORMED"):
            theirs.count()
    else:
        assert theirs.count() == 2
    with pytest.raises(ss.RecordError, match="field-count"):
        ss.scan_csv(str(path), schema="a int, b int, c int", **options).count()


def rows_of_both(spark: SparkSession, path: Path, kind: str, schema: str, **options: Any) -> tuple[Any, Any]:
    """What Spark reads of one file, and what both engines read of it."""
    theirs = spark.read.format(kind).options(**options).schema(schema).load(str(path))
    found = []
    for engine in ENGINES:
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("SPLITSCAN_ENGINE", engine)
            found.append(ss.scan(str(path), kind, schema, **options).to_arrow().to_pylist())
    assert found[0] == found[1]
    return theirs.toArrow().to_pylist(), found[0]


def test_every_short_field_of_quotes_blanks_and_letters_is_what_spark_reads(
    spark: SparkSession, tmp_path: Path
) -> None:
    fields = [f'"{"".join(inside)}"' for n in range(5) for inside in itertools.product('x" ', repeat=n)]
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{field},{number}\n" for number, field in enumerate(fields)))
    theirs, ours = rows_of_both(spark, path, "csv", "a string, b int")
    assert len(theirs) == len(fields)
    assert ours == theirs


LISTED = [  # as differences.md has it: text, options, Spark's rows, our rows
    ('#a""\n', {"sep": "||"}, [('#a"""', None)], [('#a""', None)]),
    ('"x" y"||1\n', {"sep": "||"}, [('"x" y"||1"', None)], [('"x" y"', "1")]),
    ('"a\\"b"c,1\n', {}, [('"a"b"c', "1")], [('"a\\"b"c', "1")]),
    ('""""x",1\n', {"escape": '"'}, [('"""x"', "1")], [('""""x"', "1")]),
    ('""x",1\n', {"escape": ""}, [('"x', "1")], [('""x"', "1")]),
    (
        '"a^\\x",1\n"a^\\x\\"b^c",2\n',
        {"charToEscapeQuoteEscaping": "^"},
        [("a^\\x", "1"), ('a\\x"bc', "2")],
        [("a\\x", "1"), ('a\\x"b^c', "2")],
    ),
    ("a,b\r\nc,d\ne,f\n", {"multiLine": True}, [("a", "b"), ("c", "d\ne")], [("a", "b"), ("c", "d"), ("e", "f")]),
    ('"a\r\nb",1\r\n', {"multiLine": True}, [("a\nb", "1")], [("a\r\nb", "1")]),
    ("a,b\n\rc,d\n", {"multiLine": True}, [("a", "b"), ("\rc", "d")], [("a", "b"), ("c", "d")]),
]


@pytest.mark.parametrize("multi_line", [False, True])
def test_values_with_stray_quotes_are_skipped_as_spark_skips_them(
    spark: SparkSession, tmp_path: Path, multi_line: bool
) -> None:
    """Every short field; after `""` Spark reads on from its second quote, as its parser happens to."""
    options = {"unescapedQuoteHandling": "SKIP_VALUE", "multiLine": multi_line}
    fields = [f'"{"".join(inside)}"' for n in range(5) for inside in itertools.product('x" ', repeat=n)]
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{number},{field}\n" for number, field in enumerate(fields)))
    theirs, ours = rows_of_both(spark, path, "csv", "b int, a string", **options)
    assert len(theirs) == len(fields)
    assert ours == theirs


HANDLINGS = [  # what Spark makes of a line end in a quoted field whose stray quote comes later
    ("BACK_TO_DELIMITER", '"a\nb"x,c\n1,2\n', ["a", "bx,c\n1,2\n"]),
    ("BACK_TO_DELIMITER", '"a\nb","c"\n1,2\n', ["a\nb", "1"]),
    ("STOP_AT_CLOSING_QUOTE", '"a"b,c\n1,2\n"x",3\n', ['a"b,c\n1,2\n"x']),
    ("STOP_AT_CLOSING_QUOTE", '"a",c\n1,2\n"x",3\n', ["a", "1", "x"]),
]


@pytest.mark.parametrize(("handling", "text", "firsts"), HANDLINGS)
def test_other_handlings_of_stray_quotes_let_one_field_decide_about_other_records(
    spark: SparkSession, tmp_path: Path, handling: str, text: str, firsts: list[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    options = {"multiLine": True, "unescapedQuoteHandling": handling}
    rows = spark.read.options(**options).schema("a string, b string").csv(str(path)).collect()
    assert [row["a"] for row in rows] == firsts
    with pytest.raises(ss.UsageError, match="unescapedQuoteHandling"):
        ss.scan_csv(str(path), schema="a string, b string", **options)


def test_a_stray_quote_fails_the_job_in_every_mode_where_it_raises_an_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text('"a"b,c\n1,2\n')
    theirs = spark.read.options(unescapedQuoteHandling="RAISE_ERROR", mode="PERMISSIVE").schema("a string, b string")
    with pytest.raises(Exception, match=r"(?i)unescaped quote|malformed"):
        theirs.csv(str(path)).collect()


@pytest.mark.parametrize("multi_line", [False, True])
@pytest.mark.parametrize("special", ["^", "", "\0"])
def test_escapes_of_escapes_are_read_as_spark_reads_them(
    spark: SparkSession, tmp_path: Path, multi_line: bool, special: str
) -> None:
    """Every short field; Spark drops the character where it stands alone in a field that it reads slowly."""
    tokens = {"^": r'x|\^\\?+|\\"|\\(?=[x\\^])', "": r'x|\\"|\\\\|\\(?=x)', "\0": r'x|\\"|\\(?=[x\\])'}
    closed = re.compile(f"(?:{tokens[special]})*")
    insides = ["".join(inside) for n in range(6) for inside in itertools.product('x\\^"', repeat=n)]
    fields = [f'"{inside}"' for inside in insides if closed.fullmatch(inside)]
    options = {"charToEscapeQuoteEscaping": special, "multiLine": multi_line}
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{number},{field}\n" for number, field in enumerate(fields)))
    theirs, ours = rows_of_both(spark, path, "csv", "b int, a string", **options)
    assert len(theirs) == len(fields) > 60
    assert [(row["b"], _bare(row["a"])) for row in ours] == [(row["b"], _bare(row["a"])) for row in theirs]


def _bare(text: str | None) -> str:
    return (text or "").replace("^", "")


@pytest.mark.parametrize(("text", "options", "spark_has", "we_have"), LISTED)
def test_what_is_listed_as_different_differs_as_listed(
    spark: SparkSession, tmp_path: Path, text: str, options: dict[str, Any], spark_has: Any, we_have: Any
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    theirs, ours = rows_of_both(spark, path, "csv", "a string, b string", **options)
    assert [tuple(row.values()) for row in theirs] == spark_has
    assert [tuple(row.values()) for row in ours] == we_have


def test_spark_reads_a_record_by_its_position_where_doubled_quotes_have_another_escape(
    spark: SparkSession, tmp_path: Path
) -> None:
    """So the option is refused there: nothing near the record says which reading is meant."""
    options = {"escape": '"', "charToEscapeQuoteEscaping": "^", "multiLine": True}
    read = {}
    for length in (1, (1 << 20) - 5):
        path = tmp_path / f"{length}.csv"
        path.write_text(f'{"x" * length},"a^",c\nd",e\n')
        read[length] = [
            tuple(row)[1:]
            for row in spark.read.options(**options).schema("a string, b string").csv(str(path)).collect()
        ]
    assert read[1] == [("a^",), ("e",)]
    assert read[(1 << 20) - 5] == [('a",c\nd',)]
    with pytest.raises(ss.UsageError, match="charToEscapeQuoteEscaping and escape contradict"):
        ss.scan_csv(str(path), schema="a string, b string", **options)


def test_json_nulls_are_where_spark_has_them_whatever_value_does_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    values = [
        *("1", '"x"', "null", "1.5", "true", "[1]", '["x",2]', "[null]", '{"x":1}', '{"x":"y"}', '{"x":null}', "{}")
    ]
    lines = [f'{{"a":{one},"b":{other},"k":{n}}}' for n, (one, other) in enumerate(itertools.product(values, values))]
    lines += ["{}", '{"b":1}', "null", '{"k":1}', '{"a":1,"b":}', '{"a":', "1"]
    path = tmp_path / "a.json"
    path.write_text("\n".join(lines))
    for schema in (
        "a int, b string",
        "a struct<x:int>, b array<int>",
        "a boolean, b map<string,int>",
        "b double, a date",
    ):
        theirs, ours = rows_of_both(spark, path, "json", f"{schema}, k int, _corrupt_record string")
        assert ours == theirs
