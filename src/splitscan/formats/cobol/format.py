"""Records by a copybook as a format."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import UsageError, Where
from splitscan.formats.cobol.decoder import CobolDecoder
from splitscan.formats.cobol.framing import CobolRecords, FixedRecords, LineRecords
from splitscan.formats.cobol.headers import HEADER_BYTES, BlockedRecords, FieldRecords, HeaderRecords, ShiftedRecords
from splitscan.formats.cobol.nodes import Children, Group, Leaf, Node, Table, spelled_pieces
from splitscan.formats.cobol.notation import Notation, Segments
from splitscan.formats.cobol.options import CobolOptions, Recfm, Trimming
from splitscan.formats.cobol.segments import Hierarchy, RootedRecords, SpannedRecords
from splitscan.formats.column_rules import block_fields, filled, rescue_for, spelled_rescue
from splitscan.formats.contract import NOTHING, BlockSpelling, Format, FoundSchema, Heads, Projection
from splitscan.formats.decoding.contract import Decoder, type_name
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.options import ReadOptions


class Cobol(Format[CobolOptions]):
    """Records whose columns are the items of a copybook."""

    options_class = CobolOptions

    def framing(self, own: CobolOptions) -> RecordFormat:
        return _records(own)

    def decoder(self, own: CobolOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        decoder = CobolDecoder(
            columns=_nodes(own, wanted),
            fields=tuple(column.remove_metadata() for column in wanted.decoded),
            notation=_notation(own),
            records=_records(own),
            start=_start(own),
            segment=own.segment,
            pieces=own.layout.pieces,
            hierarchy=_hierarchy(own),
            rescue=rescue_for(wanted, file),
        )
        return filled(wanted, decoder)

    def block_spelling(self, own: CobolOptions, wanted: Projection) -> BlockSpelling:
        spelled = {
            "finding": _records(own).spelled(),
            "file_start": own.file_start_offset,
            "record_start": _start(own),
            "segment": None if own.segment is None else own.segment.spelled()["leaf"],
            "notation": _notation(own).spelled(),
            "hierarchy": None if (hierarchy := _hierarchy(own)) is None else hierarchy.spelled(),
            "pieces": spelled_pieces(own.layout.pieces) or None,
            "nodes": [node.spelled() for node in _nodes(own, wanted)],
            "rescue": spelled_rescue(wanted),
        }
        return BlockSpelling({"cobol": spelled}, block_fields(wanted))

    def check_schema(self, own: CobolOptions, options: ReadOptions, fields: pa.Schema) -> None:
        known = {node.name.lower(): node for node in own.layout.columns}
        for column in fields:
            node = known.get(column.name.lower())
            problem = "the copybook has no such item" if node is None else _unfit(node, column.type)
            if problem:
                raise UsageError(
                    f"column {column.name!r} is not in the copybook like this: {problem}",
                    Where(column=column.name),
                    seen=f"items {', '.join(each.name for each in own.layout.columns)}"
                    if node is None else type_name(column.type),
                    fix="correct the schema, or leave it out: the copybook says it",
                    code="bad-schema",
                )  # fmt: skip

    def infer(self, own: CobolOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        return FoundSchema(pa.schema([(node.name, type_of(node)) for node in own.layout.columns]), NOTHING)


def _start(own: CobolOptions) -> int:
    """Bytes in front of the copybook's in each record."""
    return own.record_start_offset + (HEADER_BYTES if own.has_headers else 0)


def _records(own: CobolOptions) -> CobolRecords:
    records = _single_records(own)
    if not own.layout.hierarchy or own.segment is None:
        return records
    roots = Segments(_start(own), own.segment, own.layout.hierarchy[0].ids, _notation(own))
    return RootedRecords(start=records.start, trailer=records.trailer, inner=records, roots=roots)


def _hierarchy(own: CobolOptions) -> Hierarchy | None:
    if not own.layout.hierarchy or own.segment is None:
        return None
    return Hierarchy(_single_records(own), own.segment, own.layout.hierarchy, _start(own))


def _single_records(own: CobolOptions) -> CobolRecords:
    segments = None
    if own.segment is not None and own.segment_filter:
        segments = Segments(_start(own), own.segment, own.segment_filter, _notation(own))
    around: dict[str, Any] = {"start": own.file_start_offset, "trailer": own.file_end_offset, "segments": segments}
    if own.has_headers:
        adjustment = own.rdw_adjustment - (HEADER_BYTES if own.is_rdw_part_of_record_length else 0)
        around |= {"big_endian": own.is_rdw_big_endian, "adjustment": adjustment}
        if own.recfm is Recfm.VARIABLE:
            return HeaderRecords(**around) if own.layout.hierarchy else SpannedRecords(**around)
        blocks: dict[str, Any] = {"blocks_big_endian": own.is_bdw_big_endian, "blocks_adjustment": own.bdw_adjustment}
        return BlockedRecords(**around, **blocks)
    if own.recfm is Recfm.LINES:
        mark = own.line_sep and bytes(own.page.characters.index(letter) for letter in own.line_sep)
        return LineRecords(delimiter=mark or None, segments=segments)
    if own.length_field is not None:
        leaf, factor, more = own.length_field
        return FieldRecords(
            field=Segments(_start(own), leaf, (), _notation(own)), lengths=own.record_length_map, factor=factor,
            adjustment=more + own.record_start_offset + own.record_end_offset, **around,
        )  # fmt: skip
    if own.layout.pieces and own.record_length is None:
        return ShiftedRecords(
            pieces=own.layout.pieces, notation=_notation(own), before=_start(own), after=own.record_end_offset, **around
        )  # fmt: skip
    return FixedRecords(record_length=own.length, **around)


def type_of(node: Node) -> pa.DataType:
    """The type of an item."""
    if isinstance(node, Leaf):
        return parse_ddl(f"a {node.kind}").field(0).type
    if isinstance(node, Group):
        return pa.struct([(member.name, type_of(member)) for member in node.members])
    return pa.list_(type_of(node.item))


def _notation(own: CobolOptions) -> Notation:
    policy = own.string_trimming_policy
    return Notation(
        own.page,
        trim_left=policy in {Trimming.BOTH, Trimming.LEFT},
        trim_right=policy in {Trimming.BOTH, Trimming.RIGHT},
        zeros_are_null=own.improved_null_detection,
        signs_anywhere=not own.strict_sign_overpunching,
    )


def _nodes(own: CobolOptions, wanted: Projection) -> list[Node]:
    """The item of each column to decode."""
    known = {node.name.lower(): node for node in own.layout.columns}
    return [known[column.name.lower()] for column in wanted.decoded]


def _unfit(node: Node, kind: pa.DataType) -> str | None:
    """Why values of an item cannot have a type; ``None`` if they can."""
    if isinstance(node, Group):
        members = {member.name: member for member in node.members}
        if not pa.types.is_struct(kind):
            return f"{node.name} is a group"
        parts = (_unfit(members[part.name], part.type) if part.name in members else f"{node.name} has no {part.name}"
                 for part in kind)  # fmt: skip
        return next(filter(None, parts), None)
    if isinstance(node, Table | Children):
        return _unfit(node.item, kind.value_type) if pa.types.is_list(kind) else f"{node.name} comes several times"
    return None if _holds(node, kind) else f"{node.name} is {node.kind}"


def _holds(leaf: Leaf, kind: pa.DataType) -> bool:
    """True if a type holds all values of an item: its own, or a wider one of numbers."""
    natural = type_of(leaf)
    if kind == natural or (natural == pa.int32() and kind == pa.int64()):
        return True
    if not pa.types.is_decimal(kind) or leaf.coding == "float":
        return False
    if pa.types.is_decimal(natural):
        return bool(kind.scale == natural.scale and kind.precision >= natural.precision)
    return bool(kind.scale == 0 and kind.precision >= (10 if natural == pa.int32() else 19))
