"""XML by the kernel: what decodes records, and what its faults say."""

from __future__ import annotations

from types import ModuleType
from typing import Any

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
from splitscan.formats.xml.decoder import BAD_XML, XmlDecoder


def xml_with_kernel(decoder: XmlDecoder) -> Decoder:
    """A decoder that reads by the kernel, or the given one where the kernel cannot.

    Args:
        decoder: The reference.
    """
    module = kernel()
    if module is None or not all(can_cross(column) for column in decoder.fields):
        return decoder
    try:
        parser = native_parser(module, decoder)
    except module.Unsupported:
        return decoder
    rescues = decoder.rescue is not None and decoder.rescue.wanted
    return NativeDecoder(parser, decoder, decoder.encoding, _word, rescues=rescues)


def native_parser(module: ModuleType, decoder: XmlDecoder) -> Any:
    """The kernel's class that decodes as the reference does.

    Args:
        module: The kernel.
        decoder: The reference.

    Raises:
        Unsupported: The kernel's own error, if it cannot.
    """
    own, rescue = decoder.own, decoder.rescue
    return module.XmlParser(
        module.Xml(own.row_tag.encode()),
        pa.schema(decoder.fields),
        attribute_prefix=own.attribute_prefix,
        value_tag=own.value_tag,
        exclude_attribute=own.exclude_attribute,
        ignore_namespace=own.ignore_namespace,
        ignore_surrounding_spaces=own.ignore_surrounding_spaces,
        null_value=own.null_value,
        rules=kernel_rules(decoder.rules),
        own_rules={name: kernel_rules(rules) for name, rules in decoder.own_rules.items()},
        rescue=None if rescue is None else (tail_of(rescue.path), rescue.wanted),
    )


def _word(kind: FaultKind) -> Wording:
    if kind.number == BAD_VALUE_NUMBER:
        return wrong_value(kind.column, kind.type_name)
    return Wording(BAD_XML, "the record is no XML element: ")
