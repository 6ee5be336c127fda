"""One CSV file under the schema of a scan: which of its fields is which column, and how each is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import zip_longest

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import SchemaError, UsageError, Where, bad_option
from splitscan.formats.column_rules import (
    COLUMNS,
    Filling,
    FillingDecoder,
    block_fields,
    default_of,
    is_array,
    options_of,
    rescue_for,
    rules_of,
    rules_of_format,
    written_of,
)
from splitscan.formats.contract import BlockSpelling, Projection
from splitscan.formats.csv.decoder import CsvArrayDecoder, CsvDecoder, CsvLayout, CsvVariantDecoder, text_of_blank
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.csv.options import CsvOptions, HeaderMapping
from splitscan.formats.decoding.contract import Decoder, format_ddl, is_variant
from splitscan.formats.decoding.values import Rescue
from splitscan.formats.decoding.variant import ValueTypes, VariantRules

_SHOWN_CHARACTERS = 80  # of a header and of a schema in a message


def records_decoder(
    wanted: Projection, csv: CsvOptions, format: QuotedFormat, file: FileMetadata, header: Sequence[str] | None
) -> Decoder:
    """The decoder of a file whose fields are columns, or one array, or the members of one variant.

    Raises:
        SchemaError: If the file's header does not agree with the schema, or has too many columns.
    """
    own = wanted.fields.names
    if csv.single_variant_column is not None:
        check_width(csv, file, header or ())
        return CsvVariantDecoder(
            _fields_decoder(wanted, csv, format, _layout(wanted, own), None),
            name=own[0],
            header=header if csv.header else None,  # what it says names the members
            most=csv.max_columns,
            wanted=bool(wanted.validated),
        )
    if wanted.is_array:
        return CsvArrayDecoder(
            _fields_decoder(wanted, csv, format, _layout(wanted, own), None),
            kind=wanted.fields.field(0).type,
            max_fields=csv.max_columns,
            elements=wanted.elements,
            wanted=bool(wanted.validated),
        )
    layout = _layout(wanted, field_names(wanted, csv, file, header))
    decoder = _fields_decoder(wanted, csv, format, layout, rescue_for(wanted, file, csv.max_columns))
    return _filled(wanted, decoder, layout)


def _variants(csv: CsvOptions) -> VariantRules:
    return VariantRules(csv.variant_allow_duplicate_keys, csv.max_variant_bytes)


def block_spelling(wanted: Projection, csv: CsvOptions, dialect: CsvGrammar) -> BlockSpelling:
    """The columns as the kernel is told of them; the header of a file decides which field each is in."""
    fields = block_fields(wanted, written_of(wanted))
    has_names = bool(wanted.fields) or not wanted.delivers_no_value
    said = [(column, options_of(column)) for column in wanted.fields]
    rescued = wanted.rescued_column
    has_variants = csv.single_variant_column is not None or any(is_variant(column.type) for column in wanted.decoded)
    spelled = {
        "sep": dialect.sep,
        "quote": dialect.quote,
        "escape": None if dialect.escape_unit is None else dialect.escape,
        "escape_escape": None if dialect.escape_escape_unit is None else (dialect.escape_escape or dialect.escape),
        "doubled": dialect.doubled,
        "skips_values": dialect.skips_values,
        "comment": dialect.comment,
        "line_sep": dialect.line_sep,
        "multi_line": dialect.multi_line,
        "trim_leading": dialect.trim_leading,
        "trim_trailing": csv.ignore_trailing_white_space,
        "header": csv.header,
        "checks_header": csv.header and not csv.enforce_schema,
        "by_name": csv.header_mapping is HeaderMapping.NAME,
        "skip_lines": csv.skip_rows,
        "found": csv.found_options,
        "null_value": csv.null_value,
        "empty_value": csv.empty_value,
        "max_field_chars": csv.max_chars_per_column if csv.max_chars_per_column >= 0 else None,
        "max_columns": csv.max_columns,
        "variant": {"prefers_dates": csv.prefer_date, "rules": asdict(_variants(csv))} if has_variants else None,
        "columns": None if wanted.is_array or not has_names or csv.single_variant_column is not None else [
            {
                "name": column.name,
                "is_optional": each.default is not None,
                "blank": None if each.blank_as is None else [text_of_blank(each.blank_as, column.type)],
            }
            for column, each in said
        ],
        "items": {"elements": wanted.elements} if wanted.is_array else None,
        "rescue": None if rescued is None else {"wanted": rescued in wanted.columns},
    }  # fmt: skip
    marks = (dialect.sep_marks, dialect.line_sep or "")
    return BlockSpelling({"csv": spelled}, fields, dialect.encoding, marks)


def _fields_decoder(
    wanted: Projection, csv: CsvOptions, format: QuotedFormat, layout: CsvLayout, rescue: Rescue | None
) -> CsvDecoder:
    return CsvDecoder(
        dialect=format.dialect,
        layout=layout,
        rules=rules_of_format(wanted.options),
        null_value=csv.null_value,
        empty_value=csv.empty_value,
        trim_leading=format.dialect.trim_leading,
        trim_trailing=csv.ignore_trailing_white_space,
        max_field_chars=csv.max_chars_per_column if csv.max_chars_per_column >= 0 else None,
        rescue=rescue,
        types=ValueTypes(rules_of_format(wanted.options), csv.prefer_date),
        variants=_variants(csv),
    )


def _filled(wanted: Projection, decoder: Decoder, layout: CsvLayout) -> Decoder:
    """The decoder of a file that may lack columns, or values of columns that are NOT NULL and have a default."""
    position = {layout.names[index].lower(): number for number, index in enumerate(layout.wanted)}
    rules = rules_of_format(wanted.options)
    fillings = []
    for index in wanted.validated:
        column = wanted.fields.field(index)
        default = default_of(column, rules)
        fills_nulls = default is not None and not column.nullable
        fillings.append(Filling(column.type, position.get(column.name.lower()), default, fills_nulls=fills_nulls))
    are_in_order = [filling.source for filling in fillings] == list(range(len(layout.wanted)))
    if are_in_order and not any(filling.fills_nulls for filling in fillings):
        return decoder
    return FillingDecoder(decoder, tuple(fillings))


# ----------------------------------------------------------------- columns


def field_names(wanted: Projection, csv: CsvOptions, file: FileMetadata, header: Sequence[str] | None) -> Sequence[str]:
    """Names of the fields of a file: its header's where that is read, else the schema's.

    Raises:
        SchemaError: If the header does not agree with the schema.
    """
    own: list[str] = wanted.fields.names
    if not header or csv.enforce_schema:
        return own
    names = unique_names(header)
    if csv.header_mapping is HeaderMapping.NAME:
        _check_names(wanted, csv, file, header)
        return names
    _check_positions(wanted, file, header)
    return [*own[: len(names)], *names[len(own) :]]


def _layout(wanted: Projection, names: Sequence[str]) -> CsvLayout:
    """Positions of the columns of the schema in a file; those that it lacks are no part of it."""
    rules = rules_of_format(wanted.options)
    known = {column.name.lower(): column for column in reversed(list(wanted.fields))}
    columns = {index: known[name.lower()] for index, name in enumerate(names) if name.lower() in known}
    position = {column.name: index for index, column in reversed(columns.items())}
    said = {index: options_of(column) for index, column in columns.items()}
    defaults = {index: default_of(columns[index], rules) for index, each in said.items() if each.default is not None}
    least = len(names)
    while least > 1 and least - 1 in defaults:
        least -= 1
    validated = [wanted.fields.field(index).name for index in wanted.validated]
    return CsvLayout(
        names=tuple(names),
        kinds=tuple(columns[i].type if i in columns else pa.string() for i in range(len(names))),
        wanted=tuple(position[name] for name in validated if name in position),
        least=least,
        unmatched=tuple(index for index in range(len(names)) if index not in columns),
        rules={i: own for i in said if (own := rules_of(columns[i], rules)) != rules},
        blanks={i: each.blank_as for i, each in said.items() if each.blank_as is not None},
        defaults=defaults,
    )


def check_width(csv: CsvOptions, file: FileMetadata, names: Sequence[str]) -> None:
    """Refuse a file of more columns than are allowed, before anything is done for each of them.

    Raises:
        SchemaError: ``[header-mismatch]``.
    """
    if len(names) > csv.max_columns:
        what = "header" if csv.header else "first record"
        raise SchemaError(
            f"the {what} of a file has more columns than maxColumns={csv.max_columns}",
            Where(file.path, offset=0),
            seen=f"{len(names)} columns: {shown_names(names)}",
            fix=f"raise maxColumns, if that is its {what}; else correct sep, quote, escape or skipRows",
            code="header-mismatch",
        )


def _check_names(wanted: Projection, csv: CsvOptions, file: FileMetadata, header: Sequence[str]) -> None:
    """A header that is matched by name: not too wide, and not that of something else.

    Raises:
        SchemaError: If there are too many columns, or none of them is in the schema: that is another file.
    """
    check_width(csv, file, header)
    known = {name.lower() for name in wanted.fields.names}
    if known and known.isdisjoint(name.lower() for name in unique_names(header)):
        raise header_mismatch(file, header, wanted.fields.names, "none of its columns is in the schema")


def _check_positions(wanted: Projection, file: FileMetadata, header: Sequence[str]) -> None:
    """A header that is matched by position: names in the order of the schema.

    It may go on after the schema where what does not fit is rescued, and may lack last columns that have a default.

    Raises:
        SchemaError: If it disagrees.
    """
    names = unique_names(header)
    for number, (found, column) in enumerate(zip_longest(names, wanted.fields), start=1):
        if found is None and options_of(column).default is not None:
            continue
        if column is None and wanted.rescued_column is not None:
            continue
        if found is None or column is None or found.lower() != column.name.lower():
            shown = "there" if column is None else column.name
            what = f"column {number} is {shown_names([found or 'missing'])}, not {shown_names([shown])}"
            raise header_mismatch(file, header, wanted.fields.names, what)


def header_mismatch(file: FileMetadata, header: Sequence[str], names: Sequence[str], what: str) -> SchemaError:
    """The error for a header that does not agree with the schema, which has *names*: it may be a record."""
    known = {name.lower() for name in names}
    if known.isdisjoint(name.lower() for name in unique_names(header)):
        fix = (
            "if it is a record, read this file by itself, with header=false; else correct the schema, or set "
            "enforceSchema=true to take columns by position whatever the header says"
        )
    else:
        fix = (
            "correct the schema; or set header=true and headerMapping=byName to match columns by name, or "
            "enforceSchema=true to take columns by position whatever the header says"
        )
    return SchemaError(
        "the header of a file does not agree with the schema",
        Where(file.path, offset=0),
        seen=f"{what}: header {shown_names(header)}; schema {shown_names(names)}",
        fix=fix,
        code="header-mismatch",
    )


def shown_names(names: Sequence[str]) -> str:
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


def check_array(csv: CsvOptions, fields: pa.Schema) -> bool:
    """True if the fields of a scan are read as one array.

    Raises:
        UsageError: ``[columns-array]`` if the schema declares that array and files have a header, or option
            ``columnsArray`` asks for it and the schema declares something else.
    """
    declared = is_array(fields)
    if declared and csv.header:
        raise UsageError(
            "the fields of a record are one array only where they have no names",
            Where(column=fields.names[0]),
            seen=f"header=true; schema {format_ddl(fields)}",
            fix="leave out header, and pass over the first line with skipRows=1; or declare the columns of the header",
            code="columns-array",
        )
    if csv.columns_array and not declared:
        raise SchemaError(
            "with columnsArray=true the fields of a record are one array",
            seen=f"schema {format_ddl(fields)}",
            fix=f"declare {COLUMNS} array<string> and nothing else of the records, or leave out one of them",
            code="columns-array",
        )
    return declared


def check_flat(csv: CsvOptions, fields: pa.Schema) -> None:
    """Fields are one value each, and not too many.

    Raises:
        UsageError: If a field cannot hold a value of its column's type, or ``maxColumns`` allows fewer columns.
    """
    for column in fields:
        _check_flat(column)
    if len(fields) > csv.max_columns:
        rule = f"option maxColumns={csv.max_columns} allows fewer columns than the schema has"
        raise bad_option(rule, f"{len(fields)} columns", "raise maxColumns")


def _check_flat(field: pa.Field) -> None:
    kind = field.type
    if pa.types.is_nested(kind) and not is_variant(kind):
        raise UsageError(
            "a field of CSV is one value, and its column's type must be written as one",
            Where(column=field.name),
            seen=str(kind),
            fix="declare the column as string, and take it apart in Spark, as with from_json or split; or declare "
            "columns array<string> alone, for all fields of a record",
            code="bad-schema",
        )
