"""The page about one ingest: what was read, how it went, what was broken. One file that needs no other."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from splitscan.content.storage import Storage, open_storage
from splitscan.errors import UsageError
from splitscan.jobs.ledger import Ledger
from splitscan.jobs.ledger_files import read_ledger
from splitscan.jobs.parquet import open_parquet_file
from splitscan.jobs.reports import IngestReport, TaskTimes
from splitscan.jobs.settings import Layout
from splitscan.options.table import show_value
from splitscan.pages import Bar, Lane, Timeline, assign_lanes, draw_timelines, render_figures, render_page, render_table
from splitscan.redaction import redact
from splitscan.sizes import MIB, count_of, format_size, show_bytes, show_cost, show_seconds, show_speed

_MOST_FILES = 1000
_EXAMPLES = 3  # for each code
_RAW_CHARS = 80  # shown of a reject
_SECRET_BYTES = 4096  # more than an address with a secret has
_BUFFER_BYTES = MIB

_Row = Sequence[object]


def check_page_file(path: str | os.PathLike[str]) -> None:
    """Make sure that a page can be written to a file, before anything is read: ``[bad-report-file]`` if not."""
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
    """Write the page about an ingest to a local file, from the ledger that was published.

    *spark_seconds*, in which Spark started, are a part of the report's seconds.
    """
    storage = open_storage(report.destination, storage_options)
    ledger = None if report.nothing_to_do else read_ledger(storage, int(Path(report.ledger).stem))
    body = _body(report, ledger, storage, storage_options or {}, spark_seconds)
    page = render_page(f"Ingest into {report.destination}", body)
    Path(path).write_text(page, encoding="utf-8", errors="backslashreplace")


def _body(
    report: IngestReport, ledger: Ledger | None, storage: Storage, options: Mapping[str, Any], spark_seconds: float
) -> Iterator[str]:
    if ledger is None:
        known = report.files_skipped + report.files_changed
        yield f"<p>Nothing to do: {count_of(known, 'file')} ingested before.</p>"
        return
    yield f"<p>{escape('From ' + ', '.join(ledger.roots))}</p>"
    if report.notice is not None:
        yield f"<p><strong>{escape(report.notice)}</strong></p>"
    yield _figures(report, spark_seconds)
    yield render_table("Job", ("", ""), _job(report, ledger))
    picture = _picture(report)
    if picture is not None:
        yield "<h2>Tasks</h2>\n<p>Who read when, in the colour of what a MiB cost; seconds from the first task on.</p>"
        yield f'<div class="wide">{picture}</div>'
    if report.rebalance is not None:
        yield render_table("Readers", *report.rebalance.table())
    if ledger.rejects:
        yield from _rejects(ledger, storage, options)
    columns = ((each.name, each.type, "" if each.nullable else "not null") for each in ledger.columns)
    yield render_table("Columns", ("column", "Arrow type", ""), columns)
    yield _files(ledger)
    yield "<details><summary>All options, also those that were left to their defaults</summary>"
    yield render_table("", ("", "option", "value"), _options(ledger.options))
    yield "</details>"


def _figures(report: IngestReport, spark_seconds: float) -> str:
    reading = max(report.seconds - spark_seconds, 0.001)
    return render_figures({
        "records": f"{report.rows:,}",
        "rejects": f"{report.rejects:,}",
        "files": f"{report.files:,}",
        "read": show_bytes(report.source_bytes),
        "took": f"{reading:.1f} s",
        "speed": show_speed(report.source_bytes, reading),
        "starting Spark": f"{spark_seconds:.1f} s" if spark_seconds else "",
        **{phase: f"{seconds:.1f} s" for phase, seconds in report.phase_seconds.items()},
        "Parquet": show_bytes(report.parquet_bytes),
    })  # fmt: skip


def _job(report: IngestReport, ledger: Ledger) -> Iterator[_Row]:
    yield "source", ", ".join(ledger.roots)
    yield "destination", report.destination
    yield "job", f"{ledger.job_id}, number {ledger.sequence} of the destination"
    yield "committed", ledger.created
    yield "format", ledger.record_format + (f", into a table of {ledger.table}" if ledger.table else "")
    if ledger.partitioning.columns:
        yield "folders by", ", ".join(ledger.partitioning.columns)
    if ledger.partitioning.layout is not Layout.FLAT:
        yield "layout", ledger.partitioning.layout.value
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
    """Draw a bar for each task, on the first lane that is free when it begins.

    Example:
        >>> found = task_timeline([TaskTimes(5.0, 6.0, 10, 9), TaskTimes(5.5, 7.0, 1, 1), TaskTimes(6.0, 7.0, 1, 1)])
        >>> [(bar.lane, bar.start, bar.stop) for bar in found.bars], found.seconds
        ([(0, 0.0, 1.0), (1, 0.5, 2.0), (0, 1.0, 2.0)], 2.0)
    """
    ordered = sorted(tasks, key=lambda task: task.began)
    first = ordered[0].began
    lanes = assign_lanes((task.began, task.ended) for task in ordered)
    busy = [0.0] * (max(lanes) + 1)
    bars: list[Bar] = []
    for task, lane in zip(ordered, lanes, strict=True):
        took = task.ended - task.began
        busy[lane] += took
        cost = took / (task.size_bytes / MIB) if task.size_bytes else None
        price = "" if cost is None else f", {show_cost(cost)}"
        title = f"{show_seconds(took)}{price}\n{format_size(task.size_bytes)}, {count_of(task.rows, 'record')}"
        bars.append(Bar(lane, task.began - first, task.ended - first, cost, title))
    seconds = max(bar.stop for bar in bars)
    notes = (f"{part / seconds:.0%} busy" if seconds else "" for part in busy)
    slots = [Lane(f"slot {number}", note) for number, note in enumerate(notes)]
    title, subtitle = f"{count_of(len(bars), 'task')}, {len(busy)} at a time", f"{show_seconds(seconds)} in all"
    return Timeline(title, slots, bars, seconds=seconds, ideal=sum(busy) / len(busy), subtitle=subtitle)


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
    yield render_table("Rejects", ("code", "records", "share of rejects"), shares)
    rows = [row for code, *_ in shares for row in examples[code]]
    yield render_table("", ("code", "file", "at byte", "reason", "the record"), rows)


def _reject_rows(path: str, options: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    with open_parquet_file(path, options, _BUFFER_BYTES) as parquet:
        for batch in parquet.iter_batches(columns=["code", "path", "offset", "reason", "raw"]):
            yield from batch.to_pylist()


def _raw(raw: bytes) -> str:
    """A record, or its beginning, as text on one line; secrets are masked before it is cut."""
    text = raw[:_SECRET_BYTES].decode("utf-8", "backslashreplace")
    shown = redact("".join(each if each.isprintable() else repr(each)[1:-1] for each in text))
    return shown if len(shown) <= _RAW_CHARS else shown[:_RAW_CHARS] + "…"


# ------------------------------------------------------------------ files


def _files(ledger: Ledger) -> str:
    blocks = ledger.blocks_by_file()
    rejects_of = {index: sum(block.rejects for block in own) for index, own in blocks.items()}
    ordered = sorted(ledger.files, key=lambda file: -rejects_of.get(file.index, 0))  # the others in their order
    rows = []
    for file in ordered[:_MOST_FILES]:
        own = blocks.get(file.index, [])
        missing, damaged = any(block.missing for block in own), any(block.damage is not None for block in own)
        note = "missing" if missing else "damaged" if damaged else ""
        records, rejects = sum(block.rows for block in own), sum(block.rejects for block in own)
        rows.append((file.path, file.length_bytes, len(own), records, rejects, note))
    more = len(ledger.files) - len(rows)
    note = f"<p>... and {count_of(more, 'file')} more: the ledger has all of them.</p>" if more else ""
    return render_table("Files", ("file", "bytes", "blocks", "records", "rejects", ""), rows) + note


def _options(options: Mapping[str, Any]) -> Iterator[_Row]:
    for group, value in options.items():
        members = value if isinstance(value, Mapping) else {"": value}
        for name, each in members.items():
            yield group, name, each if isinstance(each, str) else show_value(each)
