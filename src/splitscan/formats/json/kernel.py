"""JSON by the kernel: what finds records, what decodes them, and what its faults say."""

from __future__ import annotations

import pyarrow as pa

from splitscan.engine import kernel
from splitscan.formats.decoding.contract import (
    BAD_VALUE_NUMBER,
    Decoder,
    FaultKind,
    NativeDecoder,
    Wording,
    can_cross,
    wrong_value,
)
from splitscan.formats.decoding.rescue import tail_of
from splitscan.formats.decoding.zone_tables import kernel_rules
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
    module, json = kernel(), format.native
    if module is None or json is None or not all(can_cross(column) for column in decoder.fields):
        return decoder
    dialect, rescue = decoder.dialect, decoder.rescue
    try:
        parser = module.JsonParser(
            json,
            pa.schema(decoder.fields),
            allow_single_quotes=dialect.allow_single_quotes,
            allow_unquoted_field_names=dialect.allow_unquoted_field_names,
            allow_numeric_leading_zeros=dialect.allow_numeric_leading_zeros,
            allow_non_numeric_numbers=dialect.allow_non_numeric_numbers,
            allow_backslash_escaping_any_character=dialect.allow_backslash_escaping_any_character,
            allow_unquoted_control_chars=dialect.allow_unquoted_control_chars,
            rules=kernel_rules(decoder.rules),
            own_rules={name: kernel_rules(rules) for name, rules in decoder.own_rules.items()},
            rescue=None if rescue is None else (tail_of(rescue.path), rescue.wanted),
        )
    except module.Unsupported:
        return decoder
    return NativeDecoder(parser, decoder, decoder.encoding, _word, rescues=decoder.rescues)


def _word(kind: FaultKind) -> Wording:
    if kind.number == BAD_VALUE_NUMBER:
        return wrong_value(kind.column, kind.type_name)
    if kind.number == _NOT_AN_OBJECT:
        return Wording(NOT_AN_OBJECT, "the record is ", ", not an object")
    return Wording(BAD_JSON, "the record is no JSON value: ")
