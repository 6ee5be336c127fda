"""Whatever is in a file, each byte of it is looked at a bounded number of times."""

from __future__ import annotations

import itertools
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.test_formats import FORMATS, Case
from tests.kernel.two_loops import by_kernel

import splitscan as ss
from splitscan.blocks import FileMetadata
from splitscan.engine import kernel
from splitscan.formats.framing.contract import Need, RecordFormat
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.xml.framing import XmlFormat
from splitscan.reading import block_reader
from splitscan.reading.block_request import BlockRequest
from splitscan.reading.cursor import FramesAhead, OpenRecords, RecordCursor, Records, Skipped, steps_until
from splitscan.reading.record_reader import RecordBlockReader
from splitscan.testing.faults import MemorySource
from splitscan.testing.scan_laws import check_ledger_law, cut_blocks

REPEATED = 300
READ_BYTES = 1 << 16  # more than any file here: all that is looked at again is looked at again and again
MOST_LOOKS = 24  # at each byte, by all questions together


class LookedAt:
    """A format that counts how many bytes its answers are about, and says what it is asked in any other way.

    Args:
        format: Answers.
        looked: How many bytes each question took.
    """

    def __init__(self, format: RecordFormat, looked: Counter[str]) -> None:
        self._format = format
        self._looked = looked

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._format, name)
        if name not in {"frame", "count", "open_starts", "gap_bytes", "resume_after", "drop"}:
            return member

        def ask(data: Any, *given: Any, **named: Any) -> Any:
            answer = member(data, *given, **named)
            is_near = name in {"gap_bytes", "resume_after"} and isinstance(answer, int)
            self._looked[name] += answer if is_near else len(data)
            return answer

        return ask


def work(format: RecordFormat, data: bytes, max_record_bytes: int) -> tuple[Counter[str], int]:
    """How many bytes were looked at to read a file, and how many records were given up."""
    head = format.preamble(data, at_end=True)
    assert not isinstance(head, Need)
    looked: Counter[str] = Counter()
    file = FileMetadata("memory://test", len(data), 0, "v1", "test")
    seen: Any = LookedAt(head.format, looked)
    records = Records(MemorySource(data), file, replace(head, format=seen), max_record_bytes, READ_BYTES)
    steps = list(steps_until(RecordCursor(records, head.data_start), len(data)))
    return looked, sum(isinstance(step, Skipped) for step in steps)


def hostile_units(case: Case) -> list[bytes]:
    """Words of the format, alone and in all pairs, and some longer ones."""
    draw = random.Random(case.name)
    pairs = [b"".join(pair) for pair in itertools.product(case.words, repeat=2)]
    longer = [b"".join(draw.choices(case.words, k=draw.randint(3, 8))) for _ in range(30)]
    long = [b"a" * 60 + word for word in case.words]
    return [*case.words, *pairs, *longer, *long]


@pytest.mark.thin(6)
@pytest.mark.parametrize("max_record_bytes", [50, 1 << 20])
@pytest.mark.parametrize("case", FORMATS, ids=lambda case: case.name)
def test_hostile_bytes_are_looked_at_a_bounded_number_of_times(case, max_record_bytes, engine) -> None:
    for unit in hostile_units(case):
        data = unit * REPEATED
        looked, _ = work(case.format, data, max_record_bytes)
        assert looked.total() <= MOST_LOOKS * len(data) + 10_000, (unit, len(data), looked)


@pytest.mark.parametrize(
    ("unit", "closing"), [(b"[\n{", b"}]"), (b'{"a":\n', b"}"), (b"<r>", b"</r>"), (b"<r >1", b"")]
)
@pytest.mark.parametrize("max_record_bytes", [50, 1 << 20])
def test_records_inside_each_other_are_given_up_one_by_one_in_linear_work(unit, closing, max_record_bytes) -> None:
    format = XmlFormat("r") if unit.startswith(b"<") else JsonFormat()
    data = unit * 2000 + closing * (2000 if max_record_bytes == 50 else 0)
    looked, given_up = work(format, data, max_record_bytes)
    assert given_up > 1900
    assert looked.total() <= MOST_LOOKS * len(data) + 10_000, looked


def test_going_on_after_a_record_copies_nothing() -> None:
    data = memoryview(b'\n{"a": 1}' * 500_000)
    tracemalloc.start()
    assert JsonFormat().resume_after(data, at_end=True) == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000


def steps_of(format: RecordFormat, data: bytes, max_record_bytes: int, read_bytes: int) -> list[Any]:
    """Records, and those that were given up, in order."""
    file = FileMetadata("memory://test", len(data), 0, "v1", "test")
    head = format.preamble(data, at_end=True)
    assert not isinstance(head, Need)
    cursor = RecordCursor(Records(MemorySource(data), file, head, max_record_bytes, read_bytes), head.data_start)
    return [
        each
        for step in steps_until(cursor, len(data))
        for each in ([step] if isinstance(step, Skipped) else step.record_offsets.tolist())
    ]


@pytest.mark.thin(8)
@pytest.mark.parametrize("case", FORMATS, ids=lambda case: case.name)
def test_a_reader_that_remembers_reads_as_one_that_does_not(case: Case) -> None:
    draw = random.Random(case.name)
    for _ in range(100):
        data = b"".join(draw.choices(case.words, k=draw.randint(0, 40)))
        limits = draw.choice([1, 4, 10, 1000]), draw.choice([1, 3, 20, 1000])
        found = steps_of(case.format, data, *limits)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(OpenRecords, "note", lambda *_: None)
            patched.setattr(FramesAhead, "take", lambda *_: None)
            assert found == steps_of(case.format, data, *limits), (data, limits)


BLOCK_BYTES = 32 << 10  # eight first looks of the kernel
PYTHON_BLOCK_BYTES = 12 << 10  # of the loop in Python, whose looks are shortened and cost far more
BLOCKS = 32

WITHOUT_STARTS: dict[str, tuple[Callable[[Path], ss.Scan], bytes]] = {
    "a log whose lines begin no record": (
        lambda path: ss.scan_log(path, recordStart="NEVER"),
        b"2026 a line\n",
    ),
    "texts without a line end": (ss.scan_text, b"abcdefgh"),
    "texts without a delimiter": (lambda path: ss.scan_text(path, lineSep="||"), b"abc|efgh"),
    "a run of escapes": (lambda path: ss.scan_text(path, escape="\\"), b"\\"),
    "a run of escapes before a delimiter": (lambda path: ss.scan_text(path, escape="\\", lineSep=";"), b"\\"),
    "CSV without a line end": (lambda path: ss.scan_csv(path, "a string, b string"), b"abc,efgh "),
    "comments": (lambda path: ss.scan_csv(path, "a string, b string", comment="#"), b"#bc,efgh\n"),
    "comments between quoted fields": (
        lambda path: ss.scan_csv(path, "a string, b string", comment="#", multiLine=True),
        b"#bc,efgh\n",
    ),
    "blank lines": (lambda path: ss.scan_csv(path, "a string, b string"), b"\n"),
    "JSON without a line end": (lambda path: ss.scan_json(path, "a string"), b'{"a": "b"} '),
    "blank lines of JSON": (lambda path: ss.scan_json(path, "a string"), b" \n"),
    "one blank line of JSON": (lambda path: ss.scan_json(path, "a string"), b" "),
    "columns without a line end": (lambda path: ss.scan_fixed_width(path, "a 1 4 string"), b"abcdefgh"),
    "elements of other names": (lambda path: ss.scan_xml(path, "row", "a string"), b"<a>b</a>\n"),
    "no element": (lambda path: ss.scan_xml(path, "row", "a string"), b"abc defg\n"),
}


class CountedSource(MemorySource):
    """Bytes, and how many were read of them."""

    def __init__(self, data: bytes, reads: Counter[str]) -> None:
        super().__init__(data)
        self._reads = reads

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        data = super().read_at(offset, length_bytes)
        self._reads["bytes"] += len(data)
        return data


@pytest.mark.thin(1)
@pytest.mark.skipif(kernel() is None, reason="compares both loops")
@pytest.mark.parametrize("loop", [RecordBlockReader, by_kernel])
@pytest.mark.parametrize("name", WITHOUT_STARTS)
def test_blocks_without_a_record_start_read_hardly_more_than_themselves(tmp_path, monkeypatch, name, loop) -> None:
    """Who looks for the next start to the end of the file reads it half as often as there are blocks."""
    scan_of, unit = WITHOUT_STARTS[name]
    block_bytes = BLOCK_BYTES if loop is by_kernel else PYTHON_BLOCK_BYTES
    path = tmp_path / "a"
    data = unit * (BLOCKS * block_bytes // len(unit))
    path.write_bytes(data)
    scan = scan_of(path)
    blocks = cut_blocks(scan, block_bytes)
    reads: Counter[str] = Counter()
    monkeypatch.setattr(BlockRequest, "open_source", lambda _: CountedSource(data, reads))
    monkeypatch.setattr(block_reader, "_LOOK_BYTES", block_bytes // 8)
    monkeypatch.setattr(block_reader, "_LONGEST_LOOK_BYTES", block_bytes // 2)
    reports, counted = [], 0
    for block in blocks:
        reader = loop(BlockRequest(scan.spec, block))
        rows = sum(batch.num_rows for batch in reader)
        reports.append(reader.result)
        counted += loop(BlockRequest(scan.spec.select(()), block)).count().rows - rows
    check_ledger_law(scan, reports)
    assert counted == 0
    assert reads["bytes"] < 2 * 6 * len(data), reads
