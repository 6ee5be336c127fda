"""CSV as a format: records are rows, their fields are columns."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import Advice, InvariantError, SchemaError, Where
from splitscan.formats.column_rules import check_single_variant
from splitscan.formats.contract import (
    NOTHING,
    BlockSpelling,
    Contradiction,
    Format,
    FoundSchema,
    Head,
    Heads,
    Projection,
    Summaries,
    spread,
)
from splitscan.formats.csv.columns import (
    block_spelling,
    check_array,
    check_flat,
    check_width,
    field_names,
    header_mismatch,
    records_decoder,
    shown_names,
    unique_names,
)
from splitscan.formats.csv.decoder import CsvFrameDecoder
from splitscan.formats.csv.dropped import CsvHeader, CsvSuspects, DroppedRows
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar, split_fields
from splitscan.formats.csv.inference import KEPT_TYPES, TypeSummary, summarise_columns
from splitscan.formats.csv.options import CsvOptions, HeaderMapping
from splitscan.formats.decoding.contract import VARIANT, Decoder
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.merge import merge_schemas
from splitscan.options import Mode, ReadOptions, SchemaOptions
from splitscan.redaction import redact

_LOG = logging.getLogger("splitscan")


def infer_columns(csv: CsvOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
    """Names from headers (``_c0``, ``_c1`` ... without), and all types ``string``; with ``inferSchema`` those that fit.

    Raises:
        SchemaError: If headers differ and are to be matched by position.
        SourceError: If a file cannot be read.
    """
    sampled = heads.chosen
    if csv.header and csv.header_mapping is not HeaderMapping.NAME and not options.reading.infer_schema:
        names = _first_names(heads)  # all other headers are compared with it when they are read
        sampled = [file for file, _ in names]
    else:
        looked_at = _unique(heads.look_for_names(sampled, _names, _KEPT_NAMES))
        if csv.header and csv.header_mapping is HeaderMapping.NAME:
            _check_common_names(looked_at)
        names = _sampled_and_bringers(sampled, looked_at)
    for each in names:
        check_width(csv, *each)
    if csv.header_mapping is not HeaderMapping.NAME:
        names = _by_position(csv, names)
    if options.reading.infer_schema:
        as_texts = replace(options, format=replace(csv, header_mapping=HeaderMapping.POSITION))
        types = types_of_texts(csv, as_texts, heads, names)
    else:
        types = [(file, pa.schema([(name, pa.string()) for name in found])) for file, found in names]
    merged = merge_schemas((file.path, schema) for file, schema in types)
    return FoundSchema(merged.schema, merged, max(len(sampled), len(types)))


_KEPT_NAMES: Summaries[tuple[str, ...]] = Summaries("headers", lambda one, other: one or other, list, tuple)


def types_of_texts(
    csv: CsvOptions, options: ReadOptions, heads: Heads, names: Sequence[tuple[FileMetadata, Sequence[str]]]
) -> list[tuple[FileMetadata, pa.Schema]]:
    """The columns of each file in the narrowest types that all of its values fit.

    Args:
        csv: How values are written.
        options: How records are read, whatever the scan wants of them.
        heads: The files.
        names: Of the columns of each file.
    """
    lenient = replace(options.reading, mode=Mode.PERMISSIVE, columns=None, metadata_columns=(), limit=None)
    columns = {file.path: pa.schema([(name, pa.string()) for name in found]) for file, found in names}
    found = heads.read(
        [file for file, _ in names],
        replace(options, reading=lenient, schema=SchemaOptions()),
        columns,
        lambda batches, schema: summarise_columns(batches, csv, len(schema)),
        KEPT_TYPES,
    )
    return [(file, _typed(csv, columns[file.path], each)) for file, each in found]


def _typed(csv: CsvOptions, columns: pa.Schema, found: Sequence[TypeSummary]) -> pa.Schema:
    return pa.schema([(name, each.kind(csv)) for name, each in zip(columns.names, found, strict=True)])


def _first_names(heads: Heads) -> list[tuple[FileMetadata, tuple[str, ...]]]:
    for file in spread(heads.files, len(heads.files)):
        names = _unique(heads.look([file], _names))
        if names:
            return names
    return []


def _unique(headers: Sequence[tuple[FileMetadata, tuple[str, ...]]]) -> list[tuple[FileMetadata, tuple[str, ...]]]:
    """The columns of files by their headers, without files that have none; names that repeat are told of."""
    found = [(file, header, tuple(unique_names(header))) for file, header in headers if header]
    for file, header, names in found:
        times = Counter(name.lower() for name in header if name)
        renamed = [pair for pair in zip(header, names, strict=True) if times[pair[0].lower()] > 1]
        if renamed:
            before, after = (shown_names(each) for each in zip(*renamed, strict=True))
            text = f"has names that differ in nothing, or in case only: {before} are read as {after}"
            _LOG.warning("%s %s", redact(file.path), Advice(text))
            break  # one file is enough
    return [(file, names) for file, _, names in found]


def _sampled_and_bringers(
    sampled: Sequence[FileMetadata], names: Sequence[tuple[FileMetadata, tuple[str, ...]]]
) -> list[tuple[FileMetadata, tuple[str, ...]]]:
    """The files of the sample, and of every name that none of them has the first that brings it."""
    paths = {file.path for file in sampled}
    seen = {name.lower() for file, found in names if file.path in paths for name in found}
    kept = []
    for file, found in names:
        own = {name.lower() for name in found}
        if file.path in paths or not own <= seen:
            kept.append((file, found))
            seen |= own
    return kept


def _check_common_names(names: Sequence[tuple[FileMetadata, tuple[str, ...]]]) -> None:
    """Refuse a header that has no name in common with any other: it is probably a record.

    Raises:
        SchemaError: ``[header-mismatch]``.
    """
    files = Counter(name for _, found in names for name in {each.lower() for each in found})
    strangers = [each for each in names if len(names) > 1 and all(files[name.lower()] == 1 for name in each[1])]
    if strangers:
        file, found = strangers[-1]
        other, theirs = next(each for each in names if each[0] is not file)
        raise SchemaError(
            "the header of a file has no name in common with that of any other (headerMapping=byName)",
            Where(file.path, 0),
            seen=f"{shown_names(found)}; {other.name} has {shown_names(theirs)}",
            fix="if it is a record, read this file by itself, with header=false; else give a schema with the columns "
            "of all files",
            code="header-mismatch",
        )


def _by_position(
    csv: CsvOptions, names: list[tuple[FileMetadata, tuple[str, ...]]]
) -> list[tuple[FileMetadata, tuple[str, ...]]]:
    """Columns under the names of the first file; headers that are read must agree with it."""
    if not names or not csv.header:
        return names
    first = names[0][1]
    if csv.enforce_schema is not True:
        for file, found in names:
            if [name.lower() for name in found] != [name.lower() for name in first]:
                raise header_mismatch(file, found, first, f"headers differ, and {names[0][0].name!r} was read first")
        return names
    return [(file, (*first[: len(found)], *(f"_c{i}" for i in range(len(first), len(found))))) for file, found in names]


def _names(head: Head) -> tuple[str, ...]:
    """The header of a file as it is, or ``_c0``, ``_c1`` ...; nothing of a file without a record."""
    header, format = head.preamble.header, head.preamble.format
    if header is not None:
        return tuple(header)
    first = next(head.records(), None)
    if first is None or not isinstance(format, QuotedFormat):
        return ()
    utf8 = format.dialect.encoding.text(first).encode("utf-8")
    return tuple(f"_c{i}" for i in range(len(split_fields(utf8, format.dialect.in_utf8))))


_SHOWN_CHARACTERS = 60


def _doubles_quotes(text: str, csv: CsvOptions) -> bool:
    quote, sep = re.escape(csv.quote or ""), csv.sep_pattern
    edge = rf"(?:{sep}|[\r\n])"
    doubled = re.search(rf"(?<!{quote})(?<!{sep})(?<![\r\n]){quote}{quote}(?!{quote})(?!{edge})(?!\Z)", text)
    return doubled is not None and f"\\{csv.quote}" not in text


class Csv(Format[CsvOptions]):
    """Rows with separators and quotes."""

    options_class = CsvOptions
    advises = True

    def framing(self, own: CsvOptions) -> RecordFormat:
        """Line ends, but for those in quotes with ``multiLine``."""
        return QuotedFormat(
            CsvGrammar.of(own),
            header=own.header,
            skip_lines=own.skip_rows,
            trim_trailing=own.ignore_trailing_white_space,
        )

    def decoder(self, own: CsvOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """Fields as columns, or all of them as one array."""
        if _has_no_fields(wanted):
            return CsvFrameDecoder()
        if not isinstance(preamble.format, QuotedFormat):
            raise InvariantError("CSV is framed as CSV", Where(file.path), seen=preamble.format.name)
        return records_decoder(wanted, own, preamble.format, file, preamble.header)

    def block_spelling(self, own: CsvOptions, wanted: Projection) -> BlockSpelling:
        return block_spelling(wanted, own, CsvGrammar.of(own))

    def dropped(self, own: CsvOptions, preamble: Preamble, fits: Callable[[bytes], bool]) -> DroppedRows | None:
        """Lines that a comment, skipped rows or a header drop, and headers that are records, where samples show it."""
        found, format = own.found_options, preamble.format
        if not found or not isinstance(format, QuotedFormat):
            return None
        return DroppedRows(
            format,
            comment="comment" in found and own.comment is not None,
            header="header" in found and own.header and bool(own.enforce_schema),
            first="header" in found and not own.header,
            skipped=own.skip_rows if "skipRows" in found else 0,
            fits=fits,
        )

    def repeated_header(self, preamble: Preamble) -> CsvHeader | None:
        format, record = preamble.format, preamble.header_record
        return CsvHeader(format, record) if record is not None and isinstance(format, QuotedFormat) else None

    def suspects(self, own: CsvOptions, preamble: Preamble) -> CsvSuspects | None:
        format, header = preamble.format, preamble.header_record
        comments = "comment" in own.found_options and own.comment is not None
        if not isinstance(format, QuotedFormat) or (header is None and not comments):
            return None
        return CsvSuspects(format, header, comments)

    def looks_at_heads(self, own: CsvOptions) -> bool:
        return bool(own.found_options)

    def check_header(self, own: CsvOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> None:
        """The header agrees with the schema, unless nobody reads it."""
        if own.single_variant_column is not None:
            check_width(own, file, preamble.header or ())
        elif not (wanted.is_array or _has_no_fields(wanted)):
            field_names(wanted, own, file, preamble.header)

    def check_schema(self, own: CsvOptions, options: ReadOptions, fields: pa.Schema) -> None:
        """Fields are one value each, and not too many; or they are all one array."""
        if own.single_variant_column is not None:
            check_single_variant(own.single_variant_column, options, fields)
        elif not check_array(own, fields):
            check_flat(own, fields)

    def advice(self, own: CsvOptions, text: str) -> str | None:
        """Advice about a file that doubles quotes and is read with Spark's default escape."""
        if own.escape != "\\" or own.quote is None or not _doubles_quotes(text, own):
            return None
        return (
            "doubles quotes inside quoted fields and never escapes one with a backslash: "
            f"it probably wants option escape={own.quote}"
        )

    def contradiction(
        self, own: CsvOptions, given: frozenset[str], text: str, *, is_start: bool
    ) -> Contradiction | None:
        """A quoted field with a doubled quote in it, if no quote is escaped by a backslash and nobody asked for that.

        Spark's default escape is the backslash. With it such fields keep their quotes, and separators in them end
        fields.
        """
        if own.quote is None or own.escape != "\\" or "escape" in given or f"\\{own.quote}" in text:
            return None
        quote, sep = re.escape(own.quote), own.sep_pattern
        edge = rf"(?:{sep}|[\r\n])"
        found = re.search(rf"(?:\A|{edge})({quote}[^{quote}]*{quote}{quote}(?!{quote})(?!{edge})(?!\Z).{{0,20}})", text)
        if found is None:
            return None
        return Contradiction(
            "quotes inside quoted fields are doubled, and the escape character is a backslash: values would keep their "
            "quotes, and separators in them would end fields",
            found[1][-_SHOWN_CHARACTERS:],
            {"escape": own.quote},
            "set escape='\"' (on the command line -o 'escape=\"'), as RFC 4180 has it; or escape='\\' to read it like "
            "this all the same",
        )

    def infer(self, own: CsvOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        """Names from the header, types from the values."""
        if own.single_variant_column is not None:
            return FoundSchema(pa.schema([(own.single_variant_column, VARIANT)]), NOTHING)
        return infer_columns(own, options, heads)


def _has_no_fields(wanted: Projection) -> bool:
    """True if nothing says how many fields a record has."""
    return not wanted.fields and wanted.delivers_no_value
