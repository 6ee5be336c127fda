"""Other engines read the same files: Spark's own readers where they are right, Python's csv, DuckDB."""

import csv
import io
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import splitscan as ss

from .samples import rows_of

_COLUMNS = 3
_SCHEMA = ", ".join(f"c{n} string" for n in range(_COLUMNS))


@dataclass(frozen=True)
class Dialect:
    """How a random file is written."""

    sep: str
    escape: str
    terminator: str
    header: bool
    quote_all: bool

    def options(self) -> dict[str, Any]:
        return {"sep": self.sep, "escape": self.escape, "header": self.header, "multiLine": True}

    def write(self, rows: list[list[str]]) -> str:
        out = io.StringIO(newline="")
        writer = csv.writer(
            out,
            delimiter=self.sep,
            lineterminator=self.terminator,
            doublequote=self.escape == '"',
            escapechar=None if self.escape == '"' else self.escape,
            quoting=csv.QUOTE_ALL if self.quote_all else csv.QUOTE_MINIMAL,
        )
        if self.header:
            writer.writerow([f"c{n}" for n in range(_COLUMNS)])
        writer.writerows(rows)
        return out.getvalue()


def random_dialect(chance: random.Random) -> Dialect:
    escape = chance.choice(['"', "\\"])
    # an escape outside quotes means one thing to csv and another to Spark: with a backslash everything is quoted
    return Dialect(
        sep=chance.choice([",", ";", "|", "\t"]),
        escape=escape,
        terminator=chance.choice(["\n", "\r\n"]),
        header=chance.random() < 0.5,
        quote_all=escape == "\\" or chance.random() < 0.3,
    )


def random_rows(chance: random.Random, dialect: Dialect) -> list[list[str]]:
    # Spark rewrites line ends inside quotes in a file with CRLF, so such a file has none there
    newline = "" if dialect.terminator == "\r\n" else "\n\n"
    alphabet = f'ab é𝄞,;|"0-{newline}' + ("" if dialect.escape == '"' else "\\")
    return [
        ["k" + "".join(chance.choices(alphabet, k=chance.randint(0, 8))) for _ in range(_COLUMNS)]
        for _ in range(chance.randint(1, 40))
    ]


def our_options(chance: random.Random) -> dict[str, Any]:
    return {"block_size": chance.choice([1, 3, 10, 64]), "open_cost_in_bytes": 0, "min_partition_num": 2}


@pytest.mark.parametrize("seed", range(8))
def test_multi_line_csv_is_what_spark_python_and_duckdb_read(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    dialect = random_dialect(chance)
    rows = random_rows(chance, dialect)
    path = tmp_path / "random.csv"
    path.write_text(dialect.write(rows), encoding="utf-8", newline="")
    expected = [tuple(row) for row in rows]
    scan = ss.scan_csv(str(path), schema=_SCHEMA, **dialect.options(), **our_options(chance))
    ours = rows_of(scan.to_spark(spark).toArrow())
    assert ours == expected
    theirs = spark.read.schema(_SCHEMA).options(**dialect.options()).csv(str(path))
    assert [tuple(row) for row in theirs.collect()] == ours
    assert read_with_duckdb(path, dialect) == ours


def read_with_duckdb(path: Path, dialect: Dialect) -> list[tuple[Any, ...]]:
    import duckdb

    names = {f"c{n}": "VARCHAR" for n in range(_COLUMNS)}
    query = """select * from read_csv(?, auto_detect=false, columns=?, delim=?, quote='"', escape=?, header=?,
        new_line=?, parallel=false)"""
    new_line = dialect.terminator.replace("\r", "\\r").replace("\n", "\\n")
    with duckdb.connect() as connection:
        return connection.execute(
            query, [str(path), names, dialect.sep, dialect.escape, dialect.header, new_line]
        ).fetchall()


@pytest.mark.parametrize("seed", range(3))
def test_empty_and_quoted_empty_fields_are_what_spark_reads(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    fields = ["", '""', "x", '" "', " x ", '"a ""q"" b"', "NULL", '"\n"', "é"]
    lines = [",".join(chance.choices(fields, k=3)) for _ in range(60)]
    path = tmp_path / "empty.csv"
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    options: dict[str, Any] = {
        "multiLine": True,
        "escape": '"',
        "nullValue": chance.choice(["", "NULL", "x"]),
        "emptyValue": chance.choice(["", "EMPTY"]),
        "ignoreLeadingWhiteSpace": chance.random() < 0.5,
        "ignoreTrailingWhiteSpace": chance.random() < 0.5,
    }
    scan = ss.scan_csv(str(path), schema=_SCHEMA, **options, **our_options(chance))
    theirs = spark.read.schema(_SCHEMA).options(**options).csv(str(path))
    assert rows_of(scan.to_spark(spark).toArrow()) == [tuple(row) for row in theirs.collect()], options


@pytest.mark.parametrize("seed", range(3))
def test_lines_are_what_spark_reads(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "lines.txt"
    pieces = ["a", "é", "\n", "\r\n", "\r", " ", "\x00", "\\", "x" * 50]
    path.write_bytes("".join(chance.choices(pieces, k=400)).encode())
    scan = ss.scan_text(str(path), **our_options(chance))
    theirs = [row.value for row in spark.read.text(str(path)).collect()]
    assert [row.value for row in scan.to_spark(spark).collect()] == theirs
    assert scan.count(spark) == len(theirs)


def test_a_delimiter_of_its_own_is_what_spark_reads_in_one_split(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(5)
    path = tmp_path / "delimited.txt"
    path.write_bytes("".join(chance.choices(["|", "ab", "é", "\n"], weights=[5, 2, 1, 1], k=300)).encode())
    theirs = [row.value for row in spark.read.option("lineSep", "||").text(str(path)).collect()]
    for block_bytes in (1, 2, 7):
        scan = ss.scan_text(str(path), line_sep="||", block_size=block_bytes, open_cost_in_bytes=0)
        assert [row.value for row in scan.to_spark(spark).collect()] == theirs


def test_typed_columns_are_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "typed.csv"
    path.write_text(
        "1,1.5,2024-01-31,true,12.340\n-9223372036854775808,1e3,1999-12-01,false,-0.001\n,,,,\n"
        "x,NaN,2024-13-01,yes,99999999\n+7,-Infinity,0001-01-01,TRUE,1\n"
    )
    ddl = "a long, b double, c date, d boolean, e decimal(8,3)"
    theirs = spark.read.schema(ddl).csv(str(path))
    ours = ss.scan_csv(str(path), schema=ddl).to_spark(spark)
    assert ours.schema == theirs.schema
    text = [f"cast({name} as string)" for name in "abcde"]
    assert ours.selectExpr(*text).collect() == theirs.selectExpr(*text).collect()


_PATTERNS = (
    "yyyyMMdd", "d/M/yy", "MMM d, yyyy", "HH:mm", "h:mm a", "yyyyMMddHHmmss", "yyyy-MM-dd HH:mm:ss[.SSS]",
    "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][XXX]", "yyyy-MM-dd HH:mm z",
)  # fmt: skip
_WRITTEN = (
    "20110901", "2011091", "8/12/69", "08/12/1969", "aug 1, 2038", "Aug 1,  2038", "August 1, 2038", "04:54", "4:54",
    "24:00", "12:05 am", "12:05 PM", "13:05 PM", "20151004162504", "201510416254", "2045-03-25 19:22:49",
    "2045-03-25 19:22:49.5", "2045-03-25 19:22:49.1234", "2020-02-30T10:00:00", "2020-02-29t10:00:00",
    "2020-02-29T10:00:00Z", "2020-02-29T10:00:00.25+05:30", "2020-02-29T10:00:00+0530", "2020-02-29T10:00:00.1234567",
    "2020-07-01 12:00 PST",
    "2020-07-01 12:00 Europe/Berlin", "2020-07-01 12:00 Nowhere", " 20110901", "",
)  # fmt: skip


def test_times_by_pattern_are_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("".join(f'"{text}",x\n' for text in _WRITTEN))
    for pattern in _PATTERNS:
        for kind, option in (("timestamp", "timestampFormat"), ("timestamp_ntz", "timestampNTZFormat")):
            options = {option: pattern, "timeZone": "America/New_York"}
            theirs = spark.read.schema(f"at {kind}, x string").options(**options).csv(str(path))
            ours = ss.scan_csv(str(path), f"at {kind}, x string", **options).to_arrow()
            expected = [row[0] for row in theirs.selectExpr("cast(at as string)").collect()]
            found = spark.createDataFrame(ours).selectExpr("cast(at as string)").collect()
            assert [row[0] for row in found] == expected, (pattern, kind)
            assert any(expected) or (kind == "timestamp_ntz" and "z" in pattern)


# separator, quote, escape, what makes that data, comment, and the encoding
_LONG_MARKS: tuple[Any, ...] = (
    (",", "«", "«", None, None, "UTF-8"),
    (",", "«", "«", None, "¡", "UTF-8"),
    (",", "«", "\\", None, None, "UTF-8"),
    (",", "«", "¬", None, "#", "UTF-8"),
    (",", "†", "†", None, None, "UTF-8"),
    (",", "†", "§", None, "¡", "UTF-8"),
    (";", "†", "§", "¿", None, "UTF-8"),
    (";", '"', "¬", None, None, "UTF-8"),
    (";", '"', "¬", "¿", "¡", "UTF-8"),
    (",", '"', "\\", "¿", None, "UTF-8"),
    (",", '"', '"', None, "‡", "UTF-8"),
    ("¦", "§", "§", None, None, "UTF-8"),
    ("¦|", "«", "«", None, "¡", "UTF-8"),
    ("¦»", '"', "¬", None, None, "UTF-8"),
    ("‡", "†", "†", None, "„", "UTF-8"),
    ("\u0001", "\u0002", "\u0003", None, None, "UTF-8"),
    (",", "ß", "ß", None, "ñ", "UTF-8"),
    (",", "「", "「", None, "※", "UTF-8"),
    (",", "\uffee", "\uffed", None, None, "UTF-8"),
    (",", "\x80", "\x80", None, None, "UTF-8"),
    (",", "«", "«", None, "¡", "UTF-16LE"),
    (";", "†", "§", "¿", None, "UTF-16BE"),
    ("¦|", "「", "\\", None, "※", "UTF-16LE"),
    (",", "«", "¬", None, None, "UTF-32LE"),
    (",", "«", "«", None, "¡", "windows-1252"),
    ("¦", "†", "§", "¿", None, "windows-1252"),
    (",", "§", "§", None, "¡", "ISO-8859-1"),
)


@pytest.mark.parametrize("multi_line", [True, False])
@pytest.mark.parametrize("marks", _LONG_MARKS)
def test_marks_beyond_ascii_are_what_spark_reads_by_every_door(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marks: Any, multi_line: bool
) -> None:
    sep, quote, escape, special, comment, encoding = marks
    chance = random.Random(f"{sep}{quote}{escape}{multi_line}")
    signs = [quote, quote, escape, comment or "#", *sep]
    others = [each for each in "aé©„‡»" if each.encode(encoding, "ignore").decode(encoding) == each]
    lines = []
    for _ in range(24):
        fields = []
        for _ in range(_COLUMNS):
            value = "k" + "".join(chance.choices([*signs, *others, " ", *["\n"] * multi_line], k=chance.randint(0, 6)))
            if chance.random() < 0.3:
                value = value.replace(sep, "").replace("\n", "")
                fields.append(value.rstrip(quote) if len(sep) > 1 else value)  # Spark doubles a quote at the end
                continue
            if escape != quote:
                value = value.replace(escape, (special or escape) + escape)
                value += quote if special else ""  # in other values Spark keeps what makes an escape data
            fields.append(quote + value.replace(quote, escape + quote) + quote)
        lines.append(sep.join(fields))
        if comment is not None and chance.random() < 0.2:
            lines.append(comment + "a" + quote)
    path = tmp_path / "a.csv"
    path.write_bytes("\n".join(lines).encode(encoding))
    options = {
        "sep": sep, "quote": quote, "escape": escape, "comment": comment, "encoding": encoding, "lineSep": "\n",
        "charToEscapeQuoteEscaping": special, "multiLine": multi_line,
    }  # fmt: skip
    options = {name: value for name, value in options.items() if value is not None}
    spark.conf.set("spark.sql.legacy.javaCharsets", "true")  # or it knows few encodings
    theirs = [tuple(row) for row in spark.read.schema(_SCHEMA).options(**options).csv(str(path)).collect()]
    assert len(theirs) > 20
    for size in (1, 7, 1 << 20):  # the first cuts everywhere
        scan = ss.scan_csv(str(path), schema=_SCHEMA, block_size=size, open_cost_in_bytes=0, **options)
        for engine in ("kernel", "reference"):
            monkeypatch.setenv("SPLITSCAN_ENGINE", engine)
            assert rows_of(scan.to_arrow()) == theirs, (size, engine)
            assert scan.count() == len(theirs)
            assert rows_of(scan.head(3)) == theirs[:3]
        monkeypatch.delenv("SPLITSCAN_ENGINE")
    for setting in ("true", "false"):  # by the connector, and by Python
        spark.conf.set("spark.splitscan.connector", setting)
        try:
            scan = ss.scan_csv(str(path), schema=_SCHEMA, block_size=7, min_partition_num=2, **options)
            assert [tuple(row) for row in scan.to_spark(spark).collect()] == theirs, setting
            assert scan.count(spark) == len(theirs)
        finally:
            spark.conf.unset("spark.splitscan.connector")


@pytest.mark.parametrize("option", ["quote", "escape", "comment", "charToEscapeQuoteEscaping"])
def test_marks_of_two_units_of_utf_16_are_refused_as_by_spark(spark: SparkSession, tmp_path: Path, option: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n")
    with pytest.raises(ss.UsageError, match=r"\[bad-option\]"):
        ss.scan_csv(str(path), schema=_SCHEMA, **{option: "𝄞"})
    with pytest.raises(Exception, match="more than one character"):
        spark.read.schema(_SCHEMA).option(option, "𝄞").csv(str(path)).collect()
