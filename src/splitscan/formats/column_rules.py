"""Defaults, patterns and blanks of single columns; the array of all fields in place of columns with names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.blocks import FileMetadata
from splitscan.errors import SchemaError, UsageError, Where, bad_option
from splitscan.formats.contract import Projection
from splitscan.formats.decoding.contract import (
    Decoded,
    Decoder,
    format_ddl,
    has_part,
    is_variant,
    quoted_name,
    type_name,
)
from splitscan.formats.decoding.conversions import Rules, convert, is_number
from splitscan.formats.decoding.patterns import compiled
from splitscan.formats.decoding.values import Rescue
from splitscan.formats.framing.contract import Preamble, encoding_of
from splitscan.formats.framing.encodings import UTF_8, resolve_encoding
from splitscan.formats.framing.frames import Frames
from splitscan.options import ColumnOptions, ReadOptions
from splitscan.options.read import column_options_of
from splitscan.options.table import ValueRefusedError, python_twin
from splitscan.spelling import as_text


@dataclass(frozen=True, slots=True)
class Filling:
    """How a column is delivered.

    Attributes:
        kind: Its type.
        source: Which of the decoded columns it is; ``None`` if the file does not have it: then all of it is *default*.
        default: What stands where there is no value; ``None`` for null.
        fills_nulls: Whether *default* also takes the place of nulls that the file has.
    """

    kind: pa.DataType
    source: int | None
    default: pa.Scalar | None = None
    fills_nulls: bool = False

    def fill(self, columns: Sequence[pa.Array], rows: int) -> pa.Array:
        """The column as it is delivered, one value per record."""
        if self.source is None:
            return pa.nulls(rows, self.kind) if self.default is None else pa.repeat(self.default, rows)
        column = columns[self.source]
        return pc.fill_null(column, self.default) if self.fills_nulls and column.null_count else column


@dataclass(frozen=True, slots=True)
class FillingDecoder:
    """A decoder of a file that has other columns than are wanted.

    Args:
        decoder: Gives the columns that the file has.
        fillings: One for each column to deliver, in order.
    """

    decoder: Decoder
    fillings: tuple[Filling, ...]

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records, and fill in what they do not have."""
        decoded = self.decoder.decode(data, frames)
        columns = [filling.fill(decoded.columns, decoded.rows) for filling in self.fillings]
        return replace(decoded, columns=columns)


COLUMNS = "columns"
"""Name of the column."""

ARRAY_TYPE = pa.list_(pa.field("element", pa.string()))
"""Its type. Elements are what a text column would hold: a null where a field means one."""

MAX_ELEMENTS = 65_536
"""Most elements that can be selected by their index."""


def array_schema() -> pa.Schema:
    """The schema of records whose fields are one array."""
    return pa.schema([pa.field(COLUMNS, ARRAY_TYPE)])


def is_array(fields: pa.Schema) -> bool:
    """True if the records' own columns are the array of all fields, and nothing else.

    Example:
        >>> is_array(array_schema()), is_array(pa.schema([("columns", pa.string())]))
        (True, False)
    """
    return len(fields) == 1 and fields.names[0].lower() == COLUMNS and _is_texts(fields.field(0).type)


def _is_texts(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) and pa.types.is_string(kind.value_type))


_EXACT = "exact_numbers"
PREFIX = "splitscan."
"""What the metadata keys of a field begin with that say how its column is read."""


def rules_of_format(options: ReadOptions) -> Rules:
    """How values are written, as the options of the record format say, as far as it has them."""
    own = options.format
    return Rules(**{each.name: getattr(own, each.name) for each in fields(Rules) if hasattr(own, each.name)})


def options_of(field: pa.Field) -> ColumnOptions:
    """Options in a field's metadata.

    Raises:
        UsageError: ``[bad-option]`` if that has no meaning.

    Example:
        >>> options_of(pa.field("a", pa.int64(), metadata={"splitscan.default": "0"})).default
        '0'
    """
    if not field.metadata:
        return ColumnOptions()
    given = {
        key.decode().removeprefix(PREFIX): value.decode("utf-8", "replace")
        for key, value in field.metadata.items()
        if key.startswith(PREFIX.encode())
    }
    try:
        return column_options_of(given)
    except ValueRefusedError as refused:
        raise bad_option(
            f"metadata of column {field.name!r} has no meaning",
            ", ".join(f"{PREFIX}{name}={value!r}" for name, value in given.items()),
            refused.fix or "correct it",
            Where(column=field.name),
        ) from None


def with_options(field: pa.Field, options: ColumnOptions) -> pa.Field:
    """The field with metadata that says how it is read; nothing else of its metadata is kept."""
    metadata = {PREFIX + python_twin(name): value for name, value in options.to_json().items()}
    return field.with_metadata(metadata) if metadata else field.remove_metadata()


def with_column_options(schema: pa.Schema, options: ReadOptions) -> pa.Schema:
    """The schema with what the option ``columnOptions`` says in the fields' metadata; it wins over what is there.

    Raises:
        SchemaError: ``[unknown-column]`` if the option names a column that there is not.
        UsageError: ``[bad-option]`` if something does not fit the type of its column.
    """
    given = {name.lower(): each for name, each in options.schema.column_options}
    unknown = [name for name, _ in options.schema.column_options if name.lower() not in map(str.lower, schema.names)]
    if unknown:
        raise SchemaError(
            f"option columnOptions names a column that there is not: {unknown[0]!r}",
            seen=f"columns {', '.join(schema.names)}",
            fix="correct the name, or leave the column out",
            code="unknown-column",
        )
    fields = []
    for field in schema:
        said = _merged(options_of(field), given.get(field.name.lower(), ColumnOptions()))
        _check(field, said, options)
        fields.append(with_options(field, said))
    return pa.schema(fields)


def _merged(weak: ColumnOptions, strong: ColumnOptions) -> ColumnOptions:
    return replace(weak, **{name: value for name, value in asdict(strong).items() if value is not None})


def as_found(field: pa.Field) -> pa.Field:
    """A column whose type was found by a look at values: a number that would lose a part of its text is none.

    Of a column that was a number before it got another type, as that of a destination, this is no longer said.

    Example:
        >>> number = as_found(pa.field("n", pa.int64()))
        >>> options_of(number).exact_numbers
        True
        >>> options_of(as_found(number.with_type(pa.string()))).exact_numbers is None
        True
    """
    said = options_of(field)
    if not has_part(field.type, is_number):
        return field if said.exact_numbers is None else with_options(field, replace(said, exact_numbers=None))
    if said.exact_numbers is not None:
        return field
    return field.with_metadata({**(field.metadata or {}), PREFIX + _EXACT: "true"})


def rules_of(field: pa.Field, rules: Rules) -> Rules:
    """How the values of one column are written: with its own pattern, if it has one."""
    said = options_of(field)
    pattern = said.format
    rules = replace(rules, exact_numbers=True) if said.exact_numbers else rules
    if pattern is None:
        return rules
    if pa.types.is_date(field.type):
        return replace(rules, date_format=pattern)
    if pa.types.is_time(field.type):
        return replace(rules, time_format=pattern)
    if field.type.tz is None:
        return replace(rules, timestamp_ntz_format=pattern)
    return replace(rules, timestamp_format=pattern)


def own_rules_of(wanted: Projection) -> dict[str, Rules]:
    """How the values of the columns to decode are written that have rules of their own, by name."""
    rules = rules_of_format(wanted.options)
    own = {each.name: rules_of(each, rules) for each in wanted.decoded}
    return {name: each for name, each in own.items() if each != rules}


def written_of(wanted: Projection) -> Callable[[pa.Field], str]:
    """Notation of the values of flat columns, for what faults say beside the type."""
    rules = rules_of_format(wanted.options)
    return lambda column: rules_of(column, rules).written(column.type, own=options_of(column).format is not None)


def spelled_rescue(wanted: Projection) -> bool | None:
    """Rescue as the kernel's block reader is told it: whether the text is asked for; ``None`` where there is none."""
    name = wanted.rescued_column
    return None if name is None else name in wanted.columns


def block_fields(wanted: Projection, written: Callable[[pa.Field], str] = lambda _: "") -> list[dict[str, Any]]:
    """The columns to decode as the kernel's block reader is told them.

    Args:
        wanted: What a scan wants; its columns are found by name.
        written: What faults say of how values of a column are written, beside its type.
    """
    rules = rules_of_format(wanted.options)
    fields = []
    for column in wanted.decoded:
        default = options_of(column).default
        fields.append(
            {
                "name": column.name,
                "type": type_name(column.type),
                "rules": rules_of(column, rules).spelled,
                "written": written(column),
                "is_required": not column.nullable,
                "default": default,
                "fills_nulls": default is not None and not (wanted.options.format.is_flat and column.nullable),
            }
        )
    return fields


def filled(wanted: Projection, decoder: Decoder) -> Decoder:
    """A decoder whose columns are found by name, with defaults where records lack them."""
    rules = rules_of_format(wanted.options)
    columns = wanted.decoded
    defaults = [default_of(column, rules) for column in columns]
    if all(default is None for default in defaults):
        return decoder
    fillings = [
        Filling(column.type, index, default, fills_nulls=default is not None)
        for index, (column, default) in enumerate(zip(columns, defaults, strict=True))
    ]
    return FillingDecoder(decoder, tuple(fillings))


def rescue_for(wanted: Projection, file: FileMetadata, max_fields: int = 0) -> Rescue | None:
    """Rescue for data of a file that does not fit; ``None`` where it is a fault."""
    name = wanted.rescued_column
    return None if name is None else Rescue(as_text(file.path), max_fields, wanted=name in wanted.columns)


def decoding_of(wanted: Projection, file: FileMetadata, preamble: Preamble) -> dict[str, Any]:
    """Arguments of the decoder of a file of texts with columns, whatever their format."""
    return {
        "encoding": encoding_of(preamble.format, resolve_encoding(wanted.options.format.text_encoding or UTF_8.name)),
        "fields": tuple(column.remove_metadata() for column in wanted.decoded),
        "rules": rules_of_format(wanted.options),
        "own_rules": own_rules_of(wanted),
        "rescue": rescue_for(wanted, file),
    }


def default_of(field: pa.Field, rules: Rules) -> pa.Scalar | None:
    """The value that stands where a record does not have the column; ``None`` for null.

    Raises:
        UsageError: ``[bad-option]`` if the default is no value of the column's type.
    """
    text = options_of(field).default
    if text is None:
        return None
    if not pa.types.is_nested(field.type):
        column, bad = convert(pa.array([text]), field.type, replace(rules_of(field, rules), exact_numbers=False))
        if bad is None:
            return column[0]
    raise _refused(field, "default", text, f"the default of column {field.name!r} is no {type_name(field.type)}",
                   "write it as values of the column are written")  # fmt: skip


def _check(field: pa.Field, said: ColumnOptions, options: ReadOptions) -> None:
    kind = field.type
    if said.format is not None:
        if not (pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind)):
            raise _refused(field, "format", said.format, f"column {field.name!r} is {kind}, and has no pattern",
                           "give patterns to dates, times and timestamps")  # fmt: skip
        compiled(said.format)
    if said.exact_numbers and not has_part(kind, is_number):
        raise _refused(field, "exactNumbers", "true", f"column {field.name!r} is {kind}, and has no number",
                       "leave it out")  # fmt: skip
    if said.blank_as is not None and (not options.format.is_flat or is_variant(kind)):
        raise _refused(field, "blankAs", said.blank_as.value, "blankAs is about fields of CSV",
                       "leave it out: JSON tells nulls from empty texts")  # fmt: skip
    if said.default is not None:
        default_of(with_options(field, said), rules_of_format(options))


def check_placed(fields: pa.Schema, names: Sequence[str], place: str, shown: str, *, texts_only: bool = False) -> None:
    """Refuse columns that are at no place of a record, or are not one value.

    Args:
        fields: The columns.
        names: Those that have a place.
        place: A place, in words.
        shown: How the message begins to list them.
        texts_only: Whether every value is a text.

    Raises:
        UsageError: ``[bad-schema]``.
    """
    known = {name.lower() for name in names}
    for column in fields:
        is_known, kind = column.name.lower() in known, column.type
        if is_known and not pa.types.is_nested(kind) and (pa.types.is_string(kind) or not texts_only):
            continue
        raise UsageError(
            f"a {place} is one value" if is_known else f"column {column.name!r} is no {place}",
            Where(column=column.name), seen=str(kind) if is_known else f"{shown} {', '.join(names)}",
            fix=f"correct the schema or the {place}", code="bad-schema",
        )  # fmt: skip


def check_single_variant(name: str, options: ReadOptions, fields: pa.Schema) -> None:
    """Refuse columns beside the one of records that are one variant each.

    Raises:
        UsageError: ``[bad-schema]``; ``[bad-option]`` for options that are about columns.
    """
    schema = options.schema
    others = {"providedSchema": schema.provided_schema, "schemaHints": schema.schema_hints,
              "rescuedDataColumn": schema.rescued_data_column}  # fmt: skip
    given = [f"{option}={value}" for option, value in others.items() if value is not None]
    if given:
        raise bad_option(
            "with singleVariantColumn a record is one value, and nothing is left for other columns",
            f"singleVariantColumn={name}, {', '.join(given)}",
            "leave one of them out",
        )
    if fields.names == [name] and is_variant(fields.field(0).type):
        return
    corrupt = options.reading.column_name_of_corrupt_record
    raise UsageError(
        "with singleVariantColumn the records have one column, of that name and type variant",
        seen=f"singleVariantColumn={name}, columns {format_ddl(fields)}",
        fix=f"leave out the schema; or give '{quoted_name(name)} variant', or '{quoted_name(name)} variant, "
        f"{quoted_name(corrupt)} string'",
        code="bad-schema",
    )


def _refused(field: pa.Field, name: str, value: str, rule: str, fix: str) -> UsageError:
    return bad_option(rule, f"{name}={value!r}", fix, Where(column=field.name))
