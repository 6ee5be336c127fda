"""How many rows there are depends on the file and the mode, and on nothing else that a reader is asked for."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import splitscan as ss

_RECORDS = {
    "csv": [
        "1,a\n",
        "x,b\n",
        "2\n",
        "3,c,d\n",
        '4,"e\nf"\n',
        '5,"g""h"\n',
        '6,"i"j\n',
        "\n",
        ",\r\n",
        '7,"open\n',
        "8,é",
    ],
    "json": ['{"a":1,"b":"x"}\n', '{"a":"x"}\n', '{"b":{"c":1}}\n', '{"a":1\n', "oops\n", "\n", "{}\n", '{"a":2}'],
}
_PROJECTIONS: list[tuple[str, ...]] = [(), ("a",), ("b",), ("b", "a"), ("file_name",), ("_corrupt_record", "b")]
_SCHEMA = "a int, b string, _corrupt_record string"


def _rows(scan: ss.Scan) -> int:
    return sum(batch.num_rows for batch in scan.to_batches())


_ASKED = st.fixed_dictionaries(
    {
        "batch_rows": st.integers(1, 5),
        "batch_bytes": st.sampled_from([1, 40, 1 << 20]),
        "read_bytes": st.sampled_from([1, 5, 64, 1 << 20]),
    }
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("csv", {"multi_line": True, "escape": '"'}),
        ("csv", {}),
        ("json", {}),
        ("json", {"multi_line": True}),
    ],
)
@given(
    draw=st.data(),
    mode=st.sampled_from(["PERMISSIVE", "DROPMALFORMED"]),
    columns=st.sampled_from(_PROJECTIONS),
    asked=_ASKED,
    limit=st.integers(0, 12),
)
def test_rows_depend_on_the_file_and_the_mode_only(
    format: str,
    options: dict[str, Any],
    draw: st.DataObject,
    mode: str,
    columns: tuple[str, ...],
    asked: dict[str, int],
    limit: int,
) -> None:
    text = "".join(draw.draw(st.lists(st.sampled_from(_RECORDS[format]), max_size=10)))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "records"
        path.write_text(text, newline="")
        plain = ss.scan(str(path), format, _SCHEMA, mode=mode, **options)
        scan = ss.scan(str(path), format, _SCHEMA, mode=mode, **options, **asked)
        expected = plain.to_arrow().num_rows
        event(f"{expected} rows")
        assert _rows(scan.select(*columns)) == expected
        assert _rows(scan.select(*columns).limit(limit)) == min(expected, limit)
        assert scan.count() == plain.count() == expected
        assert scan.select(*columns).limit(limit).count() == min(expected, limit)
