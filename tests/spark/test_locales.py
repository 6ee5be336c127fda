"""Names and decimals of every locale: both engines read what Spark reads."""

from __future__ import annotations

import json
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions
from tests.unit.options.test_locales import TABLE

import splitscan as ss
from splitscan.options.locales import NumberSymbols, names_of, symbols_of

PATTERNS = {"MMM": "d MMM yyyy", "MMMM": "d MMMM yyyy", "LLL": "d LLL yyyy", "LLLL": "d LLLL yyyy",
            "E": "d M yyyy E", "EEEE": "d M yyyy EEEE"}  # fmt: skip
UNITED_STATES = NumberSymbols(".", ",", "-", "0", pairs=False)


def distinct() -> list[str]:
    """Of locales that are described alike, the first one."""
    described: dict[str, str] = {}
    for locale in TABLE:
        said = json.dumps([names_of(locale), vars(symbols_of(locale) or UNITED_STATES)])
        described.setdefault(said, locale)
    return list(described.values())


def dates(locale: str) -> list[tuple[date, list[str]]]:
    """Dates as each of the patterns writes them: every month, and every day of the week; and in capital letters."""
    names = names_of(locale)
    rows = []
    for month in range(1, 13):
        middle = date(2024, month, 10)
        day = middle + timedelta((month - middle.weekday()) % 7)
        texts = []
        for letters in PATTERNS:
            is_month = letters[0] in "ML"
            name = names[letters][month - 1 if is_month else day.weekday()]
            name = name.upper() if month % 2 and len(name.upper()) == len(name) else name
            texts.append(f"{day.day} {name} 2024" if is_month else f"{day.day} {month} 2024 {name}")
        rows.append((day, texts))
    assert {day.weekday() for day, _ in rows} == set(range(7))
    return rows


def decimals(locale: str) -> dict[str, Decimal]:
    symbols = symbols_of(locale) or UNITED_STATES
    digits = {str(digit): chr(ord(symbols.zero) + digit) for digit in range(10)}
    said = {"-": symbols.minus, ".": symbols.decimal, ",": symbols.grouping}
    grouped = "12,34,567.25" if symbols.pairs else "1,234,567.25"
    numbers = ["5", "-5", "1234.5", "-0.125", grouped, "-" + grouped, "1,234"]
    written = {"".join(said.get(each, each) for each in text): Decimal(text.replace(",", "")) for text in numbers}
    native = {
        "".join((said | digits).get(each, each) for each in text): Decimal(text.replace(",", "")) for text in numbers
    }
    return written | native


def by_java(spark: SparkSession, locale: str, pattern: str, texts: list[str]) -> list[date]:
    """Dates by the class that Spark reads them with: it refuses the letter E itself."""
    assert spark._jvm is not None
    time, util = spark._jvm.java.time, spark._jvm.java.util
    builder = time.format.DateTimeFormatterBuilder().parseCaseInsensitive().appendPattern(pattern)
    formatter = builder.toFormatter(util.Locale.forLanguageTag(locale))
    return [date.fromisoformat(time.LocalDate.parse(text, formatter).toString()) for text in texts]


def ours(path: Path, schema: str, engine: str, **options: Any) -> list[list[Any]]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPLITSCAN_ENGINE", engine)
        table = ss.scan_csv(str(path), schema=schema, sep="|", **options).to_arrow()
    return [list(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("locale", distinct())
def test_every_name_and_decimals_are_what_spark_reads(spark: SparkSession, tmp_path: Path, locale: str) -> None:
    rows, numbers = dates(locale), decimals(locale)
    lines = ["|".join(texts) for _, texts in rows]
    columns = [f"c{number}" for number in range(len(PATTERNS))]
    by_spark = [name for name, letters in zip(columns, PATTERNS, strict=True) if letters[0] in "ML"]
    frame = spark.createDataFrame([tuple(texts) for _, texts in rows], ", ".join(f"{name} string" for name in columns))
    read = [
        functions.from_csv(name, "x date", {"dateFormat": pattern, "locale": locale, "sep": "|"})["x"]
        for name, pattern in zip(by_spark, PATTERNS.values(), strict=False)
    ]
    assert [list(row) for row in frame.select(*read).collect()] == [[day] * len(by_spark) for day, _ in rows]
    for number, pattern in list(enumerate(PATTERNS.values()))[len(by_spark) :]:
        assert by_java(spark, locale, pattern, [texts[number] for _, texts in rows]) == [day for day, _ in rows]
    expected = [[day] * len(PATTERNS) for day, _ in rows]
    options = {"sep": "|", "locale": locale}
    texts = spark.createDataFrame([(text,) for text in numbers], "c string")
    theirs = [row[0] for row in texts.select(functions.from_csv("c", "x decimal(20,4)", options)["x"]).collect()]
    assert theirs == list(numbers.values())
    (tmp_path / "dates.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "numbers.csv").write_text("\n".join(numbers), encoding="utf-8")
    formats = {name: {"format": pattern} for name, pattern in zip(columns, PATTERNS.values(), strict=True)}
    for engine in ("kernel", "reference"):
        schema = ", ".join(f"{name} date" for name in columns)
        found = ours(tmp_path / "dates.csv", schema, engine, locale=locale, column_options=formats)
        assert found == expected
        assert ours(tmp_path / "numbers.csv", "x decimal(20,4)", engine, locale=locale) == [[each] for each in theirs]


@pytest.mark.parametrize("locale", ["en-GB", "de", "hi", "ja", "ar-EG", "pt-PT", "tr"])
def test_half_days_are_what_spark_reads(spark: SparkSession, tmp_path: Path, locale: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join(f"2024-01-02 3:04 {name}" for name in names_of(locale)["a"]), encoding="utf-8")
    options = {"sep": "|", "locale": locale, "timestampFormat": "yyyy-MM-dd h:mm a"}
    frame = spark.read.schema("x timestamp").options(**options).format("csv").load(str(path))
    theirs = [row[0] for row in frame.selectExpr("date_format(x, 'HH')").collect()]
    assert theirs == ["03", "15"]
    del options["sep"]
    for engine in ("kernel", "reference"):
        assert [row[0].strftime("%H") for row in ours(path, "x timestamp", engine, **options)] == theirs
