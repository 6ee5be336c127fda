"""Scans by reader contexts: the parity list of the originals, and formats of a user's own from file to table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import RecordError, SchemaError, UsageError
from splitscan.formats.framing.contract import Need, Preamble, Splittability
from splitscan.formats.framing.frames import Buffer, Frames
from splitscan.reading.block_scan import open_reader
from splitscan.testing.laws import check_format_laws
from splitscan.testing.scan_laws import check_block_law, check_projection_law, read_block

DATE = re.compile(rb"\d{4}-\d\d-\d\d,")
DATED_LINES = [b"2024-%02d-%02d," % (1 + n // 28 % 12, 1 + n % 28) + b"%0111d" % n for n in range(1000)]
LETTERS = (b"1234\n567890\nabcde\nfgh\ni\njklmop", b"qr\nstuvw\nxyz\n")


class DatedLines(ss.LineReaderContext):
    """Lines that begin with a date, so that fragments are known."""

    def convert_to_record(self, record: bytes) -> bytes | None:
        return record if DATE.match(record) and len(record) == 122 else None


@pytest.fixture
def dated_file(tmp_path: Path) -> str:
    path = tmp_path / "dated.csv"
    path.write_bytes(b"".join(line + b"\n" for line in DATED_LINES))
    assert path.stat().st_size == 123_000
    return str(path)


def values_of(scan: ss.Scan, order: list[int] | None = None) -> list[bytes]:
    blocks = scan.plan()
    chosen = range(len(blocks)) if order is None else order
    return [row["value"] for index in chosen for row in read_block(scan, blocks[index]).rows]


# ------------------------------------------------------------- parity 1 to 18


@pytest.mark.parametrize("context", [DatedLines(), ss.ReadAheadLineReaderContext()])
def test_parity_1_and_4_one_block_gives_all_records_in_order(dated_file: str, context: Any) -> None:
    assert values_of(ss.scan(dated_file, format=context)) == DATED_LINES


@pytest.mark.slow
@pytest.mark.parametrize("context", [DatedLines(), ss.ReadAheadLineReaderContext()])
@pytest.mark.parametrize("block_bytes", [1000, 1230, 123])
def test_parity_2_and_5_blocks_in_sequence_give_all_records_in_order(
    dated_file: str, context: Any, block_bytes: int
) -> None:
    scan = ss.scan(dated_file, format=context, block_size=block_bytes)
    assert len(scan.plan()) == 123_000 // block_bytes
    assert values_of(scan) == DATED_LINES


@pytest.mark.parametrize("context", [DatedLines(), ss.ReadAheadLineReaderContext()])
def test_parity_3_and_6_strided_blocks_give_the_same_records(dated_file: str, context: Any) -> None:
    scan = ss.scan(dated_file, format=context, block_size=1000)
    order = [index for first in range(10) for index in range(first, 123, 10)]
    assert sorted(values_of(scan, order)) == sorted(DATED_LINES)


def test_parity_7_slices_put_together_are_the_file(dated_file: str) -> None:
    scan = ss.scan(dated_file, format=ss.FixedBytesReaderContext(1500), block_size=1500)
    assert b"".join(values_of(scan)) == Path(dated_file).read_bytes()


@pytest.mark.parametrize("block_bytes", [3, 1 << 20])
def test_parity_14_lines_of_several_files_at_any_block_size(tmp_path: Path, block_bytes: int) -> None:
    for name, data in zip("ab", LETTERS, strict=True):
        (tmp_path / name).write_bytes(data)
    scan = ss.scan(str(tmp_path), format=ss.ReadAheadLineReaderContext(), block_size=block_bytes)
    assert values_of(scan) == b"1234 567890 abcde fgh i jklmop qr stuvw xyz".split()


@pytest.mark.parametrize("block_bytes", [3, 1 << 20])
def test_parity_15_records_of_eight_bytes_at_any_block_size(tmp_path: Path, block_bytes: int) -> None:
    for name, data in zip("ab", LETTERS, strict=True):
        (tmp_path / name).write_bytes(data)
    scan = ss.scan(str(tmp_path), format=ss.FixedBytesReaderContext(8), block_size=block_bytes)
    assert values_of(scan) == [
        b"1234\n567", b"890\nabcd", b"e\nfgh\ni\n", b"jklmop", b"qr\nstuvw", b"\nxyz\n",
    ]  # fmt: skip


def test_parity_16_a_fixed_length_must_be_given() -> None:
    with pytest.raises(TypeError, match="length"):
        ss.FixedBytesReaderContext()  # type: ignore[call-arg]


def test_parity_17_ranged_reads_of_fixed_records_in_strided_blocks(dated_file: str) -> None:
    scan = ss.scan(dated_file, format=ss.FixedBytesReaderContext(123), block_size=1000)
    order = [index for first in range(10) for index in range(first, 123, 10)]
    assert sorted(values_of(scan, order)) == sorted(line + b"\n" for line in DATED_LINES)


# ---------------------------------------------------- contexts in whole scans


class Pairs(ss.ReadAheadLineReaderContext):
    """Lines ``name=number``; a line without a name is dropped, one without a number is broken."""

    schema = "name string, number int"

    def next(self) -> ss.Entity | None:
        entity = super().next()
        is_broken = entity is not None and entity.record.endswith(b"=")
        return entity._replace(reject="no-number") if entity and is_broken else entity

    def convert_to_record(self, record: bytes) -> tuple[str, int] | None:
        name, _, number = record.partition(b"=")
        return (name.decode(), int(number)) if name else None


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    path = tmp_path / "pairs.txt"
    path.write_bytes("a=1\n=2\né=3\nb=\nlong name=4\n".encode())
    return str(path)


def test_a_context_with_a_schema_gives_columns(pairs: str) -> None:
    scan = ss.scan(pairs, format=Pairs)
    assert scan.schema == pa.schema([("name", pa.string()), ("number", pa.int32())])
    assert scan.to_arrow().to_pylist() == [
        {"name": "a", "number": 1}, {"name": "é", "number": 3}, {"name": "long name", "number": 4},
    ]  # fmt: skip
    assert scan.count() == 3
    assert scan.select("number").limit(2).to_arrow()["number"].to_pylist() == [1, 3]


@pytest.mark.slow
def test_the_laws_of_whole_scans_hold_for_contexts(pairs: str) -> None:
    for context in (Pairs, ss.ReadAheadLineReaderContext(), ss.FixedBytesReaderContext(4)):
        scan = ss.scan(pairs, format=context, metadata_columns=["record_offset", "record_length"])
        check_block_law(scan, range(1, 30))
        check_projection_law(scan)


def test_columns_say_where_a_record_comes_from(pairs: str) -> None:
    columns = ["file_name", "record_offset", "record_length", "file_block_start"]
    scan = ss.scan(pairs, format=Pairs, metadata_columns=columns, block_size=8)
    (batch,) = open_reader(scan.spec, scan.plan()[1])
    assert batch.to_pylist() == [
        {
            "name": "long name", "number": 4, "file_name": "pairs.txt",
            "record_offset": 15, "record_length": 11, "file_block_start": 8,
        },
    ]  # fmt: skip


@pytest.mark.parametrize(("mode", "rows"), [("PERMISSIVE", 3), ("DROPMALFORMED", 3)])
def test_what_a_context_rejects_is_a_reject_in_every_mode(pairs: str, mode: str, rows: int) -> None:
    scan = ss.scan(pairs, format=Pairs, mode=mode)
    rejects: list[Any] = []
    assert sum(batch.num_rows for batch in scan.to_batches(rejects.append)) == rows == scan.count()
    (reject,) = rejects
    assert (reject.offset, reject.length_bytes, reject.code, reject.raw) == (12, 3, "no-number", b"b=")
    assert reject.reason == "the reader context rejects the record"


def test_what_a_context_rejects_fails_a_scan_that_is_to_fail_fast(pairs: str) -> None:
    for run in (ss.Scan.to_arrow, ss.Scan.count):
        with pytest.raises(RecordError, match=r"\[no-number\]"):
            run(ss.scan(pairs, format=Pairs, mode="FAILFAST"))


def test_a_record_that_is_too_long_is_a_reject(pairs: str) -> None:
    rejects: list[Any] = []
    batches = ss.scan(pairs, format=Pairs, max_record_bytes=5).to_batches(rejects.append)
    assert [name for batch in batches for name in batch["name"].to_pylist()] == ["a", "é"]
    assert [reject.code for reject in rejects] == ["no-number", "record-too-long"]
    assert rejects[1].reason == "the record is longer than maxRecordBytes=5"


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (("a", "b"), r"a value of column 'number' is no int32 .* column 'number', .* seen:  'b'"),
        (("a",), "a record has 1 value for 2 columns"),
        ({"nme": 1}, "a record has 'nme', which is no column of the schema"),
        ("a", "a record is one value for 2 columns"),
    ],
)
def test_values_that_do_not_fit_the_schema_are_shown(pairs: str, value: Any, seen: str) -> None:
    class Misfit(Pairs):
        def convert_to_record(self, record: bytes) -> Any:
            return value

    with pytest.raises(SchemaError, match=re.compile(seen, re.DOTALL)) as caught:
        ss.scan(pairs, format=Misfit).to_arrow()
    assert caught.value.reason_code == "context-value"
    assert "pairs.txt, " in str(caught.value)


@pytest.mark.parametrize("value", [("x", 7), {"name": "x", "number": 7}, {"number": 7, "name": "x"}])
def test_records_may_be_tuples_or_dictionaries(pairs: str, value: Any) -> None:
    class Constant(Pairs):
        schema = pa.schema([("name", pa.string()), ("number", pa.int64())])

        def convert_to_record(self, record: bytes) -> Any:
            return value

    assert ss.scan(pairs, format=Constant).limit(1).to_arrow().to_pylist() == [{"name": "x", "number": 7}]


def test_one_column_takes_plain_values(pairs: str) -> None:
    class Lengths(ss.ReadAheadLineReaderContext):
        schema = "length int"

        def convert_to_record(self, record: bytes) -> int:
            return len(record)

    assert ss.scan(pairs, format=Lengths()).to_arrow()["length"].to_pylist() == [3, 2, 4, 2, 11]


def test_a_schema_of_the_scan_goes_before_the_one_of_the_context(pairs: str) -> None:
    scan = ss.scan(pairs, format=Pairs, schema="name string, number double")
    assert scan.to_arrow()["number"].to_pylist() == [1.0, 3.0, 4.0]


def test_files_that_can_only_be_read_whole_are_one_block(pairs: str) -> None:
    class Whole(Pairs):
        splittable = False

    scan = ss.scan(pairs, format=Whole, block_size=3)
    assert len(scan.plan()) == 1
    assert scan.count() == 3


def test_two_readings_of_one_scan_do_not_disturb_each_other(pairs: str) -> None:
    scan = ss.scan(pairs, format=ss.ReadAheadLineReaderContext(), batch_rows=1)
    pairs_of_batches = zip(scan.to_batches(), scan.to_batches(), strict=True)
    both = [(one["value"].to_pylist(), two["value"].to_pylist()) for one, two in pairs_of_batches]
    assert all(one == two for one, two in both)
    assert len(both) == 5


def test_what_is_no_format_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UsageError, match=r"\[bad-format\]"):
        ss.scan("nowhere", format=42)  # type: ignore[arg-type]


# -------------------------------------------------- a framing of a user's own


@dataclass(frozen=True)
class Hashes:
    """Records of any length that begin at a ``#``; bytes before the first one are a record too."""

    name = "hashes"
    splittability = Splittability.LOCAL
    unit_bytes = 1

    def needs_head(self, start: int) -> bool:
        return False

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble:
        return Preamble(0, self)  # type: ignore[arg-type]

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        starts = np.append([0], self._starts(data))
        if not (at_end and len(data)):
            return Frames(starts[:-1], starts[1:], int(starts[-1]))
        return Frames(starts, np.append(starts[1:], len(data)), len(data))

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        if at_start and not before:
            return 0
        found = after.find(b"#")
        return found if found >= 0 else len(after) if at_end else Need.AFTER

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        starts = self._starts(data)
        return int(starts[0]) if len(starts) else len(data) if at_end else None

    def droppable(self, data: Buffer) -> int:
        return max(len(data) - 1, 0)

    def reference_framer(self) -> HashesReference:
        return HashesReference()

    def _starts(self, data: Buffer) -> Any:
        return np.flatnonzero(np.frombuffer(data, dtype=np.uint8)[1:] == ord("#")) + 1


class HashesReference:
    """The same, byte by byte."""

    unfinished = None

    def __init__(self) -> None:
        self.records: list[tuple[int, int]] = []
        self._start = self._offset = 0

    def push(self, byte: int) -> None:
        if byte == ord("#"):
            self.finish()
        self._offset += 1

    def finish(self) -> None:
        if self._start < self._offset:
            self.records.append((self._start, self._offset))
            self._start = self._offset


def test_a_framing_of_ones_own_is_read_from_file_to_table(tmp_path: Path) -> None:
    data = b"head##a\n#bb#\n\xff#"
    check_format_laws(Hashes(), data)  # type: ignore[arg-type]
    path = tmp_path / "hashes.bin"
    path.write_bytes(data)
    scan = ss.scan(str(path), format=Hashes(), metadata_columns=["record_offset"])  # type: ignore[arg-type]
    assert scan.to_arrow()["value"].to_pylist() == [b"head", b"#", b"#a\n", b"#bb", b"#\n\xff", b"#"]
    check_block_law(scan, range(1, len(data) + 1))
    check_projection_law(scan)


def test_a_framing_of_ones_own_may_have_small_records_only(tmp_path: Path) -> None:
    path = tmp_path / "hashes.bin"
    path.write_bytes(b"#a#bbbbbbbbbbbb#c")
    rejects: list[Any] = []
    scan = ss.scan(str(path), format=Hashes(), max_record_bytes=4)  # type: ignore[arg-type]
    rows = [value for batch in scan.to_batches(rejects.append) for value in batch["value"].to_pylist()]
    assert (rows, [reject.code for reject in rejects]) == ([b"#a", b"#c"], ["record-too-long"])
