"""What the options of every record format answer, so that nobody has to ask which format it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self

from splitscan.options.kinds import Kind, ValueRefusedError, text
from splitscan.options.table import Option
from splitscan.options.zones import ZONE

_TEXT = text(empty=False)


def _parse_locale(value: Any) -> str:
    if isinstance(value, str) and value.replace("_", "-").lower().partition("-")[0] == "en":
        return value
    raise ValueRefusedError("read numbers, month and day names of other languages as text and convert them in Spark")


LOCALE = Kind("locale", "an English locale such as en-US", _parse_locale)

LineSep = Annotated[
    str | None, Option("lineSep", _TEXT, r"Record delimiter, one character or more; `\r`, `\n`, `\r\n` if unset.")
]

_RULES = frozenset(
    (
        "nan_value", "positive_inf", "negative_inf",
        "date_format", "timestamp_format", "timestamp_ntz_format", "time_zone",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Options of a record format; by default one whose records are a single value, of bytes.

    Pickling: plain values only.
    """

    has_columns: ClassVar[bool] = False
    """Whether a record has named values; else it is one value."""

    says_columns: ClassVar[bool] = False
    """Whether the options name the columns, so that nobody has to look at a file for them, or to give a schema."""

    finds_dialect: ClassVar[bool] = False
    """Whether what nobody says of a dialect can be found by a look at the files."""

    ignores_case: ClassVar[bool] = False
    """Whether names of columns are compared without regard to case."""

    is_flat: ClassVar[bool] = False
    """Whether every value of a record is one field of text, so that columns have no parts."""

    array_of_fields: ClassVar[bool] = False
    """Whether the values of a record may be read as one array."""

    in_messages: ClassVar[str | None] = None
    """What the format is called where it is that of the values of messages; ``None`` where they cannot have it."""

    refused_if_true: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Flags of Spark that only this format has, and whose ``false`` says what happens here; with what to do instead."""

    @property
    def text_encoding(self) -> str | None:
        """The name of the character set; ``None`` if records are bytes."""
        return None

    @property
    def line_end(self) -> str:
        """What ends a line, if it is always the same; else a line feed, which then is one of several."""
        return "\n"

    @property
    def is_positional(self) -> bool:
        """Whether the first column is the first value of a record, whatever it is called."""
        return False

    @property
    def compares_headers(self) -> bool:
        """Whether what a file says of its columns is compared with the schema when it is opened."""
        return False

    def wants_array(self, paths: Sequence[str]) -> bool:
        """Whether the fields of a scan without schema are one array: an option says so, or *paths* select it."""
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
        """The options that a user gave, by attribute; the others have their defaults.

        Args:
            given: Values by attribute.
            has_provided_schema: Whether the user names the columns of the files, in an order of their own.
        """
        return cls(**given)

    @property
    def rules(self) -> dict[str, Any]:
        """How values are written: arguments of ``splitscan.formats.decoding.conversions.Rules``."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name in _RULES}


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedOptions(RecordOptions):
    """Options of every format whose records are text. A format whose records are lines adds ``line_sep``."""

    encoding: Annotated[str, Option("encoding", _TEXT, "Character set of the file.", ("charset",))] = "UTF-8"

    @property
    def text_encoding(self) -> str:
        """The character set."""
        return self.encoding

    @property
    def line_end(self) -> str:
        """The line separator, if there is one."""
        return getattr(self, "line_sep", None) or "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedOptions(EncodedOptions):
    """Options of every format whose records are text with columns: how times are written, and in which language."""

    has_columns: ClassVar[bool] = True

    date_format: Annotated[str | None, Option("dateFormat", _TEXT, "Pattern of dates, in Spark's letters.")] = None
    timestamp_format: Annotated[
        str | None, Option("timestampFormat", _TEXT, "Pattern of timestamps, in Spark's letters.")
    ] = None
    timestamp_ntz_format: Annotated[
        str | None, Option("timestampNTZFormat", _TEXT, "Pattern of timestamps without time zone.")
    ] = None
    time_zone: Annotated[
        str,
        Option(
            "timeZone", ZONE, "Zone of times that name none; that of the session if not given, and UTC without one."
        ),
    ] = "UTC"
    locale: Annotated[str, Option("locale", LOCALE, "Language of month and day names.")] = "en-US"
