"""Log records as a format: patterns say how they begin and which columns they have."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.blocks import FileMetadata
from splitscan.errors import bad_option
from splitscan.formats.column_rules import (
    block_fields,
    check_placed,
    decoding_of,
    filled,
    spelled_rescue,
    with_options,
    written_of,
)
from splitscan.formats.contract import (
    NOTHING,
    VALUE,
    BlockSpelling,
    Format,
    FoundSchema,
    Heads,
    Projection,
)
from splitscan.formats.csv.format import Csv, types_of_texts
from splitscan.formats.decoding.contract import Decoder, Fault, FaultTemplate
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.formats.decoding.values import NOT_BEGUN_WORDING, PartsDecoder, ValueDecoder
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.framing.frames import Frames, records_in_utf8
from splitscan.formats.log import w3c
from splitscan.formats.log.framing import LogFormat
from splitscan.formats.log.options import LogOptions, begins, parse_pattern
from splitscan.formats.merge import merge_schemas
from splitscan.formats.text.lines import line_format
from splitscan.options import ColumnOptions, ReadOptions

NO_MATCH = "no-match"
NO_MATCH_WORDING = FaultTemplate(NO_MATCH, "the record does not match the pattern")


@dataclass(frozen=True, kw_only=True)
class GroupsDecoder(PartsDecoder):
    """Decodes records by a pattern."""

    pattern: str
    groups: tuple[str, ...]

    def parts(self, data: memoryview, frames: Frames) -> tuple[list[pa.Array], dict[int, Fault]]:
        records = pa.array(records_in_utf8(data, frames, self.encoding), pa.string())
        found = pc.extract_regex(records, rf"\A(?:{self.pattern})\z")
        if frames.malformed:
            begun = np.ones(len(frames), dtype=bool)
            begun[list(frames.malformed)] = False
            found = pc.if_else(pa.array(begun), found, None)
        faults = {record: NO_MATCH_WORDING.fault(record) for record in np.flatnonzero(_nulls(found)).tolist()}
        faults |= {record: NOT_BEGUN_WORDING.fault(record) for record in frames.malformed}
        texts = [pc.struct_field(found, group) for group in self.groups]
        return [self.without_nulls(text, text) for text in texts], faults


def _nulls(found: pa.Array) -> np.ndarray:
    nulls: np.ndarray = found.is_null().to_numpy(zero_copy_only=False)
    return nulls


_CSV = Csv()


class Log(Format[LogOptions]):
    """Lines that begin with a pattern, each with the lines after it; named groups are columns."""

    options_class = LogOptions

    def framing(self, own: LogOptions) -> RecordFormat:
        _check(own)
        if own.is_w3c:
            return w3c.framing_of(own)
        if own.line_pattern is None:
            return line_format(None, None, own.encoding)
        return LogFormat(own.line_pattern, own.record_continues is not None, resolve_encoding(own.encoding))

    def decoder(self, own: LogOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        if own.is_w3c:
            return _CSV.decoder(w3c.csv_of(own), wanted, file, preamble)
        rest = decoding_of(wanted, file, preamble)
        if own.whole_pattern is None:
            return filled(wanted, ValueDecoder(rest["encoding"], bool(wanted.decoded), NOT_BEGUN_WORDING))
        decoder = GroupsDecoder(
            null_value=own.null_value,
            **rest,
            pattern=own.whole_pattern,
            groups=_groups(own, wanted),
        )
        return filled(wanted, decoder)

    def block_spelling(self, own: LogOptions, wanted: Projection) -> BlockSpelling:
        if own.is_w3c:
            return _CSV.block_spelling(w3c.csv_of(own), wanted)._replace(reads_head=True)
        fields = block_fields(wanted, written_of(wanted))
        spelled = {
            "start": own.line_pattern,
            "continues": own.record_continues is not None,
            "pattern": own.whole_pattern,
            "groups": _groups(own, wanted),
            "null_value": own.null_value,
            "rescue": spelled_rescue(wanted),
        }
        return BlockSpelling({"log": spelled}, fields, resolve_encoding(own.encoding))

    def check_header(self, own: LogOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> None:
        if own.is_w3c:
            _CSV.check_header(w3c.csv_of(own), wanted, file, preamble)

    def check_schema(self, own: LogOptions, options: ReadOptions, fields: pa.Schema) -> None:
        if own.is_w3c:
            _CSV.check_schema(w3c.csv_of(own), options, fields)
            return
        groups = _columns_of(own).names
        check_placed(fields, groups, "group of the pattern", "groups", texts_only=own.whole_pattern is None)

    def infer(self, own: LogOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        if own.is_w3c:
            return w3c.found_columns(heads)
        columns = _columns_of(own)
        if not (own.types_if_asked and options.reading.infer_schema and heads.chosen):
            return FoundSchema(columns, NOTHING)
        names = [(file, columns.names) for file in heads.chosen]
        types = types_of_texts(w3c.csv_of(own), options, heads, names)
        merged = merge_schemas((file.path, schema) for file, schema in types)
        return FoundSchema(merged.schema, merged, len(names)) if merged.columns else FoundSchema(columns, NOTHING)


@functools.cache
def _check(own: LogOptions) -> None:
    """Refuse patterns that have no meaning."""
    lines = {"recordStart": own.record_start, "recordContinues": own.record_continues}
    for name, said in {**lines, "recordPattern": own.record_pattern}.items():
        if said is None:
            continue
        try:
            found = begins(parse_pattern(said)[0], ["", "\x01"])
        except ValueError as error:
            raise bad_option(f"option {name} takes a pattern", said, f"correct it: {error}") from None
        if name in lines and all(found):
            raise bad_option(f"option {name} takes a pattern", said, "it matches every line: say how the line begins")


def _columns_of(own: LogOptions) -> pa.Schema:
    """The named groups, with the types that the kind of log has, or the one text."""
    if own.whole_pattern is None:
        return pa.schema([(VALUE, pa.string())])
    types = own.preset.types if own.preset else {}
    fields = []
    for name in own.groups:
        kind, pattern = types.get(name, ("string", None))
        field = parse_ddl(f"`{name}` {kind}").field(0)
        fields.append(field if pattern is None else with_options(field, ColumnOptions(format=pattern)))
    return pa.schema(fields)


def _groups(own: LogOptions, wanted: Projection) -> tuple[str, ...]:
    """The named group of each column to decode."""
    named = {name.lower(): name for name in _columns_of(own).names}
    return tuple(named[column.name.lower()] for column in wanted.decoded)
