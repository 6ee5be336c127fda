"""Summaries at the end of an ingest, of a dry run and of a verification."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from splitscan.cli.terminal import format_seconds, show_text, write_line
from splitscan.jobs.reports import Finding, IngestPlan, IngestReport, VerifyReport
from splitscan.jobs.watching import WatchedWindow
from splitscan.sizes import count_of, format_size, show_bytes, show_speed

_MOST_PATHS = 10
_MOST_FINDINGS = 20
_MOST_REJECTED = 3


def ingest_as_json(report: IngestReport, spark_seconds: float) -> dict[str, Any]:
    """The report of an ingest, and the seconds of it that Spark took to start, as JSON values."""
    return {
        **asdict(replace(report, rebalance=None)),
        "rebalance": None if report.rebalance is None else report.rebalance.to_json(),
        "nothing_to_do": report.nothing_to_do,
        "notice": report.notice,
        "spark_start_seconds": spark_seconds,
        "ledger": report.ledger or None,
    }


def write_ingest(report: IngestReport, spark_seconds: float) -> None:
    """Write the report of an ingest for people."""
    if report.nothing_to_do:
        known = report.files_skipped + report.files_changed
        _write_title(f"nothing to do: {count_of(known, 'file')} ingested before", good=True)
        _write_facts([("skipped", _skipped(report.files_skipped, report.files_changed)), ("data", report.destination)])
        return
    _write_title(f"ingested {count_of(report.rows, 'record')} into {report.destination}", good=True)
    resumed = f", {report.blocks_resumed:,} of them by an earlier run" if report.blocks_resumed else ""
    left_out = f"{count_of(len(report.columns_left_out), 'column')}: {', '.join(report.columns_left_out)}"
    seconds = max(report.seconds - spark_seconds, 0.001)
    start = f", after {_seconds(spark_seconds)} to start Spark" if spark_seconds else ""
    speed = f"{show_bytes(report.source_bytes)} in {_seconds(seconds)}, {show_speed(report.source_bytes, seconds)}"
    most = ", ".join(f"{path} ({count:,})" for path, count in report.rejects_by_file[:_MOST_REJECTED])
    _write_facts(
        [
            ("files", f"{report.files:,}"),
            ("missing", _missing(report.files_missing)),
            ("damaged", _damaged(report.files_damaged, report.lost_bytes)),
            ("skipped", _skipped(report.files_skipped, report.files_changed)),
            ("replaced", _replaced(report.files_replaced)),
            ("blocks", f"{report.blocks:,}{resumed}"),
            ("records", f"{report.rows:,}"),
            ("rejects", f"{report.rejects:,}"),
            ("most in", most),
            ("new columns", ", ".join(report.columns_added)),
            ("left out", left_out if report.columns_left_out else None),
            ("read", speed + start),
            ("time", ", ".join(f"{phase} {_seconds(took)}" for phase, took in report.phase_seconds.items())),
            ("Parquet", f"{show_bytes(report.parquet_bytes)} in {count_of(report.data_files, 'file')}"),
            ("shared", None if report.rebalance is None else report.rebalance.headline),
            ("proof", "every byte accounted for" if report.accounted else "BYTES ARE MISSING"),
            ("ledger", report.ledger),
            ("removed", _removed(report.removed)),
        ]
    )
    first = report.first_rejects
    title = f"the first of {report.rejects:,} rejects:" if report.rejects > len(first) else "rejects:"
    _write_list(title, first, len(first))


def describe_window(window: WatchedWindow, now: float) -> dict[str, Any]:
    """A window as JSON values."""
    report, backlog = window.report, window.backlog
    return {
        "window": window.number,
        "time": round(now, 3),
        "files": report.files if report is not None else 0,
        "rows": report.rows if report is not None else 0,
        "rejects": report.rejects if report is not None else 0,
        "bytes": report.source_bytes if report is not None else 0,
        "seconds": round(window.seconds, 3),
        "readers": window.readers,
        "backlogFiles": backlog.files,
        "backlogBlocks": backlog.blocks,
        "backlogBytes": backlog.size_bytes,
    }


def render_window(window: WatchedWindow) -> str:
    """A window as one line for people.

    Example:
        >>> from splitscan.streaming.windows import Backlog
        >>> render_window(WatchedWindow(3, None, 1, Backlog(2, 5, 4096), 0.5))
        'window 3: nothing left to read; left: 2 files, 5 blocks, 4.0 KiB'
    """
    report, backlog = window.report, window.backlog
    if report is None:
        done = "nothing left to read"
    else:
        speed = format_size(round(report.source_bytes / max(window.seconds, 1e-9)))
        done = f"{count_of(report.files, 'file')}, {count_of(report.rows, 'record')}"
        done += f", {count_of(report.rejects, 'reject')}" if report.rejects else ""
        done += f", {format_size(report.source_bytes)}, {speed}/s, {count_of(window.readers, 'reader')}"
    left = f"{count_of(backlog.files, 'file')}, {count_of(backlog.blocks, 'block')}, {format_size(backlog.size_bytes)}"
    return f"window {window.number}: {done}; left: {left if backlog.files else 'nothing'}"


def write_plan(plan: IngestPlan, blocks: int) -> None:
    """Write the findings of a dry run."""
    if not plan.files and not plan.changed:
        _write_title(f"nothing to do: {count_of(plan.files_skipped, 'file')} ingested before", good=True)
        return
    _write_title(f"would ingest {count_of(plan.files, 'file')} into {plan.destination}; nothing was read or written")
    _write_facts(
        [
            ("files", f"{plan.files:,}"),
            ("skipped", _skipped(plan.files_skipped, 0)),
            ("replaced", _replaced(len(plan.replaced))),
            ("blocks", f"{blocks:,}"),
            ("bytes", show_bytes(plan.source_bytes)),
            ("new columns", ", ".join(plan.columns_added)),
        ]
    )
    _write_list("would be read:", plan.paths, _MOST_PATHS)
    _write_list("changed since they were ingested (see --replace-changed):", plan.changed, _MOST_PATHS)


def write_verification(report: VerifyReport) -> None:
    """Write the findings of a verification."""
    state = "data, ledger and source agree" if report.ok else count_of(len(report.problems), "problem")
    _write_title(f"{state}: {report.destination}", good=report.ok)
    again = f"{report.digests_checked:,} of {count_of(report.blocks, 'block')} read again, same digest"
    source = again if report.deep else None
    _write_facts(
        [
            ("jobs", f"{report.jobs:,}"),
            ("files", f"{report.files:,}, {show_bytes(report.source_bytes)}"),
            ("blocks", f"{report.blocks:,}"),
            ("records", f"{report.rows:,}"),
            ("rejects", f"{report.rejects:,}"),
            ("Parquet", f"{show_bytes(report.parquet_bytes)} in {count_of(report.data_files, 'file')}"),
            ("source", source or "compared by size and time; --deep reads the bytes again"),
            ("took", _seconds(report.seconds)),
        ]
    )
    _write_findings("problems", report.problems)
    _write_findings("notes", report.notes)


def _write_findings(title: str, findings: Sequence[Finding]) -> None:
    _write_list(f"{title}:", [str(finding).replace("\n", "\n  ") for finding in findings], _MOST_FINDINGS)


def _write_title(text: str, *, good: bool | None = None) -> None:
    style = {True: "bold green", False: "bold red", None: "bold"}[good]
    write_line((text, style))


def _write_facts(facts: Iterable[tuple[str, str | None]]) -> None:
    for name, value in facts:
        if value:
            striking = {"rejects": "" if value == "0" else "yellow", "proof": "green"}.get(name, "")
            write_line((f"  {name:<8} ", "dim"), (value, striking))


def _write_list(title: str, lines: Sequence[str], most: int) -> None:
    if not lines:
        return
    sys.stdout.write(f"\n{title}\n")
    for line in lines[:most]:
        sys.stdout.write(f"  {show_text(line, keep_lines=True)}\n")
    if len(lines) > most:
        sys.stdout.write(f"  ... and {len(lines) - most:,} more\n")


def _skipped(skipped: int, changed: int) -> str:
    parts = []
    if skipped:
        parts.append(f"{count_of(skipped, 'file')} ingested before")
    if changed:
        parts.append(f"{count_of(changed, 'file')} changed since, and left alone")
    return ", ".join(parts)


def _replaced(count: int) -> str | None:
    return f"{count_of(count, 'file')} in the place of an earlier version" if count else None


def _missing(count: int) -> str | None:
    return (
        f"{count_of(count, 'file')} vanished before being read; the next run reads what comes back" if count else None
    )


def _damaged(count: int, lost_bytes: int) -> str | None:
    return f"{count_of(count, 'file')} read up to their damage, {lost_bytes:,} bytes of them lost" if count else None


def _removed(folders: Sequence[str]) -> str | None:
    if not folders:
        return None
    jobs = "an interrupted job" if len(folders) == 1 else f"{len(folders):,} interrupted jobs"
    return f"what {jobs} had left and nobody can continue"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else format_seconds(seconds)
