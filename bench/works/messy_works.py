"""Works on messy files: what every record, or one in so many, has wrong with it, beside the same content clean."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession

import splitscan as ss
from bench.generated import SCHEMA, generated_batch, render_csv
from bench.measure import Work
from bench.works.file_works import BLOCK_SIZE, FileWorks

_RECORDS = 1 << 14
_JSON_SCHEMA = "id long, name string, price double, qty int, comment string"

Change = Callable[[int, bytes], bytes]
"""Makes a record messy: its number, and the record without its line end."""


@dataclass(frozen=True)
class Mess:
    """What is wrong with a file.

    Attributes:
        name: Name of the work.
        title: What is wrong, and how often.
        change: Makes a record messy.
        options: Options of the reader, by Spark's names, for the messy file.
        clean_options: The same for the clean file.
        schema: Columns of the file.
        clean: Makes a record of the clean file, where that is another than the generated one.
        encoding: Of the messy file.
        is_json: Whether the records are JSON in lines, and not CSV.
    """

    name: str
    title: str
    change: Change
    options: dict[str, Any] = field(default_factory=dict)
    clean_options: dict[str, Any] = field(default_factory=dict)
    schema: str = SCHEMA
    clean: Change = lambda _, record: record
    encoding: str | None = None
    is_json: bool = False

    def write(self, path: Path, size_bytes: int) -> None:
        """Write the messy file, and the clean one beside it with the same records."""
        written = 0
        with path.open("wb") as messy, clean_beside(path).open("wb") as clean:
            if self.encoding == "UTF-16":
                messy.write("\ufeff".encode("utf-16-le"))
            for number, record in _records(is_json=self.is_json):
                before, after = self.clean(number, record) + b"\n", self.change(number, record) + b"\n"
                clean.write(before)
                messy.write(after if self.encoding is None else after.decode().encode(_CODECS[self.encoding]))
                written += len(before)
                if written >= size_bytes:
                    return


_CODECS = {"windows-1252": "cp1252", "UTF-16": "utf-16-le"}


def clean_beside(path: Path) -> Path:
    """Where the clean file is."""
    return path.with_name(f"clean-{path.name}")


def _records(*, is_json: bool) -> Iterator[tuple[int, bytes]]:
    for start in count(0, _RECORDS):
        batch = generated_batch(start, _RECORDS)
        if is_json:
            rows: list[bytes] = [json.dumps(row).encode() for row in batch.to_pylist()]
        else:
            rows = [record + b'"' for record in render_csv(batch, "\n").split(b'"\n')[:-1]]
        yield from enumerate(rows, start)


def _every(step: int, change: Callable[[bytes], bytes]) -> Change:
    return lambda number, record: change(record) if number % step == step // 2 else record


def _stray(record: bytes) -> bytes:
    return record.replace(b"name-", b'na"me-', 1)


def _typed_wrong(record: bytes) -> bytes:
    fields = record.split(b",", 3)
    return b",".join([*fields[:2], b"n/a", *fields[3:]])


def _padded(_: int, record: bytes) -> bytes:
    return b" , ".join(record.split(b",", 4))


def _escaped(_: int, record: bytes) -> bytes:
    head, _, quoted = record.partition(b'"')
    return head + b'"' + quoted[:-1].replace(b'""', b'\\"') + b'"'


def _accented(_: int, record: bytes) -> bytes:
    return record.replace(b"name-", "n\u00e4m\u00e9-".encode(), 1)


def _timed(template: str) -> Change:
    def change(number: int, record: bytes) -> bytes:
        day, month, year, hour = number % 28 + 1, number % 12 + 1, 2000 + number % 30, number % 24
        return template.format(d=day, m=month, y=year, h=hour).encode() + record

    return change


_RFC = {"escape": '"', "multiLine": True}
_TIMED_SCHEMA = f"day date, at timestamp, {SCHEMA}"

MESSES = [
    Mess("stray-1000", "a stray quote in 1 of 1,000 records", _every(1000, _stray), _RFC, _RFC),
    Mess("stray-100", "a stray quote in 1 of 100 records", _every(100, _stray), _RFC, _RFC),
    Mess("ragged", "a field too many in 1 of 100 records", _every(100, lambda r: r + b",more"), _RFC, _RFC),
    Mess("types", "a value of the wrong type in 1 of 100 records", _every(100, _typed_wrong), _RFC, _RFC),
    Mess(
        "utf8", "invalid UTF-8 in 1 of 100 records",
        _every(100, lambda record: record.replace(b"name-", b"n\xffme-", 1)), _RFC, _RFC,
    ),
    Mess(
        "blanks", "blanks around every value, which are trimmed", _padded,
        {**_RFC, "ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True}, _RFC,
    ),
    Mess(
        "backslash", "quotes escaped by backslashes", _escaped, {"escape": "\\", "multiLine": True}, _RFC,
    ),
    Mess(
        "windows-1252", "windows-1252", _accented, {**_RFC, "encoding": "windows-1252"}, _RFC,
        clean=_accented, encoding="windows-1252",
    ),
    Mess("utf-16", "UTF-16", _accented, {**_RFC, "encoding": "UTF-16"}, _RFC, clean=_accented, encoding="UTF-16"),
    Mess(
        "patterns", "dates and times with patterns", _timed("{d:02}/{m:02}/{y},{d:02}.{m:02}.{y} {h:02}:30,"),
        {**_RFC, "dateFormat": "dd/MM/yyyy", "timestampFormat": "dd.MM.yyyy HH:mm"}, _RFC, _TIMED_SCHEMA,
        clean=_timed("{y}-{m:02}-{d:02},{y}-{m:02}-{d:02} {h:02}:30:00,"),
    ),
    Mess(
        "json-types", "JSON with a value of the wrong type in 1 of 100 records",
        _every(100, lambda record: record.replace(b'"price": ', b'"price": "n/a", "old": ', 1)),
        schema=_JSON_SCHEMA, is_json=True,
    ),
    Mess(
        "json-quotes", "JSON with names in single quotes",
        lambda _, record: record.replace(b'"id": ', b"'id': ", 1).replace(b'"name": ', b"'name': ", 1),
        schema=_JSON_SCHEMA, is_json=True,
    ),
]  # fmt: skip


class MessyWorks(FileWorks):
    """Reads a messy file and the clean one beside it; answers are numbers of records.

    Args:
        spark: The session.
        source: The messy file.
        scratch: Directory for Parquet.
        mess: What is wrong with it.
    """

    def __init__(self, spark: SparkSession, source: Path, scratch: Path, mess: Mess) -> None:
        super().__init__(spark, source, scratch)
        self._mess = mess
        self._clean = str(clean_beside(source))

    def all(self) -> dict[str, Work]:
        return {
            "to_arrow": {
                "splitscan": lambda: self._scan().to_arrow().num_rows,
                "splitscan, clean": lambda: self._clean_scan().to_arrow().num_rows,
            },
            "ingest": {
                "splitscan": partial(self._ingest, self._scan),
                "splitscan, clean": partial(self._ingest, self._clean_scan),
                "spark": self._spark_all,
            },
        }

    def _scan(self, block_size: str = BLOCK_SIZE) -> ss.Scan:
        return self._scan_of(self._source, self._mess.options, block_size)

    def _clean_scan(self, block_size: str = BLOCK_SIZE) -> ss.Scan:
        return self._scan_of(self._clean, self._mess.clean_options, block_size)

    def _scan_of(self, path: str, options: dict[str, Any], block_size: str) -> ss.Scan:
        format = "json" if self._mess.is_json else "csv"
        return ss.scan(path, format, self._mess.schema, block_size=block_size, **options)

    def _ingest(self, scan: Callable[[], ss.Scan]) -> Callable[[], int]:
        target = self._empty("splitscan")
        report = scan().ingest(self._spark, target, max_reject_ratio=1)
        return lambda: report.rows

    def _spark_frame(self) -> DataFrame:
        reader = self._spark.read.schema(self._mess.schema).options(**self._mess.options)
        return reader.json(self._source) if self._mess.is_json else reader.csv(self._source)

    def _spark_all(self) -> Callable[[], int]:
        target = self._empty("spark")
        self._spark_frame().write.option("compression", "zstd").parquet(target)
        return lambda: ds.dataset(target, format="parquet").count_rows()
