import datetime
import decimal
import json

import pyarrow as pa
import pytest

from splitscan.formats.json.writing import json_lines, json_values

ODD = 'q"\\\n\x00\u2028é'
ROWS = {
    "text": [ODD, None, ""],
    "whole": [1, None, -(2**63)],
    "fraction": [7.0, None, -1e300],
    "odd": [float("nan"), float("inf"), float("-inf")],
    "flag": [True, False, None],
    "day": [datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)],
    "list": [[[1, None], None], [], None],
    "struct": [{"a": 1, ODD: None}, None, {"a": None, ODD: "x"}],
    "nothing": [None, None, None],
    ODD: ["name", None, None],
}


def test_every_line_is_the_object_that_python_writes():
    expected = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    for row, odd in zip(expected, ["NaN", "Infinity", "-Infinity"], strict=True):
        row["odd"] = odd
        row["day"] = row["day"] and row["day"].isoformat()
    batch = pa.record_batch(ROWS)
    lines = json_lines(batch).split(b"\n")
    assert [json.loads(line) for line in lines[:-1]] == expected
    assert json_lines(batch.slice(1, 1)) == lines[1] + b"\n"
    assert json_lines(batch.slice(0, 0)) == b""


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([7.0, 1.5], pa.float32(), ["7.0", "1.5"]),
        ([b"\xff", b""], pa.binary(), ['"/w=="', '""']),
        ([decimal.Decimal("1.50")], pa.decimal128(9, 2), ["1.50"]),
        ([0, -1], pa.timestamp("us", "UTC"), ['"1970-01-01T00:00:00.000000Z"', '"1969-12-31T23:59:59.999999Z"']),
        ([0], pa.timestamp("us"), ['"1970-01-01T00:00:00.000000"']),
        ([[("k", 1), ('"', None)], [], None], pa.map_(pa.string(), pa.int8()), ['{"k":1,"\\"":null}', "{}", "null"]),
        ([{}, None], pa.struct([]), ["{}", "null"]),
    ],
)
def test_values(values, kind, expected):
    array = pa.array(values, kind)
    assert json_values(array).to_pylist() == expected
    assert json_values(array.slice(len(array) - 1)).to_pylist() == expected[-1:]
