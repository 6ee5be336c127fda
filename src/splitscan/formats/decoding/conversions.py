"""Strings to typed values: what Spark's CSV reader accepts, and null with a reason for everything else.

The fast path is Arrow's cast over whole columns. Values that Arrow refuses are looked at one distinct value at a
time; the outcome for a value never depends on its neighbours.
"""

# Over 400 lines: the rules of values, and the parser of each type by them, are read together.

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache
from math import isinf
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.arrays import text_scalar
from splitscan.formats.decoding.patterns import compiled, parse_time, time_of
from splitscan.options.files import zone_of
from splitscan.options.locales import ENGLISH, NumberSymbols, names_of, symbols_of

BLANKS = " \t"  # what may surround a number

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?")
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?([eE].*)?")
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?")
_TIMESTAMP = re.compile(
    r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T](?:([0-9]{1,2})|"
    r"([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{0,9}))?)?"
    r"\s?(Z|(?:UTC|GMT)?[+-][0-9]{1,2}(?::?[0-9]{2})?|UTC|GMT|[A-Za-z]+(?:/[A-Za-z0-9_+-]+)+)?))?)?)?"
)
_EXACT = Context(prec=400)  # room for every digit that is read; Python's default has 28
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1)
FIRST_US = -62_135_596_800_000_000  # 0001-01-01 in UTC: the first moment that every engine can show
LAST_US = 253_402_300_799_999_999  # the last microsecond of 9999
INTEGER_BITS = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}

# Texts that Arrow's cast is known to read exactly as the parsers below do, and never refuses.
LOST = r"^[ \t]*([+-]?(0[0-9]|[0-9.].*[dDfF][ \t]*$)|[+][0-9]{7,}[ \t]*$)"
"""A number that would lose a part of its text: a leading zero, the letter of 12D, or the plus of +4915112345678."""

DOUBLE_DIGITS = 15
"""Digits before the point that every double holds."""

NANOSECONDS = r"\.[0-9]{6}0*[1-9][^.]*$"
"""A moment with digits that microseconds do not hold."""

NUMBER_WITH_POINT = r"[0-9]\.|\.[0-9]"
"""A point next to a digit."""

_TOO_WIDE = r"^[ \t]*[+-]?[0-9]{16,}([.][0-9]*)?[ \t]*$"
_MAY_VANISH = r"^[ \t]*[+-]?[0-9]*[.]?[0-9]*[eE]"

_PLAIN = {
    pa.int8(): "^-?[0-9]{1,2}$",
    pa.int16(): "^-?[0-9]{1,4}$",
    pa.int32(): "^-?[0-9]{1,9}$",
    pa.int64(): "^-?[0-9]{1,18}$",
    pa.float64(): r"^-?[0-9]{1,18}(\.[0-9]{1,18})?$",
}


@dataclass(frozen=True)
class Rules:
    """Options that say how values are written; names as in ``CsvOptions``."""

    nan_value: str = "NaN"
    positive_inf: str = "Inf"
    negative_inf: str = "-Inf"
    date_format: str | None = None
    time_format: str | None = None
    timestamp_format: str | None = None
    timestamp_ntz_format: str | None = None
    time_zone: str = "UTC"
    exact_numbers: bool = False
    locale: str = ENGLISH

    @property
    def symbols(self) -> NumberSymbols | None:
        """Symbols of decimals; ``None`` for a point, and commas between groups of digits."""
        return symbols_of(self.locale)

    def loses_point(self, text: str) -> bool:
        """True if a point in a number is not what stands before its fraction, so that a double would be another."""
        return bool(self.symbols and self.symbols.decimal != "." and re.search(NUMBER_WITH_POINT, text))

    @property
    def spelled(self) -> dict[str, Any]:
        """These rules as the kernel is told them, with what it needs to know of the locale: JSON values."""
        plain = {name: value for name, value in vars(self).items() if name != "locale"}
        formats = (self.date_format, self.time_format, self.timestamp_format, self.timestamp_ntz_format)
        patterns = "".join(filter(None, formats))
        names = names_of(self.locale) if patterns else {}
        used = {letters: each for letters, each in names.items() if letters in patterns}
        return plain | {"names": used, "symbols": self.symbols and vars(self.symbols)}

    def written(self, kind: pa.DataType, *, own: bool = False) -> str:
        """Which option says how values of a type are written, for the end of a message; empty where none does."""
        if pa.types.is_date(kind):
            option, pattern = "dateFormat", self.date_format
        elif pa.types.is_time(kind):
            option, pattern = "timeFormat", self.time_format
        elif pa.types.is_timestamp(kind) and kind.tz is None:
            option, pattern = "timestampNTZFormat", self.timestamp_ntz_format
        elif pa.types.is_timestamp(kind):
            option, pattern = "timestampFormat", self.timestamp_format
        else:
            return ""
        return "" if pattern is None else f" ({'columnOptions: format' if own else option}={pattern})"


Parse = Callable[[str], Any]
Bad = npt.NDArray[np.bool_]


def convert(strings: pa.Array, kind: pa.DataType, rules: Rules) -> tuple[pa.Array, Bad | None]:
    """Convert a column.

    Returns:
        The converted column, and a mask of the values that do not convert (they are null), ``None`` when all do.

    Example:
        >>> column, bad = convert(pa.array(["1", "x", None]), pa.int32(), Rules())
        >>> column.to_pylist(), bad.tolist()
        ([1, None, None], [False, True, False])
    """
    if pa.types.is_string(kind):
        return strings, None
    if pa.types.is_binary(kind):
        return strings.cast(pa.binary()), None
    parse = _parser(kind, rules)
    form = _plain_form(kind, rules)
    if form is None:
        return _convert_distinct(strings, kind, parse)
    plain = pc.match_substring_regex(strings, form)
    if _is_exact(kind, rules):
        plain = pc.and_not(plain, pc.match_substring_regex(strings, LOST))
        if pa.types.is_floating(kind):
            plain = pc.and_not(plain, pc.match_substring_regex(strings, _TOO_WIDE))
    odd = pc.invert(plain)
    if not pc.any(odd).as_py():
        return strings.cast(kind), None
    values, _ = _convert_distinct(strings.filter(odd), kind, parse)
    column = pc.replace_with_mask(pc.if_else(plain, strings, None).cast(kind), odd, values)
    bad = pc.and_(pc.is_valid(strings), pc.is_null(column)).to_numpy(zero_copy_only=False)
    return column, bad if bad.any() else None


def all_convert(strings: pa.Array, kind: pa.DataType, rules: Rules) -> bool:
    """True if :func:`convert` refuses none of the values.

    No column is built and no Python value becomes one of Arrow, which would load pandas where it is installed: a
    look at a small file takes less time than that.

    Example:
        >>> all_convert(pa.array(["1", "+2", None]), pa.int32(), Rules())
        True
    """
    form = _plain_form(kind, rules)
    form = None if _is_exact(kind, rules) else form
    odd = strings if form is None else strings.filter(pc.invert(pc.match_substring_regex(strings, form)))
    return None not in map(_parser(kind, rules), odd.drop_null().unique().to_pylist())


def _plain_form(kind: pa.DataType, rules: Rules) -> str | None:
    """Pattern of texts that Arrow's cast reads as the parser of the type does; ``None`` where that is not known."""
    if pa.types.is_decimal(kind):
        return None if rules.symbols else _plain_decimal(kind)
    form = _PLAIN.get(kind)
    return None if form is None or (pa.types.is_floating(kind) and _names_a_number(rules, form)) else form


def _names_a_number(rules: Rules, form: str) -> bool:
    """True if a text that looks like a number stands for infinity, or for no number."""
    return any(re.fullmatch(form, name) for name in (rules.nan_value, rules.positive_inf, rules.negative_inf))


def _plain_decimal(kind: pa.DataType) -> str:
    """Decimals that need no rounding."""
    whole = rf"[0-9]{{1,{kind.precision - kind.scale}}}" if kind.precision > kind.scale else "0"
    return rf"^-?{whole}(\.[0-9]{{1,{kind.scale}}})?$" if kind.scale else rf"^-?{whole}$"


def stored_value(text: str, kind: pa.DataType, rules: Rules) -> Any:
    """One text as :func:`convert` reads it: dates and times as the counts that Arrow stores, ``None`` for none.

    Example:
        >>> stored_value("1970-01-03", pa.date32(), Rules())
        2
    """
    return _parser(kind, rules)(text)


def _convert_distinct(strings: pa.Array, kind: pa.DataType, parse: Parse) -> tuple[pa.Array, Bad | None]:
    encoded = strings.dictionary_encode()
    parsed = [parse(text) for text in encoded.dictionary.to_pylist()]
    values = pa.array(parsed, type=_storage(kind)).cast(kind) if parsed else pa.array([], type=kind)
    column = values.take(encoded.indices) if len(values) else pa.nulls(len(strings), kind)
    if None not in parsed:
        return column, None
    bad = pc.and_(pc.is_valid(strings), pc.is_null(column)).to_numpy(zero_copy_only=False)
    return column, bad


def _storage(kind: pa.DataType) -> pa.DataType:
    """The type in which parsed values are collected: dates and times as counts."""
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pa.int64()
    return pa.int32() if pa.types.is_date32(kind) else kind


@lru_cache(maxsize=256)
def _parser(kind: pa.DataType, rules: Rules) -> Parse:
    """The function from one text to one value, ``None`` where it is not one."""
    parse: Parse = _refuse
    if kind in INTEGER_BITS:
        parse = _integer_parser(INTEGER_BITS[kind])
    elif pa.types.is_floating(kind):
        parse = _float_parser(rules, kind)
    elif pa.types.is_boolean(kind):
        parse = _parse_boolean
    elif pa.types.is_decimal(kind):
        parse = _decimal_parser(kind.precision, kind.scale)
    elif pa.types.is_date32(kind):
        parse = _date_parser(rules.date_format, rules.locale)
    elif pa.types.is_time64(kind):
        parse = parse_time if rules.time_format is None else _pattern_parser(rules.time_format, rules.locale, time_of)
    elif pa.types.is_timestamp(kind):
        pattern = rules.timestamp_ntz_format if kind.tz is None else rules.timestamp_format
        parse = _timestamp_parser(pattern, None if kind.tz is None else rules.time_zone, rules.locale)
    parse = _exact(parse, kind) if _is_exact(kind, rules) else parse
    return _localized(parse, rules.symbols) if rules.symbols and pa.types.is_decimal(kind) else parse


def _localized(parse: Parse, symbols: NumberSymbols) -> Parse:
    """A parser of decimals that are written with other symbols than English ones."""

    def parse_localized(text: str) -> Any:
        plain = symbols.in_english(text)
        return None if plain is None else parse(plain)

    return parse_localized


def is_number(kind: pa.DataType) -> bool:
    """True if values of a type are numbers."""
    return kind in INTEGER_BITS or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _is_exact(kind: pa.DataType, rules: Rules) -> bool:
    return rules.exact_numbers and is_number(kind)


def _exact(parse: Parse, kind: pa.DataType) -> Parse:
    """A parser of numbers that refuses those of which a part would be lost."""

    def loses(text: str) -> bool:
        if pa.types.is_decimal(kind):
            return any(sign in text for sign in "eE,") or _places(text) > kind.scale
        return bool(pa.types.is_floating(kind)) and outgrows_double(text)

    return lambda text: None if re.match(LOST, text) or loses(text) else parse(text)


def _places(text: str) -> int:
    """Digits after the point; one where there are none."""
    _, point, fraction = text.strip(BLANKS).rpartition(".")
    return max(len(fraction), 1) if point else 0


def outgrows_double(text: str) -> bool:
    """True if a double would lose a part of a number's text.

    There are more than :data:`DOUBLE_DIGITS` before its point, or its exponent makes it 0 or infinite.

    Example:
        >>> [outgrows_double(text) for text in ("1234567890123456.5", "1e-400", "1e300")]
        [True, True, False]
    """
    if re.match(_TOO_WIDE, text):
        return True
    if not re.match(_MAY_VANISH, text):
        return False
    mantissa = re.split("[eE]", text)[0]
    try:
        value = float(text.strip(BLANKS))
    except ValueError:
        return False
    return any(digit in "123456789" for digit in mantissa) and (value == 0 or isinf(value))


def _refuse(_: str) -> None:
    """No text is a value of this type."""


def _parse_boolean(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _arrow(text: str, kind: pa.DataType) -> Any:
    """The value as Arrow's own parser reads it, so that both paths accept the same texts."""
    try:
        return text_scalar(text).cast(kind)
    except pa.ArrowInvalid:
        return None


def in_bits(value: int, bits: int) -> bool:
    """True if a whole number is one of so many bits, with its sign."""
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def _integer_parser(bits: int) -> Parse:
    def parse(text: str) -> int | None:
        text = text.strip(BLANKS)
        if len(text) > 40 or not _INTEGER.fullmatch(text):
            return None
        value = int(text)
        return value if in_bits(value, bits) else None

    return parse


def _float_parser(rules: Rules, kind: pa.DataType) -> Parse:
    named = {"Infinity": float("inf"), "+Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
    named |= {rules.nan_value: float("nan"), rules.positive_inf: float("inf"), rules.negative_inf: float("-inf")}

    def parse(text: str) -> float | None:
        text = text.strip(BLANKS)
        if text in named:
            return named[text]
        if _FLOAT.fullmatch(text):
            text = text.rstrip("fFdD").lstrip("+")
        value = _arrow(text, kind)
        return None if value is None else float(value.as_py())

    return parse


def plain_decimal(text: str) -> Decimal | None:
    """The decimal that a text says, with all its digits; ``None`` for no decimal, and one of more than 400 characters.

    Example:
        >>> plain_decimal(" 1,234.50"), plain_decimal("1,5")
        (Decimal('1234.50'), None)
    """
    text = text.strip(BLANKS)
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    if len(text) > 400 or not _FLOAT.fullmatch(text) or text[-1:] in "fFdD":
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent that no decimal has
        return None


def _decimal_parser(precision: int, scale: int) -> Parse:
    unit = Decimal(1).scaleb(-scale)
    limit = Decimal(10) ** (precision - scale)

    def parse(text: str) -> Decimal | None:
        written = plain_decimal(text)
        if written is None:
            return None
        try:
            value = written.quantize(unit, rounding=ROUND_HALF_UP, context=_EXACT)
        except InvalidOperation:
            return None
        return value if value.copy_abs() < limit else None  # abs() would round to 28 digits

    return parse


def _date_parser(pattern: str | None, locale: str) -> Parse:
    if pattern is not None:
        return _pattern_parser(pattern, locale, lambda moment: (moment.date() - _EPOCH_DAY).days)

    def parse(text: str) -> int | None:
        match = _DATE.fullmatch(text.strip())
        if match is None:
            return None
        try:
            return (date(int(match[1]), int(match[2] or 1), int(match[3] or 1)) - _EPOCH_DAY).days
        except ValueError:
            return None

    return parse


def _timestamp_parser(pattern: str | None, zone_name: str | None, locale: str) -> Parse:
    zone = UTC if zone_name is None else zone_of(zone_name)

    def count(moment: datetime) -> int | None:
        if moment.tzinfo is not None and zone_name is None:
            return None
        placed = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        try:
            micros = (placed - _EPOCH) // timedelta(microseconds=1)
        except OverflowError:
            return None
        return micros if FIRST_US <= micros <= LAST_US else None

    if pattern is not None:
        return _pattern_parser(pattern, locale, count)

    def parse(text: str) -> int | None:
        match = _TIMESTAMP.fullmatch(text.strip())
        if match is None:  # forms that only Arrow reads, such as 2020-01-31T10
            value = _arrow(text, pa.timestamp("us"))
            return None if value is None or value.value < FIRST_US else count(value.as_py())
        if match[9] and zone_name is None:
            return None
        year, month, day, hour_alone, hour, minute, second = (int(match[i] or i in (2, 3)) for i in range(1, 8))
        micros = int((match[8] or "").ljust(6, "0")[:6] or 0)
        try:
            zone_said = zone_of(match[9]) if match[9] else None
            return count(datetime(year, month, day, hour_alone or hour, minute, second, micros, zone_said))
        except ValueError:
            return None

    return parse


def _pattern_parser(pattern: str, locale: str, count: Callable[[datetime], int | None]) -> Parse:
    matching = compiled(pattern, locale)

    def parse(text: str) -> int | None:
        moment = matching.parse(text)
        return None if moment is None else count(moment)

    return parse
