"""The kernel's loop over a block and the one in Python: the same rows, rejects, report, count and error, at any cut."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import splitscan as ss
from splitscan.blocks import BlockMetadata, Reject
from splitscan.engine import kernel
from splitscan.errors import SplitscanError
from splitscan.scan.block_documents import scan_document
from splitscan.scan.block_request import BlockReader, BlockRequest
from splitscan.scan.given_up import RejectCounter
from splitscan.scan.kernel_reader import KernelBlockReader
from splitscan.scan.record_reader import RecordBlockReader
from splitscan.scan.spec import ScanSpec

pytestmark = pytest.mark.skipif(kernel() is None, reason="there is no kernel to compare")

PIECES = [
    b"a", b"1", b"12", b",", b",", b'"', b'"', b"\n", b"\n", b"\r\n", b"\r", b"#", b" ", b"\\", b"\xc3\xa9", b"\xff",
    b"n,m\n", b"M,n\n", b"m,z,n\n", b"1,x\n", b'"a\nb",2\n', b"|;", b"|", b"#c\n", b"aaaaaaaaaa",
]  # fmt: skip
METADATA = ["file_name", "file_size", "block_id", "record_offset", "record_length"]


def read(reader: BlockReader, rejects: list[Reject]) -> Any:
    """What a reader gives, all of it, or how it fails."""
    try:
        rows = [row for batch in reader for row in batch.to_pylist()]
    except SplitscanError as error:
        return type(error), error.rule, error.where, error.seen, error.fix, error.reason_code
    return rows, reader.result, list(rejects)


def count(reader: BlockReader) -> Any:
    try:
        return reader.count()
    except SplitscanError as error:
        return type(error), error.rule, error.where, error.seen, error.fix, error.reason_code


def both(spec: ScanSpec, block: BlockMetadata, limit: int | None, told: bool) -> None:
    found = []
    for open_one in (RecordBlockReader, by_kernel):
        rejects: list[Reject] = []
        losses = RejectCounter(spec.options)
        wanted = {"on_reject": rejects.extend} if told else {"losses": losses}
        reader = open_one(BlockRequest(spec, block, with_digest=True, limit=limit, **wanted))
        answer = read(reader, rejects)
        found.append((answer, warnings_of(losses), count(open_one(BlockRequest(spec.select(()), block)))))
    assert found[1] == found[0]


def warnings_of(losses: RejectCounter) -> list[str]:
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.Logger, "handle", lambda _, record: said.append(record.getMessage()))
        losses.report()
    return said


def by_kernel(request: BlockRequest) -> KernelBlockReader:
    document = scan_document(request.spec)
    assert document is not None
    return KernelBlockReader(request, document)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join),
    options=st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["PERMISSIVE", "PERMISSIVE", "DROPMALFORMED", "FAILFAST"]),
            "multiLine": st.booleans(),
            "header": st.booleans(),
            "escape": st.sampled_from(["\\", '"']),
            "comment": st.sampled_from([None, "#"]),
            "lineSep": st.sampled_from([None, None, "\n", "|;", "aa"]),
            "headerMapping": st.sampled_from([None, "byName"]),
            "rejectReasonColumn": st.sampled_from([None, None, "why"]),
            "skipRows": st.sampled_from([0, 0, 1]),
            "ignoreLeadingWhiteSpace": st.booleans(),
            "maxRecordBytes": st.sampled_from([8, 30, 1000]),
            "readBytes": st.sampled_from([1, 5, 1000]),
            "batchRows": st.sampled_from([1, 3, 1000]),
            "enforceSchema": st.booleans(),
            "encoding": st.sampled_from([None, None, "windows-1252"]),
        }
    ),
    schema=st.sampled_from(
        [
            "n int, m string",
            "n string",
            "n decimal(4,1), m date, _corrupt_record string",
            "n int NOT NULL, m string NOT NULL",
            "columns array<string>",
            "m int, n string NOT NULL, k string",
        ]
    ),
    defaults=st.sampled_from([None, {"m": {"default": "3"}}, {"n": {"default": "7"}, "m": {"blankAs": "empty"}}]),
    rescues=st.booleans(),
    block_bytes=st.integers(1, 20),
    limit=st.sampled_from([None, None, 1, 3]),
    told=st.booleans(),
    mark=st.booleans(),
)
def test_both_loops_read_csv_alike(  # noqa: PLR0917 - drawn by name
    tmp_path: Path,
    data: bytes,
    options: dict[str, Any],
    schema: str,
    defaults: dict[str, dict[str, str]] | None,
    rescues: bool,
    block_bytes: int,
    limit: int | None,
    told: bool,
    mark: bool,
) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"\xef\xbb\xbf" * (mark and options["encoding"] is None) + data)
    given = {name: value for name, value in options.items() if value is not None}
    if rescues:
        given["rescuedDataColumn"] = "_rescued"
    if defaults is not None:
        given["columnOptions"] = json.dumps(defaults)
    try:
        scan = ss.scan(
            str(path), format="csv", schema=schema, blockBytes=block_bytes, metadataColumns=",".join(METADATA), **given
        )
        blocks, spec = list(scan.plan()), scan.planner.spec
    except SplitscanError as error:
        event(str(error.reason_code))  # the random text has no header that ends, or the options do not fit together
        return
    for block in blocks:
        both(spec, block, limit, told)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join),
    line_sep=st.sampled_from([None, "\n", "|;", "\r\n", "aa", "aba", '""']),
    escape=st.sampled_from([None, None, "\\", "#"]),
    encoding=st.sampled_from([None, None, "windows-1252"]),
    max_record_bytes=st.sampled_from([3, 1000]),
    block_bytes=st.integers(1, 20),
    limit=st.sampled_from([None, 2]),
)
def test_both_loops_read_text_alike(
    tmp_path: Path,
    data: bytes,
    line_sep: str | None,
    escape: str | None,
    encoding: str | None,
    max_record_bytes: int,
    block_bytes: int,
    limit: int | None,
) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(data)
    asked = {"lineSep": line_sep, "escape": escape, "encoding": encoding}
    given = {name: value for name, value in asked.items() if value is not None}
    scan = ss.scan(
        str(path), format="text", blockBytes=block_bytes, maxRecordBytes=max_record_bytes, readBytes=4,
        metadataColumns="record_offset,file_path", **given,
    )  # fmt: skip
    for block in scan.plan():
        both(scan.planner.spec, block, limit, told=True)


JSON = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\n", b"\n", b"\r\n", b"\r", b" ", b"|;", b"|", b"1", b"a",
    b'{"n":1}', b'{"n":1}\n', b'{"n":"x","o":[{"a":1,"b":2}]}\n', b'{"m":"\xc3\xa9","z":1}\r\n', b"\n{", b"\n  {",
    b'{"n":\n', b'\n  {"n":2},', b'"a', b"null", b"\x1e", b"\xff", b"{n:1}", b"{n\xc3\xa9:1}", b"{o:[{}]}",
]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.sampled_from(JSON), max_size=25).map(b"".join),
    start=st.sampled_from([b"", b"", b"[", b"[\n  ", b"\xef\xbb\xbf", b"\n "]),
    options=st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["PERMISSIVE", "PERMISSIVE", "DROPMALFORMED", "FAILFAST"]),
            "multiLine": st.booleans(),
            "lineSep": st.sampled_from([None, None, "\n", "|;", "||"]),
            "allowUnquotedControlChars": st.booleans(),
            "allowUnquotedFieldNames": st.booleans(),
            "rejectReasonColumn": st.sampled_from([None, None, "why"]),
            "encoding": st.sampled_from([None, None, "windows-1252"]),
            "maxRecordBytes": st.sampled_from([4, 8, 30, 1000]),
            "readBytes": st.sampled_from([1, 5, 1000]),
            "batchRows": st.sampled_from([1, 3, 1000]),
        }
    ),
    schema=st.sampled_from(
        [
            "n int, m string",
            "n string",
            "o array<struct<a int, `b: c` int>>, n int, _corrupt_record string",
            "m map<string, int>",
            "n int NOT NULL, o array<struct<a int NOT NULL>>",
            "n int, m string NOT NULL",
        ]
    ),
    default=st.sampled_from([None, None, '{"n": {"default": "5"}}']),
    rescues=st.booleans(),
    block_bytes=st.integers(1, 20),
    limit=st.sampled_from([None, None, 1, 3]),
    told=st.booleans(),
    columns=st.sampled_from([None, None, ["n"], ["o.a"], ["record_offset"]]),
    notices=st.sampled_from([0, 1, 1000]),
)
def test_both_loops_read_json_alike(  # noqa: PLR0917 - drawn by name
    tmp_path: Path,
    data: bytes,
    start: bytes,
    options: dict[str, Any],
    schema: str,
    default: str | None,
    rescues: bool,
    block_bytes: int,
    limit: int | None,
    told: bool,
    columns: list[str] | None,
    notices: int,
) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(start + data)
    given = {name: value for name, value in options.items() if value is not None}
    if options["multiLine"]:
        given.pop("lineSep", None)
    if default is not None and schema.startswith("n "):
        given["columnOptions"] = default
    if rescues:
        given["rescuedDataColumn"] = "_rescued"
    if columns is not None and {name.partition(".")[0] for name in columns} <= {
        *schema.replace(",", "").split(),
        "record_offset",
    }:
        given["columns"] = columns
    scan = ss.scan(
        str(path), format="json", schema=schema, blockBytes=block_bytes, metadataColumns=",".join(METADATA), **given
    )
    notices = 0 if rescues else notices
    spec = replace(scan.planner.spec, notices=notices)
    for block in scan.plan():
        both(spec, block, limit, told)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(
        st.sampled_from([b"1", b"a", b" ", b"\n", b"\r", b"\xe9", b"\xc3\xa9", b"12ab\n", b"|"]), max_size=40
    ).map(b"".join),
    options=st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]),
            "maxRecordBytes": st.sampled_from([4, 1000]),
            "readBytes": st.sampled_from([1, 5, 1000]),
            "batchRows": st.sampled_from([1, 1000]),
        }
    ),
    format=st.sampled_from(
        [
            ("fixed", {"recordLength": 3}),
            ("slices", {"sliceSize": 4}),
            ("fixed_width", {"layout": "n 1 2 int, m 3 2"}),
            ("fixed_width", {"layout": "n 1 2 int, m 3 2", "lineSep": "|"}),
            ("fixed_width", {"layout": "n 1 2 int, m 3 2", "lineSep": "1a1"}),
            ("fixed_width", {"layout": "n 1 2 int, m 3 2", "recordLength": 4, "encoding": "windows-1252"}),
            ("fixed_width", {"layout": "n 1 1 int, m 2 2 binary", "recordLength": 3}),
        ]
    ),
    shows=st.sampled_from(
        [
            {},
            {"rescuedDataColumn": "_rescued"},
            {"schema": "m string, n int, _corrupt_record string"},
            {"schema": "m string NOT NULL, n int NOT NULL", "rejectReasonColumn": "why"},
            {"schema": "m string, n int NOT NULL", "columnOptions": '{"n": {"default": "4"}}'},
        ]
    ),
    block_bytes=st.integers(1, 20),
    limit=st.sampled_from([None, None, 1, 3]),
    told=st.booleans(),
)
def test_both_loops_read_records_of_fixed_places_alike(
    tmp_path: Path,
    data: bytes,
    options: dict[str, Any],
    format: tuple[str, dict[str, Any]],
    shows: dict[str, str],
    block_bytes: int,
    limit: int | None,
    told: bool,
) -> None:
    path = tmp_path / "f.dat"
    path.write_bytes(data)
    if format[0] != "fixed_width" or "binary" in format[1]["layout"]:
        shows = {}
    scan = ss.scan(
        str(path),
        format=format[0],
        blockBytes=block_bytes,
        metadataColumns=",".join(METADATA),
        **format[1],
        **options,
        **shows,
    )
    for block in scan.plan():
        both(scan.planner.spec, block, limit, told)
