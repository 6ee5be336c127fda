"""Variants: of JSON the bytes of ``parse_json``, and the rows of Spark's own ``singleVariantColumn``."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from tests.kernel.json_cases import NAMES, SCALARS

import splitscan as ss
from splitscan.spark.connector import SETTING

pytestmark = pytest.mark.spark

LINES = '{"a":1,"b":{"c":"x"}}\n7\n\nnull\n[1.50,true]\n{"a":\n"s"\n'


def random_json(draw: random.Random, depth: int) -> str:
    """A value that every JSON parser reads, without a lone surrogate and without a name that comes twice."""
    choice = draw.random()
    if depth and choice < 0.25:
        return "[" + ",".join(random_json(draw, depth - 1) for _ in range(draw.randint(0, 5))) + "]"
    if depth and choice < 0.6:
        names = draw.sample(sorted({*NAMES, "😀", "\ufffd", "z", "\ue000"}), draw.randint(0, 8))
        pairs = (f"{quoted(name)}: {random_json(draw, depth - 1)}" for name in names)
        return "{" + ", ".join(pairs) + "}"
    return draw.choice([text for text in SCALARS if r"\ud" not in text or text == r'"\ud83d\ude00"'])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '\\"').replace("\n", "\\n") + '"'


def test_variants_have_the_bytes_of_parse_json(spark: SparkSession, tmp_path: Path) -> None:
    draw = random.Random(20240607)
    texts = [random_json(draw, 4).replace("\n", " ") for _ in range(1000)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(texts))
    ours = ss.scan_json(str(path), single_variant_column="v").to_arrow()["v"].to_pylist()
    parsed = spark.read.text(str(path)).select(fn.parse_json("value").alias("v")).toArrow()["v"].to_pylist()
    assert [each["value"].hex() for each in ours] == [each["value"].hex() for each in parsed]
    assert [each["metadata"].hex() for each in ours] == [each["metadata"].hex() for each in parsed]


@pytest.fixture
def read_by_python(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(SETTING, "false")
    yield
    spark.conf.unset(SETTING)


def shown(frame: DataFrame) -> list[Any]:
    return [row[0] for row in frame.select(fn.to_json("v")).collect()]


@pytest.mark.parametrize("through", ["frame", "source", "python"])
def test_every_door_of_spark_gives_variants(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, through: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(LINES)
    if through == "python":
        request.getfixturevalue("read_by_python")
    if through == "source":
        reader = spark.read.format("splitscan").option("recordFormat", "json").option("singleVariantColumn", "v")
        frame = reader.load(str(path))
    else:
        frame = ss.scan_json(str(path), single_variant_column="v").to_spark(spark)
    assert frame.schema.simpleString() == "struct<v:variant>"
    assert shown(frame) == ['{"a":1,"b":{"c":"x"}}', "7", "null", "[1.5,true]", None, '"s"']
    assert frame.count() == 6
    frame.createOrReplaceTempView("events")
    query = "SELECT variant_get(v, '$.b.c', 'string'), schema_of_variant(v) FROM events"
    assert tuple(spark.sql(query).collect()[0]) == ("x", "OBJECT<a: BIGINT, b: OBJECT<c: STRING>>")


def test_rows_are_those_of_spark_itself(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(LINES)
    theirs = spark.read.option("singleVariantColumn", "v").json(str(path))
    ours = ss.scan_json(str(path), single_variant_column="v").to_spark(spark)
    assert shown(ours) == shown(theirs)


def test_members_may_be_variants(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id":1,"v":{"x":[1]},"l":[1,"a"],"s":{"v":2}}\n{"id":2}\n{"id":3,"v":null}\n')
    schema = "id int, v variant, l array<variant>, s struct<v: variant>"
    for frame in (
        ss.scan_json(str(path), schema).to_spark(spark),
        spark.read.format("splitscan").schema(schema).option("recordFormat", "json").load(str(path)),
    ):
        assert frame.schema.simpleString() == "struct<id:int,v:variant,l:array<variant>,s:struct<v:variant>>"
        rows = frame.select("id", fn.to_json("v"), fn.to_json("l"), fn.to_json("s.v")).collect()
        assert [tuple(row) for row in rows] == [
            (1, '{"x":[1]}', '[1,"a"]', "2"), (2, None, None, None), (3, "null", None, None),
        ]  # fmt: skip
        assert frame.where("variant_get(v, '$.x[0]', 'int') = 1").count() == 1


def test_parquet_is_read_as_variants(spark: SparkSession, tmp_path: Path) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "out"
    path.write_text(LINES)
    ss.scan_json(str(path), single_variant_column="v").ingest(spark, str(out))
    frame = spark.read.schema("v variant").parquet(str(out))
    assert shown(frame) == ['{"a":1,"b":{"c":"x"}}', "7", "null", "[1.5,true]", None, '"s"']


CSV_PARTS = (
    "0", "1", "7", "19", "2020", "-", "+", ".", "e", "E", "e-3", "-01-02", "-1-2", " ", "T", "03:04:05", ".5", "Z",
    "+02:00", "true", "False", "NaN", "x", "é", "1234567890123456789", "12345678901234567890123456789012345678",
)  # fmt: skip


def random_field(draw: random.Random) -> str:
    """A text near those that are numbers, dates and moments, with no comma."""
    while True:
        text = "".join(draw.choices(CSV_PARTS, k=draw.randint(1, 4)))
        is_of_today = ":" in text or text.startswith("T")  # a time without a date
        if not is_of_today or text[:5] == "2020-":
            return text


@pytest.mark.parametrize("options", [{}, {"preferDate": "false"}, {"dateFormat": "yyyy-M-d"}], ids=str)
def test_csv_has_the_bytes_of_spark_for_the_first_record_of_a_task(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    draw = random.Random(20261128)
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(150):
        fields = [random_field(draw) for _ in range(draw.randint(1, 8))] + draw.choice([[], [""], ["NA"], ['""']])
        (folder / f"{number:03}.csv").write_text(",".join(fields) + "\n")
    given = {"nullValue": "NA", "singleVariantColumn": "v", **options}
    rows = spark.read.options(**given).csv(str(folder)).select("v", "_metadata.file_name").toArrow().to_pylist()
    theirs = [row["v"] for row in sorted(rows, key=lambda row: row["file_name"])]
    ours = ss.scan_csv(str(folder), **given).to_arrow()["v"].to_pylist()  # type: ignore[arg-type]
    texts = [path.read_text() for path in sorted(folder.iterdir())]
    assert [each["metadata"] for each in ours] == [each["metadata"] for each in theirs]
    assert list(zip(texts, ours, strict=True)) == list(zip(texts, theirs, strict=True))


def test_a_value_of_csv_depends_on_those_before_it_in_spark_and_not_here(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\nx\n1\n")
    theirs = spark.read.option("singleVariantColumn", "v").option("header", True).csv(str(path))
    ours = ss.scan_csv(str(path), header=True, single_variant_column="v").to_spark(spark)
    assert (shown(theirs), shown(ours)) == (['{"a":"x"}', '{"a":"1"}'], ['{"a":"x"}', '{"a":1}'])


@pytest.mark.parametrize("through", ["frame", "source", "python"])
def test_every_door_of_spark_gives_variants_of_csv(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, through: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("b,a\n1,2020-01-02\n2\n1.5,x,y\n")
    if through == "python":
        request.getfixturevalue("read_by_python")
    if through == "source":
        reader = spark.read.format("splitscan").option("recordFormat", "csv").option("singleVariantColumn", "v")
        frame = reader.option("header", True).load(str(path))
    else:
        frame = ss.scan_csv(str(path), header=True, single_variant_column="v").to_spark(spark)
    assert frame.schema.simpleString() == "struct<v:variant>"
    theirs = spark.read.option("singleVariantColumn", "v").option("header", True).csv(str(path))
    assert shown(frame) == shown(theirs) == ['{"a":"2020-01-02","b":1}', '{"b":2}', '{"a":"x","b":1.5}']
    assert frame.count() == 3
    assert frame.selectExpr("schema_of_variant(v)").first()[0] == "OBJECT<a: DATE, b: BIGINT>"  # type: ignore[index]


@pytest.mark.parametrize("through", ["frame", "source", "python"])
def test_every_door_of_spark_gives_columns_of_variants(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, through: str
) -> None:
    """Rows are Spark's: each value is the first of its column, or of the type of those before it."""
    if through == "python":
        request.getfixturevalue("read_by_python")
    for format, text, schema, options in (
        ("csv", '1,2020-01-02\n2,\n3\n4,"x",y\n5,""\n', "a int, v variant", {}),
        ("xml", "<a><r><v x='1'>2</v><v/></r><r><v>x</v>y</r></a>", "v variant, l array<variant>, _VALUE variant",
         {"rowTag": "r"}),
    ):  # fmt: skip
        path = tmp_path / f"a.{format}"
        path.write_text(text)
        if through == "source":
            reader = spark.read.format("splitscan").option("recordFormat", format).options(**options)
            frame = reader.schema(schema).load(str(path))
        else:
            frame = ss.scan(str(path), format, schema, **options).to_spark(spark)
        theirs = spark.read.format(format).options(**options).schema(schema).load(str(path))
        rows = [fn.to_json(fn.struct("*")), *(fn.isnull(name) for name in frame.columns)]
        assert frame.select(*rows).collect() == theirs.select(*rows).collect()
        assert frame.where("try_variant_get(v, '$', 'string') = 'x'").count() == 1


def test_columns_of_variants_go_into_parquet(spark: SparkSession, tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_text("1,2020-01-02 03:04:05\n2,1.50\n")
    ss.scan_csv(str(path), "id int, v variant").ingest(spark, str(out))
    frame = spark.read.schema("id int, v variant").parquet(str(out)).orderBy("id")
    assert [row[0] for row in frame.selectExpr("schema_of_variant(v)").collect()] == ["TIMESTAMP", "DECIMAL(2,1)"]


def test_variants_of_csv_go_into_parquet(spark: SparkSession, tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_text("1,2020-01-02 03:04:05\n")
    ss.scan_csv(str(path), single_variant_column="v").ingest(spark, str(out))
    frame = spark.read.schema("v variant").parquet(str(out))
    assert frame.selectExpr("schema_of_variant(v)").collect()[0][0] == "OBJECT<_c0: BIGINT, _c1: TIMESTAMP>"


XML_TEXTS = (
    "x", "1", " 7 ", "-0", "007", "1.50", "1e3", "1e40", "99999999999999999999", "1" * 39, "true", "FALSE", "NA",
    "null", "", " \n ", "é", "&lt;", "a&amp;b", "&#65;", "&#10;", "<![CDATA[a<b]]>", "a<![CDATA[ ]]>", "\u00a0",
    "\u00a01", "a\r\nb", "2020-01-02", ".5", "5.", "9223372036854775807", "9223372036854775808", "1e-38",
    "0e39", "x" * 70,
)  # fmt: skip
XML_NAMES = ("a", "A", "b", "n:b", "_x", "é", "É", "c", "r", "long_name")


def random_xml(draw: random.Random, name: str, depth: int) -> str:
    """An element without what Spark loses: texts that comments divide, several elements of the name of texts."""
    names = sorted({each.lower(): each for each in draw.sample(XML_NAMES, draw.randint(0, 3))}.values())
    attributes = "".join(f" {each}='{draw.choice([text for text in XML_TEXTS if '<' not in text])}'" for each in names)
    inside = "".join(
        random_xml(draw, draw.choice(XML_NAMES), depth - 1) if depth and draw.random() < 0.7 else draw.choice(XML_TEXTS)
        for _ in range(draw.choice([0, 1, 1, 2, 4]))
    )
    return f"<{name}{attributes}>{inside}</{name}>" if inside else f"<{name}{attributes}/>"


@pytest.mark.parametrize(
    "options",
    [
        {}, {"ignoreSurroundingSpaces": "false"}, {"excludeAttribute": "true"}, {"ignoreNamespace": "true"},
        {"nullValue": "NA"}, {"attributePrefix": "@", "valueTag": "#"},
    ],
    ids=str,
)  # fmt: skip
def test_xml_has_the_bytes_of_spark(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    draw = random.Random(20261129)
    records = [random_xml(draw, "r", 3) for _ in range(400)]
    path = tmp_path / "a.xml"
    path.write_bytes(("<rows>" + "\n".join(records) + "</rows>").encode())
    given = {"rowTag": "r", "singleVariantColumn": "v", **options}
    theirs = spark.read.options(**given).xml(str(path)).toArrow()["v"].to_pylist()
    ours = ss.scan(str(path), "xml", **given).to_arrow()["v"].to_pylist()  # type: ignore[arg-type]
    assert list(zip(records, ours, strict=True)) == list(zip(records, theirs, strict=True))


@pytest.mark.parametrize(
    ("record", "options", "spark_has", "we_have"),
    [
        ("<r>x<!--c-->y</r>", {}, '"x"', '"xy"'),
        ("<r>x<!--c-->y<b/></r>", {}, '{"_VALUE":["x","y"],"b":null}', '{"_VALUE":"xy","b":null}'),
        ("<r><_VALUE>1</_VALUE><_VALUE>2</_VALUE></r>", {}, "1", "[1,2]"),
        ("<r><a> NA </a></r>", {"nullValue": "NA"}, '{"a":"NA"}', '{"a":null}'),
        ("<r>1,5</r>", {}, "15", '"1,5"'),
        ("<r>\u0663</r>", {}, "3", '"\u0663"'),
        (
            "<r e='0' a='1' b='2' E='3' d='4'/>",
            {},
            '{"_E":[3,0],"_a":1,"_b":2,"_d":4}',
            '{"_a":1,"_b":2,"_d":4,"_e":[0,3]}',
        ),
    ],
)
def test_xml_that_spark_reads_otherwise(
    spark: SparkSession, tmp_path: Path, record: str, options: dict[str, str], spark_has: str, we_have: str
) -> None:
    path = tmp_path / "a.xml"
    path.write_text(f"<rows>{record}</rows>")
    given = {"rowTag": "r", "singleVariantColumn": "v", **options}
    theirs = spark.read.options(**given).xml(str(path))
    ours = ss.scan(str(path), "xml", **given).to_spark(spark)  # type: ignore[arg-type]
    assert (shown(theirs), shown(ours)) == ([spark_has], [we_have])


@pytest.mark.parametrize("through", ["frame", "source", "python"])
def test_every_door_of_spark_gives_variants_of_xml(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, through: str
) -> None:
    path, given = tmp_path / "a.xml", {"rowTag": "r", "singleVariantColumn": "v"}
    path.write_text("<a><r k='1'>x<b>1.50</b></r><r/><r>5</r></a>")
    if through == "python":
        request.getfixturevalue("read_by_python")
    if through == "source":
        frame = spark.read.format("splitscan").option("recordFormat", "xml").options(**given).load(str(path))
    else:
        frame = ss.scan(str(path), "xml", **given).to_spark(spark)  # type: ignore[arg-type]
    assert frame.schema.simpleString() == "struct<v:variant>"
    assert shown(frame) == shown(spark.read.options(**given).xml(str(path)))
    assert shown(frame) == ['{"_VALUE":"x","_k":1,"b":1.5}', "null", "5"]
    assert frame.count() == 3
