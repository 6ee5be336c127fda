"""Readers of users' own as formats: the rows, projections, limits, rejects, places, counts and ledgers of any other."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from tests.unit.scans.results import rejects_of, rows_of

import splitscan as ss
from splitscan.errors import RecordError, SchemaError, SourceChangedError, SourceMissingError, UsageError
from splitscan.reading.block_scan import open_reader
from splitscan.reading.own_formats import ManagedReading, as_reading
from splitscan.scans import count_blocks

from .own import LOG, ArrowReader, BlockLines, LogReader

Write = Callable[..., str]


def test_rows_rejects_and_counts(write: Write) -> None:
    scan = ss.scan(write(LOG), format=LogReader)
    assert rows_of(scan) == [(1, "start"), (2, "work"), (None, "broken"), (4, "stop")]
    assert scan.count() == 4
    bad, empty = rejects_of(scan)
    assert (bad.offset, bad.code, bad.raw, bad.delivered) == (15, "bad-value", b"x", True)
    assert (empty.offset, empty.length_bytes, empty.code, empty.delivered) == (24, 1, "no-text", False)


def test_modes(write: Write) -> None:
    path = write(LOG)
    for columns in (("number", "text"), ("text",), ()):
        dropped = ss.scan(path, format=LogReader, mode="DROPMALFORMED").select(*columns)
        assert dropped.to_arrow().num_rows == dropped.count() == 3
    with pytest.raises(RecordError) as caught:
        ss.scan(path, format=LogReader(), mode="FAILFAST").to_arrow()
    text = str(caught.value)
    assert "column 'number': 'x' is no int64 (mode=FAILFAST) [bad-value]" in text
    assert f"{path}, byte 15, line 3, row 2, column 'number', in block [0, 32), reader LogReader" in text


def test_projection_limit_and_columns_of_the_file(write: Write) -> None:
    path = write(LOG)
    scan = ss.scan(path, format=LogReader, metadata_columns=["file_name"])
    assert rows_of(scan.select("file_name", "TEXT").limit(2)) == [("a.log", "start"), ("a.log", "work")]
    assert rows_of(ss.scan(path, format=LogReader, columns="text,number").limit(1)) == [("start", 1)]
    assert rows_of(ss.scan(path, format=LogReader, schema="text string, nope double").limit(1)) == [("start", None)]
    with pytest.raises(SchemaError, match="unknown-column"):
        scan.select("nope").to_arrow()
    corrupt = ss.scan(path, format=LogReader, schema="number long, text string, _corrupt_record string")
    assert rows_of(corrupt)[2] == (None, "broken", '{"number": "x", "text": "broken"}')


def test_a_column_says_why_a_row_is_broken(write: Write) -> None:
    path = write(LOG)
    for options in ({}, {"block_size": 3}, {"batch_rows": 1}):
        scan = ss.scan(path, format=LogReader, rejectReasonColumn="why", **options)
        assert rows_of(scan) == [
            (1, "start", None),
            (2, "work", None),
            (None, "broken", "[bad-value] column 'number': 'x' is no int64"),
            (4, "stop", None),
        ]
        assert rows_of(scan.select("why", "text"))[2:] == [
            ("[bad-value] column 'number': 'x' is no int64", "broken"),
            (None, "stop"),
        ]
    told = ss.scan(path, format=LogReader, rejectReasonColumn="why").rejects().to_arrow().to_pylist()
    assert [(row["code"], row["line"], row["delivered"]) for row in told] == [
        ("bad-value", 3, True),
        ("no-text", 4, False),
    ]
    both = "why string, number long, text string, _corrupt_record string"
    assert rows_of(ss.scan(path, format=LogReader, schema=both, rejectReasonColumn="why"))[2] == (
        "[bad-value] column 'number': 'x' is no int64",
        None,
        "broken",
        '{"number": "x", "text": "broken"}',
    )
    dropped = ss.scan(path, format=LogReader, rejectReasonColumn="why", mode="DROPMALFORMED")
    assert dropped.to_arrow()["why"].to_pylist() == [None] * 3


@pytest.mark.parametrize("block_size", [1, 7, 1000])
def test_and_of_a_reader_context_why_a_record_was_given_up(write: Write, block_size: int) -> None:
    path = write(b"one\n" + b"x" * 50 + b"\ntwo\n")
    scan = ss.scan(
        path, format=ss.LineReaderContext, rejectReasonColumn="why", max_record_bytes=10, block_size=block_size
    )
    assert [why for _, why in rows_of(scan)] == [
        None,
        "[record-too-long] the record is longer than maxRecordBytes=10",
        None,
    ]
    assert [row["line"] for row in scan.rejects().to_arrow().to_pylist()] == [2]


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_rows_with_too_many_values_say_it_too(write: Write, mode: str) -> None:
    class Ragged(LogReader):
        def next(self, loader: ss.ResultSetLoader) -> bool:
            if self.number:
                return False
            self.number = 1
            loader.append_rows([(1, "a"), (2, "b", "c"), (3,)])
            return False

    rows = rows_of(ss.scan(write(LOG), format=Ragged, rejectReasonColumn="why", mode=mode))
    said = [why for *_, why in rows if why]
    assert len(said) == (0 if mode == "DROPMALFORMED" else len(rows) - 1)
    assert all(why.startswith("[field-count] the row has ") for why in said)


class TellsLimit(LogReader):
    """Remembers what every reader was told of the limit, and how far it read."""

    told: ClassVar[list[tuple[int | None, int]]] = []

    def open(self, negotiator: ss.SchemaNegotiator) -> bool:
        self.limit = negotiator.limit
        return super().open(negotiator)

    def close(self) -> None:
        self.told.append((self.limit, self.number))


@pytest.mark.parametrize(
    ("limit", "told"),
    [(1, [(1, 1)]), (4, [(4, 5)]), (5, [(5, 5), (1, 1)]), (6, [(6, 5), (2, 2)]), (None, [(None, 5)] * 3)],
)
def test_readers_are_told_how_many_rows_are_still_wanted(
    write: Write, limit: int | None, told: list[tuple[int | None, int]]
) -> None:
    for name in ("a.log", "b.log", "c.log"):
        path = write(LOG, name)
    TellsLimit.told.clear()
    scan = ss.scan(str(Path(path).parent), format=TellsLimit, limit=limit)
    assert scan.to_arrow().num_rows == (12 if limit is None else limit)
    assert TellsLimit.told == told


def test_records_behind_the_limit_are_not_judged(write: Write) -> None:
    scan = ss.scan(write(LOG), format=LogReader, mode="FAILFAST")
    assert rows_of(scan.limit(2)) == [(1, "start"), (2, "work")]
    with pytest.raises(RecordError, match="bad-value"):
        scan.limit(3).to_arrow()


def test_blocks(write: Write) -> None:
    lines = [f"line {i}" for i in range(50)]
    path = write("\n".join(lines).encode())
    for size in (1, 7, 1000):
        scan = ss.scan(path, format=BlockLines, block_size=size, metadata_columns=["file_block_start"])
        blocks = scan.plan()
        assert len(blocks) == -(-Path(path).stat().st_size // size)
        found = [
            row for block in blocks for batch in open_reader(scan.spec, block) for row in batch.column(0).to_pylist()
        ]
        assert found == lines
        assert count_blocks(scan.counting_spec, blocks).rows == 50
    assert len(ss.scan(path, format=LogReader, block_size=7).plan()) == 1


@pytest.mark.parametrize("span", [None, (0, 5)])
def test_reports(write: Write, span: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPLITSCAN_ENGINE", "reference")
    path = write(LOG)
    reader = LogReader()
    if span:
        reader.span = span  # type: ignore[attr-defined]
    scan = ss.scan(path, format=reader)
    (block,) = scan.plan()
    read = open_reader(scan.spec, block, with_digest=True)
    assert sum(batch.num_rows for batch in read) == 4
    start, stop = span or (0, 32)
    assert (read.report.span_start, read.report.span_stop, read.report.rows, read.report.rejects) == (start, stop, 4, 2)
    assert read.report.digest == f"sha256:{sha256(LOG[start:stop]).hexdigest()}"
    reader.span = (0, 99)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="the span of a reader lies in its file"):
        list(open_reader(ss.scan(path, format=reader).spec, block))


def test_files_that_vanish_or_change(write: Write) -> None:
    path = write(LOG)
    scan = ss.scan(path, format=LogReader)
    scan.files()
    Path(path).write_bytes(LOG + b"5 more\n")
    with pytest.raises(SourceChangedError):
        scan.to_arrow()
    Path(path).unlink()
    with pytest.raises(SourceMissingError):
        scan.to_arrow()
    path = write(LOG)
    scan = ss.scan(path, format=LogReader, ignore_missing_files=True)
    scan.files()
    Path(path).unlink()
    (reject,) = rejects_of(scan)
    assert (reject.path, reject.offset, reject.length_bytes) == (path, 0, 32)
    assert scan.to_arrow().num_rows == scan.count() == 0


def test_a_reader_that_raises(write: Write) -> None:
    class Picky(LogReader):
        def next(self, loader: Any) -> bool:
            loader.append_rows([(1, "x")], origin=ss.Origin(offset=7, line=2))
            raise KeyError("oops")

    path = write(LOG)
    with pytest.raises(RecordError, match="reader-failed") as caught:
        ss.scan(path, format=Picky).to_arrow()
    assert "Picky.next() failed" in str(caught.value)
    assert f"{path}, byte 7, line 2, in block [0, 32), reader Picky" in str(caught.value)
    assert "KeyError: 'oops'" in str(caught.value)


def test_what_a_reader_says_of_itself_is_in_every_message(write: Write) -> None:
    class Sheets(LogReader):
        name = "sheets"

        def open(self, negotiator: Any) -> bool:
            negotiator.context(sheet="Q1", password="x")
            raise ValueError("no such sheet")

    with pytest.raises(RecordError) as caught:
        ss.scan(write(LOG), format=Sheets).to_arrow()
    assert "reader sheets, sheet=Q1" in str(caught.value)
    assert "sheets.open() failed" in str(caught.value)


def test_the_negotiator_says_what_is_wanted(write: Write) -> None:
    seen: list[Any] = []

    class Curious(LogReader):
        def open(self, negotiator: Any) -> bool:
            seen.append((negotiator.projection, negotiator.provided_schema, negotiator.is_projection_empty))
            return super().open(negotiator)

    path = write(LOG)
    scan = ss.scan(path, format=Curious, metadata_columns=["file_name"])
    both = pa.schema([("number", pa.int64()), ("text", pa.string())])
    for narrowed, expected in (
        (scan, (("number", "text"), both, False)),
        (scan.select("text"), (("text",), both, False)),
        (scan.select("file_name"), ((), both, True)),
    ):
        assert narrowed.to_arrow().num_rows == 4
        assert seen.pop() == expected
    assert scan.count() == 4
    assert seen.pop() == ((), None, True)


def test_formats_are_recognised(write: Write) -> None:
    for given in (LogReader, LogReader("="), lambda: LogReader("=")):
        reading = as_reading(given)
        assert isinstance(reading, ManagedReading)
        assert reading.name == "LogReader"
        assert as_reading(reading) is reading
    configured = as_reading(LogReader("="))
    assert repr(configured) == repr(as_reading(lambda: LogReader("="))) != repr(as_reading(LogReader))
    assert " at 0x" not in repr(configured)
    assert repr(pickle.loads(pickle.dumps(as_reading(ArrowReader)))) == repr(as_reading(ArrowReader))
    assert isinstance(as_reading(ss.LineReaderContext), type(as_reading(ss.LineReaderContext())))

    class Half:
        def open(self, negotiator: Any) -> bool:
            return True

        def next(self, loader: Any) -> bool:
            return False

    with pytest.raises(UsageError, match="which has no close") as caught:
        ss.scan(write(LOG), format=Half)
    assert "[bad-format]" in str(caught.value)


def test_compressed_files_are_for_the_reader_to_open(write: Write) -> None:
    class Zipped(LogReader):
        def open(self, negotiator: Any) -> bool:
            super().open(negotiator)
            self.lines = gzip.GzipFile(fileobj=self.lines)  # type: ignore[assignment]
            return True

    assert rows_of(ss.scan(write(gzip.compress(LOG), "a.bin"), format=Zipped))[0] == (1, "start")


def test_an_iterator_that_is_dropped_closes_the_reader(write: Write) -> None:
    closed: list[str] = []

    class Counting(LogReader):
        def close(self) -> None:
            closed.append(self.lines.name if self.lines.closed else "still open")

    batches = ss.scan(write(LOG), format=Counting, batch_rows=1).to_batches()
    next(batches)
    assert closed == []
    batches.close()  # type: ignore[attr-defined]
    assert closed == ["still open"]


def test_the_place_of_a_single_record_is_for_the_reader_to_say(write: Write) -> None:
    class Placed(LogReader):
        def next(self, loader: Any) -> bool:
            assert loader.is_projected("record_offset")
            loader.append({"text": ["x", "y"], "record_offset": [3, 7]})
            return False

    path = write(LOG)
    for reader, expected in ((LogReader, [None] * 4), (Placed, [3, 7])):
        scan = ss.scan(path, format=reader, metadata_columns=["record_offset"])
        assert scan.to_arrow()["record_offset"].to_pylist() == expected


@pytest.mark.parametrize(
    "said", [{"rescued_data_column": "_rescued"}, {"column_options": '{"text": {"format": "dd"}}'}]
)
def test_what_only_a_parser_can_do_is_refused_to_readers(write: Write, said: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="not for readers of your own"):
        ss.scan(write(LOG), format=LogReader, **said)


@pytest.mark.parametrize("format", [LogReader, ss.LineReaderContext, ss.FixedBytesReaderContext(4)])
@pytest.mark.parametrize("option", [{"lineSep": ";"}, {"line_sep": "|"}, {"escape": "\\"}, {"charset": "latin1"}])
def test_how_records_are_written_is_for_the_format_alone_to_know(write: Write, format: Any, option: Any) -> None:
    path = write(LOG)
    with pytest.raises(UsageError, match="not for readers of your own") as caught:
        ss.scan(path, format=format, **option)
    assert "give it to the format when you make it" in str(caught.value)
    assert ss.scan(path, format=format, encoding="UTF-8", line_sep=None).count() > 0  # as if nothing was said


@pytest.mark.parametrize("said", [{"schemaHints": "value string"}, {"rescuedDataColumn": "r"}])
def test_a_context_takes_no_other_option_about_columns(write: Write, said: dict[str, str]) -> None:
    for more in ({}, {"rejectReasonColumn": "why"}):
        with pytest.raises(UsageError, match="unknown-option"):
            ss.scan(write(LOG), format=ss.LineReaderContext, **more, **said)
