"""How records become batches: the options that concern every record format."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated

from splitscan.options.kinds import FLAG, PATHS, choice, names, size, text, whole
from splitscan.options.table import Option
from splitscan.sizes import MIB

METADATA_COLUMNS = (
    "filename",
    "filepath",
    "fqn",
    "suffix",
    "file_path",
    "file_name",
    "file_size",
    "file_modification_time",
    "file_block_start",
    "file_block_length",
    "block_id",
    "record_offset",
    "record_length",
)

# A portion of records and their text in UTF-8 must fit into one Arrow array, whose offsets have 31 bits.
_LARGEST_RECORD_BYTES = 512 * MIB
_LARGEST_READ_BYTES = 128 * MIB


class Mode(enum.Enum):
    """What happens to a record that breaks a rule. Names are Spark's."""

    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"
    FAILFAST = "FAILFAST"


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What is delivered of the records, in which portions, and what happens to broken ones.

    Attributes carry the meaning given in ``docs/options.md``; sizes are in bytes.

    Pickling: plain values only.
    """

    mode: Annotated[
        Mode,
        Option("mode", choice(Mode), "Broken records: kept with nulls, dropped, or the scan fails (see differences)."),
    ] = Mode.PERMISSIVE
    column_name_of_corrupt_record: Annotated[
        str,
        Option(
            "columnNameOfCorruptRecord", text(empty=False), "Text column that receives the bytes of broken records."
        ),
    ] = "_corrupt_record"
    max_record_bytes: Annotated[
        int,
        Option(
            "maxRecordBytes",
            size(1, _LARGEST_RECORD_BYTES),
            "Longest record; a longer one is one reject, and reading resumes after it.",
        ),
    ] = 32 * MIB
    columns: Annotated[
        tuple[str, ...] | None,
        Option(
            "columns", PATHS, "Only columns to read, in this order: `a`, `m.x`, `columns[3]`, `*`; all if not given."
        ),
    ] = None
    metadata_columns: Annotated[
        tuple[str, ...],
        Option(
            "metadataColumns",
            names(METADATA_COLUMNS, numbered="dir"),
            "Columns to add that say where a record comes from.",
        ),
    ] = ()
    batch_rows: Annotated[int, Option("batchRows", whole(1), "Most rows in one batch.")] = 65_536
    batch_bytes: Annotated[int, Option("batchBytes", size(), "Most bytes in one batch of several rows.")] = 16 * MIB
    read_bytes: Annotated[
        int, Option("readBytes", size(1, _LARGEST_READ_BYTES), "Bytes asked of the storage in one read.")
    ] = 4 * MIB
    limit: Annotated[
        int | None, Option("limit", whole(0), "Stops after this many rows; records after them are not validated.")
    ] = None
    infer_schema: Annotated[bool, Option("inferSchema", FLAG, "Finds column types from a sample of the data.")] = False
    sampling_bytes: Annotated[
        int,
        Option(
            "sampleBytes",
            size(1, _LARGEST_READ_BYTES),
            "Bytes of a file's head that schema inference reads.",
            ("samplingBytes",),
        ),
    ] = 1 * MIB
