"""Options of one scan: its records, which columns there are, how each is read, what is delivered."""

# Over 400 lines: a declaration for each option.

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

from splitscan.options.files import ZONE, FileOptions, parse_zone
from splitscan.options.locales import ENGLISH, LANGUAGES, find_locale
from splitscan.options.table import (
    FLAG,
    PATHS,
    TEXT,
    OptionKind,
    ValueRefusedError,
    names,
    option,
    plain_name,
    read_json,
    refuse_contradictions,
    size,
    whole,
)
from splitscan.sizes import GIB, MIB


def line_separator() -> Any:
    """Declare the option of formats whose records are lines."""
    return option(TEXT, r"Record delimiter, one character or more; `\r`, `\n`, `\r\n` if unset.", None)


def duplicate_keys() -> Any:
    """Declare the option of formats whose values may be variants."""
    meaning = "Of a key that comes twice in an object of a variant the last one counts; else there is no value."
    return option(FLAG, meaning, False)


def most_variant_bytes() -> Any:
    """Declare the option of formats whose values may be variants."""
    meaning = "Longest variant; there is no value where one would be longer."
    return option(size(1, _MOST_VARIANT_BYTES), meaning, 16 * MIB)


_MOST_VARIANT_BYTES = 128 * MIB  # what Spark 4.3 takes; 4.0 takes 16 MiB

METADATA_COLUMNS = (
    "filename",
    "filepath",
    "fqn",
    "suffix",
    "file_path",
    "file_name",
    "file_size",
    "file_modification_time",
    "file_block_start",
    "file_block_length",
    "block_id",
    "record_offset",
    "record_length",
)

# A portion of records and their text in UTF-8 must fit into one Arrow array, whose offsets have 31 bits.
_LARGEST_RECORD_BYTES = 512 * MIB

_LARGEST_READ_BYTES = 128 * MIB


def _parse_locale(value: Any) -> str:
    found = find_locale(value) if isinstance(value, str) else None
    if found is None:
        raise ValueRefusedError("read numbers, month and day names of other locales as text and convert them in Spark")
    return found


LOCALE = OptionKind(
    "locale", f"one of {', '.join(LANGUAGES)}, or one of their regions that Java has, such as de-AT", _parse_locale
)


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Options of a record format; by default one whose records are a single value, of bytes."""

    has_columns: ClassVar[bool] = False
    """Whether a record has named values; else it is one value."""

    finds_dialect: ClassVar[bool] = False
    """Whether what nobody says of a dialect can be found by a look at the files."""

    ignores_case: ClassVar[bool] = False
    """Whether names of columns are compared without regard to case."""

    array_of_fields: ClassVar[bool] = False
    """Whether the values of a record may be read as one array."""

    in_messages: ClassVar[str | None] = None
    """What the format is called where it is that of the values of messages; ``None`` where they cannot have it."""

    refused_if_true: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Flags of Spark that only this format has, and whose ``false`` says what happens here; with what to do instead."""

    refused: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Options of another reader of this format that are none here; with what to do instead."""

    @property
    def has_variants(self) -> bool:
        """True if a value may be a variant."""
        return False

    @property
    def says_columns(self) -> bool:
        """True if the options name the columns: nobody has to look at a file for them, or to give a schema."""
        return False

    @property
    def types_if_asked(self) -> bool:
        """True if columns that are found are texts, unless ``inferSchema`` asks for their types."""
        return False

    @property
    def values_are_texts(self) -> bool:
        """True if a value is written as a text, and its type is found by a look at it."""
        return False

    @property
    def is_flat(self) -> bool:
        """True if every value of a record is one field of text, so that columns have no parts."""
        return False

    @property
    def text_encoding(self) -> str | None:
        """The name of the character set; ``None`` if records are bytes."""
        return None

    @property
    def line_end(self) -> str:
        """Terminator of a line, if there is a single one; else a line feed, which then is one of several."""
        return "\n"

    @property
    def is_positional(self) -> bool:
        """True if the first column is the first value of a record, whatever it is called."""
        return False

    @property
    def compares_headers(self) -> bool:
        """True if what a file says of its columns is compared with the schema when it is opened."""
        return False

    def wants_array(self, paths: Sequence[str]) -> bool:
        """True if the fields of a scan without schema are one array: an option says so, or *paths* select it."""
        return False

    @property
    def fixed_length(self) -> tuple[str, int] | None:
        """The length of every record in bytes, after the name of the option that says it; ``None`` if they differ."""
        return None

    @property
    def about_files(self) -> str | None:
        """The name of an option that was set and has a meaning for files only, such as for how they begin."""
        return None

    @classmethod
    def of_given(cls, given: Mapping[str, Any], *, has_provided_schema: bool) -> Self:
        """The options that a user gave, by attribute; the others have their defaults."""
        return cls(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedOptions(RecordOptions):
    """Options of every format whose records are text. A format whose records are lines adds ``line_sep``."""

    encoding: str = option(TEXT, "Character set of the file.", "UTF-8", "charset")

    @property
    def text_encoding(self) -> str:
        return self.encoding

    @property
    def line_end(self) -> str:
        return getattr(self, "line_sep", None) or "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedOptions(EncodedOptions):
    """Options of every format whose records are text with columns: how times are written, and in which language."""

    has_columns: ClassVar[bool] = True

    date_format: str | None = option(TEXT, "Pattern of dates, in Spark's letters.", None)
    time_format: str | None = option(TEXT, "Pattern of times of day, in Spark's letters.", None)
    timestamp_format: str | None = option(TEXT, "Pattern of timestamps, in Spark's letters.", None)
    timestamp_ntz_format: str | None = option(
        TEXT, "Pattern of timestamps without time zone.", None, name="timestampNTZFormat"
    )
    time_zone: str = option(
        ZONE, "Zone of times that name none; that of the session if not given, and UTC without one.", "UTC"
    )
    locale: str = option(LOCALE, "Language of decimals in texts, and of month and day names.", ENGLISH)


class Mode(enum.Enum):
    """Policy for a record that breaks a rule. Names are Spark's."""

    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"
    FAILFAST = "FAILFAST"


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Options of delivery: columns, portions, and the policy for broken records.

    Attributes carry the meaning given in ``docs/options.md``; sizes are in bytes.
    """

    mode: Mode = option(
        Mode, "Broken records: kept with nulls, dropped, or the scan fails (see differences).", Mode.PERMISSIVE
    )
    column_name_of_corrupt_record: str = option(
        TEXT, "Text column that receives the bytes of broken records.", "_corrupt_record"
    )
    max_record_bytes: int = option(
        size(1, _LARGEST_RECORD_BYTES),
        "Longest record; a longer one is one reject, and reading resumes after it.",
        32 * MIB,
    )
    columns: tuple[str, ...] | None = option(
        PATHS, "Only columns to read, in this order: `a`, `m.x`, `columns[3]`, `*`; all if not given.", None
    )
    metadata_columns: tuple[str, ...] = option(
        names(METADATA_COLUMNS, numbered="dir"), "Columns to add that say where a record comes from.", ()
    )
    batch_rows: int = option(whole(1), "Most rows in one batch.", 65_536)
    batch_bytes: int = option(size(), "Most bytes in one batch of several rows.", 16 * MIB)
    read_bytes: int = option(size(1, _LARGEST_READ_BYTES), "Bytes asked of the storage in one read.", 4 * MIB)
    limit: int | None = option(whole(0), "Stops after this many rows; records after them are not validated.", None)
    infer_schema: bool = option(FLAG, "Finds column types in the data; it is read whole.", False)
    infer_bytes: int = option(size(1), "Of more data than this, schema inference reads a sample.", 64 * GIB)
    sampling_bytes: int = option(
        size(1, _LARGEST_READ_BYTES),
        "Bytes of a file's head that schema inference reads; given, it reads no more than that.",
        1 * MIB,
        "samplingBytes",
        name="sampleBytes",
    )


class BlankAs(enum.Enum):
    """Meaning of a blank field: one of no characters, or of spaces and tabs only."""

    NULL = "null"
    ZERO = "0"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """How one column is read.

    Attributes:
        default: Text of the value where a record does not have the column; ``None`` for null.
        format: Pattern of its dates or timestamps, in Spark's letters.
        blank_as: What a blank field becomes.
        exact_numbers: Whether a number that would lose a part of its text, a leading zero or the letter of ``12D``, is
            no value; ``None`` where nobody says so.
    """

    default: str | None = None
    format: str | None = None
    blank_as: BlankAs | None = None
    exact_numbers: bool | None = None

    def to_json(self) -> dict[str, str]:
        """Options that were given, under the names of options."""
        exact = None if self.exact_numbers is None else str(self.exact_numbers).lower()
        named = {
            "default": self.default, "format": self.format, "blankAs": self.blank_as and self.blank_as.value,
            "exactNumbers": exact,
        }  # fmt: skip
        return {name: value for name, value in named.items() if value is not None}


_NAMES = {spelling: each.name for each in fields(ColumnOptions) for spelling in (each.name, plain_name(each.name))}


def column_options_of(given: Mapping[str, Any]) -> ColumnOptions:
    """Read the options of one column.

    Raises:
        ValueRefusedError: If one has no meaning.
    """
    values: dict[str, Any] = {}
    for name, value in given.items():
        attribute = _NAMES.get(str(name).lower())
        if attribute is None:
            raise ValueRefusedError(f"a column has default, format, blankAs and exactNumbers, not {name}")
        if attribute == "blank_as":
            values[attribute] = _blank_as(value)
        elif attribute == "exact_numbers":
            values[attribute] = None if value is None else FLAG.parse(value)
        elif value is not None:
            values[attribute] = _as_text(value)
    if values.get("format") == "":
        raise ValueRefusedError("give a pattern such as dd/MM/yyyy, or leave format out")
    return ColumnOptions(**values)


def _blank_as(value: Any) -> BlankAs | None:
    found = {member.value: member for member in BlankAs}.get(str(value).lower()) if value is not None else BlankAs.NULL
    if found is None:
        raise ValueRefusedError("blankAs is null, 0 or empty")
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueRefusedError("write defaults and formats as texts or numbers")


_LIKE = 'write it like {"price": {"default": "0"}}'


def _parse_columns(value: Any) -> tuple[tuple[str, ColumnOptions], ...]:
    value = read_json(value, _LIKE, parse_float=str, parse_int=str)  # as written: digits must survive
    if isinstance(value, tuple) and all(isinstance(each, tuple) for each in value):
        return value
    if not isinstance(value, Mapping) or not all(isinstance(each, Mapping) for each in value.values()):
        raise ValueRefusedError(_LIKE)
    names = [str(name).lower() for name in value]
    if len(set(names)) != len(names):
        raise ValueRefusedError("give every column once")
    return tuple((str(name), column_options_of(each)) for name, each in value.items())


def _show_columns(value: tuple[tuple[str, ColumnOptions], ...]) -> str:
    return json.dumps({name: each.to_json() for name, each in value}, ensure_ascii=False)


COLUMNS = OptionKind("mapping", "a JSON object of columns and their options", _parse_columns, _show_columns)


class SchemaMode(enum.Enum):
    """Policy for columns that a provided schema does not name."""

    LENIENT = "lenient"
    STRICT = "strict"


class SchemaConflicts(enum.Enum):
    """Policy for a column whose types in different files have nothing in common."""

    STRING = "string"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """Options of columns, beside or instead of a full schema.

    Attributes carry the meaning given in ``docs/options.md``; schemas are Spark's DDL. Constructing one with options
    that contradict each other raises ``UsageError``.
    """

    provided_schema: str | None = option(TEXT, "Columns (DDL) that come first, with these names and types.", None)
    schema_mode: SchemaMode = option(
        SchemaMode, "Whether columns that `providedSchema` does not name are read too.", SchemaMode.LENIENT
    )
    schema_hints: str | None = option(TEXT, "Types (DDL) of some columns, as `id long, m.x double`.", None)
    schema_conflicts: SchemaConflicts = option(
        SchemaConflicts, "What is done where types in sampled files do not agree.", SchemaConflicts.STRING
    )
    sample_files: int = option(whole(1), "Files that schema inference samples, spread over all, by path.", 16)

    column_options: tuple[tuple[str, ColumnOptions], ...] = option(
        COLUMNS, 'Of single columns, as `{"day": {"default": "0", "format": "dd/MM/yyyy"}}`.', ()
    )

    rescued_data_column: str | None = option(TEXT, "Text column (JSON) that keeps data which does not fit.", None)
    reject_reason_column: str | None = option(
        TEXT, "Text column that says why a record is broken, as `[code] reason`; null for all others.", None
    )

    def __post_init__(self) -> None:
        refuse_contradictions(
            (self.schema_mode is SchemaMode.STRICT and self.provided_schema is None,
             "option schemaMode=strict has no meaning without providedSchema", "schemaMode=strict",
             "give providedSchema, or leave schemaMode out"),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Everything a user may say about one scan, validated.

    Attributes:
        record_format: Name of the record format, lower case.
        files: Which files, and how they are cut.
        reading: What is delivered, in which portions.
        format: The record format's own options.
        schema: Which columns there are; with its defaults for record formats without named columns.
        given: Names of the options that the user gave, in Spark's spelling. They make no other scan of the same values.
    """

    record_format: str
    files: FileOptions
    reading: ReadingOptions
    format: RecordOptions
    schema: SchemaOptions = field(default_factory=SchemaOptions)
    given: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def samples(self) -> bool:
        """True if the user asked for a schema that is found in a sample."""
        return not self.given.isdisjoint(("sampleBytes", "sampleFiles"))

    def in_zone(self, zone: str) -> ReadOptions:
        """A copy with another zone of times that name none, unless the user gave one.

        Raises:
            ValueRefusedError: If it is none of them.
        """
        if "timeZone" in self.given or not hasattr(self.format, "time_zone"):
            return self
        return replace(self, format=replace(self.format, time_zone=parse_zone(zone)))  # type: ignore[call-arg]
