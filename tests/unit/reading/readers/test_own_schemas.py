"""The columns of users' own readers: declared, found, merged, provided, and in types that every engine has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.scans.results import rows_of

import splitscan as ss
from splitscan.errors import SchemaError

from .own import LOG, ArrowReader, LogReader

Write = Callable[..., str]


def test_a_schema_by_name_where_the_reader_declares_its_columns(write: Write) -> None:
    path = write(b"a,b,c\n1,x,2.5\n2,y,\n", "a.csv")
    scan = ss.scan(path, format=ArrowReader)
    assert str(scan.schema.field("a").type) == "int64"
    assert rows_of(scan) == [(1, "x", 2.5), (2, "y", None)]
    assert rows_of(ss.scan(path, format=ArrowReader, schema="C string, a int, z date")) == [
        ("2.5", 1, None),
        (None, 2, None),
    ]


def test_the_schema_of_several_files_is_merged(write: Write) -> None:
    write(b"a,b\n1,x\n", "1.csv")
    folder = str(Path(write(b"b,A,c\ny,1.5,true\n", "2.csv")).parent)
    scan = ss.scan(folder, format=ArrowReader)
    assert scan.schema.names == ["a", "b", "c"]
    assert rows_of(scan) == [(1.0, "x", None), (1.5, "y", True)]


def test_a_schema_that_only_rows_show(write: Write) -> None:
    class Late:
        def open(self, negotiator: Any) -> bool:
            self.lines = negotiator.open_input()
            return True

        def next(self, loader: Any) -> bool:
            line = self.lines.readline()
            if line:
                loader.append({"n": [int(line)] if line.strip() else [None]})
            return bool(line)

        def close(self) -> None:
            pass

    path = write(b"\n1\n2\n")
    scan = ss.scan(path, format=Late)
    assert scan.schema == pa.schema([("n", pa.int64())])
    assert rows_of(scan) == [(None,), (1,), (2,)]
    assert ss.scan(write(b"\n\n", "nulls"), format=Late).schema == pa.schema([("n", pa.string())])

    class Nothing(Late):
        def open(self, negotiator: Any) -> bool:
            return False

    with pytest.raises(SchemaError, match="no-schema"):
        _ = ss.scan(path, format=Nothing).schema
    assert ss.scan(path, format=Nothing, schema="n long").to_arrow().num_rows == 0


def test_types_that_spark_does_not_have_become_ones_that_it_has(write: Write) -> None:
    kinds: dict[str, tuple[pa.DataType, pa.DataType]] = {
        "a": (pa.large_string(), pa.string()),
        "b": (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        "c": (pa.timestamp("ns"), pa.timestamp("us")),
        "d": (pa.timestamp("ms", "Asia/Tokyo"), pa.timestamp("us", "UTC")),
        "e": (pa.uint32(), pa.int64()),
        "f": (pa.uint64(), pa.decimal128(20, 0)),
        "g": (pa.string_view(), pa.string()),
        "h": (pa.large_list(pa.binary_view()), pa.list_(pa.binary())),
        "i": (pa.struct([pa.field("x", pa.date64(), nullable=False)]), pa.struct([("x", pa.date32())])),
        "j": (pa.map_(pa.large_string(), pa.uint8()), pa.map_(pa.string(), pa.int16())),
        "k": (pa.null(), pa.string()),
        "l": (pa.float16(), pa.float32()),
        "m": (pa.binary(3), pa.binary()),
    }

    class Odd:
        def open(self, negotiator: Any) -> bool:
            self.schema_ = pa.schema([pa.field(n, k, nullable=n != "a") for n, (k, _) in kinds.items()])
            negotiator.table_schema(self.schema_)
            return True

        def next(self, loader: Any) -> bool:
            loader.append(pa.RecordBatch.from_arrays([pa.nulls(2, f.type) for f in self.schema_], schema=self.schema_))
            return False

        def close(self) -> None:
            pass

    scan = ss.scan(write(b"x"), format=Odd)
    assert scan.schema == pa.schema([(name, kind) for name, (_, kind) in kinds.items()])
    assert scan.to_arrow().num_rows == 2


@pytest.mark.parametrize(
    ("said", "columns"),
    [
        ({"provided_schema": "text string, more int"}, "text: string, more: int32, number: int64"),
        ({"provided_schema": "text string", "schema_mode": "strict"}, "text: string"),
        ({"schema_hints": "number double"}, "number: double, text: string"),
    ],
)
def test_columns_are_provided_and_hinted_at_as_those_of_any_format(
    write: Write, said: dict[str, str], columns: str
) -> None:
    """Parity 42: lenient with other columns of the reader, and strict."""
    scan = ss.scan(write(LOG), format=LogReader, **said)
    assert ", ".join(f"{field.name}: {field.type}" for field in scan.schema) == columns
    assert scan.to_arrow()["text"].to_pylist() == ["start", "work", "broken", "stop"]
    assert scan.count() == 4


def test_a_provided_column_that_the_reader_lacks_takes_its_default(write: Write) -> None:
    said = {"provided_schema": "more int", "column_options": '{"more": {"default": "7"}}'}
    scan = ss.scan(write(LOG), format=LogReader, **said)
    assert scan.to_arrow()["more"].to_pylist() == [7] * 4
