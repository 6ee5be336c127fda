"""The page about one ingest: what was read, how it went, what was broken. One file that needs no other."""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from html import escape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from splitscan.blocks import FileMetadata
from splitscan.content.storage import Storage, open_source, open_storage
from splitscan.errors import UsageError
from splitscan.ingest.reports import IngestReport, TaskTimes
from splitscan.options.table import show_value
from splitscan.read.block_stream import open_stream
from splitscan.rebalance.report.svg import draw_timelines
from splitscan.rebalance.report.timeline import Bar, Lane, Timeline, count_of, show_bytes, show_cost, show_seconds
from splitscan.redaction import redact
from splitscan.sinks.ledger import Ledger, LedgerBlock
from splitscan.sinks.ledgers import read_ledger
from splitscan.sizes import MIB

_MOST_FILES = 1000
_EXAMPLES = 3  # for each code
_RAW_CHARS = 80  # shown of a reject
_SECRET_BYTES = 4096  # more than an address with a secret has
_LONG_CHARS = 40
_BUFFER_BYTES = MIB

_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --dim: #5d6670; --line: #dde1e6 }
@media (prefers-color-scheme: dark) { :root { --ground: #14181c; --ink: #e6e9ec; --dim: #9aa4ae; --line: #343b43 } }
body { margin: 0 auto; padding: 28px 24px 40px; max-width: 1040px; background: var(--ground); color: var(--ink);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
h1 { font-size: 20px; margin: 0 0 4px } h2 { font-size: 15px; margin: 28px 0 6px }
p { color: var(--dim); margin: 0 0 18px; overflow-wrap: anywhere }
dl { display: flex; flex-wrap: wrap; gap: 10px 34px; margin: 0 0 22px } dl div { min-width: 90px }
dt { color: var(--dim); font-size: 12px } dd { margin: 0; font-size: 20px; font-weight: 600 }
.wide { overflow-x: auto }
.wide svg { display: block; width: 100%; min-width: 800px; height: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
summary { margin-top: 24px; font-weight: 600 }
th, td { text-align: left; padding: 3px 12px; border-bottom: 1px solid var(--line); white-space: pre }
td { vertical-align: top }
td.number, th.number { text-align: right }
td.long { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 17em }
th { color: var(--dim); font-weight: 500; font-size: 12px }
"""

_Row = Sequence[object]


def check_page_file(path: str | os.PathLike[str]) -> None:
    """Make sure that a page can be written to a file, before anything is read.

    Raises:
        UsageError: ``[bad-report-file]`` if not.
    """
    target = Path(path)
    if target.suffix.lower() != ".html":
        raise UsageError(
            "the report of an ingest is a page of HTML", seen=os.fspath(path)[:200],
            fix="let the name of its file end in .html", code="bad-report-file",
        )  # fmt: skip
    if target.is_dir() or not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(
            "the report goes to a file that can be written", seen=os.fspath(path)[:200],
            fix="name a file in a folder that is there and can be written to", code="bad-report-file",
        )  # fmt: skip


def write_page(
    path: str | os.PathLike[str],
    report: IngestReport,
    storage_options: Mapping[str, Any] | None = None,
    spark_seconds: float = 0.0,
) -> None:
    """Write the page about an ingest to a local file. What it says is read from the ledger that was published.

    Args:
        path: The file.
        report: What the ingest did.
        storage_options: Settings of the destination's file system.
        spark_seconds: How long Spark took to start, a part of the report's seconds.
    """
    storage = open_storage(report.destination, storage_options)
    ledger = None if report.nothing_to_do else read_ledger(storage, int(Path(report.ledger).stem))
    body = "\n".join(_body(report, ledger, storage, storage_options or {}, spark_seconds))
    title = escape(f"Ingest into {report.destination}")
    Path(path).write_text(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n<h1>{title}</h1>\n{body}\n</body></html>\n",
        encoding="utf-8", errors="backslashreplace",
    )  # fmt: skip


def _body(
    report: IngestReport, ledger: Ledger | None, storage: Storage, options: Mapping[str, Any], spark_seconds: float
) -> Iterator[str]:
    if ledger is None:
        known = report.files_skipped + report.files_changed
        yield f"<p>Nothing to do: {count_of(known, 'file')} ingested before.</p>"
        return
    yield f"<p>{escape('From ' + ', '.join(ledger.roots))}</p>"
    yield _figures(report, spark_seconds)
    yield _section("Job", ("", ""), _job(report, ledger))
    picture = _picture(report)
    if picture is not None:
        yield "<h2>Tasks</h2>\n<p>Who read when, in the colour of what a MiB cost; seconds from the first task on.</p>"
        yield f'<div class="wide">{picture}</div>'
    if report.rebalance is not None:
        yield _section("Readers", *report.rebalance.table())
    if ledger.rejects:
        yield from _rejects(ledger, storage, options)
    columns = ((each.name, each.type, "" if each.nullable else "not null") for each in ledger.columns)
    yield _section("Columns", ("column", "type", ""), columns)
    yield _files(ledger)
    yield "<details><summary>All options, also those that were left to their defaults</summary>"
    yield _section("", ("", "option", "value"), _options(ledger.options))
    yield "</details>"


def _figures(report: IngestReport, spark_seconds: float) -> str:
    reading = max(report.seconds - spark_seconds, 0.001)
    figures = {
        "records": f"{report.rows:,}",
        "rejects": f"{report.rejects:,}",
        "files": f"{report.files:,}",
        "read": f"{report.source_bytes / 1e6:,.1f} MB",
        "took": f"{reading:.1f} s",
        "speed": f"{report.source_bytes / 1e6 / reading:.1f} MB/s",
        "starting Spark": f"{spark_seconds:.1f} s" if spark_seconds else "",
        "Parquet": f"{report.parquet_bytes / 1e6:,.1f} MB",
    }
    shown = "".join(f"<div><dt>{escape(n)}</dt><dd>{escape(v)}</dd></div>" for n, v in figures.items() if v)
    return f"<dl>{shown}</dl>"


def _job(report: IngestReport, ledger: Ledger) -> Iterator[_Row]:
    yield "source", ", ".join(ledger.roots)
    yield "destination", report.destination
    yield "job", f"{ledger.job_id}, number {ledger.sequence} of the destination"
    yield "committed", ledger.created
    yield "format", ledger.record_format + (f", into a table of {ledger.table}" if ledger.table else "")
    if ledger.partitioning.columns:
        yield "folders by", ", ".join(ledger.partitioning.columns)
    resumed = f", {report.blocks_resumed:,} of them by an earlier run" if report.blocks_resumed else ""
    yield "blocks", f"{report.blocks:,}{resumed}"
    yield "Parquet", count_of(report.data_files, "file")
    others = {"ingested before": report.files_skipped, "changed since, left alone": report.files_changed}
    others |= {"missing": report.files_missing, "damaged": report.files_damaged}
    for name, count in others.items():
        if count:
            yield name, count_of(count, "file")
    yield "proof", "every byte accounted for" if report.accounted else "BYTES ARE MISSING"
    yield "ledger", report.ledger


# ------------------------------------------------------------------ tasks


def _picture(report: IngestReport) -> str | None:
    if report.rebalance is not None:
        return report.rebalance.to_svg()
    return draw_timelines([task_timeline(report.tasks)]) if report.tasks else None


def task_timeline(tasks: Sequence[TaskTimes]) -> Timeline:
    """What is drawn: a bar for each task, on the first lane that is free when it begins.

    Example:
        >>> found = task_timeline([TaskTimes(5.0, 6.0, 10, 9), TaskTimes(5.5, 7.0, 1, 1), TaskTimes(6.0, 7.0, 1, 1)])
        >>> [(bar.lane, bar.start, bar.stop) for bar in found.bars], found.seconds
        ([(0, 0.0, 1.0), (1, 0.5, 2.0), (0, 1.0, 2.0)], 2.0)
    """
    ordered = sorted(tasks, key=lambda task: task.began)
    first = ordered[0].began
    free: list[tuple[float, int]] = []  # when a lane becomes free, and its number
    busy: list[float] = []
    bars: list[Bar] = []
    for task in ordered:
        if free and free[0][0] <= task.began:
            lane = heapq.heappop(free)[1]
        else:
            lane = len(busy)
            busy.append(0.0)
        heapq.heappush(free, (task.ended, lane))
        took = task.ended - task.began
        busy[lane] += took
        cost = took / (task.size_bytes / MIB) if task.size_bytes else None
        price = "" if cost is None else f", {show_cost(cost)}"
        title = f"{show_seconds(took)}{price}\n{show_bytes(task.size_bytes)}, {count_of(task.rows, 'record')}"
        bars.append(Bar(lane, task.began - first, task.ended - first, cost, title))
    seconds = max(bar.stop for bar in bars)
    notes = (f"{part / seconds:.0%} busy" if seconds else "" for part in busy)
    lanes = [Lane(f"slot {number}", note) for number, note in enumerate(notes)]
    title, subtitle = f"{count_of(len(bars), 'task')}, {len(busy)} at a time", f"{show_seconds(seconds)} in all"
    return Timeline(title, lanes, bars, seconds=seconds, ideal=sum(busy) / len(busy), subtitle=subtitle)


# ---------------------------------------------------------------- rejects


def _rejects(ledger: Ledger, storage: Storage, options: Mapping[str, Any]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    examples: dict[str, list[_Row]] = {}
    for name in (written.name for written in ledger.written if written.is_reject_table):
        for record in _reject_rows(storage.path_of(name), options):
            code = record["code"]
            counts[code] += 1
            shown = examples.setdefault(code, [])
            if len(shown) < _EXAMPLES:
                shown.append((code, record["path"], record["offset"], record["reason"], _raw(record["raw"])))
    shares = [(code, count, f"{count / ledger.rejects:.1%}") for code, count in counts.most_common()]
    yield _section("Rejects", ("code", "records", "share of rejects"), shares)
    rows = [row for code, *_ in shares for row in examples[code]]
    yield _section("", ("code", "file", "at byte", "reason", "the record"), rows)


def _reject_rows(path: str, options: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    with closing(open_source(path, options)) as source:
        file = FileMetadata(source.path, source.size_bytes, 0, source.fingerprint, source.path)
        with closing(pq.ParquetFile(open_stream(source, file, _BUFFER_BYTES))) as parquet:
            for batch in parquet.iter_batches(columns=["code", "path", "offset", "reason", "raw"]):
                yield from batch.to_pylist()


def _raw(raw: bytes) -> str:
    """A record, or its beginning, as text on one line; secrets are masked before it is cut."""
    text = raw[:_SECRET_BYTES].decode("utf-8", "backslashreplace")
    shown = redact("".join(each if each.isprintable() else repr(each)[1:-1] for each in text))
    return shown if len(shown) <= _RAW_CHARS else shown[:_RAW_CHARS] + "…"


# ------------------------------------------------------------------ files


def _files(ledger: Ledger) -> str:
    blocks: dict[int, list[LedgerBlock]] = {}
    for block in ledger.blocks:
        blocks.setdefault(block.file_index, []).append(block)
    rows = []
    for file in ledger.files[:_MOST_FILES]:
        own = blocks.get(file.index, [])
        missing, damaged = any(block.missing for block in own), any(block.damage is not None for block in own)
        note = "missing" if missing else "damaged" if damaged else ""
        records, rejects = sum(block.rows for block in own), sum(block.rejects for block in own)
        rows.append((file.path, file.length_bytes, len(own), records, rejects, note))
    more = len(ledger.files) - len(rows)
    note = f"<p>... and {count_of(more, 'file')} more: the ledger has all of them.</p>" if more else ""
    return _section("Files", ("file", "bytes", "blocks", "records", "rejects", ""), rows) + note


def _options(options: Mapping[str, Any]) -> Iterator[_Row]:
    for group, value in options.items():
        members = value if isinstance(value, Mapping) else {"": value}
        for name, each in members.items():
            yield group, name, each if isinstance(each, str) else show_value(each)


def _section(title: str, headings: Sequence[str], rows: Iterable[_Row]) -> str:
    """A heading and a table; numbers stand to the right."""
    cells = [list(row) for row in rows]
    body = "\n".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in cells)
    kinds = [_kind(value) for value in cells[0]] if cells else [""] * len(headings)
    named = zip(kinds, headings, strict=True) if any(headings) else ()
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in named)
    above = f"<h2>{escape(title)}</h2>\n" if title else "<p></p>"
    return f'{above}<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _cell(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return f"<td{_kind(value)}>{escape(text)}</td>"


def _kind(value: object) -> str:
    """The class of a cell: what is counted stands to the right, what is long goes on in the next line."""
    if isinstance(value, int) or str(value).endswith("%"):
        return ' class="number"'
    return ' class="long"' if len(str(value)) > _LONG_CHARS else ""
