"""What the native framing of CSV must give, by the byte-at-a-time reference and today's Python."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.kernel.csv_cases import native, orderly_data, random_data, random_dialect

from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.csv.reference import CsvReferenceFraming, CsvState, QuotedReferenceFramer
from splitscan.formats.framing.contract import Need
from splitscan.formats.framing.encodings import CR
from splitscan.formats.framing.frames import Run, Summary

_ORDERLY = 7  # one case in so many; they are long
IN_QUOTES = {CsvState.QUOTED, CsvState.ESCAPED, CsvState.ESCAPE_ESCAPED}


@dataclass
class Reading:
    """What the reference machine says about some bytes from a record start on."""

    framer: QuotedReferenceFramer
    nexts: list[int]  # where lines start, apart from the first

    @classmethod
    def of(cls, dialect: CsvGrammar, data: bytes) -> Reading:
        framer, nexts, settled = QuotedReferenceFramer(dialect), [], 0
        for byte in data:
            framer.push(byte)
            if framer.settled != settled:
                settled = framer.settled
                nexts.append(settled)
        return cls(framer, nexts)

    def frames(self, data: bytes, *, at_end: bool) -> tuple[list[tuple[int, int]], list[int], int]:
        framer = self.framer
        if at_end:
            framer.finish()
            end = len(data) if framer.unfinished is None else framer.unfinished
            return framer.records, framer.malformed, end
        records = [record for record in framer.records if record[0] < framer.settled]
        return records, [i for i in framer.malformed if i < len(records)], framer.settled


def framed(csv: Any, data: bytes, *, at_end: bool, start: int = 0) -> tuple[list[tuple[int, int]], list[int], int]:
    """The native answer in the same form."""
    starts, stops, malformed, next_start = csv.frame(data, start, len(data), at_end)
    records = zip(np.frombuffer(starts, "<i8").tolist(), np.frombuffer(stops, "<i8").tolist(), strict=True)
    return list(records), malformed, next_start


def check_frames(
    random: random.Random, dialect: CsvGrammar, data: bytes
) -> tuple[list[tuple[int, int]], list[int], int]:
    """All records, and those of a part that goes on: what later bytes could change is not given."""
    csv = native(dialect)
    cut = random.randint(0, len(data))
    for part, at_end in ((data, True), (data[:cut], False), (data[:cut], True)):
        wanted = Reading.of(dialect, part).frames(part, at_end=at_end)
        found = framed(csv, part, at_end=at_end)
        assert found == wanted, (dialect, part, at_end, found, wanted)
        assert csv.count(part, 0, len(part), at_end) == (len(found[0]), found[2])
    whole, part = framed(csv, data, at_end=True), framed(csv, data[:cut], at_end=False)
    assert whole[0][: len(part[0])] == part[0]
    assert framed(csv, b"xyz" + data, at_end=True, start=3) == whole
    longest = random.choice([0, 3, 10, len(data)])
    open_ones = np.frombuffer(csv.open_starts(data, 0, len(data), longest), "<i8")
    wanted = CsvReferenceFraming(dialect).open_starts(data, longest)
    assert open_ones.tolist() == wanted.tolist(), (dialect, data, longest)
    return whole


def summary_of(csv: Any, data: bytes, before: bytes, after: bytes, mark: int) -> Summary:
    """The native summary as Python has it."""
    runs = csv.summarise(b"xy" + data, 2, 2 + len(data), before, after, mark)
    return Summary(len(data), tuple(None if run is None else Run(*run) for run in runs))


def check_summaries(random: random.Random, dialect: CsvGrammar, data: bytes) -> str:
    """Summaries compose, agree with today's, and with the reference where the state at the start is known."""
    format, csv = QuotedFormat(dialect), native(dialect)
    cuts = sorted({cut for _ in range(2) if (cut := _safe_cut(format, data, random.randint(0, len(data)))) is not None})
    if len(cuts) < 2 or cuts[0] == 0:
        return "no cuts"
    cut, stop = cuts
    mark = random.randint(0, stop)
    looks = random.choice([8, 4096]) * dialect.encoding.unit_bytes
    head = summary_of(csv, data[:cut], b"", data[cut:], min(mark, cut))
    tail = summary_of(csv, data[cut:stop], data[:cut][-looks:], data[stop:], max(mark - cut, 0))
    whole = summary_of(csv, data[:stop], b"", data[stop:], mark)
    composed = head.then(tail)
    situation = (dialect, data, cut, stop, mark, head, tail, whole)
    told = 0
    for one, other in zip(whole.runs, composed.runs, strict=True):
        assert one is not None, situation
        if other is not None:
            told += 1
            assert one == _without_marks(other, one), situation
    piece = format.summarise(data[cut:stop], data[:cut], data[stop:], max(mark - cut, 0))
    for mine, theirs in zip(tail.runs, piece.runs, strict=True):
        assert mine == theirs or mine is None or theirs is None, (situation, mine, theirs)
    for run, start, low in ((whole.runs[0], 0, 0), (_true_run(tail, dialect, data, cut), cut, cut)):
        if run is not None:
            _check_run(run, dialect, data, low, stop, mark - start, situation)
    return "told" if told == len(whole.runs) else "open"


def _without_marks(run: Run, like: Run) -> Run:
    """Marks of pieces that were asked for different positions do not compose."""
    return Run(run.state, run.first, run.last, like.marked, run.records)


def _true_run(tail: Summary, dialect: CsvGrammar, data: bytes, cut: int) -> Run | None:
    return tail.run(_state(Reading.of(dialect, data[:cut]).framer, dialect))


def _state(framer: QuotedReferenceFramer, dialect: CsvGrammar) -> int:
    return 1 if framer.state in IN_QUOTES and dialect.multi_line else 2 if framer.state is CsvState.COMMENT else 0


def _check_run(run: Run, dialect: CsvGrammar, data: bytes, low: int, stop: int, mark: int, situation: Any) -> None:
    reading = Reading.of(dialect, data[:stop])
    if dialect.line_sep is None and data[:stop].rstrip(b"\0").endswith(bytes([CR])):
        return  # only at the end of the file, where a line feed may follow
    nexts = [each - low for each in reading.nexts if each > low]
    marked = next((each for each in nexts if each >= mark), None)
    state = _state(reading.framer, dialect)
    reading.framer.finish()
    starts = [start for start, _ in reading.framer.records]
    if reading.framer.unfinished is not None:
        starts.append(reading.framer.unfinished)
    records = sum(start >= low for start in starts)
    wanted = Run(state, nexts[0] if nexts else None, nexts[-1] if nexts else None, marked, records)
    assert run == wanted, (situation, run, wanted)


def _safe_cut(format: QuotedFormat, data: bytes, position: int) -> int | None:
    position -= position % format.unit_bytes
    if position == len(data):
        return position
    answer = format.safe_cut(data[:position], data[position:])
    return None if isinstance(answer, Need) else position + answer


def check_split_point(dialect: CsvGrammar, data: bytes) -> None:
    """Split points are those of the reference; only where records span lines does anybody ask for them."""
    if not dialect.multi_line:
        return
    found, wanted = native(dialect).last_split_point(data), CsvReferenceFraming(dialect).last_split_point(data)
    assert found == wanted, (dialect, data, found, wanted)


def check_case(seed: int) -> Counter[str]:
    """One case of everything; how often which situation was met."""
    draw = random.Random(seed)
    dialect = random_dialect(draw)
    if seed % _ORDERLY == 0:
        data = orderly_data(draw, dialect)
    else:
        data = random_data(draw, dialect, draw.choice([4, 12, 12, 60]) if seed % 10 else 200)
    _, malformed, next_start = check_frames(draw, dialect, data)
    met = Counter(
        malformed=bool(malformed),
        unfinished=next_start < len(data),
        comment=dialect.comment is not None,
        wide=dialect.encoding.unit_bytes > 1,
    )
    if dialect.quote is not None and dialect.multi_line:
        met[check_summaries(draw, dialect, data)] += 1
    check_split_point(dialect, data)
    return met
