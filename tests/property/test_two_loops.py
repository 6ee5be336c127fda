"""The kernel's loop over a block and the one in Python: the same rows, rejects, report, count and error, at any cut."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import splitscan as ss
from splitscan.engine import kernel
from splitscan.errors import SplitscanError
from splitscan.formats.framing.encodings import resolve_encoding

from ..kernel.two_loops import both

pytestmark = pytest.mark.skipif(kernel() is None, reason="there is no kernel to compare")

PIECES = [
    b"a", b"1", b"12", b",", b",", b'"', b'"', b"\n", b"\n", b"\r\n", b"\r", b"#", b" ", b"\\", b"\xc3\xa9", b"\xff",
    b"n,m\n", b"M,n\n", b"m,z,n\n", b"1,x\n", b'"a\nb",2\n', b"|;", b"|", b"#c\n", b"aaaaaaaaaa",
]  # fmt: skip
ENCODINGS = [None, None, None, None, "windows-1252", "UTF-16LE", "UTF-16BE", "UTF-16", "UTF-32BE", "UTF-32"]
SEVERAL_BYTES = ["GBK", "GB18030", "GB2312", "EUC-KR", "Shift_JIS", "windows-31j", "Big5-HKSCS", "x-windows-949"]
CHARACTERS = [
    b"\xd6\xd0", b"\xb0\xa1", b"\x81", b"\x810", b"\x810\x810", b"\x900\x810", b"\xa4\xd4", b"\x82\xa0", b"\x88b",
    b"\xfe", b"\xa4\xd4\xa4\xa1\xa4\xbf\xa4\xd4", b"\xb1", b"\x80", b"\x815", b",\xd6\xd0", b"\n\xd6\xd0", b"\xc3",
]  # fmt: skip
METADATA = ["file_name", "file_size", "block_id", "record_offset", "record_length"]


def written(text: str, encoding: str | None, cut: int = 0) -> bytes:
    """A text in an encoding, in UTF-8 without one, but for some bytes; what the encoding does not have is left out."""
    is_unicode = encoding is None or encoding.startswith("UTF")
    codec = "utf-8" if encoding is None else resolve_encoding(encoding).codec if not is_unicode else encoding
    data = text.encode(codec, "surrogatepass" if is_unicode else "ignore")
    return data[: max(0, len(data) - cut)]


def wide(data: bytes, encoding: str | None, cut: int) -> bytes:
    """Bytes as they are, or as characters in an encoding of several bytes for each."""
    return written(data.decode("latin-1"), encoding, cut) if (encoding or "").startswith("UTF") else data


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.sampled_from(PIECES + CHARACTERS), max_size=25).map(b"".join),
    options=st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["PERMISSIVE", "PERMISSIVE", "DROPMALFORMED", "FAILFAST"]),
            "multiLine": st.booleans(),
            "header": st.booleans(),
            "escape": st.sampled_from(["\\", '"']),
            "comment": st.sampled_from([None, "#"]),
            "lineSep": st.sampled_from([None, None, "\n", "|;", "aa", "\xe9\xff", "\n\u4e2d"]),
            "headerMapping": st.sampled_from([None, "byName"]),
            "rejectReasonColumn": st.sampled_from([None, None, "why"]),
            "sep": st.sampled_from([None, None, None, "|", "\xc3", "a|", ",\u4e2d", r"\s+"]),
            "skipRows": st.sampled_from([0, 0, 1]),
            "ignoreLeadingWhiteSpace": st.booleans(),
            "maxRecordBytes": st.sampled_from([8, 30, 1000]),
            "readBytes": st.sampled_from([1, 5, 1000]),
            "batchRows": st.sampled_from([1, 3, 1000]),
            "enforceSchema": st.booleans(),
            "encoding": st.sampled_from(ENCODINGS + SEVERAL_BYTES),
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
    cut=st.integers(0, 3),
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
    cut: int,
) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"\xef\xbb\xbf" * (mark and options["encoding"] is None) + wide(data, options["encoding"], cut))
    given = {name: value for name, value in options.items() if value is not None}
    if options["encoding"] in SEVERAL_BYTES:
        given["escape"] = '"'  # no other may be part of a character
    if rescues:
        given["rescuedDataColumn"] = "_rescued"
    if not options["header"] or schema.startswith("columns"):
        given.pop("headerMapping", None)
    if schema.startswith("columns"):
        given["header"] = False
    elif defaults is not None and "date" not in schema:
        given["columnOptions"] = json.dumps({name: each for name, each in defaults.items() if name in schema.split()})
    if "headerMapping" in given:
        given.pop("enforceSchema", None)
    if rescues and (schema.startswith("columns") or options["enforceSchema"]):
        given.pop("rescuedDataColumn")
    try:
        scan = ss.scan(
            str(path), format="csv", schema=schema, blockBytes=block_bytes, metadataColumns=",".join(METADATA), **given
        )
        blocks, spec = list(scan.plan()), scan.spec
    except SplitscanError as error:
        event(str(error.reason_code))  # the random text has no header that ends, or the options do not fit together
        return
    for block in blocks:
        both(spec, block, limit, told)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.sampled_from(PIECES + CHARACTERS), max_size=25).map(b"".join),
    line_sep=st.sampled_from([None, "\n", "|;", "\r\n", "aa", "aba", '""', "\n\u4e2d"]),
    escape=st.sampled_from([None, None, "\\", "#"]),
    encoding=st.sampled_from(ENCODINGS + SEVERAL_BYTES),
    cut=st.integers(0, 3),
    max_record_bytes=st.sampled_from([3, 1000]),
    block_bytes=st.integers(1, 20),
    limit=st.sampled_from([None, 2]),
)
def test_both_loops_read_text_alike(  # noqa: PLR0917 - drawn by name
    tmp_path: Path,
    data: bytes,
    line_sep: str | None,
    escape: str | None,
    encoding: str | None,
    cut: int,
    max_record_bytes: int,
    block_bytes: int,
    limit: int | None,
) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(wide(data, encoding, cut))
    asked = {"lineSep": line_sep, "escape": escape, "encoding": encoding}
    given = {name: value for name, value in asked.items() if value is not None}
    try:
        scan = ss.scan(
            str(path), format="text", blockBytes=block_bytes, maxRecordBytes=max_record_bytes, readBytes=4,
            metadataColumns="record_offset,file_path", **given,
        )  # fmt: skip
        blocks = list(scan.plan())
    except SplitscanError as error:
        event(str(error.reason_code))  # a mark may be part of a character
        return
    for block in blocks:
        both(scan.spec, block, limit, told=True)


JSON = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\n", b"\n", b"\r\n", b"\r", b" ", b"|;", b"|", b"1", b"a",
    b'{"n":1}', b'{"n":1}\n', b'{"n":"x","o":[{"a":1,"b":2}]}\n', b'{"m":"\xc3\xa9","z":1}\r\n', b"\n{", b"\n  {",
    b'{"n":\n', b'\n  {"n":2},', b'"a', b"null", b"\x1e", b"\xff", b"{n:1}", b"{n\xc3\xa9:1}", b"{o:[{}]}",
    b'{"n\\u0000":1,"o":[{"\\u0000a":2}],"m":{"k":{"\\u0000a":3}}}\n',
]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.sampled_from(JSON + CHARACTERS), max_size=25).map(b"".join),
    start=st.sampled_from([b"", b"", b"[", b"[\n  ", b"\xef\xbb\xbf", b"\n "]),
    cut=st.integers(0, 3),
    options=st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["PERMISSIVE", "PERMISSIVE", "DROPMALFORMED", "FAILFAST"]),
            "multiLine": st.booleans(),
            "lineSep": st.sampled_from([None, None, "\n", "|;", "||", "\n\u4e2d"]),
            "allowUnquotedControlChars": st.booleans(),
            "allowUnquotedFieldNames": st.booleans(),
            "rejectReasonColumn": st.sampled_from([None, None, "why"]),
            "encoding": st.sampled_from(ENCODINGS + SEVERAL_BYTES),
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
            "o array<struct<`\0a` int, a int>>, `n\0` int, m map<string, struct<`\0a`: int>>",
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
    cut: int,
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
    if options["multiLine"] and (options["encoding"] or "").startswith("UTF"):
        options["encoding"] = None
    path.write_bytes(wide(start + data, options["encoding"], cut))
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
    try:
        scan = ss.scan(
            str(path), format="json", schema=schema, blockBytes=block_bytes, metadataColumns=",".join(METADATA), **given
        )
        blocks = list(scan.plan())
    except SplitscanError as error:
        event(str(error.reason_code))  # marks may be part of characters
        return
    notices = 0 if rescues else notices
    spec = replace(scan.spec, notices=notices)
    for block in blocks:
        both(spec, block, limit, told)


XML = [
    "<r>", "<r>", "</r>", "</r>", "<r a='1'>", "<r/>", "<a>", "</a>", "1", "x", " ", "\n", "\r\n", "<!--", "-->",
    "<![CDATA[", "]]>", "<?p", "?>", "<!D", "[", ">", "'", '"', "</r ", "<b a='", "<r", "<", "&lt;", "&x;", "\u00e9",
    "<a>1</a>", "<r><a>2</a></r>\n", "\uac00", "\u4e2d", "<\u4e2d>", "</\u4e2d>",
    "<r a='x'><b><c>1</c></b><a>1</a><a>y</a></r>", "<z>1</z>", "<r a=\"<r>", "\0",
    "\u2603", "\U0001f600", "\ud800", "\udc00",
]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.lists(st.sampled_from(XML), max_size=25).map("".join),
    tail=st.one_of(st.just(b""), st.lists(st.sampled_from([b"<r>", b"</r>", *CHARACTERS]), max_size=9).map(b"".join)),
    cut=st.integers(0, 3),
    head=st.sampled_from(["", "", "\ufeff", "<?xml version='1.0' encoding='latin1'?>", "<?xml encoding='euc-kr'?>"]),
    options=st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["PERMISSIVE", "PERMISSIVE", "DROPMALFORMED", "FAILFAST"]),
            "encoding": st.sampled_from(ENCODINGS + SEVERAL_BYTES),
            "ignoreNamespace": st.booleans(),
            "excludeAttribute": st.booleans(),
            "nullValue": st.sampled_from([None, "1"]),
            "rejectReasonColumn": st.sampled_from([None, None, "why"]),
            "columnOptions": st.sampled_from([None, None, '{"a": {"default": "4"}}']),
            "maxRecordBytes": st.sampled_from([4, 8, 30, 1000]),
            "readBytes": st.sampled_from([1, 5, 1000]),
            "batchRows": st.sampled_from([1, 3, 1000]),
        }
    ),
    row_tag=st.sampled_from(["r", "r", "r", "a", "\u00e9", "\u4e2d"]),
    schema=st.sampled_from(
        [
            "a int, _a string",
            "a int NOT NULL",
            "a int, b struct<c: int, _a: string>, _corrupt_record string",
            "a array<int>, b map<string, int>",
        ]
    ),
    rescues=st.booleans(),
    block_bytes=st.integers(1, 40),
    limit=st.sampled_from([None, None, 1, 3]),
    told=st.booleans(),
    columns=st.sampled_from([None, None, ["a"], ["b.c"], ["record_offset"]]),
    notices=st.sampled_from([0, 1, 1000]),
)
def test_both_loops_read_xml_alike(  # noqa: PLR0917 - drawn by name
    tmp_path: Path,
    text: str,
    tail: bytes,
    cut: int,
    head: str,
    options: dict[str, Any],
    row_tag: str,
    schema: str,
    rescues: bool,
    block_bytes: int,
    limit: int | None,
    told: bool,
    columns: list[str] | None,
    notices: int,
) -> None:
    path = tmp_path / "f.xml"
    path.write_bytes(written(head + text, "euc-kr" if "euc-kr" in head else options["encoding"], cut) + tail)
    given = {name: value for name, value in options.items() if value is not None}
    if "array<int>" in schema:
        given.pop("columnOptions", None)  # a default is a value of its column
    if rescues:
        given["rescuedDataColumn"] = "_rescued"
    if columns is not None and {name.partition(".")[0] for name in columns} <= {*schema.split(), "record_offset"}:
        given["columns"] = columns
    try:
        scan = ss.scan(
            str(path), format="xml", rowTag=row_tag, schema=schema, blockBytes=block_bytes,
            metadataColumns=",".join(METADATA), **given,
        )  # fmt: skip
        blocks = list(scan.plan())
    except SplitscanError as error:
        event(str(error.reason_code))  # the row tag cannot be written in the encoding
        return
    notices = 0 if rescues or "columns" in given else notices
    spec = replace(scan.spec, notices=notices)
    for block in blocks:
        both(spec, block, limit, told)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(
        st.sampled_from([b"1", b"a", b" ", b"\n", b"\r", b"\xe9", b"\xc3\xa9", b"12ab\n", b"|", *CHARACTERS]),
        max_size=40,
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
            ("fixed_width", {"layout": "n 1 2 int, m 3 2", "encoding": "UTF-16LE"}),
            ("fixed_width", {"layout": "n 1 2 int, m 3 2", "encoding": "UTF-32", "lineSep": "|"}),
            ("fixed_width", {"layout": "n 1 2 int, m 3 2", "recordLength": 4, "encoding": "windows-1252"}),
            ("fixed_width", {"layout": "n 1 1 int, m 2 2 binary", "recordLength": 3}),
            ("fixed_width", {"layout": "n 1 2 string, m 3 2 binary", "recordLength": 4, "encoding": "UTF-16LE"}),
            ("fixed_width", {"layout": "n 1 2 int, m 3 2", "recordLength": 4, "encoding": "GB18030"}),
            ("fixed_width", {"layout": "n 1 2 string, m 3 2 binary", "recordLength": 4, "encoding": "GBK"}),
            ("fixed_width", {"layout": "n 1 2 int, m 3 2", "encoding": "EUC-KR", "lineSep": "\n\u4e2d"}),
            ("fixed_width", {"layout": "n 1 2 int, m 3 2", "encoding": "Big5-HKSCS"}),
        ]
    ),
    cut=st.integers(0, 3),
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
def test_both_loops_read_records_of_fixed_places_alike(  # noqa: PLR0917 - drawn by name
    tmp_path: Path,
    data: bytes,
    options: dict[str, Any],
    format: tuple[str, dict[str, Any]],
    cut: int,
    shows: dict[str, str],
    block_bytes: int,
    limit: int | None,
    told: bool,
) -> None:
    path = tmp_path / "f.dat"
    path.write_bytes(wide(data, format[1].get("encoding"), cut))
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
        both(scan.spec, block, limit, told)


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}
KINDS: dict[str, tuple[list[bytes], dict[str, Any]]] = {
    "csv": (PIECES, {"schema": "n int, m string NOT NULL", "multiLine": True}),
    "json": (JSON, {"schema": "n int, m string"}),
    "values": (JSON, {"schema": "n int, m string", "multiLine": True}),
    "fixed_width": ([b"1", b"a", b" ", b"\n", b"12ab\n"], {"layout": "n 1 2 int, m 3 2"}),
    "fixed": ([b"1", b"a"], {"recordLength": 3}),
}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    draw=st.data(),
    kind=st.sampled_from(sorted(KINDS)),
    ending=st.sampled_from(["gz", "bz2", "zst", "blocks.gz"]),
    lost=st.sampled_from([0, 0, 1, 9, 20]),
    block_bytes=st.integers(1, 20),
    read_bytes=st.sampled_from([1, 5, 1000]),
    limit=st.sampled_from([None, None, 2]),
)
def test_both_loops_read_compressed_and_damaged_files_alike(
    tmp_path: Path,
    draw: st.DataObject,
    kind: str,
    ending: str,
    lost: int,
    block_bytes: int,
    read_bytes: int,
    limit: int | None,
) -> None:
    pieces, given = KINDS[kind]
    parts = draw.draw(st.lists(st.lists(st.sampled_from(pieces), max_size=20).map(b"".join), min_size=1, max_size=3))
    path = tmp_path / f"f.{kind}.{ending}"
    codec = ending.rpartition(".")[2]
    frames = parts if ending == "blocks.gz" else [b"".join(parts)]
    packed = b"".join(map(PACK[codec], frames))
    path.write_bytes(packed[: max(1, len(packed) - lost)])
    try:
        scan = ss.scan(
            str(path),
            format="json" if kind == "values" else kind,
            blockBytes=block_bytes,
            readBytes=read_bytes,
            maxRecordBytes=1000 if lost else 12,  # of a record that damage cuts off nobody knows how long it is
            ignoreCorruptFiles=True,
            **given,
        )
        blocks, spec = list(scan.plan()), scan.spec
    except SplitscanError as error:
        event(str(error.reason_code))  # of so little nothing can be planned
        return
    for block in blocks:
        both(spec, block, limit, told=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data(), kind=st.sampled_from(sorted(KINDS)), more=st.binary(max_size=9))
def test_both_loops_read_the_planned_part_of_a_file_that_grows_alike(
    tmp_path: Path, draw: st.DataObject, kind: str, more: bytes
) -> None:
    pieces, given = KINDS[kind]
    data = draw.draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=25).map(b"".join)) + b"\n"
    path = tmp_path / f"f.{kind}"
    path.write_bytes(data)
    format = "json" if kind == "values" else kind
    scan = ss.scan(str(path), format=format, readBytes=5, maxRecordBytes=12, onFileChange="ignore", **given)
    blocks, spec = list(scan.plan()), scan.spec
    with path.open("ab") as file:
        file.write(more)
    for block in blocks:
        grown = replace(block.file, fingerprint=f"prefix-{len(data)}-a-b")
        both(spec, replace(block, file=grown), None, told=True)


LOG = [
    b"1",
    b"1 a",
    b"2 ",
    b"a",
    b" ",
    b"-",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\n1",
    b"\n2 b c",
    b"\xff",
    b"\xc3\xa9",
    b"\n\n",
]
LINES = {"recordStart": r"\d(?i:[ A])?"}
GROUPS = r"(?P<n>\S)(?: (?P<m>[^ \r\n]+))?(?s:.*)"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.sampled_from(LOG + CHARACTERS), max_size=40).map(b"".join),
    options=st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]),
            "maxRecordBytes": st.sampled_from([4, 8, 1000]),
            "readBytes": st.sampled_from([1, 5, 1000]),
            "batchRows": st.sampled_from([1, 3, 1000]),
        }
    ),
    encoding=st.sampled_from([None, "windows-1252", *SEVERAL_BYTES]),
    lines=st.sampled_from(
        [LINES, LINES, {"recordContinues": r"\D"}, {}, {"recordStart": r"[^ -~]|1"}, {"recordStart": "\u4e2d|\xd6\xd0"}]
    ),
    shows=st.sampled_from(
        [
            {},
            {"recordPattern": GROUPS},
            {"recordPattern": GROUPS, "schema": "n int, m string"},
            {"recordPattern": GROUPS, "schema": "m string, n int, _corrupt_record string", "nullValue": "a"},
            {"recordPattern": GROUPS, "schema": "n int", "rescuedDataColumn": "_rescued"},
        ]
    ),
    block_bytes=st.integers(1, 20),
    limit=st.sampled_from([None, None, 1, 3]),
    told=st.booleans(),
)
def test_both_loops_read_logs_alike(  # noqa: PLR0917 - drawn by name
    tmp_path: Path,
    data: bytes,
    options: dict[str, Any],
    encoding: str | None,
    lines: dict[str, str],
    shows: dict[str, str],
    block_bytes: int,
    limit: int | None,
    told: bool,
) -> None:
    path = tmp_path / "f.log"
    path.write_bytes(data)
    if encoding is not None:
        options["encoding"] = encoding
    scan = ss.scan(
        str(path), format="log", blockBytes=block_bytes, metadataColumns=",".join(METADATA), **lines, **options, **shows
    )
    for block in scan.plan():
        both(scan.spec, block, limit, told)
