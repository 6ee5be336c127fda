"""Both engines give the same rows and the same rejects, whatever the bytes, the options and the cuts."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import splitscan as ss
from splitscan.blocks import Reject

pytest.importorskip("splitscan_kernel")

_PIECES = [
    *'"""\\\\\',,,,;\n\n\n\r# \t',
    *[
        "1",
        "-2.5",
        "x",
        "é",
        "a b",
        " 7 ",
        "1e3",
        "NaN",
        "2024-02-29",
        "1970-01-01T00:00:01Z",
        "true",
        '"a""b"',
        '"c\nd"',
    ],
    *["«", "«", "©", "¡", "«a««b«", "«c\nd«"],
    *['"e"f', ',"g",', '\\"', "0.10", "99999999999", "\r\n"],
]
_SCHEMAS = [
    "a int, b string, _corrupt_record string",
    "a double, b date, c timestamp, _corrupt_record string",
    "a decimal(5,2), b boolean, _corrupt_record string",
    "a string, b binary, c bigint",
]
_OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "multi_line": st.booleans(),
        "escape": st.sampled_from(['"', "\\", "'", "«"]),
        "quote": st.sampled_from(['"', "'", "", "«"]),
        "sep": st.sampled_from([",", ";", ",,", "\t"]),
        "comment": st.sampled_from(["#", "¡"]),
        "ignore_leading_white_space": st.booleans(),
        "ignore_trailing_white_space": st.booleans(),
        "null_value": st.sampled_from(["", "x"]),
        "empty_value": st.sampled_from(["", "e"]),
        "line_sep": st.just("\n"),
        "mode": st.sampled_from(["PERMISSIVE", "DROPMALFORMED"]),
        "max_chars_per_column": st.integers(1, 6),
        "max_record_bytes": st.integers(1, 12),
        "encoding": st.sampled_from(["UTF-8", "ISO-8859-1", "windows-1252", "UTF-16LE", "UTF-32BE", "GB18030"]),
        "time_zone": st.sampled_from(["UTC", "Europe/Berlin", "-03:00"]),
        "date_format": st.sampled_from(["dd/MM/yyyy", "yyyy-MM-dd", "d MMM"]),
        "locale": st.sampled_from(["de", "fr", "hi", "ar-EG"]),
        "rescued_data_column": st.just("_rescued"),
    },
)


_JSON_PIECES = [
    *'{}[]",:\n\n\n\r \\é☃\U0001f600',
    *[
        '{"a":1,"b":"é"}\n',
        '{"b":"\\u00e9☃","a":2}\r\n',
        '{"a":"x"}\n',
        "[{}]\n",
        "null\n",
        '{"a":3}',
        "'a'",
        "NaN",
        "//",
    ],
]
_JSON_OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "line_sep": st.sampled_from(["\n", "\r\n"]),
        "allow_single_quotes": st.booleans(),
        "allow_comments": st.booleans(),
        "mode": st.sampled_from(["PERMISSIVE", "DROPMALFORMED"]),
        "max_record_bytes": st.integers(1, 40),
        "encoding": st.sampled_from(["UTF-8", "ISO-8859-1", "UTF-16LE", "UTF-16BE", "UTF-32LE"]),
        "rescued_data_column": st.just("_rescued"),
    },
)


def _read(
    path: Path, schema: str, options: dict[str, Any], engine: str, scan: Callable[..., ss.Scan] = ss.scan_csv
) -> tuple[list[dict[str, Any]], list[Any], int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPLITSCAN_ENGINE", engine)
        rejects: list[Reject] = []
        read = scan(str(path), schema=schema, **options)
        rows = [row for batch in read.to_batches(rejects.append) for row in batch.to_pylist()]
        return rows, rejects, read.count()


@pytest.mark.slow
@given(
    text=st.lists(st.sampled_from(_PIECES), max_size=40).map("".join),
    schema=st.sampled_from(_SCHEMAS),
    options=_OPTIONS,
    block_bytes=st.integers(1, 60),
)
def test_both_engines_read_csv_alike(text: str, schema: str, options: dict[str, Any], block_bytes: int) -> None:
    _compare(text, schema, options, block_bytes, ss.scan_csv)


@pytest.mark.slow
@given(
    text=st.lists(st.sampled_from(_JSON_PIECES), max_size=30).map("".join),
    options=_JSON_OPTIONS,
    block_bytes=st.integers(1, 60),
)
def test_both_engines_read_lines_of_json_alike(text: str, options: dict[str, Any], block_bytes: int) -> None:
    _compare(text, "a int, b string, _corrupt_record string", options, block_bytes, ss.scan_json)


def _compare(text: str, schema: str, options: dict[str, Any], block_bytes: int, scan: Callable[..., ss.Scan]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "messy"
        path.write_bytes(text.encode(options.get("encoding", "UTF-8"), "replace"))
        try:
            expected = _read(path, schema, options, "reference", scan)
        except ss.SplitscanError as refused:
            with pytest.raises(type(refused)):
                _read(path, schema, options, "kernel", scan)
            return
        given_blocks = {**options, "block_size": block_bytes}
        for found in (_read(path, schema, options, "kernel", scan), _read(path, schema, given_blocks, "kernel", scan)):
            assert repr(found[0]) == repr(expected[0])
            assert found[1] == expected[1]
            assert found[2] == expected[2]


def test_stray_quotes_are_not_swallowed_by_either_engine(tmp_path: Path) -> None:
    path = tmp_path / "stray.csv"
    path.write_text("".join(f'{i},"a{i}\nb""c",{i}\n' if i % 3 else f'{i},x"y{i},{i}\n' for i in range(3000)))
    options = {"multi_line": True, "escape": '"', "block_size": 997}
    schema = "id long, note string, n int"
    kernel, reference = (_read(path, schema, options, engine) for engine in ("kernel", "reference"))
    assert kernel == reference
    assert Counter(row["id"] for row in kernel[0]) == Counter(range(3000))
