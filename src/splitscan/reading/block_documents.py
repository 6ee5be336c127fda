"""Scans and blocks as the kernel's block reader is told them: two documents in JSON, with a version."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from types import ModuleType
from typing import Any

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata, plain_block, plain_file
from splitscan.content.codecs.source import codec_of
from splitscan.content.storage import ByteSource, redact
from splitscan.engine import DOCUMENT_VERSION, kernel
from splitscan.errors import InvariantError
from splitscan.formats.decoding.contract import type_name
from splitscan.formats.framing.encodings import code_tables
from splitscan.formats.registry import format_of
from splitscan.options import ReadOptions
from splitscan.reading.block_request import BlockRequest
from splitscan.reading.contents import in_content, open_file, preamble_for
from splitscan.reading.decoders import check_header
from splitscan.reading.envelopes import OffsetValues
from splitscan.reading.framework.columns import inner_fields, is_required_somewhere
from splitscan.reading.given_up import DELIVERED, LOST
from splitscan.reading.new_columns import how_to_read_them
from splitscan.reading.oddities import SAID, words_of
from splitscan.reading.partitions import Grain, grain_of, metadata_field, metadata_scalar
from splitscan.reading.rejects import remedies
from splitscan.reading.spec import Constant, Head, ScanDocument, ScanSpec
from splitscan.spelling import as_text


def scan_document(spec: ScanSpec) -> ScanDocument | None:
    """Document for every task of a scan, or ``None`` for the kinds of scans that Python reads.

    Which they are does not depend on any file: planning can ask. It is made once, and travels with the specification.
    """
    module = kernel()
    if module is None or spec.framing is not None:
        return None
    if not spec.documents:
        spec.documents.append(_document(spec, module))
    return spec.documents[0]


def for_tasks(spec: ScanSpec) -> ScanSpec:
    """This specification, with all that can be made of it before any task begins."""
    scan_document(spec)
    return spec


def _document(spec: ScanSpec, module: ModuleType) -> ScanDocument:
    format = format_of(spec.options)
    spelling = format.block_spelling(spec.options.format, spec)
    reading, encoding = spec.options.reading, spelling.encoding
    document = json.dumps(
        {
            "version": DOCUMENT_VERSION,
            "format": spelling.format,
            "needs_head": spelling.needs_head,
            "codes": code_tables(encoding) if encoding.longest_bytes > 1 else None,
            "notices": bool(spec.notices) and format.shows_columns,
            "are_texts": spec.are_texts,
            "fields": spelling.fields,
            "columns": _columns(spec),
            "mode": reading.mode.value,
            "keeps_given_up": spec.keeps_given_up,
            "max_record_bytes": reading.max_record_bytes,
            "read_bytes": reading.read_bytes,
            "batch_rows": reading.batch_rows,
            "batch_bytes": reading.batch_bytes,
        }
    )
    try:
        module.BlockReader.check(document)
    except module.Unsupported as error:
        raise InvariantError(
            "the kernel reads every scan of a built-in format", seen=str(error),
            fix="set SPLITSCAN_ENGINE=reference, and report it",
        ) from error  # fmt: skip
    return ScanDocument(document, encoding, spelling.marks, spelling.needs_head)


METADATA = "_metadata"
"""Column that a host may offer of all that is known of a record beside its bytes."""

METADATA_MEMBERS = (
    "file_path", "file_name", "file_size", "file_block_start", "file_block_length", "file_modification_time",
    "record_offset", "record_length",
)  # fmt: skip
"""Its members: Spark's own names, and where a record is."""


def scan_document_with_metadata(spec: ScanSpec) -> str | None:
    """Document for a host that chooses columns itself, and says what is odd about records.

    It also has the columns that the members of ``_metadata`` stand for.
    """
    document = scan_document(spec)
    if document is None:
        return None
    members = [
        {
            "name": f"{METADATA}.{name}",
            "type": type_name(metadata_field(name).type),
            "nullable": False,
            "required": None,
            "source": name if grain_of(name) is Grain.RECORD else "constant",
        }
        for name in METADATA_MEMBERS
    ]
    words = words_of_tasks(spec.options)
    return json.dumps({**json.loads(document.text), "metadata": members, "words": words})


def words_of_tasks(options: ReadOptions) -> dict[str, Any]:
    """Words of a host that speaks in place of Python.

    They are its warnings of one record and of several, for ``records`` and ``first``, which one the first is; and
    remedies where a record ends a scan.
    """
    broken = {
        name: [f"{words}; the first begins at {{first}}. {said.advice}" for words in (said.one, said.several)]
        for name, said in {"lost": LOST, "delivered": DELIVERED}.items()
    }
    new = (
        "columns that no sample has shown, and they are not read; the first, {first}. "
        f"To read them, {how_to_read_them(options)}"
    )
    warnings = {
        **{code: words_of(code) for code in SAID},
        **broken,
        "new-columns": (f"{{records}} record has {new}", f"{{records}} records have {new}"),
    }
    return {"warnings": warnings, "remedies": remedies()}


def _metadata_constants(block: BlockMetadata) -> dict[str, Constant]:
    names = (name for name in METADATA_MEMBERS if grain_of(name) is not Grain.RECORD)
    return {f"{METADATA}.{name}": metadata_scalar(name, block) for name in names}


def block_document(
    request: BlockRequest, block: BlockMetadata, head: Head | None, constants: Mapping[str, Constant] | None = None
) -> str:
    """Document of one block for its task.

    Args:
        block: Its range, in offsets of what is read.
        head: What the head of its file says, as :meth:`ScanDocument.head` gives it; that the header agrees is known.
            Without it the kernel reads the head.
        constants: Values that all records share, beside those of the scan's columns.
    """
    path, *others = plain_file(block.file)[:6]
    others[3] = as_text(others[3])
    return json.dumps(
        {
            "version": DOCUMENT_VERSION,
            "file": [as_text(path), *others],
            "block": plain_block(block),
            "constants": {name: _plain(value) for name, value in (request.constants | dict(constants or {})).items()},
            "head": head,
            "validate": request.wants_faults,
            "with_digest": request.with_digest,
            "limit": request.limit,
        }
    )


CODECS_OF_TASKS = frozenset({"gzip", "zlib", "raw-deflate"})
"""Names of codecs that a host without Python decompresses."""


class TaskDocuments:
    """Writes the blocks of tasks for a host that reads files without Python."""

    def __init__(self, spec: ScanSpec) -> None:
        self._spec, self._scan = spec, scan_document(spec)
        self._seen: dict[FileMetadata, tuple[str | None, Head | None]] = {}

    def write(self, blocks: Sequence[BlockMetadata]) -> str:
        """The blocks of one task, each with the head of its file where the kernel does not understand that."""
        ratio = self._spec.options.files.max_decompression_ratio
        written = ",".join(map(self._block, blocks))
        return f'{{"version":{DOCUMENT_VERSION},"max_ratio":{ratio},"blocks":[{written}]}}'

    @staticmethod
    def write_rows(rows: int) -> str:
        """So many rows without a column, as a task."""
        return json.dumps({"version": DOCUMENT_VERSION, "blocks": [], "rows": rows})

    def _block(self, block: BlockMetadata) -> str:
        shown = json.dumps(as_text(redact(block.file.path)))
        request, constants = BlockRequest(self._spec, block), _metadata_constants(block)
        codec, head = self._seen_of(block.file)
        if codec is not None:
            block = in_content(block, codec)
        return f"[{shown},{block_document(request, block, head, constants)}]"

    def look_at(self, file: FileMetadata, source: ByteSource) -> None:
        """Take the codec of a file that is open at its content, and what its head says where only Python knows that."""
        scan, format, head = self._scan, self._spec.record_format, None
        if scan is not None and scan.needs_head and format is not None:
            preamble = preamble_for(source, file, format, 0)
            check_header(self._spec, file, preamble)
            head = scan.head(preamble)
        self._seen[file] = codec_of(source), head

    def _seen_of(self, file: FileMetadata) -> tuple[str | None, Head | None]:
        listed = replace(file, compression=None)
        if listed not in self._seen:
            with closing(open_file(listed, self._spec.options.files, self._spec.reading)) as source:
                self.look_at(listed, source)
        return self._seen[listed]


def _columns(spec: ScanSpec) -> list[dict[str, Any]]:
    """The columns of a batch, with all members that are decoded."""
    own = {spec.fields.field(index).name: place for place, index in enumerate(spec.validated)}
    constants = _constant_names(spec)
    others = {
        spec.corrupt_column: "corrupt",
        spec.reason_column: "reason",
        spec.rescued_column: "rescued",
        "record_offset": "record_offset",
        "record_length": "record_length",
    }
    columns = []
    for field in spec.schema:
        source: Any = "constant"
        kind = field.type
        required = _required(field)
        if field.name in own and field.name not in constants:
            source = {"field": own[field.name]}
            kind = spec.decoded[source["field"]].type
            required = _required(field, kind)
        elif field.name not in constants:
            source = others[field.name]
        columns.append(
            {
                "name": field.name,
                "type": type_name(kind),
                "nullable": field.nullable,
                "required": required,
                "source": source,
            }
        )
    return columns


def _required(field: pa.Field, kind: pa.DataType | None = None) -> dict[str, Any] | None:
    """Positions in a column without nulls, by the members of the type that is decoded; ``None`` for nowhere."""
    parts = []
    if is_required_somewhere(field.with_nullable(True)):
        delivered = {inner.name: inner for inner in inner_fields(field.type)}
        for inner in inner_fields(kind or field.type):
            known = delivered.get(inner.name)
            parts.append(None if known is None else _required(known, inner.type))
    return {"not_null": not field.nullable, "parts": parts} if parts or not field.nullable else None


def _constant_names(spec: ScanSpec) -> frozenset[str]:
    """Names of the columns with one value for all records of a block."""
    kept = {*spec.fields.names, *spec.speaking, "record_offset", "record_length"}
    partitions = spec.partitions.fields.names
    return frozenset(name for name in spec.columns if name in partitions or name not in kept)


def _plain(value: Constant) -> Any:
    """A value as JSON: dates as days, times and moments as microseconds, fractions as texts, bytes as numbers."""
    if isinstance(value, OffsetValues):
        return {"starts": value.starts.tolist(), "values": list(map(_plain, value.values))}
    if pa.types.is_temporal(value.type):
        return value.value
    plain = value.as_py()
    if isinstance(plain, bytes):
        return list(plain)
    if isinstance(plain, float):
        return {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(str(plain), str(plain))
    return str(plain) if isinstance(plain, Decimal) else plain
