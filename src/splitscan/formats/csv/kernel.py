"""CSV by the kernel: what finds records, what decodes them, and what its faults say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from splitscan.engine import kernel
from splitscan.formats.csv.decoder import (
    CsvArrayDecoder,
    CsvDecoder,
    CsvLayout,
    RecordValidator,
    malformed,
    text_of_blank,
    too_long,
    wrong_count,
)
from splitscan.formats.csv.grammar import native_settings
from splitscan.formats.csv.reference import UNCLOSED_QUOTE
from splitscan.formats.decoding.contract import (
    BAD_VALUE_NUMBER,
    FIELD_COUNT,
    Decoder,
    FaultKind,
    FaultTemplate,
    NativeDecoder,
    wrong_value,
)
from splitscan.formats.decoding.rescue import tail_of
from splitscan.formats.framing.frames import native

_FIELD_COUNT, _FIELD_TOO_LONG = 1, 4  # the kernel's numbers of reasons


def with_kernel(decoder: CsvDecoder) -> Decoder:
    """A decoder of named fields that reads by the kernel, or the given one where the kernel cannot."""
    layout, rescue = decoder.layout, decoder.rescue
    csv = _parser_of(decoder)
    if csv is None:
        return decoder
    kept = None
    if rescue is not None:
        kept = (list(layout.unmatched), rescue.max_fields, tail_of(rescue.path), rescue.wanted)
    try:
        parser = csv(
            pa.schema([pa.field(layout.names[i], layout.kinds[i]) for i in layout.wanted]),
            names=list(layout.names),
            wanted=list(layout.wanted),
            least=len(layout.names) if layout.least is None else layout.least,
            rules=vars(decoder.rules),
            own_rules={index: vars(rules) for index, rules in layout.rules.items()},
            null_value=decoder.null_value,
            empty_value=decoder.empty_value,
            max_field_chars=decoder.max_field_chars,
            blanks={i: text_of_blank(blank, layout.kinds[i]) for i, blank in layout.blanks.items()},
            rescue=kept,
        )
    except _unsupported():
        return decoder
    validator = RecordValidator(layout, decoder.rules, decoder.max_field_chars, rescue)
    return NativeDecoder(
        parser,
        decoder,
        decoder.dialect.encoding,
        _wording(decoder, validator),
        malformed_code=UNCLOSED_QUOTE,
        rescues=rescue is not None and rescue.wanted,
        finish=_defaults(layout) if layout.defaults else None,
    )


def arrays_with_kernel(decoder: CsvArrayDecoder) -> Decoder:
    """Decoder of all fields of a record as one array."""
    csv = native("Csv", **native_settings(decoder.csv.dialect.in_utf8, trim_trailing=decoder.csv.trim_trailing))
    module = kernel()
    if csv is None or module is None:
        return decoder
    try:
        parser = module.CsvParser.arrays(
            csv,
            pa.schema([pa.field("columns", decoder.kind)] if decoder.wanted else []),
            max_fields=decoder.max_fields,
            elements=None if decoder.elements is None else list(decoder.elements),
            null_value=decoder.csv.null_value,
            empty_value=decoder.csv.empty_value,
            max_field_chars=decoder.csv.max_field_chars,
        )
    except _unsupported():
        return decoder

    def word(kind: FaultKind) -> FaultTemplate:
        if kind.number == _FIELD_COUNT:
            return FaultTemplate(
                FIELD_COUNT, "the record has ", f" fields where maxColumns={decoder.max_fields} are allowed"
            )
        return _structural(kind, decoder.csv.max_field_chars)

    return NativeDecoder(parser, decoder, decoder.csv.dialect.encoding, word, malformed_code=UNCLOSED_QUOTE)


def _parser_of(decoder: CsvDecoder) -> Callable[..., Any] | None:
    settings = native_settings(decoder.dialect.in_utf8, trim_trailing=decoder.trim_trailing)
    csv, module = native("Csv", **settings), kernel()
    if csv is None or module is None:
        return None
    return lambda *args, **options: module.CsvParser(csv, *args, **options)


def _unsupported() -> type[Exception]:
    module = kernel()
    unsupported: type[Exception] = ValueError if module is None else module.Unsupported
    return unsupported


def _wording(decoder: CsvDecoder, validator: RecordValidator) -> Callable[[FaultKind], FaultTemplate]:
    layout = decoder.layout
    index_of = {name: index for index, name in reversed(list(enumerate(layout.names)))}

    @cache
    def written(column: str) -> str:
        index = index_of[column]
        return validator.rules_of(index).written(layout.kinds[index], own=index in layout.rules)

    def word(kind: FaultKind) -> FaultTemplate:
        if kind.number == _FIELD_COUNT:
            return wrong_count(len(layout.names))
        if kind.number == BAD_VALUE_NUMBER:
            return wrong_value(kind.column, kind.type_name, written(kind.column))
        return _structural(kind, decoder.max_field_chars)

    return word


def _structural(kind: FaultKind, most_chars: int | None) -> FaultTemplate:
    if kind.number == _FIELD_TOO_LONG and most_chars is not None:
        return too_long(most_chars)
    return malformed(UNCLOSED_QUOTE)


def _defaults(layout: CsvLayout) -> Callable[[Sequence[pa.Array], list[tuple[int, int]]], Sequence[pa.Array]]:
    """Puts in defaults of fields that short records do not have."""

    def finish(columns: Sequence[pa.Array], odd: list[tuple[int, int]]) -> Sequence[pa.Array]:
        if not odd or not columns:
            return columns
        counts = np.full(len(columns[0]), len(layout.names), dtype=np.int64)
        for record, count in odd:
            counts[record] = count
        filled = [
            layout.fill_missing(column, counts, index) for column, index in zip(columns, layout.wanted, strict=False)
        ]
        return [*filled, *columns[len(layout.wanted) :]]

    return finish
