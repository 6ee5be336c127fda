"""Count the rows of a block without decoding a value."""

from __future__ import annotations

from splitscan.blocks import BlockMetadata
from splitscan.errors import SourceMissingError
from splitscan.options import Mode, OnFileChange
from splitscan.scan.block_scan import BlockScan
from splitscan.scan.formats import record_format
from splitscan.scan.spec import ScanSpec
from splitscan.splitting.cursor import Framed
from splitscan.splitting.record_readers import open_reader
from splitscan.storage import check_unchanged, open_source


def count_block(spec: ScanSpec, block: BlockMetadata) -> int:
    """Number of rows of one block: by framing alone in mode PERMISSIVE, by structure in the other modes.

    Equal to the rows that :class:`BlockScan` delivers.

    Args:
        spec: What would be delivered; of its columns none is read.
        block: What to count.

    Raises:
        SourceError: If the file cannot be read or has changed.
        RecordError: In mode FAILFAST, for the first record that breaks a rule.
    """
    if spec.options.reading.mode is not Mode.PERMISSIVE:
        return sum(batch.num_rows for batch in BlockScan(spec.select(()), block))
    files, reading = spec.options.files, spec.options.reading
    try:
        source = open_source(block.file.path, files.storage_options)
    except SourceMissingError:
        if not files.ignore_missing_files:
            raise
        return 0
    try:
        if files.on_file_change is OnFileChange.FAIL:
            check_unchanged(block.file, source)
        reader = open_reader(
            spec.framing or record_format(spec.options),
            source,
            block,
            max_record_bytes=reading.max_record_bytes,
            read_bytes=reading.read_bytes,
        )
        return sum(len(step.frames) for step in reader if isinstance(step, Framed))
    finally:
        source.close()
