"""From what a user wrote to the options of a stream, and what is left for its scans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from splitscan.errors import UsageError
from splitscan.options.stream import CleanSource, FileMode, StreamOptions, WindowLogChoice
from splitscan.options.table import declared_options, fields_given, parsed_values


def parse_stream_options(raw: Mapping[str, Any]) -> tuple[StreamOptions, dict[str, Any]]:
    """Take the options of streams out of what a user wrote.

    Returns:
        The typed options, and all others as they were.

    Raises:
        UsageError: ``[bad-option]`` for a value that is not allowed, or options that contradict each other.

    Example:
        >>> options, others = parse_stream_options({"blocksThreshold": "8", "header": "true"})
        >>> options.blocks_threshold, others
        (8, {'header': 'true'})
    """
    known = declared_options(StreamOptions)
    others: dict[str, Any] = {}
    options = StreamOptions(**fields_given(StreamOptions, parsed_values(known, raw, others.__setitem__)))
    archives = options.clean_source is CleanSource.ARCHIVE
    if archives != (options.source_archive_dir is not None):
        raise UsageError(
            "options cleanSource=archive and sourceArchiveDir go together",
            seen=f"cleanSource={options.clean_source.value}, sourceArchiveDir={options.source_archive_dir}",
            fix="give both or neither",
            code="bad-option",
        )
    if options.clean_source is not CleanSource.OFF and options.file_mode is FileMode.APPEND:
        raise UsageError(
            "option cleanSource takes complete files away, and a file that grows is never complete",
            seen=f"cleanSource={options.clean_source.value}, fileMode=append",
            fix="leave out one of them",
            code="bad-option",
        )
    if options.window_log is WindowLogChoice.NONE and options.state_location is not None:
        raise UsageError(
            "option windowLog=none keeps no state, so stateLocation has no meaning",
            seen="windowLog=none, and a stateLocation",
            fix="leave out one of them",
            code="bad-option",
        )
    if options.max_readers is not None and (options.min_readers or 1) > options.max_readers:
        raise UsageError(
            "option minReaders is larger than maxReaders",
            seen=f"minReaders={options.min_readers}, maxReaders={options.max_readers}",
            fix="raise maxReaders",
            code="bad-option",
        )
    return options, others
