"""XML as a format: records are the elements of one name, their parts are columns."""

from __future__ import annotations

import re
from functools import reduce

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import InvariantError
from splitscan.formats.column_rules import filled, own_rules_of, rescue_for, rules_of_format
from splitscan.formats.contract import FoundSchema, Head, Heads, PlainFormat, Projection, evidence_of, spread
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.decoding.conversions import Rules, stored_value
from splitscan.formats.decoding.types import MOST_LEVELS, bounded
from splitscan.formats.framing.contract import Preamble, RecordFormat, TextFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.merge import MOST_DIGITS, NO_VALUE, join, merge_schemas, settled, struct_types
from splitscan.formats.xml.decoder import Element, NotXmlError, ValueReader, XmlDecoder, parse_element
from splitscan.formats.xml.framing import XmlFormat
from splitscan.formats.xml.kernel import xml_with_kernel
from splitscan.formats.xml.options import XmlOptions
from splitscan.options import Mode, ReadOptions

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FRACTION = re.compile(r"[+-]?([0-9]*)\.([0-9]+)")
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*", re.DOTALL)


def infer_columns(own: XmlOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
    """The parts of all sampled records, in the order in which they are first seen.

    Raises:
        SourceError: If a file cannot be read.
    """
    sampled = spread(heads.files, options.schema.sample_files)
    finder = _Finder(own, rules_of_format(options))
    samples = heads.look(sampled, finder.sample)
    whole = reduce(finder.join, (kind for _, (kind, *_) in samples), pa.struct([]))
    kinds = struct_types(whole)
    schemas = [
        (file, pa.schema([(each.name, _aligned(each.type, kinds[each.name])) for each in kind]))
        for file, (kind, *_) in samples
    ]
    merged = merge_schemas(evidence_of(schemas), match_case=True)
    schema = pa.schema([(column.name, bounded(settled(column.kind))) for column in merged.columns])
    corrupt = options.reading.column_name_of_corrupt_record
    has_broken = any(broken for _, (_, broken, _) in samples)
    if has_broken and len(schema) and options.reading.mode is Mode.PERMISSIVE:
        schema = pa.schema([*(field for field in schema if field.name != corrupt), pa.field(corrupt, pa.string())])
    return FoundSchema(schema, merged, len(sampled), sum(records for _, (*_, records) in samples))


def _aligned(kind: pa.DataType, whole: pa.DataType) -> pa.DataType:
    """The type of a file's column as all files together need it: one element may be an array elsewhere."""
    return whole if pa.types.is_nested(whole) else kind


class _Finder:
    def __init__(self, own: XmlOptions, rules: Rules) -> None:
        self._own = own
        self._rules = rules

    def sample(self, head: Head) -> tuple[pa.DataType, bool, int]:
        """The struct of what the records of a head hold, whether some record is broken, and how many there are."""
        format = head.preamble.format
        merged, broken, records = pa.struct([]), False, 0
        for raw in head.records():
            records += 1
            record = (format.encoding.text(raw) if isinstance(format, TextFormat) else raw.decode()).encode()
            kind = self.shape(record)
            if kind is None:
                broken = True
            else:
                merged = self.join(merged, kind)
        return merged, broken, records

    def shape(self, record: bytes) -> pa.DataType | None:
        """The struct of what a record holds; ``None`` if it is broken."""
        try:
            return self._struct(parse_element(record, ignore_namespace=self._own.ignore_namespace), 0)
        except NotXmlError:
            return None

    def join(self, left: pa.DataType, right: pa.DataType) -> pa.DataType:
        """The type of both: an array if one is, a struct with a text if one has no parts."""
        if pa.types.is_null(left) or pa.types.is_null(right) or left == right:
            return join(left, right)
        if pa.types.is_list(left) or pa.types.is_list(right):
            inner = [kind.value_type if pa.types.is_list(kind) else kind for kind in (left, right)]
            return pa.list_(self.join(*inner))
        if not (pa.types.is_struct(left) or pa.types.is_struct(right)):
            return join(left, right)
        types = dict(self._members(left))
        for name, kind in self._members(right).items():
            types[name] = self.join(types[name], kind) if name in types else kind
        return pa.struct(list(types.items()))

    def _members(self, kind: pa.DataType) -> dict[str, pa.DataType]:
        return struct_types(kind) if pa.types.is_struct(kind) else {self._own.value_tag: kind}

    def _struct(self, element: Element, depth: int) -> pa.DataType:
        members = ValueReader(b"", self._own, self._rules, {}).members(element)
        types = []
        for name, parts in members.items():
            kind = reduce(self.join, (self._type_of(part, depth) for part in parts), NO_VALUE)
            types.append((name, pa.list_(kind) if len(parts) > 1 else kind))
        return pa.struct(types)

    def _type_of(self, part: Element | str, depth: int) -> pa.DataType:
        if isinstance(part, str):
            return self._scalar(part)
        if part.children or (part.attributes and not self._own.exclude_attribute):
            return pa.string() if depth > MOST_LEVELS else self._struct(part, depth + 1)
        return self._scalar("".join(part.texts))

    def _scalar(self, text: str) -> pa.DataType:
        written = text.strip()
        if not written or written == self._own.null_value:
            return NO_VALUE
        if _INTEGER.fullmatch(written) and (digits := len(written.lstrip("+-0"))) <= MOST_DIGITS:
            is_long = stored_value(written, pa.int64(), self._rules) is not None
            return pa.int64() if is_long else pa.decimal128(max(1, digits))
        fraction = _FRACTION.fullmatch(written) if self._own.prefers_decimal else None
        if fraction is not None and (digits := len(fraction[1].lstrip("0")) + len(fraction[2])) <= MOST_DIGITS:
            return pa.decimal128(digits, len(fraction[2]))
        kinds = [pa.float64()] if written[-1] not in "dDfF" else []
        if written.lower() in {"true", "false"}:
            kinds = [pa.bool_()]
        elif self._rules.date_format or self._rules.timestamp_format or _DATED.fullmatch(written):
            plain = len(written) > len("2020-01-01") and not self._rules.date_format
            kinds += (
                [pa.timestamp("us", "UTC")]
                if plain or not self._own.prefer_date
                else [pa.date32(), pa.timestamp("us", "UTC")]
            )
        return next((kind for kind in kinds if stored_value(written, kind, self._rules) is not None), pa.string())


class Xml(PlainFormat[XmlOptions]):
    """Elements by their name."""

    options_class = XmlOptions
    repeats_members = True

    def framing(self, own: XmlOptions) -> RecordFormat:
        """Row tags, outside of comments and the like."""
        return XmlFormat(own.row_tag, resolve_encoding(own.text_encoding), own.reads_declaration)

    def decoder(self, own: XmlOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """Attributes and child elements by name, as columns; those that a record lacks get their default."""
        if not isinstance(preamble.format, XmlFormat):
            raise InvariantError("XML is framed as XML", seen=preamble.format.name)
        reference = XmlDecoder(
            encoding=preamble.format.encoding,
            fields=tuple(column.remove_metadata() for column in wanted.decoded),
            own=own,
            rules=rules_of_format(wanted.options),
            own_rules=own_rules_of(wanted),
            rescue=rescue_for(wanted, file),
        )
        return filled(wanted, xml_with_kernel(reference))

    def shape(self, own: XmlOptions, options: ReadOptions, record: bytes) -> pa.DataType:
        """The attributes, texts and child elements of a record."""
        found = _Finder(own, rules_of_format(options)).shape(record) or pa.struct([])
        return pa.struct([(each.name, bounded(each.type)) for each in found])

    def infer(self, own: XmlOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        """The parts of all sampled records."""
        return infer_columns(own, options, heads)
