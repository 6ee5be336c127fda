"""JSON by the kernel: what finds records, what decodes them, and what its faults say."""

from __future__ import annotations

from dataclasses import asdict
from types import ModuleType
from typing import Any

import pyarrow as pa

from splitscan.formats.decoding.contract import (
    BAD_VALUE_NUMBER,
    Decoder,
    FaultKind,
    FaultTemplate,
    decoder_by_kernel,
    parser_rules,
    wrong_value,
)
from splitscan.formats.json.decoder import BAD_JSON, NOT_AN_OBJECT, JsonDecoder
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.json.lines import JsonLinesFormat

_NOT_AN_OBJECT = 6  # the kernel's number of the reason


def json_with_kernel(decoder: JsonDecoder, format: JsonFormat | JsonLinesFormat) -> Decoder:
    """A decoder that reads by the kernel, or the given one where the kernel cannot.

    Args:
        decoder: The reference.
        format: Of the file, with what its head tells.
    """
    native = format.native
    if native is None:
        return decoder

    def parser(module: ModuleType) -> Any:
        return module.JsonParser(
            native,
            pa.schema(decoder.fields),
            **asdict(decoder.dialect),
            **parser_rules(decoder.rules, decoder.own_rules, decoder.rescue),
        )

    return decoder_by_kernel(parser, decoder, _word)


def _word(kind: FaultKind) -> FaultTemplate:
    if kind.number == BAD_VALUE_NUMBER:
        return wrong_value(kind.column, kind.type_name)
    if kind.number == _NOT_AN_OBJECT:
        return FaultTemplate(NOT_AN_OBJECT, "the record is ", ", not an object")
    return FaultTemplate(BAD_JSON, "the record is no JSON value: ")
