"""The kernel's loop over a block and the one in Python: the same rows, rejects, report, count and error, at any cut."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
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
METADATA = "file_name,file_size,block_id,record_offset,record_length"
MODES = st.sampled_from(["PERMISSIVE", "PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
SIZES = {"readBytes": st.sampled_from([1, 5, 1000]), "batchRows": st.sampled_from([1, 3, 1000])}
READS = {
    "block_bytes": st.integers(1, 20),
    "limit": st.sampled_from([None, None, 1, 3]),
    "told": st.booleans(),
    "cut": st.integers(0, 3),
}


def drawn(**strategies: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a test its draws, by their names, as one value."""
    checks = [HealthCheck.function_scoped_fixture]
    return lambda test: settings(suppress_health_check=checks)(
        given(case=st.builds(SimpleNamespace, **strategies))(test)
    )


def given_of(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def compare(
    path: Path, case: SimpleNamespace, notices: int | None = None, refusable: bool = True, **options: Any
) -> None:
    """Read all blocks of a file by both loops; options that are refused for the drawn bytes are not compared."""
    options = {"blockBytes": case.block_bytes, "metadataColumns": METADATA, **options}
    try:
        scan = ss.scan(str(path), **options)
        blocks, spec = list(scan.plan()), scan.spec if notices is None else replace(scan.spec, notices=notices)
    except SplitscanError as error:
        if not refusable:
            raise
        event(str(error.reason_code))
        return
    for block in blocks:
        both(spec, block, case.limit, case.told)


def has_columns(case: SimpleNamespace) -> bool:
    names = {*case.schema.replace(",", "").split(), "record_offset"}
    return case.columns is not None and {name.partition(".")[0] for name in case.columns} <= names


def written(text: str, encoding: str | None, cut: int = 0) -> bytes:
    """A text in an encoding, in UTF-8 without one, but for some bytes; what the encoding does not have is left out."""
    is_unicode = encoding is None or encoding.startswith("UTF")
    codec = "utf-8" if encoding is None else resolve_encoding(encoding).codec if not is_unicode else encoding
    data = text.encode(codec, "surrogatepass" if is_unicode else "ignore")
    return data[: max(0, len(data) - cut)]


def wide(data: bytes, encoding: str | None, cut: int) -> bytes:
    """Bytes as they are, or as characters in an encoding of several bytes for each."""
    return written(data.decode("latin-1"), encoding, cut) if (encoding or "").startswith("UTF") else data


@drawn(
    data=st.lists(st.sampled_from(PIECES + CHARACTERS), max_size=25).map(b"".join),
    options=st.fixed_dictionaries(
        {
            "mode": MODES,
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
            "enforceSchema": st.booleans(),
            "encoding": st.sampled_from(ENCODINGS + SEVERAL_BYTES),
            **SIZES,
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
    mark=st.booleans(),
    **READS,
)
def test_both_loops_read_csv_alike(tmp_path: Path, case: SimpleNamespace) -> None:
    path, options, schema = tmp_path / "f.csv", given_of(case.options), case.schema
    encoding = options.get("encoding")
    path.write_bytes(b"\xef\xbb\xbf" * (case.mark and encoding is None) + wide(case.data, encoding, case.cut))
    if encoding in SEVERAL_BYTES:
        options["escape"] = '"'  # no other may be part of a character
    if not options["header"] or schema.startswith("columns"):
        options.pop("headerMapping", None)
    if schema.startswith("columns"):
        options["header"] = False
    elif case.defaults is not None and "date" not in schema:
        names = schema.split()
        options["columnOptions"] = json.dumps({name: each for name, each in case.defaults.items() if name in names})
    if "headerMapping" in options:
        options.pop("enforceSchema", None)
    if case.rescues and not (schema.startswith("columns") or case.options["enforceSchema"]):
        options["rescuedDataColumn"] = "_rescued"
    compare(path, case, format="csv", schema=schema, **options)


@drawn(
    data=st.lists(st.sampled_from(PIECES + CHARACTERS), max_size=25).map(b"".join),
    options=st.fixed_dictionaries(
        {
            "lineSep": st.sampled_from([None, "\n", "|;", "\r\n", "aa", "aba", '""', "\n\u4e2d"]),
            "escape": st.sampled_from([None, None, "\\", "#"]),
            "encoding": st.sampled_from(ENCODINGS + SEVERAL_BYTES),
            "maxRecordBytes": st.sampled_from([3, 1000]),
            **SIZES,
        }
    ),
    **READS,
)
def test_both_loops_read_text_alike(tmp_path: Path, case: SimpleNamespace) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(wide(case.data, case.options["encoding"], case.cut))
    compare(path, case, format="text", **given_of(case.options))


JSON = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\n", b"\n", b"\r\n", b"\r", b" ", b"|;", b"|", b"1", b"a",
    b'{"n":1}', b'{"n":1}\n', b'{"n":"x","o":[{"a":1,"b":2}]}\n', b'{"m":"\xc3\xa9","z":1}\r\n', b"\n{", b"\n  {",
    b'{"n":\n', b'\n  {"n":2},', b'"a', b"null", b"\x1e", b"\xff", b"{n:1}", b"{n\xc3\xa9:1}", b"{o:[{}]}",
    b'{"n\\u0000":1,"o":[{"\\u0000a":2}],"m":{"k":{"\\u0000a":3}}}\n',
]  # fmt: skip


@drawn(
    data=st.lists(st.sampled_from(JSON + CHARACTERS), max_size=25).map(b"".join),
    start=st.sampled_from([b"", b"", b"[", b"[\n  ", b"\xef\xbb\xbf", b"\n "]),
    options=st.fixed_dictionaries(
        {
            "mode": MODES,
            "multiLine": st.booleans(),
            "lineSep": st.sampled_from([None, None, "\n", "|;", "||", "\n\u4e2d"]),
            "allowUnquotedControlChars": st.booleans(),
            "allowUnquotedFieldNames": st.booleans(),
            "rejectReasonColumn": st.sampled_from([None, None, "why"]),
            "encoding": st.sampled_from(ENCODINGS + SEVERAL_BYTES),
            "maxRecordBytes": st.sampled_from([4, 8, 30, 1000]),
            **SIZES,
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
    columns=st.sampled_from([None, None, ["n"], ["o.a"], ["record_offset"]]),
    notices=st.sampled_from([0, 1, 1000]),
    **READS,
)
def test_both_loops_read_json_alike(tmp_path: Path, case: SimpleNamespace) -> None:
    path, options, schema = tmp_path / "f.json", given_of(case.options), case.schema
    if options["multiLine"]:
        options.pop("lineSep", None)
        if options.get("encoding", "").startswith("UTF"):
            del options["encoding"]
    path.write_bytes(wide(case.start + case.data, options.get("encoding"), case.cut))
    if case.default is not None and schema.startswith("n "):
        options["columnOptions"] = case.default
    if case.rescues:
        options["rescuedDataColumn"] = "_rescued"
    if has_columns(case):
        options["columns"] = case.columns
    notices = 0 if case.rescues else case.notices
    compare(path, case, notices, format="json", schema=schema, **options)


XML = [
    "<r>", "<r>", "</r>", "</r>", "<r a='1'>", "<r/>", "<a>", "</a>", "1", "x", " ", "\n", "\r\n", "<!--", "-->",
    "<![CDATA[", "]]>", "<?p", "?>", "<!D", "[", ">", "'", '"', "</r ", "<b a='", "<r", "<", "&lt;", "&x;", "\u00e9",
    "<a>1</a>", "<r><a>2</a></r>\n", "\uac00", "\u4e2d", "<\u4e2d>", "</\u4e2d>",
    "<r a='x'><b><c>1</c></b><a>1</a><a>y</a></r>", "<z>1</z>", "<r a=\"<r>", "\0",
    "\u2603", "\U0001f600", "\ud800", "\udc00",
]  # fmt: skip


@drawn(
    text=st.lists(st.sampled_from(XML), max_size=25).map("".join),
    tail=st.one_of(st.just(b""), st.lists(st.sampled_from([b"<r>", b"</r>", *CHARACTERS]), max_size=9).map(b"".join)),
    head=st.sampled_from(["", "", "\ufeff", "<?xml version='1.0' encoding='latin1'?>", "<?xml encoding='euc-kr'?>"]),
    options=st.fixed_dictionaries(
        {
            "mode": MODES,
            "rowTag": st.sampled_from(["r", "r", "r", "a", "\u00e9", "\u4e2d"]),
            "encoding": st.sampled_from(ENCODINGS + SEVERAL_BYTES),
            "ignoreNamespace": st.booleans(),
            "excludeAttribute": st.booleans(),
            "nullValue": st.sampled_from([None, "1"]),
            "rejectReasonColumn": st.sampled_from([None, None, "why"]),
            "columnOptions": st.sampled_from([None, None, '{"a": {"default": "4"}}']),
            "maxRecordBytes": st.sampled_from([4, 8, 30, 1000]),
            **SIZES,
        }
    ),
    schema=st.sampled_from(
        [
            "a int, _a string",
            "a int NOT NULL",
            "a int, b struct<c: int, _a: string>, _corrupt_record string",
            "a array<int>, b map<string, int>",
        ]
    ),
    rescues=st.booleans(),
    columns=st.sampled_from([None, None, ["a"], ["b.c"], ["record_offset"]]),
    notices=st.sampled_from([0, 1, 1000]),
    **READS | {"block_bytes": st.integers(1, 40)},
)
def test_both_loops_read_xml_alike(tmp_path: Path, case: SimpleNamespace) -> None:
    path, options, schema = tmp_path / "f.xml", given_of(case.options), case.schema
    encoding = "euc-kr" if "euc-kr" in case.head else options.get("encoding")
    path.write_bytes(written(case.head + case.text, encoding, case.cut) + case.tail)
    if "array<int>" in schema:
        options.pop("columnOptions", None)  # a default is a value of its column
    if case.rescues:
        options["rescuedDataColumn"] = "_rescued"
    if has_columns(case):
        options["columns"] = case.columns
    notices = 0 if case.rescues or "columns" in options else case.notices
    compare(path, case, notices, format="xml", schema=schema, **options)


@drawn(
    data=st.lists(
        st.sampled_from([b"1", b"a", b" ", b"\n", b"\r", b"\xe9", b"\xc3\xa9", b"12ab\n", b"|", *CHARACTERS]),
        max_size=40,
    ).map(b"".join),
    options=st.fixed_dictionaries({"mode": MODES, "maxRecordBytes": st.sampled_from([4, 1000]), **SIZES}),
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
    shows=st.sampled_from(
        [
            {},
            {"rescuedDataColumn": "_rescued"},
            {"schema": "m string, n int, _corrupt_record string"},
            {"schema": "m string NOT NULL, n int NOT NULL", "rejectReasonColumn": "why"},
            {"schema": "m string, n int NOT NULL", "columnOptions": '{"n": {"default": "4"}}'},
        ]
    ),
    **READS,
)
def test_both_loops_read_records_of_fixed_places_alike(tmp_path: Path, case: SimpleNamespace) -> None:
    path, (format, given) = tmp_path / "f.dat", case.format
    path.write_bytes(wide(case.data, given.get("encoding"), case.cut))
    shows = {} if format != "fixed_width" or "binary" in given["layout"] else case.shows
    compare(path, case, refusable=False, format=format, **given, **case.options, **shows)


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}
KINDS: list[tuple[list[bytes], dict[str, Any]]] = [
    (PIECES, {"format": "csv", "schema": "n int, m string NOT NULL", "multiLine": True}),
    (JSON, {"format": "json", "schema": "n int, m string"}),
    (JSON, {"format": "json", "schema": "n int, m string", "multiLine": True}),
    ([b"1", b"a", b" ", b"\n", b"12ab\n"], {"format": "fixed_width", "layout": "n 1 2 int, m 3 2"}),
    ([b"1", b"a"], {"format": "fixed", "recordLength": 3}),
]
FILES = st.sampled_from(KINDS).flatmap(
    lambda kind: st.tuples(
        st.lists(st.lists(st.sampled_from(kind[0]), max_size=20).map(b"".join), min_size=1, max_size=3),
        st.just(kind[1]),
    )
)


@drawn(
    file=FILES,
    ending=st.sampled_from(["gz", "bz2", "zst", "blocks.gz"]),
    lost=st.sampled_from([0, 0, 1, 9, 20]),
    options=st.fixed_dictionaries(SIZES),
    **READS,
)
def test_both_loops_read_compressed_and_damaged_files_alike(tmp_path: Path, case: SimpleNamespace) -> None:
    parts, given = case.file
    path = tmp_path / f"f.{given['format']}.{case.ending}"
    frames = parts if case.ending == "blocks.gz" else [b"".join(parts)]
    packed = b"".join(map(PACK[case.ending.rpartition(".")[2]], frames))
    path.write_bytes(packed[: max(1, len(packed) - case.lost)])
    most = 1000 if case.lost else 12  # of a record that damage cuts off nobody knows how long it is
    compare(path, case, ignoreCorruptFiles=True, maxRecordBytes=most, **given, **case.options)


@drawn(file=FILES, more=st.binary(max_size=9))
def test_both_loops_read_the_planned_part_of_a_file_that_grows_alike(tmp_path: Path, case: SimpleNamespace) -> None:
    parts, given = case.file
    data = b"".join(parts) + b"\n"
    path = tmp_path / f"f.{given['format']}"
    path.write_bytes(data)
    scan = ss.scan(str(path), readBytes=5, maxRecordBytes=12, onFileChange="ignore", **given)
    blocks, spec = list(scan.plan()), scan.spec
    with path.open("ab") as file:
        file.write(case.more)
    for block in blocks:
        grown = replace(block.file, fingerprint=f"prefix-{len(data)}-a-b")
        both(spec, replace(block, file=grown), None, told=True)


LOG = [
    b"1", b"1 a", b"2 ", b"a", b" ", b"-", b"\n", b"\n", b"\r\n", b"\r", b"\n1", b"\n2 b c", b"\xff", b"\xc3\xa9",
    b"\n\n",
]  # fmt: skip
LINES = {"recordStart": r"\d(?i:[ A])?"}
GROUPS = r"(?P<n>\S)(?: (?P<m>[^ \r\n]+))?(?s:.*)"


@drawn(
    data=st.lists(st.sampled_from(LOG + CHARACTERS), max_size=40).map(b"".join),
    options=st.fixed_dictionaries(
        {
            "mode": MODES,
            "maxRecordBytes": st.sampled_from([4, 8, 1000]),
            "encoding": st.sampled_from([None, "windows-1252", *SEVERAL_BYTES]),
            **SIZES,
        }
    ),
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
    **READS,
)
def test_both_loops_read_logs_alike(tmp_path: Path, case: SimpleNamespace) -> None:
    path = tmp_path / "f.log"
    path.write_bytes(case.data)
    compare(path, case, refusable=False, format="log", **case.lines, **given_of(case.options), **case.shows)
