"""One run of ``splitscan ingest``: the scan, the session that starts only when it is needed, what is said."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from splitscan.api import Scan
from splitscan.cli.arguments import ScanArguments
from splitscan.cli.late_runner import LateRunner
from splitscan.cli.output import write_json
from splitscan.cli.progress import ShowsProgress, choose_progress
from splitscan.cli.session import choose_remote, local_slots, parse_conf, under_spark_submit
from splitscan.cli.summary import Ingested, write_ingest, write_plan
from splitscan.errors import UsageError
from splitscan.ingest.steps import Request, plan_ingest, run_ingest
from splitscan.rebalance import RebalanceReport
from splitscan.rebalance.report.summary import REPORT_ENDINGS, bad_report_file
from splitscan.redaction import redact
from splitscan.scan import Cutting
from splitscan.sinks.settings import IngestSettings, on_changed_from
from splitscan.sizes import MIB

_BLOCK_BYTES = (8 * MIB, 128 * MIB)  # smaller ones cost more than they bring; larger ones are the library's default
_BLOCKS_PER_SLOT = 4  # a few rounds even out blocks that are slower than others
_STANDARD_OUTPUT = "-"


@dataclass(frozen=True, slots=True)
class Rebalancing:
    """What the command line says about rebalancing.

    Attributes:
        wanted: Whether it was asked for by its flag.
        report: File for the report; ``-`` for standard output.

    Raises:
        UsageError: ``[bad-report-file]`` if the name of the file does not say what is written.
    """

    wanted: bool = False
    report: str | None = None

    def __post_init__(self) -> None:
        if self.report in {None, _STANDARD_OUTPUT}:
            return
        if Path(self.report).suffix.lower() not in REPORT_ENDINGS:
            raise bad_report_file(self.report)

    def check(self, scan: Scan, remote: str | None = None) -> None:
        """Make sure that there will be something to report, and that it can be written, before anything is read.

        Args:
            scan: What is read.
            remote: The server of Spark Connect that runs the tasks.

        Raises:
            UsageError: ``[bad-option]``, ``[bad-report-file]`` if not.
        """
        if self.report is not None and not (self.wanted or scan.options.files.rebalance):
            raise UsageError(
                "--report tells what happened under rebalancing", seen="--report without --rebalance",
                fix="add --rebalance, or leave out --report", code="bad-option",
            )  # fmt: skip
        if self.report is not None and remote is not None:
            raise UsageError(
                "what happened under rebalancing is known beside a server of Spark Connect, not here",
                seen="--report with such a server", fix="leave out --report", code="bad-option",
            )  # fmt: skip
        if self.report not in {None, _STANDARD_OUTPUT}:
            target = Path(self.report)
            if target.is_dir() or not os.access(target if target.exists() else target.parent, os.W_OK):
                raise UsageError(
                    "the report goes to a file that can be written", seen=self.report[:200],
                    fix="name a file in a folder that is there and can be written to", code="bad-report-file",
                )  # fmt: skip

    def check_output(self, *, as_json: bool) -> None:
        """Make sure that standard output is for one of them: JSON, or the report as text.

        Raises:
            UsageError: ``[bad-option]`` if not.
        """
        if as_json and self.report == _STANDARD_OUTPUT:
            raise UsageError(
                "standard output is either JSON or a report as text", seen="--json --report -",
                fix="leave out --report: the report is in the JSON", code="bad-option",
            )  # fmt: skip

    def deliver(self, report: RebalanceReport | None) -> None:
        """Write the report to where it was asked for. All is ingested by now, so that nothing here is an error."""
        if self.report is None:
            return
        if report is None:
            sys.stderr.write("splitscan: there is no report: no task claimed anything, or the coordinator is gone\n")
        elif self.report == _STANDARD_OUTPUT:
            sys.stdout.write(f"\n{report}\n")
        else:
            try:
                report.save(self.report)
            except OSError as error:
                sys.stderr.write(f"splitscan: all is ingested, but the report cannot be written: {error}\n")


class IngestRun:
    """What the command line asked for, ready to be done.

    Args:
        arguments: What is read.
        destination: Where it goes.
        settings: How it is written: keywords of ``IngestSettings``.
        master: Spark master.
        spark_conf: Texts ``key=value``.
        rebalancing: Whether tasks claim what they read, and where to tell of it.
        table: Format of the destination; ``None`` for what is there.

    Raises:
        UsageError: If anything has no meaning.
    """

    def __init__(
        self,
        arguments: ScanArguments,
        destination: str,
        settings: Mapping[str, Any],
        master: str | None,
        spark_conf: Sequence[str],
        rebalancing: Rebalancing | None = None,
        table: str | None = None,
    ) -> None:
        self._destination, self._table = destination, table
        self._settings = IngestSettings(**{**settings, "on_changed": on_changed_from(settings["on_changed"])})
        self._master, self._conf = master, parse_conf(spark_conf)
        self._has_block_size = arguments.has_block_size
        self._arguments = arguments.looked_at()
        self._scan = self._arguments.build_scan()
        self._rebalancing = rebalancing or Rebalancing()
        self._rebalancing.check(self._scan, remote=choose_remote(master, self._conf))

    def write_plan(self, *, as_json: bool) -> None:
        """Say what would be done."""
        request = self._request(self._sized_scan())
        plan = plan_ingest(request)
        paths = set(plan.paths)
        fresh = [file for file in request.scan.files() if redact(file.path) in paths]
        blocks = sum(1 for _ in request.scan.with_files(fresh).cut(Cutting(fine=True)).blocks())
        if as_json:
            write_json({**asdict(plan), "files": plan.files, "blocks": blocks})
        else:
            write_plan(plan, blocks)

    def execute(self, *, quiet: bool, as_json: bool) -> None:
        """Do it, and say what was done.

        Raises:
            UsageError: ``[bad-option]`` if two things would go to standard output.
        """
        self._rebalancing.check_output(as_json=as_json)
        with choose_progress(quiet=quiet) as progress, LateRunner(self._master, self._conf, progress) as runner:
            report = run_ingest(self._request(self._sized_scan(), progress), runner)
        done = Ingested(report, runner.start_seconds)
        if as_json:
            write_json(done.to_json(), indent=2)
        elif not quiet:
            write_ingest(done)
        self._rebalancing.deliver(report.rebalance)

    def _request(self, scan: Scan, progress: ShowsProgress | None = None) -> Request:
        on_progress = None if progress is None else progress.show
        rebalance = True if self._rebalancing.wanted else None
        return Request(scan.planner, self._destination, self._settings, None, on_progress, rebalance, table=self._table)

    def _sized_scan(self) -> Scan:
        """The scan, with blocks small enough for all cores of this machine where the user did not say how large.

        Under rebalancing no task depends on the blocks, and the same blocks everywhere are the same job everywhere.
        """
        slots = self._slots()
        claimed = self._rebalancing.wanted or self._scan.options.files.rebalance
        if self._has_block_size or slots is None or claimed:
            return self._scan
        size_bytes = choose_block_bytes(sum(file.size_bytes for file in self._scan.files()), slots)
        return ScanArguments(**{**vars(self._arguments), "block_size": str(size_bytes)}).build_scan()

    def _slots(self) -> int | None:
        if under_spark_submit() or choose_remote(self._master, self._conf) is not None:
            return None
        return local_slots(self._master or self._conf.get("spark.master", "local[*]"))


def choose_block_bytes(total_bytes: int, slots: int) -> int:
    """A block size that keeps *slots* cores busy: whole MiB, from 8 to 128.

    Example:
        >>> choose_block_bytes(60 * MIB, slots=2) // MIB, choose_block_bytes(10_000 * MIB, slots=2) // MIB
        (8, 128)
    """
    least, most = _BLOCK_BYTES
    wanted = -(-total_bytes // (slots * _BLOCKS_PER_SLOT))
    return max(least, min(most, -(-wanted // MIB) * MIB))
