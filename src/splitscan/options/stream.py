"""Options of streams, and those that only Spark's data source has."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from splitscan.errors import bad_option
from splitscan.options.table import (
    FLAG,
    TEXT,
    ValueRefusedError,
    declared_options,
    fields_given,
    option,
    parsed_values,
    python_twin,
    refuse_contradictions,
    show_value,
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


_WRITING = "for writing only"
_CODEC = "for writing only; what is read is told by its first bytes, or `sourceCompression`"
_LISTINGS = "a listing is used once, and no file is forgotten"

ACCEPTED_UNUSED = MappingProxyType(
    {
        "path": "the caller's: where the files are",
        "paths": "the caller's: where the files are",
        "recordFormat": "the caller's: which record format this is",
        "samplingRatio": "schema inference reads `sampleBytes` of a file, not a share of all rows",
        "columnPruning": "what counts as a broken record never depends on the columns read",
        "inputBufferSize": "see `readBytes`",
        "maxMalformedLogPerPartition": "without effect in Spark too; an ingest keeps every reject",
        "useUnsafeRow": "about memory inside Spark's own reader; it changes no value",
        "ignoreInvalidPartitionPaths": "directories that are not named `name=value` are passed over in any case",
        "maxCachedFiles": _LISTINGS,
        "discardCachedInputRatio": _LISTINGS,
        "compression": _CODEC,
        "codec": _CODEC,
        "quoteAll": _WRITING,
        "escapeQuotes": _WRITING,
        "extension": _WRITING,
        "ignoreNullFields": _WRITING,
        "rootTag": _WRITING,
        "indent": _WRITING,
        "useLegacyXMLParser": "about which parser Spark itself uses",
        "declaration": _WRITING,
        "arrayElementName": _WRITING,
        "validateName": _WRITING,
        "pretty": _WRITING,
        "sortKeys": _WRITING,
        "writeNonAsciiCharacterAsCodePoint": _WRITING,
    }
)
"""Accepted whatever their value, without any effect; with the reason."""

REFUSED = MappingProxyType(
    {
        "singleVariantColumn": "read lines with recordFormat=text, and make a variant of each with parse_json in Spark",
        "timeFormat": "read the column as string, and convert it in Spark",
        "prefersDate": "write preferDate: Spark ignores this name, so leave it out to read what Spark reads",
        "maxNestingDepth": "leave it out: nesting has no limit; maxRecordBytes bounds a record",
        "maxStringLen": "leave it out: strings have no limit of their own; maxRecordBytes bounds a record",
        "maxNumLen": "leave it out: numbers have no limit of their own; maxRecordBytes bounds a record",
        "maxFileAge": "leave it out: no file is too old to be read, and none is forgotten",
        "badRecordsPath": "use an ingest, whose reject table keeps broken records, or columnNameOfCorruptRecord",
    }
)
"""Options of Spark (or of Databricks) that change what is read and that we do not have; with what to do instead."""

REFUSED_IF_TRUE = MappingProxyType(
    {
        "enableDateTimeParsingFallback": (
            "leave it out (false is accepted), and give dateFormat or timestampFormat the pattern that the file has"
        ),
        "latestFirst": (
            "leave it out (false is accepted): the oldest files come first, and half of every window is for new ones"
        ),
        "fileNameOnly": "leave it out (false is accepted): files are known by path and version",
    }
)
"""Flags of Spark whose ``false`` says what happens here; with what to do instead of ``true``."""

_BY_TIME = "give startingOffsets or endingOffsets as offsets, or use Spark's own source for points in time"
_WAITING = "leave it out, and give the stream a trigger with an interval: a window is read when it is due"
_RETRIES = "the client asks again by itself, for as long as `kafkaConsumer.pollTimeoutMs`"

KAFKA_ACCEPTED_UNUSED = MappingProxyType(
    {
        "groupIdPrefix": "no consumer group is joined",
        "fetchOffset.numRetries": _RETRIES,
        "fetchOffset.retryIntervalMs": _RETRIES,
    }
)
"""Of Spark's Kafka source: accepted whatever their value, without any effect; with the reason."""

KAFKA_REFUSED = MappingProxyType(
    {
        "startingTimestamp": _BY_TIME,
        "endingTimestamp": _BY_TIME,
        "startingOffsetsByTimestamp": _BY_TIME,
        "endingOffsetsByTimestamp": _BY_TIME,
        "startingOffsetsByTimestampStrategy": _BY_TIME,
        "minOffsetsPerTrigger": _WAITING,
        "maxTriggerDelay": _WAITING,
    }
)
"""Of Spark's Kafka source: options that change what is read and that we do not have; with what to do instead."""

KAFKA_REFUSED_IF_TRUE = MappingProxyType(
    {"includeHeaders": "leave it out (false is accepted), and add headers to metadataColumns"}
)
"""Of Spark's Kafka source: flags whose ``false`` says what happens here; with what to do instead of ``true``."""


def is_listed(name: str, known: Mapping[str, str]) -> bool:
    """True if a name is one of those listed, in any case, or the snake_case twin of one."""
    return _reason(name, known) is not None


def check_refused(name: str, value: Any, refused: Mapping[str, str], refused_if_true: Mapping[str, str]) -> bool:
    """Refuse an option of Spark that we do not have, with its own reason.

    Returns:
        Whether the name is one of them, and this value does no harm.

    Raises:
        UsageError: ``[bad-option]``.
    """
    always, if_true = _reason(name, refused), _reason(name, refused_if_true)
    fix = always or if_true
    if fix is None:
        return False
    if value is not None and (always is not None or _is_set(name, value)):
        raise bad_option(f"option {name} is not supported", f"{name}={show_value(value)}", fix)
    return True


def _reason(name: str, known: Mapping[str, str]) -> str | None:
    lower = name.lower()
    return next((reason for listed, reason in known.items() if lower in (listed.lower(), python_twin(listed))), None)


def _is_set(name: str, value: Any) -> bool:
    try:
        return bool(FLAG.parse(value))
    except ValueRefusedError:
        raise bad_option(f"option {name} takes {FLAG.allowed}", show_value(value), "leave it out") from None
