"""Options of Spark that are no options of ours: the ones that do no harm, and the ones that we must refuse."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from splitscan.errors import bad_option
from splitscan.options.table import FLAG, ValueRefusedError, python_twin, show_value

_WRITING = "for writing only"
_CODEC = "for writing only; what is read is told by its first bytes, or `sourceCompression`"
_LISTINGS = "a listing is used once, and no file is forgotten"

ACCEPTED_UNUSED = MappingProxyType(
    {
        "path": "the caller's: where the files are",
        "paths": "the caller's: where the files are",
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
