"""XML by the kernel: what decodes records, and what its faults say."""

from __future__ import annotations

from functools import partial
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
from splitscan.formats.xml.decoder import BAD_XML, XmlDecoder


def xml_with_kernel(decoder: XmlDecoder) -> Decoder:
    """A decoder that reads by the kernel, or the given one where the kernel cannot.

    Args:
        decoder: The reference.
    """
    return decoder_by_kernel(partial(native_parser, decoder=decoder), decoder, _word)


def native_parser(module: ModuleType, decoder: XmlDecoder) -> Any:
    """The kernel's class that decodes as the reference does.

    Args:
        module: The kernel.
        decoder: The reference.

    Raises:
        Unsupported: The kernel's own error, if it cannot.
    """
    own = decoder.own
    return module.XmlParser(
        module.Xml(own.row_tag.encode()),
        pa.schema(decoder.fields),
        attribute_prefix=own.attribute_prefix,
        value_tag=own.value_tag,
        exclude_attribute=own.exclude_attribute,
        ignore_namespace=own.ignore_namespace,
        ignore_surrounding_spaces=own.ignore_surrounding_spaces,
        null_value=own.null_value,
        **parser_rules(decoder.rules, decoder.own_rules, decoder.rescue),
    )


def _word(kind: FaultKind) -> FaultTemplate:
    if kind.number == BAD_VALUE_NUMBER:
        return wrong_value(kind.column, kind.type_name)
    return FaultTemplate(BAD_XML, "the record is no XML element: ")
