"""Where the first record of a part starts: known from the part before it, from the plan, or found by framing."""

from __future__ import annotations

from dataclasses import replace

from splitscan.blocks import BlockMetadata, BlockReport, FileMetadata
from splitscan.content.archives import open_listed
from splitscan.content.storage import ByteSource, check_unchanged
from splitscan.errors import SourceError, SourceMissingError, Where
from splitscan.formats.framing.contract import RecordFormat, Splittability
from splitscan.options import OnFileChange
from splitscan.read.contents import codec_in
from splitscan.read.opened_file import OpenedFile
from splitscan.rebalance.reading.parts import Part
from splitscan.scan import ScanSpec
from splitscan.scan.own_formats import ContextReading, ManagedReading


class Entries:
    """Prepares part after part of one reader: keeps the file open, and knows where the last part stopped.

    Args:
        spec: What is read.

    Thread safety: none.
    """

    def __init__(self, spec: ScanSpec) -> None:
        self._spec = spec
        framing = spec.reading
        self._format: RecordFormat | None = None if isinstance(framing, ContextReading | ManagedReading) else framing
        self._opened: OpenedFile | None = None
        self._last: BlockReport | None = None

    def open(self, file: FileMetadata) -> OpenedFile:
        """The file, opened when it is first read; the one before it is closed."""
        if self._opened is None or self._opened.file != file:
            self.close()
            reading = self._spec.options.reading
            self._opened = OpenedFile(
                file,
                lambda: self._open_source(file),
                max_record_bytes=reading.max_record_bytes,
                read_bytes=reading.read_bytes,
            )
        return self._opened

    def enter(self, part: Part) -> BlockMetadata:
        """The block of a part, with its first record start where its reader cannot find that by itself, or need not.

        A part that begins where the last one stopped begins with the record that the last one left. In a format that
        needs context, any other part is framed from the start of its planned block on.

        Raises:
            SourceError: If the file cannot be read.
        """
        block, last = part.block, self._last
        if self._format is None or part.indivisible or block.first_record_start is not None or block.start == 0:
            return block
        if last is not None and last.block.file == block.file and last.block.stop == block.start:
            return replace(block, first_record_start=last.span_stop)
        if self._format.splittability is not Splittability.CONTEXT:
            return block
        try:
            boundary = part.planned.first_record_start or 0
            start = self.open(block.file).first_record_start(self._format, boundary, block.start)
            return replace(block, first_record_start=start)
        except SourceMissingError:
            if not self._spec.options.files.ignore_missing_files:
                raise
            return block  # whoever reads it finds the file missing again, and reports that

    def leave(self, report: BlockReport) -> None:
        """Remember where a part that was read to its end has stopped."""
        self._last = None if report.missing else report

    def forget(self) -> None:
        """Forget where the last part has stopped: the next one is entered as if it were the first."""
        self._last = None

    def close(self) -> None:
        """Close the file that is open. Calling it again does nothing."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _open_source(self, file: FileMetadata) -> ByteSource:
        source = open_listed(file, self._spec.options.files.storage_options)
        try:
            self._check(file, source)
        except BaseException:
            source.close()
            raise
        return source

    def _check(self, file: FileMetadata, source: ByteSource) -> None:
        """Make sure that a file is what was planned."""
        if self._format is not None and codec_in(source, file.path, self._spec.options.files, self._format) is not None:
            raise SourceError(
                "work on compressed files is not shared out while they are read (rebalance=true)",
                Where(file.path),
                fix="leave rebalance out: compressed files are read in parallel without it",
                code="compressed-input",
            )
        if self._spec.options.files.on_file_change is OnFileChange.FAIL:
            check_unchanged(file, source)
