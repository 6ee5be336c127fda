"""Spark options that are no options of ours: the ones that do no harm, and the ones that we must refuse."""

from __future__ import annotations

from types import MappingProxyType

ACCEPTED_UNUSED = MappingProxyType(
    {
        "path": "the caller's: where the files are",
        "paths": "the caller's: where the files are",
        "recordFormat": "the caller's: which record format this is",
        "samplingRatio": "schema inference reads `sampleBytes` of a file, not a share of all rows",
        "columnPruning": "what counts as a broken record never depends on the columns read",
        "inputBufferSize": "see `readBytes`",
        "compression": "for writing only; what is read is told by its first bytes, or `sourceCompression`",
        "codec": "for writing only; what is read is told by its first bytes, or `sourceCompression`",
        "quoteAll": "for writing only",
        "escapeQuotes": "for writing only",
        "extension": "for writing only",
    }
)
"""Accepted whatever their value, without any effect; with the reason."""

REFUSED = MappingProxyType(
    {
        "singleVariantColumn": "read the columns, and build the variant in Spark",
        "enableDateTimeParsingFallback": "give dateFormat or timestampFormat the pattern that the file really has",
        "timeFormat": "read the column as string, and convert it in Spark",
        "latestFirst": "leave it out: the oldest files come first, and half of every window is for new ones",
        "maxFileAge": "leave it out: no file is too old to be read, and none is forgotten",
        "fileNameOnly": "leave it out: files are known by path and version",
        "badRecordsPath": "use an ingest, whose reject table keeps broken records, or columnNameOfCorruptRecord",
    }
)
"""Options of Spark (or of Databricks) that change what is read and that we do not have; with what to do instead."""

WHOLE_TEXT = "wholetext"
WHOLE_TEXT_FIX = (
    "leave it out (false is accepted), or use Spark's own text reader: "
    "with wholetext every file is one document, which cannot be split"
)
