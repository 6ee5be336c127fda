"""Options of the record format ``csv``, with Spark's names, defaults and meaning."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from splitscan.errors import bad_option
from splitscan.options.locales import ENGLISH
from splitscan.options.read import LOCALE, TypedOptions, duplicate_keys, line_separator, most_variant_bytes
from splitscan.options.table import (
    ANY_TEXT,
    FLAG,
    TEXT,
    OptionKind,
    ValueRefusedError,
    character,
    choice,
    declared_options,
    option,
    parse_paths,
    show_text,
    show_value,
    whole,
)

_SPECIAL = {"t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.?))")
BLANKS = " \t"
BLANK_RUNS = r"\s+"
"""The separator that stands for runs of spaces and tabs, as pandas spells it."""
_ARRAY_PATH = re.compile(r"\s*`?columns`?\s*(?:[.\[]|$)", re.IGNORECASE)


class UnescapedQuotes(enum.Enum):
    """Value of a quoted field with a quote that is not escaped."""

    STOP_AT_DELIMITER = "STOP_AT_DELIMITER"
    SKIP_VALUE = "SKIP_VALUE"


class HeaderMapping(enum.Enum):
    """How the columns of a file are matched to the schema."""

    POSITION = "byPosition"
    NAME = "byName"


class DialectChoice(enum.Enum):
    """Source of the options of a dialect that nobody gives."""

    SPARK = "spark"
    RFC4180 = "rfc4180"
    EXCEL = "excel"
    AUTO = "auto"


LOOKED_FOR = (DialectChoice.AUTO, DialectChoice.EXCEL)
"""Dialects that are found by a look at the files, and are other options before anything is planned."""


_NAMED = {
    "tab": r"as \t",
    "space": "as a blank",
    "comma": "as ,",
    "semicolon": "as ;",
    "pipe": "as |",
    "none": r"as \u001f",
}


def _parse_separator(value: Any) -> str:
    r"""Parse a separator; a backslash introduces ``\t \r \b \f \" \' \\``, as in Spark, and ``\u`` with four digits."""
    if not isinstance(value, str) or not value:
        raise ValueRefusedError
    if value == BLANK_RUNS:
        return value
    if value.lower() in _NAMED:
        raise ValueRefusedError(f"write the character itself, {_NAMED[value.lower()]}, and not its name")
    if any(match[1] is None and match[2] not in _SPECIAL for match in _ESCAPED.finditer(value)):
        raise ValueRefusedError(
            r"write two backslashes for a separator that is a backslash, \t for a tab, and \s+ alone for runs of blanks"
        )
    parsed = _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else _SPECIAL[match[2]], value)
    if any("\ud800" <= character <= "\udfff" for character in parsed):
        raise ValueRefusedError("write a character: half a surrogate pair is none")
    if parsed == BLANK_RUNS:
        raise ValueRefusedError(r"write \s+ for runs of spaces and tabs: these three characters are no separator")
    return parsed


_KNOWN_HANDLING = choice(UnescapedQuotes)
_REFUSED_HANDLING = {
    "STOP_AT_CLOSING_QUOTE": "one stray quote would join the records after it to its own",
    "BACK_TO_DELIMITER": "a later quote would decide whether a line end before it ended a record",
    "RAISE_ERROR": "one field would fail the job in every mode",
}


def _parse_handling(value: Any) -> Any:
    reason = _REFUSED_HANDLING.get(value.strip().upper()) if isinstance(value, str) else None
    if reason is not None:
        raise ValueRefusedError(f"leave it out, or give SKIP_VALUE: {reason}")
    return _KNOWN_HANDLING.parse(value)


FOUND = ("comment", "header", "skipRows")
"""Options that say which lines are records, so that what samples show of them is held against all lines."""


def _parse_found(value: Any) -> tuple[str, ...]:
    found = parse_paths(value)
    if not set(found) <= set(FOUND):
        raise ValueRefusedError
    return tuple(sorted(set(found)))


NO_CHARACTER = "\0"


def _parse_escape_escape(value: Any) -> str | None:
    if value == "":
        return None
    return NO_CHARACTER if value in {NO_CHARACTER, r"\u0000"} else str(_CHARACTER.parse(value))


_CHARACTER = character(off=False)
_SEPARATOR = OptionKind(
    "text",
    r"one character or more; \t is a tab, \u0001 the character of that code, and \s+ any run of spaces and tabs",
    _parse_separator,
    show_text,
)
_SEP_MEANING = (
    r"Separates fields; may have several characters. `\s+`: [fields between blanks](dialects.md#fields-between-blanks)."
)
_ESCAPE_ESCAPE = OptionKind("character", r"exactly one character; \u0000 for none", _parse_escape_escape, show_text)
_HANDLING = replace(_KNOWN_HANDLING, parse=_parse_handling)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions(TypedOptions):
    """The dialect of a CSV file and how its fields become values.

    Attributes carry the meaning given in ``docs/options.md``. ``quote`` is ``None`` when quoting is off,
    ``line_sep`` is ``None`` for any of the three usual line ends, ``enforce_schema`` is ``None`` when it was
    not given. Constructing one with options that contradict each other raises ``UsageError``.

    Pickling: plain values only.
    """

    ignores_case: ClassVar[bool] = True
    is_flat: ClassVar[bool] = True
    array_of_fields: ClassVar[bool] = True
    in_messages: ClassVar[str] = "csv"
    has_variants: ClassVar[bool] = True
    finds_dialect: ClassVar[bool] = True
    types_if_asked: ClassVar[bool] = True
    values_are_texts: ClassVar[bool] = True

    sep: str = option(_SEPARATOR, _SEP_MEANING, ",", "delimiter")
    quote: str | None = option(character(off=True), "Encloses fields that hold special characters; empty: off.", '"')
    escape: str | None = option(
        character(off=True),
        'Makes a quote inside quotes data; `"` is RFC 4180 (doubled quotes); empty: nothing does.',
        "\\",
    )
    comment: str | None = option(character(off=True), "Lines that begin with this character are skipped.", None)
    header: bool = option(FLAG, "The first record of every file holds the column names.", False)
    enforce_schema: bool | None = option(
        FLAG, "True: headers are skipped unread. Otherwise every file's header is verified.", None
    )
    header_mapping: HeaderMapping = option(
        HeaderMapping, "How a file's columns are matched to the schema.", HeaderMapping.POSITION
    )
    columns_array: bool = option(
        FLAG, "All fields of a record as one column `columns array<string>`; without header.", False
    )
    skip_rows: int = option(whole(0), "Lines to skip at the head of every file.", 0)
    found_options: tuple[str, ...] = option(
        OptionKind("names", f"a comma-separated list of {', '.join(FOUND)}", _parse_found, ",".join),
        "Which of these options a look at samples has found; `dialect=auto` sets it. Lines that they drop and that "
        "look like records are told of, and so are records that look like a header.",
        (),
    )
    line_sep: str | None = line_separator()
    dialect: DialectChoice = option(
        DialectChoice,
        "What options of the dialect are that nobody gives: Spark's defaults; those of RFC 4180 (`escape` is the "
        "quote, `multiLine=true`); of Excel (the same, and a first line `sep=;` is obeyed); or what a look at the "
        "files finds ([dialects.md](dialects.md)).",
        DialectChoice.SPARK,
    )
    multi_line: bool = option(FLAG, "Quoted fields may hold line ends. Files are read in parallel all the same.", False)
    null_value: str = option(ANY_TEXT, "Text of a null.", "")
    empty_value: str = option(ANY_TEXT, "What a quoted empty field becomes.", "")
    nan_value: str = option(ANY_TEXT, "Text of a number that is none.", "NaN")
    positive_inf: str = option(ANY_TEXT, "Text of positive infinity.", "Inf")
    negative_inf: str = option(ANY_TEXT, "Text of negative infinity.", "-Inf")
    locale: str = option(LOCALE, "Language of decimals, and of month and day names.", ENGLISH)
    ignore_leading_white_space: bool = option(FLAG, "Removes white space before values.", False)
    ignore_trailing_white_space: bool = option(FLAG, "Removes white space after values.", False)
    max_columns: int = option(whole(1), "Most fields in a record; one with more is broken.", 20480)
    max_chars_per_column: int = option(
        whole(1, also=-1), "Most characters in a field; a longer one breaks its record. -1: no bound.", -1
    )
    unescaped_quote_handling: UnescapedQuotes = option(
        _HANDLING,
        "What a quoted field with text after a closing quote becomes: that text, with its quotes, or null.",
        UnescapedQuotes.STOP_AT_DELIMITER,
    )
    char_to_escape_quote_escaping: str | None = option(
        _ESCAPE_ESCAPE,
        "Makes the `escape` after it data, inside quotes; `escape` itself where it is not given.",
        None,
    )
    prefer_date: bool = option(FLAG, "Schema inference tries dates before timestamps, and so do variants.", True)
    single_variant_column: str | None = option(
        TEXT, "Each record is one variant in the column of this name: an object of its fields.", None
    )
    variant_allow_duplicate_keys: bool = duplicate_keys()
    max_variant_bytes: int = most_variant_bytes()

    @property
    def sep_marks(self) -> str:
        """The separator; of runs of blanks, the blanks."""
        return BLANKS if self.sep == BLANK_RUNS else self.sep

    @property
    def sep_pattern(self) -> str:
        """A regular expression of the separator."""
        return f"[{BLANKS}]" if self.sep == BLANK_RUNS else re.escape(self.sep)

    @property
    def is_positional(self) -> bool:
        """Unless headers say which column is which."""
        return not (self.header and self.header_mapping is HeaderMapping.NAME)

    @property
    def compares_headers(self) -> bool:
        return self.header and not self.enforce_schema

    @property
    def says_columns(self) -> bool:
        return self.single_variant_column is not None

    def wants_array(self, paths: Sequence[str]) -> bool:
        """Fields without header are ``_c0``, ``_c1`` ...; there ``columns`` can mean nothing else."""
        return not self.header and (self.columns_array or any(_ARRAY_PATH.match(path) for path in paths))

    @property
    def about_files(self) -> str | None:
        return "header" if self.header else "skipRows" if self.skip_rows else None

    @classmethod
    def of_given(cls, given: Mapping[str, Any], *, has_provided_schema: bool) -> Self:
        """Provided columns have an order of their own: they are matched by name, unless headers are not to be read."""
        dialect = given.get("dialect", DialectChoice.SPARK)
        if dialect in LOOKED_FOR:
            raise bad_option(
                f"option dialect={dialect.value} needs files to look at", "a scan that knows no files before it runs",
                "give the options that 'splitscan sniff' names",
            )  # fmt: skip
        preset = {"escape": given.get("quote", '"'), "multi_line": True} if dialect is DialectChoice.RFC4180 else {}
        by_name = has_provided_schema and given.get("header") and given.get("enforce_schema") is not True
        named = {"header": True} if given.get("header_mapping") is HeaderMapping.NAME else {}  # only a header has names
        return cls(**{**preset, **named, **given, **({"header_mapping": HeaderMapping.NAME} if by_name else {})})

    def __post_init__(self) -> None:
        for names, broken, fix in _conflicts(self):
            if broken:
                attributes = {each.name: each.attribute for each in declared_options(CsvOptions)}
                seen = ", ".join(f"{name}={show_value(getattr(self, attributes[name]))}" for name in names)
                raise bad_option(f"options {' and '.join(names)} contradict each other", seen, fix)


def _conflicts(csv: CsvOptions) -> list[tuple[tuple[str, str], bool, str]]:
    """List the rules between options: which ones take part, whether the rule is broken, what to do."""
    line_ends = csv.line_sep or ""
    seps = csv.sep_marks if csv.sep == BLANK_RUNS else (csv.sep,)
    overlap = bool(line_ends) and any(sep in line_ends or line_ends in sep for sep in seps)
    escape = csv.escape if csv.quote is not None else None  # without quotes there is nothing to escape
    differ = "choose characters that differ"
    apart = "choose a separator and a line separator of which neither contains the other"
    unquoted = "choose another character, or turn quoting off with an empty quote"
    by_name = csv.header_mapping is HeaderMapping.NAME
    special = csv.char_to_escape_quote_escaping
    is_doubled = special not in {None, csv.escape} and escape in {None, csv.quote}
    special = None if special in {csv.escape, NO_CHARACTER} else special
    return [
        (("sep", "lineSep"), _has_newline(csv.sep_marks), "choose a separator without line ends"),
        (("quote", "lineSep"), _has_newline(csv.quote), "choose a quote that is no line end"),
        (("escape", "lineSep"), _has_newline(csv.escape), "choose an escape that is no line end"),
        (("comment", "lineSep"), _has_newline(csv.comment), "choose a comment character that is no line end"),
        (("sep", "quote"), _within(csv.quote, csv.sep_marks), unquoted),
        (("sep", "escape"), _within(escape, csv.sep_marks), unquoted),
        (("sep", "lineSep"), overlap, apart),
        (("quote", "lineSep"), _within(csv.quote, line_ends), unquoted),
        (("escape", "lineSep"), _within(escape, line_ends), unquoted),
        (("comment", "lineSep"), _within(csv.comment, line_ends), differ),
        (("comment", "sep"), _within(csv.comment, csv.sep_marks), differ),
        (("comment", "quote"), csv.comment is not None and csv.comment == csv.quote, differ),
        (("comment", "escape"), csv.comment is not None and csv.comment == escape, differ),
        (("charToEscapeQuoteEscaping", "escape"), is_doubled, "leave out charToEscapeQuoteEscaping"),
        (("charToEscapeQuoteEscaping", "sep"), _within(special, csv.sep_marks), differ),
        (("charToEscapeQuoteEscaping", "quote"), special is not None and special == csv.quote, differ),
        (("charToEscapeQuoteEscaping", "comment"), special is not None and special == csv.comment, differ),
        (("charToEscapeQuoteEscaping", "lineSep"), _has_newline(special) or _within(special, line_ends), differ),
        (("headerMapping", "header"), by_name and not csv.header, "set header=true: without header there are no names"),
        (
            ("columnsArray", "singleVariantColumn"),
            csv.columns_array and csv.single_variant_column is not None,
            "leave out one of them",
        ),
        (
            ("columnsArray", "header"),
            csv.columns_array and csv.header,
            "leave out header, and pass over the line with skipRows",
        ),
        (("headerMapping", "enforceSchema"), by_name and csv.enforce_schema is True,
         "leave out enforceSchema: it skips headers unread"),
    ]  # fmt: skip


def _within(character_: str | None, whole_text: str) -> bool:
    return character_ is not None and character_ in whole_text


def _has_newline(value: str | None) -> bool:
    return value is not None and ("\n" in value or "\r" in value)
