"""JSON by the kernel: what finds records, what decodes them, and what its faults say."""

from __future__ import annotations

import pyarrow as pa

from splitscan.engine import kernel
from splitscan.formats.decoding.contract import BAD_VALUE, Decoder, Fault, NativeDecoder, NativeFault, is_no
from splitscan.formats.decoding.rescue import tail_of
from splitscan.formats.decoding.zone_tables import kernel_rules
from splitscan.formats.json.decoder import BAD_JSON, NOT_AN_OBJECT, JsonDecoder
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.json.lines import JsonLinesFormat

_BAD_VALUE, _BAD_JSON, _NOT_AN_OBJECT = 2, 5, 6  # the kernel's numbers of reasons


def json_with_kernel(decoder: JsonDecoder, format: JsonFormat | JsonLinesFormat) -> Decoder:
    """A decoder that reads by the kernel, or the given one where the kernel cannot.

    Args:
        decoder: The reference.
        format: Of the file, with what its head tells.
    """
    module, json = kernel(), format.native
    if module is None or json is None or not all(_can_cross(column) for column in decoder.fields):
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
    return NativeDecoder(parser, decoder, decoder.encoding, _describe, rescues=decoder.rescues)


def _can_cross(column: pa.Field) -> bool:
    """Whether the names in a column reach the kernel whole: Arrow's C interface ends them at a null character."""
    kind = column.type
    return "\0" not in column.name and all(_can_cross(kind.field(index)) for index in range(kind.num_fields))


def _describe(fault: NativeFault) -> Fault:
    if fault.code == _BAD_VALUE:
        return Fault(fault.record, BAD_VALUE, f"column {fault.column!r}: {is_no(fault.seen, fault.kind)}", False)
    if fault.code == _NOT_AN_OBJECT:
        return Fault(fault.record, NOT_AN_OBJECT, f"the record is {fault.seen}, not an object", True)
    return Fault(fault.record, BAD_JSON, f"the record is no JSON value: {fault.seen}", True)
