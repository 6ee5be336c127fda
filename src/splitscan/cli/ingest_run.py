"""One run of ``splitscan ingest``: the scan, the session that starts only when it is needed, what is said."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from splitscan.api.files import Scan
from splitscan.cli.arguments import ScanArguments
from splitscan.cli.late_runner import LateRunner
from splitscan.cli.output import write_json
from splitscan.cli.progress import ShowsProgress, choose_progress
from splitscan.cli.session import choose_remote, local_slots, parse_conf, under_spark_submit
from splitscan.cli.summary import Ingested, write_ingest, write_plan
from splitscan.errors import SplitscanError
from splitscan.ingest.page import check_page_file, write_page
from splitscan.ingest.steps import Request, plan_ingest, run_ingest
from splitscan.redaction import redact
from splitscan.scan import Cutting
from splitscan.sinks.settings import IngestSettings, on_changed_from
from splitscan.sizes import MIB

_BLOCK_BYTES = (8 * MIB, 128 * MIB)  # smaller ones cost more than they bring; larger ones are the library's default
_BLOCKS_PER_SLOT = 4  # a few rounds even out blocks that are slower than others


class IngestRun:
    """What the command line asked for, ready to be done.

    Args:
        arguments: What is read.
        destination: Where it goes.
        settings: How it is written: keywords of ``IngestSettings``.
        master: Spark master.
        spark_conf: Texts ``key=value``.
        rebalance: Whether tasks claim what they read.
        report_file: Where the page about the ingest goes.
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
        rebalance: bool = False,
        report_file: str | None = None,
        table: str | None = None,
    ) -> None:
        self._destination, self._table = destination, table
        self._settings = IngestSettings(**{**settings, "on_changed": on_changed_from(settings["on_changed"])})
        self._master, self._conf = master, parse_conf(spark_conf)
        self._has_block_size = arguments.has_block_size
        self._arguments = arguments.looked_at()
        self._scan = self._arguments.build_scan()
        self._rebalance, self._report_file = rebalance, report_file
        if report_file is not None:
            check_page_file(report_file)

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
        """Do it, and say what was done."""
        with choose_progress(quiet=quiet) as progress, LateRunner(self._master, self._conf, progress) as runner:
            report = run_ingest(self._request(self._sized_scan(), progress), runner)
        done = Ingested(report, runner.start_seconds)
        if as_json:
            write_json(done.to_json(), indent=2)
        elif not quiet:
            write_ingest(done)
        if self._report_file is not None:
            self._write_page(self._report_file, done)

    def _write_page(self, path: str, done: Ingested) -> None:
        """Write the page. All is ingested by now, so that nothing here is an error of the ingest."""
        try:
            options = self._scan.options.files.storage_options
            write_page(path, done.report, options, done.spark_seconds)
        except (OSError, SplitscanError) as error:
            sys.stderr.write(f"splitscan: all is ingested, but the report cannot be written: {error}\n")

    def _request(self, scan: Scan, progress: ShowsProgress | None = None) -> Request:
        on_progress = None if progress is None else progress.show
        rebalance = True if self._rebalance else None
        return Request(scan.planner, self._destination, self._settings, None, on_progress, rebalance, table=self._table)

    def _sized_scan(self) -> Scan:
        """The scan, with blocks small enough for all cores of this machine where the user did not say how large.

        Under rebalancing no task depends on the blocks, and the same blocks everywhere are the same job everywhere.
        """
        slots = self._slots()
        claimed = self._rebalance or self._scan.options.files.rebalance
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
