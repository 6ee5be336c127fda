"""A scan as the document that the kernel's block reader is made of, or why it cannot be; blocks as those of a task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.engine import kernel
from splitscan.formats.csv.decoder import CsvDecoder, text_of_blank
from splitscan.formats.csv.grammar import native_settings
from splitscan.formats.csv.options import CsvOptions, HeaderMapping
from splitscan.formats.decoding.contract import Decoder, NativeDecoder, type_name
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.zone_tables import kernel_rules
from splitscan.formats.framing.contract import Preamble
from splitscan.formats.registry import format_of
from splitscan.formats.text.format import TextOptions
from splitscan.options import Mode
from splitscan.scan.spec import ScanSpec

VERSION = 1

_NO_FILE = FileMetadata("", 0, 0, "", "")


def why_no_document(spec: ScanSpec) -> str | None:
    """Why a scan cannot be read from a document, by what it asks for; ``None`` if it can."""
    reasons = (*_of_records(spec), *_of_columns(spec)) if spec.framing is None else ("a format of your own",)
    reason = next(filter(None, reasons), None)
    return "columns have options of their own" if reason is None and _decoder(spec) is None else reason


def _of_records(spec: ScanSpec) -> Iterator[str | None]:
    own, mode = spec.options.format, spec.options.reading.mode
    if kernel() is None:
        yield "the reference engine reads"
    if not isinstance(own, CsvOptions | TextOptions):
        yield f"recordFormat={spec.options.record_format}"
        return
    if own.text_encoding.lower().replace("_", "-") not in {"utf-8", "utf8"}:
        yield f"encoding={own.text_encoding}"
    if isinstance(own, TextOptions) and own.escape is not None:
        yield "option escape of lines"
    if mode is not Mode.PERMISSIVE:
        yield f"mode={mode.value}"
    if isinstance(own, CsvOptions) and own.header_mapping is HeaderMapping.NAME:
        yield "columns are matched by name"


def _of_columns(spec: ScanSpec) -> Iterator[str | None]:
    if spec.corrupt_column in spec.wildcard or spec.rescued_column is not None:
        yield "a column holds what is broken, or does not fit"
    elsewhere = (name for name in spec.columns if name not in spec.fields.names or name in spec.partitions.fields.names)
    yield next((f"column {name} is not in the records" for name in elsewhere), None)
    if not spec.columns:
        yield "no column is selected"
    if spec.narrowed or spec.elements is not None or spec.is_array:
        yield "elements or members are selected"
    for column in spec.fields:
        if not column.nullable:
            yield f"column {column.name} is NOT NULL"
        if pa.types.is_timestamp(column.type):
            yield f"column {column.name} may name time zones"  # which the kernel leaves to Python


def scan_document(spec: ScanSpec) -> dict[str, Any]:
    """The document of a scan that can have one."""
    reading, own = spec.options.reading, spec.options.format
    decoder = _decoder(spec)
    if isinstance(decoder, CsvDecoder) and isinstance(own, CsvOptions):
        format, rules = {"csv": _csv(decoder, own)}, decoder.rules
    else:
        format, rules = {"text": {"line_sep": getattr(own, "line_sep", None)}}, Rules()
    columns = [spec.fields.field(index) for index in spec.wanted]
    return {
        "version": VERSION,
        "format": format,
        "fields": [_field(column, rules) for column in columns],
        "columns": [
            {**_column(column), "nullable": True, "source": {"field": number}} for number, column in enumerate(columns)
        ],
        "mode": reading.mode.name,
        "keeps_given_up": False,
        "max_record_bytes": reading.max_record_bytes,
        "read_bytes": reading.read_bytes,
        "batch_rows": reading.batch_rows,
        "batch_bytes": reading.batch_bytes,
    }


def _decoder(spec: ScanSpec) -> Decoder | None:
    """The reference's decoder of every file, if the kernel decodes them all, and alike."""
    own = spec.options.format
    header = tuple(spec.fields.names) if isinstance(own, CsvOptions) and own.compares_headers else None
    framing = spec.record_format
    if framing is None:
        return None
    native = format_of(spec.options).decoder(own, spec, _NO_FILE, Preamble(0, framing, header))
    if not isinstance(native, NativeDecoder) or native.finish is not None:
        return None
    decoder = native.reference
    if isinstance(decoder, CsvDecoder) and (
        decoder.layout.rules or decoder.layout.least not in {None, len(spec.fields)}
    ):
        return None
    return decoder


def _csv(decoder: CsvDecoder, own: CsvOptions) -> dict[str, Any]:
    layout, settings = decoder.layout, native_settings(decoder.dialect, trim_trailing=decoder.trim_trailing)
    texts = {name: _text(settings[name]) for name in ("sep", "quote", "escape", "comment", "line_sep")}
    flags = {name: settings[name] for name in ("doubled", "multi_line", "trim_leading", "trim_trailing")}
    return {
        **texts,
        **flags,
        "header": own.header,
        "checks_header": own.compares_headers,
        "skip_lines": own.skip_rows,
        "null_value": decoder.null_value,
        "empty_value": decoder.empty_value,
        "max_field_chars": decoder.max_field_chars,
        "names": list(layout.names),
        "least": len(layout.names),
        "wanted": list(layout.wanted),
        "unmatched": list(layout.unmatched),
        "blanks": [(index, text_of_blank(blank, layout.kinds[index])) for index, blank in layout.blanks.items()],
        "rescue": None,
    }


def _text(unit: bytes | int | str | None) -> str | None:
    if unit is None or isinstance(unit, str):
        return unit
    return chr(unit) if isinstance(unit, int) else unit.decode()


def _field(column: pa.Field, rules: Rules) -> dict[str, Any]:
    return {**_column(column), "rules": kernel_rules(rules), "written": rules.written(column.type)}


def _column(column: pa.Field) -> dict[str, Any]:
    return {"name": column.name, "type": type_name(column.type)}
