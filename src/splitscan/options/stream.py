"""How a directory is followed: the options that only a stream has. Reading a scan once ignores them, as Spark does."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from splitscan.options.table import (
    FLAG,
    TEXT,
    declared_options,
    fields_given,
    option,
    parsed_values,
    refuse_contradictions,
    size,
    whole,
)


class FileMode(enum.Enum):
    """Kind of file for a stream."""

    COMPLETE = "complete"
    APPEND = "append"


class OnModified(enum.Enum):
    """Policy for a file that was planned before and has other content now."""

    FAIL = "fail"
    REREAD = "reread"
    IGNORE = "ignore"


class CleanSource(enum.Enum):
    """Policy for a file that was read to its end, once Spark has committed what was read."""

    OFF = "off"
    ARCHIVE = "archive"
    DELETE = "delete"


class WindowLogChoice(enum.Enum):
    """Place of the plans of windows."""

    DURABLE = "durable"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How files are found, how much of them one window reads, and by how many readers.

    Attributes carry the meaning given in ``docs/options.md``; sizes are in bytes, times in milliseconds.
    """

    state_location: str | None = option(
        TEXT, "Directory of the window log, e.g. `splitscan` inside the checkpoint; a stream must have one.", None
    )
    window_log: WindowLogChoice = option(
        WindowLogChoice,
        "`durable`: windows are written to `stateLocation`, and replayed; "
        "`none`: they are forgotten with the run, and the next one reads everything again.",
        WindowLogChoice.DURABLE,
    )
    blocks_threshold: int | None = option(whole(1), "Most blocks that one window reads.", None)
    max_bytes_per_trigger: int | None = option(
        size(), "Most bytes that one window reads; one block is read in any case.", None
    )
    max_files_per_trigger: int | None = option(whole(1), "Most files that one window reads from.", None)
    file_mode: FileMode = option(
        FileMode,
        "`complete`: a file is final when it appears; `append`: it may grow, and is read record by record.",
        FileMode.COMPLETE,
    )
    on_modified: OnModified | None = option(
        OnModified,
        "What to do with a file that was planned before and has other content now. "
        "When not given: `fail` for complete files, `reread` for growing ones.",
        None,
    )
    close_after_ms: int | None = option(
        whole(0), "A growing file untouched for this long has ended: its last record needs no terminator.", None
    )
    min_age_ms: int = option(whole(0), "A complete file is left alone until it was untouched for this long.", 0)
    scan_interval_ms: int = option(
        whole(0), "Pause between two listings of the directories.", 1000, name="scanIntervalMillis"
    )
    min_readers: int | None = option(
        whole(1), "Fewest tasks of a window with blocks enough; by default one for every core.", None
    )
    max_readers: int | None = option(whole(1), "Most tasks of a window.", None)
    collect_stats: bool = option(
        FLAG, "Whether the number of tasks follows the bytes; otherwise it is `minReaders`.", True
    )
    clean_source: CleanSource = option(
        CleanSource, "What happens to a complete file once it was read and committed.", CleanSource.OFF
    )
    source_archive_dir: str | None = option(TEXT, "Where `cleanSource=archive` moves files to.", None)

    @property
    def modified_policy(self) -> OnModified:
        """Policy for a modified file, with the default of the file mode filled in."""
        if self.on_modified is not None:
            return self.on_modified
        return OnModified.FAIL if self.file_mode is FileMode.COMPLETE else OnModified.REREAD


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
    clean, directory, least, most = (
        options.clean_source, options.source_archive_dir, options.min_readers, options.max_readers
    )  # fmt: skip
    keeps_none = options.window_log is WindowLogChoice.NONE
    refuse_contradictions(
        ((clean is CleanSource.ARCHIVE) != (directory is not None),
         "options cleanSource=archive and sourceArchiveDir go together",
         f"cleanSource={clean.value}, sourceArchiveDir={directory}", "give both or neither"),
        (clean is not CleanSource.OFF and options.file_mode is FileMode.APPEND,
         "option cleanSource takes complete files away, and a file that grows is never complete",
         f"cleanSource={clean.value}, fileMode=append", "leave out one of them"),
        (keeps_none and options.state_location is not None,
         "option windowLog=none keeps no state, so stateLocation has no meaning",
         "windowLog=none, and a stateLocation", "leave out one of them"),
        (most is not None and (least or 1) > most,
         "option minReaders is larger than maxReaders", f"minReaders={least}, maxReaders={most}", "raise maxReaders"),
    )  # fmt: skip
    return options, others
