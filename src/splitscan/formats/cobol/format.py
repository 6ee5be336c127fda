"""Records by a copybook as a format."""

from __future__ import annotations

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import UsageError, Where
from splitscan.formats.cobol.decoder import CobolDecoder, Notation
from splitscan.formats.cobol.framing import FixedRecords
from splitscan.formats.cobol.layout import Group, Leaf, Node, Table
from splitscan.formats.cobol.options import CobolOptions, Trimming
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
        """Records of a fixed length."""
        return FixedRecords(own.length, own.file_start_offset, own.file_end_offset)

    def decoder(self, own: CobolOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        decoder = CobolDecoder(
            columns=_nodes(own, wanted),
            fields=tuple(column.remove_metadata() for column in wanted.decoded),
            notation=_notation(own),
            start=own.record_start_offset,
            rescue=rescue_for(wanted, file),
        )
        return filled(wanted, decoder)

    def block_spelling(self, own: CobolOptions, wanted: Projection) -> BlockSpelling:
        spelled = {
            "record_length": own.length,
            "file_start": own.file_start_offset,
            "file_end": own.file_end_offset,
            "record_start": own.record_start_offset,
            "notation": _notation(own).spelled(),
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
        """The items of the copybook, with their types."""
        return FoundSchema(pa.schema([(node.name, type_of(node)) for node in own.layout.columns]), NOTHING)


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
    if isinstance(node, Table):
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
