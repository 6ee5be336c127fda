"""Columns of fixed width by the kernel: what decodes records, and what its faults say."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from splitscan.engine import kernel
from splitscan.formats.decoding.contract import (
    BAD_VALUE_NUMBER,
    Decoder,
    FaultKind,
    FaultTemplate,
    NativeDecoder,
    can_cross,
    parser_rules,
    wrong_value,
)
from splitscan.formats.decoding.values import SHORT_RECORD, SHORT_WORDING
from splitscan.formats.fixed_width.decoder import FixedWidthDecoder, missing_places
from splitscan.formats.framing.contract import RecordFormat
from splitscan.formats.framing.encodings import UTF_8
from splitscan.formats.framing.frames import native, native_charset
from splitscan.formats.text.delimited import DelimitedFormat

_MISSING_PLACES = 9  # the kernel's number of the reason


def with_kernel(decoder: FixedWidthDecoder, format: RecordFormat) -> Decoder:
    """A decoder that reads by the kernel, or the given one where the kernel cannot.

    Args:
        decoder: The reference.
        format: Of the file, with what its head tells.
    """
    if kernel() is None or not all(can_cross(column) for column in decoder.fields):
        return decoder
    parser = _parser_of(decoder, format)
    if parser is None:
        return decoder
    columns = {column.name: column for column in decoder.fields}

    def word(kind: FaultKind) -> FaultTemplate:
        if kind.number == BAD_VALUE_NUMBER:
            return wrong_value(kind.column, kind.type_name, decoder.written(columns[kind.column]))
        return missing_places(decoder.own.last) if kind.number == _MISSING_PLACES else SHORT_WORDING

    return NativeDecoder(
        parser,
        decoder,
        decoder.encoding if decoder.own.record_length is None else UTF_8,  # the parser has the charset of their fields
        word,
        malformed_code=SHORT_RECORD,
        rescues=decoder.rescue is not None and decoder.rescue.wanted,
    )


def _parser_of(decoder: FixedWidthDecoder, format: RecordFormat) -> Any | None:
    own = decoder.own
    charset = None
    if own.record_length is not None and (charset := native_charset(decoder.encoding)) is None:
        return None  # only Python's codec knows the texts
    line_sep = format.delimiter if isinstance(format, DelimitedFormat) else None
    return native(
        "FixedWidthParser",
        pa.schema(decoder.fields),
        places=[(place.start - 1, place.stop) for place in decoder.places],
        least=own.last.start,
        null_value=own.null_value,
        trim_leading=own.ignore_leading_white_space,
        trim_trailing=own.ignore_trailing_white_space,
        line_sep=None if line_sep is None else decoder.encoding.text(line_sep).encode(),
        record_length=own.record_length,
        charset=charset,
        **parser_rules(decoder.rules, decoder.own_rules, decoder.rescue),
    )
