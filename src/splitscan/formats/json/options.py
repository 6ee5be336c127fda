"""Options of the record format ``json``, with Spark's names, defaults and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from splitscan.errors import bad_option
from splitscan.formats.json.paths import (
    EnvelopeColumn,
    RecordPath,
    check_envelope_columns,
    parse_envelope_columns,
    parse_record_path,
)
from splitscan.options.read import TypedOptions, duplicate_keys, most_variant_bytes
from splitscan.options.table import FLAG, TEXT, OptionKind, only_false, option, show_value

_COMMENTS = only_false("remove the comments: a bracket or a quote in one would decide where records begin")
_TIMES = only_false("declare timestamp columns in the schema")
_RECORD_PATH = OptionKind(
    "path", "a path such as $.data[*] or $.pages[*].items[*]", lambda value: str(parse_record_path(value))
)
_ENVELOPE_COLUMNS = OptionKind(
    "columns",
    "members around the arrays of recordPath, such as $.meta.n as n int, $.day",
    lambda value: ", ".join(map(str, parse_envelope_columns(value))),
)
_ARRAYS = only_false("set multiLine=true for a file that is one array, or explode the array in Spark")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOptions(TypedOptions):
    r"""How JSON is cut into records, what of it is tolerated, and how its values become columns.

    Attributes carry the meaning given in ``docs/options.md``. ``line_sep`` is ``None`` for any of the three usual
    line ends. Constructing one with options that contradict each other raises ``UsageError``.

    Pickling: plain values only.
    """

    in_messages: ClassVar[str] = "json"
    has_variants: ClassVar[bool] = True

    multi_line: bool = option(
        FLAG, "Values may span lines: one array, or values one after the other. Read in parallel all the same.", False
    )
    record_path: str | None = option(
        _RECORD_PATH,
        "Records are the elements of the arrays at this path, as in `$.data[*]`; implies `multiLine`.",
        None,
    )
    record_path_columns: str | None = option(
        _ENVELOPE_COLUMNS,
        "Columns from around the arrays of `recordPath`, as in `$.meta.n as n int, $.day`; `string` without a type.",
        None,
    )
    line_sep: str | None = option(TEXT, r"Record delimiter of JSON Lines; `\r`, `\n`, `\r\n` if unset.", None)
    primitives_as_string: bool = option(FLAG, "Schema inference makes every scalar a string.", False)
    prefers_decimal: bool = option(FLAG, "Schema inference makes fractions decimals where they fit.", False)
    drop_field_if_all_null: bool = option(FLAG, "Schema inference leaves out columns without any value.", False)
    allow_single_quotes: bool = option(FLAG, "Strings may be in single quotes (see differences for multiLine).", True)
    allow_unquoted_field_names: bool = option(FLAG, "Names of fields need no quotes.", False)
    allow_numeric_leading_zeros: bool = option(FLAG, "Numbers may begin with zeros.", False, "allowNumericLeadingZero")
    allow_non_numeric_numbers: bool = option(FLAG, "`NaN` and `Infinity`, in quotes or not, are numbers.", True)
    allow_backslash_escaping_any_character: bool = option(FLAG, "A backslash may stand before any character.", False)
    allow_unquoted_control_chars: bool = option(FLAG, "Strings may hold control characters such as tabs.", False)
    single_variant_column: str | None = option(
        TEXT, "Each record, whatever value it is, is one variant in the column of this name.", None
    )
    variant_allow_duplicate_keys: bool = duplicate_keys()
    max_variant_bytes: int = most_variant_bytes()
    allow_comments: bool = option(_COMMENTS, "Comments are not read.", False)
    infer_timestamp: bool = option(_TIMES, "Strings stay strings.", False)
    explode_embedded_array: bool = option(_ARRAYS, "A line with an array is no record.", False)

    @property
    def spans_lines(self) -> bool:
        """True if records are values wherever their lines end."""
        return self.multi_line or self.record_path is not None

    @property
    def says_columns(self) -> bool:
        return self.single_variant_column is not None

    @property
    def path_to_records(self) -> RecordPath | None:
        """The path to the arrays whose elements are the records."""
        return None if self.record_path is None else parse_record_path(self.record_path)

    @property
    def envelope(self) -> tuple[EnvelopeColumn, ...]:
        """The columns from around the arrays."""
        return () if self.record_path_columns is None else parse_envelope_columns(self.record_path_columns)

    @property
    def about_files(self) -> str | None:
        return None if self.record_path is None else "recordPath"

    def __post_init__(self) -> None:
        if self.envelope:
            check_envelope_columns(self.envelope, self.path_to_records)
        if self.spans_lines and self.line_sep is not None:
            name, value = ("multiLine", "true") if self.record_path is None else ("recordPath", self.record_path)
            raise bad_option(
                f"options {name} and lineSep contradict each other",
                f"{name}={value}, lineSep={show_value(self.line_sep)}",
                "leave out lineSep: brackets tell where a value ends; or set multiLine=false for JSON Lines",
            )
