"""Works on records that are not CSV: elements of XML, fixed width, records of logs, by the formats' own names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

import splitscan as ss
from bench.generated import CHUNK_RECORDS, SCHEMA, generated_batch
from bench.measure import Work
from bench.works.file_works import BLOCK_SIZE, PLAIN, FrameWorks, duckdb_row, whole

_AT = "10/Oct/2024:13:55:36 +0000"
_AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
_COMBINED = r'^(\S+) (\S+) (\S+) \[([^\]]+)\] "([^"]*)" (\d+) (\S+) "([^"]*)" "([^"]*)"$'
_LOG_SCHEMA = (
    "host string, ident string, user string, time string, request string, status int, bytes long, referer string, "
    "agent string"
)
_WIDTHS = {"id": 12, "name": 12, "price": 10, "qty": 6, "comment": 48}


@dataclass(frozen=True)
class Records:
    """Records of one format.

    Attributes:
        record_format: Its name.
        title: What they are.
        file_name: The name of a file of them.
        render: Records of so many numbers, as text.
        schema: Their columns.
        options: What splitscan is told of them, by Spark's names.
        spark: Reads them by Spark's own means.
        summed: What is asked of the columns.
        ends: What stands before and after all records.
        duckdb: Makes a query of DuckDB that gives the columns, if it can read such records.
    """

    record_format: str
    title: str
    file_name: str
    render: Callable[[int, int], list[str]]
    schema: str
    options: Mapping[str, str]
    spark: Callable[[SparkSession, str], DataFrame]
    summed: tuple[str, ...]
    ends: tuple[str, str] = ("", "")
    duckdb: Callable[[str], str] | None = None

    def write(self, path: Path, size_bytes: int) -> None:
        """Write at least so many bytes."""
        first, written = 0, 0
        with path.open("w", encoding="utf-8", newline="") as out:
            out.write(self.ends[0])
            while written < size_bytes:
                text = "\n".join(self.render(first, CHUNK_RECORDS)) + "\n"
                written += out.write(text)
                first += CHUNK_RECORDS
            out.write(self.ends[1])


class RecordWorks(FrameWorks):
    """Works on such records."""

    def __init__(self, spark: SparkSession, source: Path, scratch: Path, records: Records) -> None:
        super().__init__(spark, source, scratch)
        self._records = records

    def all(self) -> dict[str, Work]:
        """Every work by its name."""
        works: dict[str, dict[str, Callable[[], object]]] = {
            "aggregate": {
                "splitscan": lambda: self._aggregate(self._scan().to_spark(self._spark)),
                PLAIN: lambda: self._aggregate(self._frame()),
                "spark": lambda: self._aggregate(self._spark_frame()),
            },
            "count": {
                "splitscan": lambda: self._scan().count(self._spark),
                PLAIN: lambda: self._frame().count(),
                "spark": lambda: self._spark_frame().count(),
            },
            "to_batches": {"splitscan": lambda: sum(batch.num_rows for batch in self._scan().to_batches())},
            "ingest": {"splitscan": self._splitscan_parquet, "spark": self._spark_parquet},
        }
        if self._records.duckdb is not None:
            records = f"({self._records.duckdb(self._source)})"
            sums = ", ".join(f"sum({each})" for each in self._records.summed)
            works["aggregate"]["duckdb"] = lambda: duckdb_row(f"select count(*), {sums} from {records}")
            works["count"]["duckdb"] = lambda: duckdb_row(f"select count(*) from {records}")[0]
            works["ingest"]["duckdb"] = lambda: self._duckdb_parquet_of(records)
        return works  # type: ignore[return-value]

    def _spark_frame(self) -> DataFrame:
        return self._records.spark(self._spark, self._source)

    def _frame(self) -> DataFrame:
        reader = self._spark.read.format("splitscan").schema(self._records.schema)
        return reader.options(recordFormat=self._records.record_format, **self._records.options).load(self._source)

    def _scan(self, block_size: str = BLOCK_SIZE) -> ss.Scan:
        asked = {**self._records.options, "blockSize": block_size}
        return ss.scan(self._source, self._records.record_format, self._records.schema, **asked)

    def _aggregate(self, frame: DataFrame) -> tuple[int, ...]:
        return whole(frame.agg(F.count("*"), *(F.expr(f"sum({each})") for each in self._records.summed)).collect()[0])


def _columns(first: int, count: int, newline: str) -> dict[str, pa.Array]:
    batch = generated_batch(first, count)
    columns = {name: pc.cast(batch[name], pa.string()) for name in ("id", "name", "price", "qty")}
    return {**columns, "comment": pc.replace_substring(batch["comment"], "\n", newline)}


def _elements(first: int, count: int) -> list[str]:
    parts: list[object] = ["<record>"]
    for name, column in _columns(first, count, "\n").items():
        parts += [f"<{name}>", column, f"</{name}>"]
    return list(pc.binary_join_element_wise(*parts, "</record>", "").to_pylist())


def _lines_of_columns(first: int, count: int) -> list[str]:
    columns = _columns(first, count, "")
    padded = [pc.utf8_rpad(columns[name], width) for name, width in _WIDTHS.items()]
    return list(pc.binary_join_element_wise(*(pc.utf8_slice_codeunits(each, 0, width) for each, width
                in zip(padded, _WIDTHS.values(), strict=True)), "").to_pylist())  # fmt: skip


def _log_lines(first: int, count: int) -> list[str]:
    number = np.arange(first, first + count, dtype=np.int64)

    def text(values: np.ndarray) -> pa.Array:
        return pc.cast(pa.array(values), pa.string())

    parts: list[object] = [
        "10.0.", text(number % 256), ".", text(number // 256 % 256), f' - - [{_AT}] "GET /item/', text(number % 99_991),
        '?page=2 HTTP/1.1" ', text(200 + number % 3), " ", text(number * 7 % 100_000),
        f' "https://example.com/list" "{_AGENT}"',
    ]  # fmt: skip
    return list(pc.binary_join_element_wise(*parts, "").to_pylist())


def _spark_fixed_width(spark: SparkSession, source: str) -> DataFrame:
    start, columns = 1, []
    for (name, width), kind in zip(_WIDTHS.items(), ("long", "string", "double", "int", "string"), strict=True):
        columns.append(f"cast(trim(substring(value, {start}, {width})) as {kind}) as {name}")
        start += width
    return spark.read.text(source).selectExpr(*columns)


def _spark_parts(spark: SparkSession, source: str) -> DataFrame:
    parts = (f"trim(substring(value, {41 + 8 * n}, 8)) as part{n}" for n in range(6))
    columns = (
        "cast(trim(substring(value, 1, 12)) as long) as id", "trim(substring(value, 13, 12)) as name",
        "trim(substring(value, 25, 10)) as price", "cast(trim(substring(value, 35, 6)) as int) as qty",
    )  # fmt: skip
    return spark.read.text(source).selectExpr(*columns, *parts)


def _spark_log(spark: SparkSession, source: str) -> DataFrame:
    names = [column.split() for column in _LOG_SCHEMA.split(", ")]
    frame = spark.read.text(source)
    return frame.select(
        *(F.regexp_extract("value", _COMBINED, place).cast(kind).alias(name)
          for place, (name, kind) in enumerate(names, start=1))
    )  # fmt: skip


def _duckdb_log(source: str) -> str:
    columns = [column.split() for column in _LOG_SCHEMA.split(", ")]
    types = {"int": "integer", "long": "bigint"}
    parts = ", ".join(
        f"try_cast(parts.{name} as {types[kind]}) as {name}" if kind in types else f"parts.{name} as {name}"
        for name, kind in columns
    )
    names = ", ".join(f"'{name}'" for name, _ in columns)
    lines = (
        f"read_csv('{source}', header=false, auto_detect=false, delim='\t', quote='', columns={{'line': 'VARCHAR'}})"
    )
    return f"select {parts} from (select regexp_extract(line, '{_COMBINED}', [{names}]) as parts from {lines})"


def _layout() -> str:
    start, columns = 1, []
    for (name, width), kind in zip(_WIDTHS.items(), ("long", "string", "double", "int", "string"), strict=True):
        columns.append(f"{name} {start} {width} {kind}")
        start += width
    return ", ".join(columns)


_COPYBOOK = "\n".join(
    f"       {item}" for item in ("01 R.", "05 ID PIC 9(12).", "05 NAME PIC X(12).", "05 PRICE PIC X(10).",
                                "05 QTY PIC 9(6).", *(f"05 PART{n} PIC X(8)." for n in range(6)), "05 FILLER PIC X.")
)  # fmt: skip

_SUMMED = ("id", "qty", "length(name)", "length(comment)", "price / 10000")

RECORDS = [
    Records(
        "xml", "XML, five elements in a record", "records.xml", _elements, SCHEMA, {"rowTag": "record"},
        lambda spark, source: spark.read.schema(SCHEMA).option("rowTag", "record").xml(source), _SUMMED,
        ("<records>\n", "</records>\n"),
    ),
    Records(
        "fixed_width", "lines of fixed width, five columns", "records.dat", _lines_of_columns, SCHEMA,
        {"layout": _layout()}, _spark_fixed_width, _SUMMED,
    ),
    Records(
        "cobol", "records of a fixed length by a copybook, ten columns", "records.cobol.dat", _lines_of_columns,
        f"ID bigint, NAME string, PRICE string, QTY int, {', '.join(f'PART{n} string' for n in range(6))}",
        {"copybook": _COPYBOOK, "encoding": "ascii"}, _spark_parts,
        ("id", "qty", "length(name)", "length(price)", *(f"length(part{n})" for n in range(6))),
    ),
    Records(
        "log", "combined access log, nine columns", "access.log", _log_lines, _LOG_SCHEMA, {"logFormat": "combined"},
        _spark_log, ("length(host)", "length(time)", "length(request)", "status", "bytes", "length(agent)"),
        duckdb=_duckdb_log,
    ),
]  # fmt: skip
"""One for each such format."""
