"""What a scan delivers: modes, rejects, headers, metadata, projections, limits, batches."""

from __future__ import annotations

import datetime
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.blocks import Reject
from splitscan.engine import kernel
from splitscan.errors import RecordError, SchemaError, SourceChangedError, UsageError
from splitscan.reading import block_documents
from splitscan.reading.block_documents import for_tasks, scan_document
from splitscan.reading.block_scan import open_reader
from splitscan.testing.scan_laws import check_block_law, check_projection_law, cut_blocks

from .results import rejects_of, rows_of

Write = Callable[..., str]
MESSY = b'id,name,price\n1,ann,1.5\n2,"bob\nby",x\n3\n\n4,"d""e",2,extra\nfive,eve,5.25\n6,,\n7,"open,7\n8,last,8\n'
COLUMNS = "id int, name string, price double"
RFC: dict[str, Any] = {"header": True, "multiLine": True, "escape": '"', "maxRecordBytes": 64}


# ------------------------------------------------------------------ modes


def test_permissive_keeps_every_record_with_nulls_for_what_is_broken(write: Write) -> None:
    scan = ss.scan_csv(write(MESSY), COLUMNS + ", _corrupt_record string", **RFC)
    assert rows_of(scan) == [
        (1, "ann", 1.5, None), (2, "bob\nby", None, '2,"bob\nby",x'), (3, None, None, "3"),
        (4, 'd"e', 2.0, '4,"d""e",2,extra'),
        (None, "eve", 5.25, "five,eve,5.25"), (6, None, None, None),
        (None, None, None, '7,"open,7\n'), (8, "last", 8.0, None),
    ]  # fmt: skip


def test_drop_malformed_drops_what_is_structurally_broken(write: Write) -> None:
    scan = ss.scan_csv(write(MESSY), COLUMNS, mode="DROPMALFORMED", **RFC)
    assert [row[0] for row in rows_of(scan)] == [1, 2, None, 6, 8]


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_the_number_of_rows_depends_on_the_mode_alone(write: Write, mode: str) -> None:
    scan = ss.scan_csv(write(MESSY), COLUMNS + ", _corrupt_record string", mode=mode, **RFC)
    assert check_projection_law(scan) > 8
    assert check_block_law(scan, [1, 7, 1000]) == {"PERMISSIVE": 8, "DROPMALFORMED": 5}[mode]
    assert scan.select().to_arrow().num_columns == 0


BLANKS: dict[str, tuple[str, str, list[Any]]] = {
    "csv": ("id int, name string", "\n1,a\n\n  \nx,c\n3,d,e\n\t\n\n4,f\n", [(1, "a"), (None, "c"), (4, "f")]),
    "json": ("id int", '\n{"id":1}\n\n  \n{"id":"x"}\nbad\n\t\n[1]\n{"id":4}\n\n', [(1,), (None,), (4,)]),
}


@pytest.mark.parametrize("format", BLANKS)
def test_blank_lines_are_no_rows_where_broken_records_are_dropped(write: Write, format: str, engine: str) -> None:
    schema, text, rows = BLANKS[format]
    scan = ss.scan(write(text.encode()), format, schema, mode="DROPMALFORMED")
    assert rows_of(scan) == rows
    assert scan.count() == scan.select().to_arrow().num_rows == check_block_law(scan, [1, 5]) == len(rows)


def test_fail_fast_names_the_first_broken_record(write: Write) -> None:
    scan = ss.scan_csv(write(MESSY), COLUMNS, mode="FAILFAST", **RFC)
    with pytest.raises(RecordError, match="column 'price': 'x' is no double") as caught:
        scan.to_arrow()
    assert caught.value.reason_code == "bad-value"
    assert f"byte {MESSY.index(b'2,')}" in str(caught.value)
    with pytest.raises(RecordError, match="has 1 fields where 3 are expected"):
        scan.count()
    with pytest.raises(RecordError, match="has 1 fields where 3 are expected"):
        scan.select("name").to_arrow()
    assert ss.scan_csv(write("a\n1\n"), "a int", header=True, mode="FAILFAST").count() == 1


def test_rejects_say_where_why_and_what(write: Write) -> None:
    path = write(MESSY)
    scan = ss.scan_csv(path, COLUMNS, **RFC)
    rejects = rejects_of(scan)
    assert [(r.code, r.delivered) for r in rejects] == [
        ("bad-value", True), ("field-count", True), ("field-count", True), ("bad-value", True),
        ("unclosed-quote", False),
    ]  # fmt: skip
    for reject in rejects:
        assert reject.path == path
        assert MESSY[reject.offset : reject.offset + reject.length_bytes] == reject.raw
    assert [r.raw for r in rejects] == [b'2,"bob\nby",x', b"3", b'4,"d""e",2,extra', b"five,eve,5.25", b'7,"open,7\n']
    assert rejects[0].reason == "column 'price': 'x' is no double"
    dropped = ss.scan_csv(path, COLUMNS, mode="DROPMALFORMED", **RFC)
    assert [r.delivered for r in rejects_of(dropped)] == [True, False, False, True, False]


def test_values_of_columns_that_are_not_read_are_not_judged(write: Write) -> None:
    path = write("a,b\n1,x\ny,2\n")
    scan = ss.scan_csv(path, "a int, b int", header=True)
    assert [r.raw for r in rejects_of(scan.select("b"))] == [b"1,x"]
    assert rejects_of(scan.select()) == []


def test_a_record_that_is_too_long_is_one_reject_and_no_row(write: Write) -> None:
    path = write("a\n" + "b" * 100 + "\nc\n")
    scan = ss.scan_csv(path, "x string", maxRecordBytes=10)
    assert rows_of(scan) == [("a",), ("c",)]
    assert [(r.offset, r.length_bytes, r.code, r.delivered) for r in rejects_of(scan)] == [
        (2, 101, "record-too-long", False)
    ]
    assert scan.count() == 2


def test_the_text_of_a_broken_record_is_decoded_as_the_file_is(write: Write) -> None:
    for encoding, mark in (("utf-16-be", b"\xfe\xff"), ("utf-16-le", b"\xff\xfe")):
        path = write(mark + "1\né\n".encode(encoding))
        scan = ss.scan_csv(path, "a int, _corrupt_record string", encoding="UTF-16")
        assert rows_of(scan) == [(1, None), (None, "é")]


def test_the_corrupt_record_column_may_be_the_only_one(write: Write) -> None:
    path = write("1,2\nx\n")
    assert rows_of(ss.scan_csv(path, "a int, _corrupt_record string").select("_corrupt_record")) == [("1,2",), ("x",)]
    assert rows_of(ss.scan_csv(path, "_corrupt_record string")) == [("1,2",), ("x",)]


@pytest.mark.parametrize(
    ("encoding", "last", "expected"),
    [
        ("UTF-8", b"\xff,1", ["é,x", None, ",,", "x", "\ufffd,1"]),
        ("windows-1252", b"z,1", ["Ã©,x", None, ",,", "x", "z,1"]),  # its bytes are UTF-8 too
    ],
)
def test_the_text_of_broken_records_is_cut_out_whole_whatever_their_bytes(
    write: Write, engine: str, encoding: str, last: bytes, expected: list[str | None]
) -> None:
    if engine == "kernel":
        pytest.importorskip("splitscan_kernel")
    path = write(b"\xc3\xa9,x\n1,2\n,,\nx\n" + last + b"\n")
    scan = ss.scan_csv(path, "a int, b int, _corrupt_record string", encoding=encoding)
    assert scan.to_arrow()["_corrupt_record"].to_pylist() == expected


def test_the_corrupt_record_column_must_be_a_nullable_string(write: Write) -> None:
    with pytest.raises(UsageError, match="must name a nullable string column"):
        _ = ss.scan_csv(write("1\n"), "a int, _corrupt_record int").schema


def test_a_null_where_none_may_be_is_an_error_that_names_the_column(write: Write) -> None:
    scan = ss.scan_csv(write("1,2\n3,\n"), "a int, b int NOT NULL")
    with pytest.raises(SchemaError, match="column 'b' is NOT NULL and has a null") as caught:
        scan.to_arrow()
    assert caught.value.reason_code == "null-in-not-null"
    assert scan.select("a").to_arrow().num_rows == 2


def test_of_a_long_name_of_a_column_only_so_much_is_shown(write: Write) -> None:
    name = "n" * 100_000
    scan = ss.scan_csv(write("1,2\n3,\n"), f"a int, {name} int NOT NULL")
    with pytest.raises(SchemaError, match="column 'nnnnn") as caught:
        scan.to_arrow()
    dropped = ss.scan_csv(write("1,2\n3,\n"), f"a int, {name} int NOT NULL", mode="DROPMALFORMED")
    (reject,) = rejects_of(dropped)
    assert reject.reason.startswith("column 'nnnnn")
    for said in (caught.value.rule, reject.reason):
        assert "NOT NULL and has" in said
        assert len(said) < 200


# ---------------------------------------------------------------- headers


@pytest.mark.parametrize("content", ["", "a,b", "a,b\n", "\ufeffa,b\n\n", "\ufeff", "\n\r\n", "#c\n"])
def test_a_file_without_records_has_no_rows_and_no_errors(write: Write, content: str) -> None:
    path = write(content)
    for options in ({}, {"headerMapping": "byName"}, {"enforceSchema": True}):
        scan = ss.scan_csv(path, "a int, b int", header=True, comment="#", **options)
        assert (scan.to_arrow().num_rows, scan.count()) == (0, 0)
        assert check_block_law(scan, [1, 2, 100]) == 0


def test_a_mark_in_front_of_the_header_is_no_part_of_it(write: Write) -> None:
    scan = ss.scan_csv(write(b"\xef\xbb\xbfa,b\r\n1,2\r\n"), header=True, inferSchema=True)
    assert scan.schema.names == ["a", "b"]
    assert rows_of(scan) == [(1, 2)]
    assert check_block_law(scan, range(1, 14)) == 1


@pytest.mark.parametrize("header", ["b,a", "a", "a,b,c", "a,x"])
def test_a_header_that_disagrees_names_the_file(write: Write, header: str) -> None:
    path = write(f"{header}\n1,2\n")
    with pytest.raises(SchemaError, match="does not agree with the schema") as caught:
        ss.scan_csv(path, "a int, b int", header=True).to_arrow()
    assert caught.value.reason_code == "header-mismatch"
    assert path in str(caught.value)
    assert header.replace(",", ", ") in str(caught.value)
    assert ss.scan_csv(path, "a int, b int", header=True, enforceSchema=True).count() == 1


def test_headers_are_compared_without_regard_to_case(write: Write) -> None:
    assert rows_of(ss.scan_csv(write("A,B\n1,2\n"), "a int, b int", header=True)) == [(1, 2)]


def test_columns_are_found_by_name_wherever_they_stand(write: Write) -> None:
    one, two = write("b,a,x\n2,1,9\n", "1.csv"), write("a,b\n3,4\n", "2.csv")
    scan = ss.scan_csv([one, two], "a int, b int", header=True, headerMapping="byName")
    assert rows_of(scan) == [(1, 2), (3, 4)]
    assert check_projection_law(scan) > 0


def test_a_column_that_a_file_lacks_is_null(write: Write) -> None:  # parity 66, 100
    one, two = write("b,a,x\n2,1,9\n", "1.csv"), write("B,c\n5,6\n", "2.csv")
    scan = ss.scan_csv([one, two], "a int, b int", header=True, headerMapping="byName")
    assert rows_of(scan) == [(1, 2), (None, 5)]
    assert check_projection_law(scan) > 0
    assert check_block_law(scan, [1, 3]) > 0
    assert not rejects_of(scan)


def test_a_header_without_any_column_of_the_schema_is_that_of_another_file(write: Write) -> None:
    one, other = write("b,a,x\n2,1,9\n", "1.csv"), write("x,y\n5,6\n", "2.csv")
    with pytest.raises(SchemaError, match="does not agree") as caught:
        ss.scan_csv([one, other], "a int, b int", header=True, headerMapping="byName").to_arrow()
    assert "none of its columns is in the schema" in str(caught.value)
    assert other in str(caught.value)


def test_a_header_is_as_wide_as_max_columns_allows(write: Write) -> None:
    path = write(",".join(f"c{i}" for i in range(30)) + "\n")
    options = {"header": True, "headerMapping": "byName"}
    for schema, others in (("c1 int", options), (None, {"header": True}), (None, {}), (None, {"inferSchema": True})):
        with pytest.raises(SchemaError, match=r"(header|first record) of a file has more .* maxColumns=29") as caught:
            ss.scan_csv(path, schema, maxColumns=29, **others).to_arrow()
        assert "30 columns" in str(caught.value)
    assert ss.scan_csv(path, "c1 int", maxColumns=30, **options).count() == 0


@pytest.mark.skipif(kernel() is None, reason="only the kernel is told by documents")
def test_what_the_kernel_is_told_is_made_once_for_all_tasks(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = ss.scan_csv(write(MESSY), COLUMNS + ", _corrupt_record string", **RFC).select(
        "price", "id", "_corrupt_record"
    )
    blocks, spec = scan.plan(), for_tasks(scan.spec)
    expected = [row for block in blocks for batch in open_reader(spec, block) for row in batch.to_pylist()]
    sent = pickle.loads(pickle.dumps(spec))
    assert sent == spec
    monkeypatch.setattr(block_documents, "_document", None)  # which no task asks for
    assert scan_document(sent) == scan_document(spec)
    assert sent.in_zone("UTC") is sent
    assert [row for block in blocks for batch in open_reader(sent, block) for row in batch.to_pylist()] == expected


@pytest.mark.skipif(kernel() is None, reason="only the kernel is told by documents")
def test_the_tables_of_a_character_set_do_not_travel_with_every_task(write: Write) -> None:
    spec = for_tasks(ss.scan_csv(write("甲\n".encode("gbk")), "a string", encoding="GBK", escape='"').spec)
    document, packed = scan_document(spec), pickle.dumps(spec)
    assert document is not None
    assert len(packed) < 2_000 < len(document.text)
    assert scan_document(pickle.loads(packed)) == document


@pytest.mark.slow
def test_what_the_kernel_is_told_of_many_columns_takes_time_in_proportion_to_their_number(write: Write) -> None:
    def seconds(columns: int) -> float:
        spec = ss.scan_csv(write("1,2\n"), pa.schema([(f"c{i}", pa.string()) for i in range(columns)])).spec
        spec.documents.clear()
        began = time.process_time()
        assert (scan_document(spec) is None) == (kernel() is None)
        return time.process_time() - began

    few, many = (min(seconds(columns) for _ in range(2)) for columns in (3_000, 12_000))
    assert many < 0.02 + 7 * few  # it would be 16 times, where each column looks at all others


def test_repeated_and_empty_names_are_told_apart(write: Write) -> None:
    scan = ss.scan_csv(write("a,A,,b\n1,2,3,4\n"), header=True)
    assert scan.schema.names == ["a0", "A1", "_c2", "b"]
    assert rows_of(scan) == [("1", "2", "3", "4")]


# --------------------------------------------------------------- metadata


@pytest.mark.parametrize("block_size", [5, 17, 1000])
def test_metadata_columns_point_at_the_bytes_of_the_record(write: Write, block_size: int) -> None:
    path = write(MESSY)
    names = [
        "file_path",
        "file_name",
        "file_size",
        "file_block_start",
        "file_block_length",
        "record_offset",
        "record_length",
    ]
    scan = ss.scan_csv(path, COLUMNS, metadataColumns=[*names, "block_id", "file_modification_time"], **RFC)
    blocks = cut_blocks(scan, block_size)
    found = []
    for block in blocks:
        for batch in open_reader(scan.spec, block):
            for row in batch.to_pylist():
                assert (row["file_path"], row["file_name"], row["file_size"]) == (path, "a.csv", len(MESSY))
                assert block.start <= row["record_offset"] < block.stop
                assert (row["file_block_start"], row["file_block_length"]) == (block.start, block.length_bytes)
                assert row["block_id"] == block.block_id
                assert row["file_modification_time"].timestamp() == pytest.approx(Path(path).stat().st_mtime, abs=1e-5)
                found.append(MESSY[row["record_offset"] : row["record_offset"] + row["record_length"]])
    assert found == [
        b"1,ann,1.5", b'2,"bob\nby",x', b"3", b'4,"d""e",2,extra', b"five,eve,5.25", b"6,,", b"8,last,8",
    ]  # fmt: skip


def test_the_schema_may_place_metadata_columns(write: Write) -> None:
    scan = ss.scan_csv(write("1\n2\n"), "record_offset long, a int", metadataColumns="record_offset")
    assert scan.schema.names == ["record_offset", "a"]
    assert rows_of(scan) == [(0, 1), (2, 2)]


# ------------------------------------------------- projections and limits


def test_columns_are_chosen_by_name_without_regard_to_case_in_any_order(write: Write) -> None:
    scan = ss.scan_csv(write("1,2,3\n"), "a int, b int, c int")
    assert rows_of(scan.select("C", "a")) == [(3, 1)]
    assert scan.select("C", "a").schema.names == ["c", "a"]
    assert rows_of(ss.scan_csv(write("1,2,3\n"), "a int, b int, c int", columns="c,a")) == [(3, 1)]
    with pytest.raises(SchemaError, match="column 'd' does not exist") as caught:
        scan.select("d").to_arrow()
    assert caught.value.reason_code == "unknown-column"
    assert "choose from: a, b, c" in str(caught.value)


@pytest.mark.parametrize(("limit", "expected"), [(0, 0), (1, 1), (4, 4), (5, 5), (7, 6), (100, 6)])
def test_a_limit_stops_after_that_many_rows(write: Write, limit: int, expected: int) -> None:
    paths = [write("1\n2\n3\n", "1.csv"), write("", "2.csv"), write("4\n5\n6\n", "3.csv")]
    scan = ss.scan_csv(paths, "a int", batchRows=2)
    assert [row[0] for row in rows_of(scan.limit(limit))] == list(range(1, expected + 1))
    assert scan.limit(limit).count() == expected
    assert rows_of(scan.limit(limit).select()) == [()] * expected
    with pytest.raises(UsageError, match="a limit is a number of rows"):
        scan.limit(-1)


@pytest.mark.parametrize("read_bytes", [1, 5, 4_000_000])
@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_what_is_behind_a_limit_breaks_no_rule(tmp_path: Path, mode: str, read_bytes: int) -> None:
    """Neither with one read of all nor with many, nor after the limit in a later file."""
    (tmp_path / "a.csv").write_text("1,a\n2,b\nx,c\n4,d\n5,e\n")
    (tmp_path / "b.csv").write_text("6,f\n7\n8,h\n")
    scan = ss.scan_csv(str(tmp_path), "id long, t string", mode=mode, read_bytes=read_bytes)
    structural = mode == "DROPMALFORMED"
    ids = [1, 2, None, 4, 5, 6, 8] if structural else [1, 2, None, 4, 5, 6, 7, 8]
    for limit in range(10):
        rejects: list[Reject] = []

        def read(scan: ss.Scan, rejects: list[Reject]) -> list[int | None]:
            return [row["id"] for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]

        if mode == "FAILFAST" and limit > 2:
            with pytest.raises(RecordError, match=r"a\.csv, byte 8"):
                read(scan.limit(limit), rejects)
            continue
        assert read(scan.limit(limit), rejects) == ids[:limit]
        broken = [("a.csv", 8)] * (limit > 2) + [("b.csv", 4)] * (limit > 6)
        assert [(Path(reject.path).name, reject.offset) for reject in rejects] == broken, limit


def test_batches_are_bounded_by_rows_and_by_bytes(write: Write) -> None:
    path = write("x" * 5000 + "\n" + "y\n" * 999)
    batches = list(ss.scan_csv(path, "a string", batchRows=100).to_batches())
    assert max(batch.num_rows for batch in batches) <= 100
    batches = list(ss.scan_csv(path, "a string", batchBytes=2000).to_batches())
    assert all(batch.num_rows == 1 or batch.nbytes <= 2000 for batch in batches)
    assert sum(batch.num_rows for batch in batches) == 1000
    assert len(batches) < 30


# -------------------------------------------------------------- inference


def test_types_are_widened_over_files_whatever_their_order(write: Write) -> None:
    paths = [
        write("1,2020-01-01,1,true,\n", "1.csv"), write("30000000000,2020-01-01 10:00:00,x,false,\n", "2.csv"),
        write("2.5,2020-01-02,2,,\n", "3.csv"),
    ]  # fmt: skip
    schemas = [
        ss.scan_csv(order, inferSchema=True).schema for order in (paths, paths[::-1], [paths[1], paths[0], paths[2]])
    ]
    assert schemas[0] == schemas[1] == schemas[2]
    kinds = [pa.float64(), pa.timestamp("us", "UTC"), pa.string(), pa.bool_(), pa.string()]
    assert schemas[0] == pa.schema([(f"_c{i}", kind) for i, kind in enumerate(kinds)])


def test_names_come_from_the_first_file_that_has_a_record(write: Write) -> None:
    paths = [write("", "1.csv"), write("\n\n", "2.csv"), write('x,"y ""z"""\n1,2\n', "3.csv")]
    scan = ss.scan_csv(paths, header=True, inferSchema=True, escape='"')
    assert scan.schema == pa.schema([("x", pa.int32()), ('y "z"', pa.int32())])
    with pytest.raises(SchemaError, match="no file has a record") as caught:
        _ = ss.scan_csv(paths[:2]).schema
    assert caught.value.reason_code == "no-schema"


def test_values_beyond_the_sample_do_not_change_the_schema(write: Write) -> None:
    path = write("1\n" * 100 + "x\n")
    scan = ss.scan_csv(path, inferSchema=True, sampleBytes=50)
    assert scan.schema == pa.schema([("_c0", pa.int32())])
    assert [r.code for r in rejects_of(scan)] == ["bad-value"]


# ----------------------------------------------------- files that change


def test_a_file_that_changed_is_an_error_unless_the_user_says_otherwise(write: Write) -> None:
    path = write("1\n2\n")
    scan = ss.scan_csv(path, "a int")
    scan.files()
    write("1\n2\n3\n4\n")
    with pytest.raises(SourceChangedError):
        scan.to_arrow()
    with pytest.raises(SourceChangedError):
        scan.count()


def test_a_file_that_vanished_is_one_reject_if_it_may(write: Write) -> None:
    paths = [write("1\n2\n" * 10, "1.csv"), write("3\n", "2.csv")]
    for multi_line in (False, True):
        scan = ss.scan_csv(paths, "a int", ignoreMissingFiles=True, multiLine=multi_line, blockSize=7)
        assert len(scan.files()) == 2
        Path(paths[0]).unlink()
        assert rows_of(scan) == [(3,)]
        assert scan.count() == 1
        assert [(r.offset, r.length_bytes, r.code) for r in rejects_of(scan)] == [(0, 40, "file-missing")]
        reports = []
        for block in scan.plan():
            blocks = open_reader(scan.spec, block)
            list(blocks)
            reports.append((blocks.report.span_start, blocks.report.span_stop, blocks.report.rejects))
        assert reports == [(s, min(s + 7, 40), 1) for s in range(0, 40, 7)] + [(0, 2, 0)]
        write("1\n2\n" * 10, "1.csv")


# --------------------------------------------------------- other formats


def test_text_is_one_column_of_lines(write: Write) -> None:
    scan = ss.scan_text(write(b"a\r\n\n\xffb\\\nc"), escape="\\")
    assert rows_of(scan) == [("a",), ("",), ("\ufffdb\\\nc",)]
    assert check_block_law(scan, range(1, 10)) == 3
    assert check_projection_law(scan) == 3
    wide = ss.scan_text(write(b"\xfe\xff" + "é\r\nx\n".encode("utf-16-be")), encoding="UTF-16")
    assert rows_of(wide) == [("é",), ("x",)]
    assert check_block_law(wide, range(1, 12)) == 2


def test_a_short_record_of_fixed_length_is_delivered_and_reported(write: Write) -> None:
    scan = ss.scan_fixed(write(b"abcdefgh"), 3)
    assert rows_of(scan) == [(b"abc",), (b"def",), (b"gh",)]
    assert [(r.code, r.offset, r.delivered) for r in rejects_of(scan)] == [("short-record", 6, True)]
    assert check_block_law(scan, range(1, 9)) == 3


def test_dates_and_zones_come_through_the_options(write: Write) -> None:
    path = write("31.01.2020,2020-07-01 00:00:00\n")
    scan = ss.scan_csv(path, "d date, t timestamp", dateFormat="dd.MM.yyyy", timeZone="Europe/Berlin")
    assert rows_of(scan) == [
        (datetime.date(2020, 1, 31), datetime.datetime(2020, 6, 30, 22, tzinfo=datetime.UTC)),
    ]


@pytest.mark.parametrize("option", ["dateFormat", "timeFormat", "timestampFormat", "timestampNTZFormat"])
def test_a_pattern_without_meaning_is_refused_before_anything_is_read(write: Write, option: str) -> None:
    scan = ss.scan_csv(write("x\n"), "a date", **{option: "QQ/yyyy"})
    with pytest.raises(UsageError, match="letters that are not supported") as caught:
        scan.spec  # noqa: B018 - planning alone
    assert "QQ" in str(caught.value)
