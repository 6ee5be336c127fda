"""One CSV file under the schema of a scan: which of its fields is which column, and how each is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.decoding.contract import Decoder
from splitscan.decoding.csv import CsvDecoder
from splitscan.decoding.csv_arrays import CsvArrayDecoder
from splitscan.decoding.csv_layout import CsvLayout
from splitscan.decoding.filling import Filling, FillingDecoder
from splitscan.decoding.native_csv import arrays_with_kernel, with_kernel
from splitscan.decoding.rescue import Rescue
from splitscan.errors import InvariantError, SchemaError, Where
from splitscan.framing.contract import Preamble
from splitscan.framing.quoted import QuotedFormat
from splitscan.options import CsvOptions, HeaderMapping
from splitscan.scan.columns.column_rules import default_of, options_of, rules_of, rules_of_format
from splitscan.scan.columns.file_columns import as_text
from splitscan.scan.spec import ScanSpec

_SHOWN_CHARACTERS = 80  # of a header and of a schema in a message


def csv_decoder(spec: ScanSpec, csv: CsvOptions, file: FileMetadata, preamble: Preamble) -> Decoder:
    """The decoder of one file.

    Raises:
        SchemaError: If the file's header does not agree with the schema.
    """
    if not isinstance(preamble.format, QuotedFormat):
        raise InvariantError("CSV is framed as CSV", Where(file.path), seen=preamble.format.name)
    if spec.is_array:
        return arrays_with_kernel(
            CsvArrayDecoder(
                _fields_decoder(spec, csv, preamble.format, _layout(spec, spec.fields.names), None),
                kind=spec.fields.field(0).type,
                max_fields=csv.max_columns,
                elements=spec.elements,
                wanted=bool(spec.judged),
            )
        )
    layout = _layout(spec, field_names(spec, csv, file, preamble.header))
    decoder = _fields_decoder(spec, csv, preamble.format, layout, rescue_for(spec, file, csv.max_columns))
    return _filled(spec, with_kernel(decoder), layout)


def rescue_for(spec: ScanSpec, file: FileMetadata, max_fields: int = 0) -> Rescue | None:
    """Where data that does not fit is kept; ``None`` where it is a fault."""
    name = spec.rescued_column
    return None if name is None else Rescue(as_text(file.path), max_fields, wanted=name in spec.columns)


def _fields_decoder(
    spec: ScanSpec, csv: CsvOptions, format: QuotedFormat, layout: CsvLayout, rescue: Rescue | None
) -> CsvDecoder:
    return CsvDecoder(
        dialect=format.dialect,
        layout=layout,
        rules=rules_of_format(spec.options),
        null_value=csv.null_value,
        empty_value=csv.empty_value,
        trim_leading=csv.ignore_leading_white_space,
        trim_trailing=csv.ignore_trailing_white_space,
        max_field_chars=csv.max_chars_per_column if csv.max_chars_per_column >= 0 else None,
        rescue=rescue,
    )


def _filled(spec: ScanSpec, decoder: Decoder, layout: CsvLayout) -> Decoder:
    """The decoder of a file that may lack columns, or values of columns that are NOT NULL and have a default."""
    position = {layout.names[index].lower(): number for number, index in enumerate(layout.wanted)}
    rules = rules_of_format(spec.options)
    fillings = []
    for index in spec.judged:
        column = spec.fields.field(index)
        default = default_of(column, rules)
        fills_nulls = default is not None and not column.nullable
        fillings.append(Filling(column.type, position.get(column.name.lower()), default, fills_nulls=fills_nulls))
    are_in_order = [filling.source for filling in fillings] == list(range(len(layout.wanted)))
    if are_in_order and not any(filling.fills_nulls for filling in fillings):
        return decoder
    return FillingDecoder(decoder, tuple(fillings))


# ----------------------------------------------------------------- columns


def field_names(spec: ScanSpec, csv: CsvOptions, file: FileMetadata, header: Sequence[str] | None) -> Sequence[str]:
    """Names of the fields of a file: its header's where that is read, else the schema's.

    Raises:
        SchemaError: If the header does not agree with the schema.
    """
    own: list[str] = spec.fields.names
    if not header or csv.enforce_schema:
        return own
    names = unique_names(header)
    if csv.header_mapping is HeaderMapping.NAME:
        _check_names(spec, csv, file, header)
        return names
    _check_positions(spec, file, header)
    return [*own[: len(names)], *names[len(own) :]]


def _layout(spec: ScanSpec, names: Sequence[str]) -> CsvLayout:
    """Where the columns of the schema are in a file; those that it lacks are no part of it."""
    rules = rules_of_format(spec.options)
    known = {column.name.lower(): column for column in reversed(list(spec.fields))}
    columns = {index: known[name.lower()] for index, name in enumerate(names) if name.lower() in known}
    position = {column.name: index for index, column in reversed(columns.items())}
    said = {index: options_of(column) for index, column in columns.items()}
    defaults = {index: default_of(columns[index], rules) for index, each in said.items() if each.default is not None}
    least = len(names)
    while least > 1 and least - 1 in defaults:
        least -= 1
    judged = [spec.fields.field(index).name for index in spec.judged]
    return CsvLayout(
        names=tuple(names),
        kinds=tuple(columns[i].type if i in columns else pa.string() for i in range(len(names))),
        wanted=tuple(position[name] for name in judged if name in position),
        least=least,
        unmatched=tuple(index for index in range(len(names)) if index not in columns),
        rules={i: rules_of(columns[i], rules) for i, each in said.items() if each.format is not None},
        blanks={i: each.blank_as for i, each in said.items() if each.blank_as is not None},
        defaults=defaults,
    )


def _check_names(spec: ScanSpec, csv: CsvOptions, file: FileMetadata, header: Sequence[str]) -> None:
    """A header that is matched by name: not too wide, and not that of something else.

    Raises:
        SchemaError: If there are too many columns, or none of them is in the schema: that is another file.
    """
    if len(header) > csv.max_columns:
        raise SchemaError(
            f"the header of a file has more columns than maxColumns={csv.max_columns}",
            Where(file.path, offset=0),
            seen=f"{len(header)} columns: {_shown(header)}",
            fix="raise maxColumns, if that is its header; else correct quote, escape or skipRows",
            code="header-mismatch",
        )
    known = {name.lower() for name in spec.fields.names}
    if known and known.isdisjoint(name.lower() for name in unique_names(header)):
        raise header_mismatch(file, header, spec.fields.names, "none of its columns is in the schema")


def _check_positions(spec: ScanSpec, file: FileMetadata, header: Sequence[str]) -> None:
    """A header that is matched by position: names in the order of the schema.

    It may go on behind the schema where what does not fit is rescued, and may lack last columns that have a default.

    Raises:
        SchemaError: If it disagrees.
    """
    names = unique_names(header)
    for number, (found, wanted) in enumerate(zip_longest(names, spec.fields), start=1):
        if found is None and options_of(wanted).default is not None:
            continue
        if wanted is None and spec.rescued_column is not None:
            continue
        if found is None or wanted is None or found.lower() != wanted.name.lower():
            shown = "there" if wanted is None else wanted.name
            what = f"column {number} is {_shown([found or 'missing'])}, not {_shown([shown])}"
            raise header_mismatch(file, header, spec.fields.names, what)


def header_mismatch(file: FileMetadata, header: Sequence[str], names: Sequence[str], what: str) -> SchemaError:
    """The error for a header that does not agree with the schema, which has *names*."""
    return SchemaError(
        "the header of a file does not agree with the schema",
        Where(file.path, offset=0),
        seen=f"{what}: header {_shown(header)}; schema {_shown(names)}",
        fix="correct the schema; or set headerMapping=byName to match columns by name, or enforceSchema=true to "
        "take columns by position whatever the header says",
        code="header-mismatch",
    )


def _shown(names: Sequence[str]) -> str:
    """Names for a message: on one line, and cut, since a header may be data."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in ", ".join(names)[:_SHOWN_CHARACTERS])
    return text if len(text) < _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}... ({len(names)} columns)"


def unique_names(header: Sequence[str]) -> list[str]:
    """Column names from a header, as Spark makes them: empty ones ``_cN``, repeated ones with their position.

    Example:
        >>> unique_names(["a", "A", "", "b"])
        ['a0', 'A1', '_c2', 'b']
        >>> unique_names(["a1", "a", "a"])
        ['a1', 'a1_1', 'a2']
    """
    seen = Counter(name.lower() for name in header)
    taken = {name for name, times in seen.items() if name and times == 1}
    names = []
    for i, name in enumerate(header):
        unique = name
        if not name or seen[name.lower()] > 1:
            unique = f"{name or '_c'}{i}"
            while unique.lower() in taken:
                unique += f"_{i}"
            taken.add(unique.lower())
        names.append(unique)
    return names
