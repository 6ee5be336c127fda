"""How options are declared, found by name, and described; and the kinds of their values.

A kind takes the Python value (``True``, ``4``, ``["a", "b"]``) and the text that Spark and the command line
hand over (``"true"``, ``"4"``, ``"a,b"``), and gives the same result for both.
"""

# Over 400 lines: declarations, the kinds of their values and their descriptions need each other.

from __future__ import annotations

import dataclasses
import datetime as dt
import difflib
import enum
import functools
import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from splitscan.errors import bad_option
from splitscan.redaction import redact
from splitscan.sizes import format_size, parse_size

_SHOWN_CHARACTERS = 80  # a value in a message is cut to this
_LARGEST = 2**63 - 1  # numbers become 64-bit offsets and counts
_CONTROL = re.compile(r"\\u(00[01][0-9a-fA-F])")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)?")
_LISTED = re.compile(r"((?:[^,`]|`[^`]*`)*)(,|$)")  # names in backquotes may hold commas

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

REQUIRED = object()  # stands for the default of an option that has none


class ValueRefusedError(Exception):
    """A value is not of its kind; :class:`OptionKind` users turn it into a ``UsageError`` that names the option.

    Args:
        fix: What the user can do, when listing the allowed values does not say it.
    """

    def __init__(self, fix: str | None = None) -> None:
        super().__init__(fix)
        self.fix = fix


@dataclass(frozen=True, slots=True)
class OptionKind:
    """A kind of value.

    Attributes:
        allowed: What is allowed, one clause that completes "allowed: ...".
        parse: Turns a user's value into the typed one; raises :class:`ValueRefusedError` when it is none.
        show: Renders a typed value for tables, so that a user may copy it.
        secret: Whether the value must never be shown.
        choices: The values, where there are only some.
    """

    name: str
    allowed: str
    parse: Callable[[Any], Any]
    show: Callable[[Any], str] = str
    secret: bool = False
    choices: tuple[str, ...] = ()


def refuse_contradictions(*rules: tuple[bool, str, str, str]) -> None:
    """Refuse options that together have no meaning.

    Args:
        rules: Of each, if it is broken, what it says, what was seen, and what to do.

    Raises:
        UsageError: ``[bad-option]`` for the first that is broken.
    """
    for is_broken, rule, seen, fix in rules:
        if is_broken:
            raise bad_option(rule, seen, fix)


def show_value(value: Any) -> str:
    """Render a user's value for a message, cut to a bounded length.

    Example:
        >>> show_value("x" * 100)[:6], len(show_value("x" * 100))
        ("'xxxxx", 83)
    """
    try:
        text = redact(repr(value.value if isinstance(value, enum.Enum) else value))
    except ValueError:  # Python does not print integers of thousands of digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def show_text(value: Any) -> str:
    """Render an option's text value for a table: control characters and quotes stay readable."""
    return json.dumps(value, ensure_ascii=False)


def parse_flag(value: Any) -> bool:
    """Parse a truth value: ``True``, ``False`` or the words, any case."""
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False}
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    raise ValueRefusedError


FLAG = OptionKind("bool", "true or false", parse_flag, lambda value: str(value).lower())


def only_false(fix: str) -> OptionKind:
    """Return the kind of flags that must not be set; *fix* says what to do instead."""

    def parse(value: Any) -> bool:
        if parse_flag(value):
            raise ValueRefusedError(fix)
        return False

    return OptionKind("bool", "only false", parse, FLAG.show)


def whole(minimum: int, also: int | None = None) -> OptionKind:
    """Return the kind of whole numbers from *minimum* on, and *also* one more that has a meaning of its own."""

    def parse(value: Any) -> int:
        if isinstance(value, bool):
            raise ValueRefusedError
        try:
            number = int(value) if isinstance(value, str) else operator.index(value)
        except (TypeError, ValueError):
            raise ValueRefusedError from None
        if number != also and not minimum <= number <= _LARGEST:
            raise ValueRefusedError
        return number

    extra = "" if also is None else f", or {also}"
    return OptionKind("int", f"a whole number from {minimum} on{extra}", parse)


def size(minimum: int = 1, maximum: int = _LARGEST) -> OptionKind:
    """Return the kind of byte counts from *minimum* to *maximum*: bytes, or a number with a unit."""

    def parse(value: Any) -> int:
        if not isinstance(value, str | int):
            raise ValueRefusedError
        try:
            size_bytes = value if type(value) is int else parse_size(value)
        except ValueError:  # a UsageError is one too; thousands of digits are no number for Python itself
            raise ValueRefusedError from None
        if not minimum <= size_bytes <= maximum:
            raise ValueRefusedError
        return size_bytes

    allowed = "a size such as 64 MiB" + (", or 0" if minimum == 0 else "")
    if maximum < _LARGEST:
        allowed += f", up to {_show_size(maximum)}"
    return OptionKind("size", allowed, parse, _show_size)


def _show_size(size_bytes: int) -> str:
    return format_size(size_bytes).replace(".0 ", " ")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueRefusedError
    return value


def _some_text(value: Any) -> str:
    if not _text(value):
        raise ValueRefusedError
    return str(value)


ANY_TEXT = OptionKind("text", "text", _text, show_text)
TEXT = OptionKind("text", "text that is not empty", _some_text, show_text)


def character(*, off: bool) -> OptionKind:
    r"""Return the kind of single characters; with *off*, the empty text (or ``\0``, as in Spark) is ``None``.

    A control character may be written ``\u001a``, as it is shown.
    """

    def parse(value: Any) -> str | None:
        if off and value in ("", "\0"):
            return None
        written = _CONTROL.fullmatch(value) if isinstance(value, str) else None
        found = chr(int(written[1], 16)) if written is not None else value
        if not isinstance(found, str) or len(found) != 1 or found == "\0":
            raise ValueRefusedError
        if found > "\uffff" or "\ud800" <= found <= "\udfff":
            raise ValueRefusedError("write a character up to U+FFFF: those beyond are two in UTF-16, as Spark counts")
        return found

    extra = ", or empty text to turn it off" if off else ""
    return OptionKind("character", f"exactly one character{extra}", parse, show_text)


def choice(members: type[enum.Enum]) -> OptionKind:
    """Return the kind of an enum's members, by value, any case."""
    by_value = {str(member.value).lower(): member for member in members}

    def parse(value: Any) -> enum.Enum:
        if isinstance(value, members):
            return value
        member = by_value.get(value.strip().lower()) if isinstance(value, str) else None
        if member is None:
            raise ValueRefusedError
        return member

    values = tuple(str(member.value) for member in members)
    allowed = f"{', '.join(values[:-1])} or {values[-1]}"
    return OptionKind("choice", allowed, parse, lambda member: str(member.value), choices=values)


def names(valid: Sequence[str], numbered: str | None = None) -> OptionKind:
    """Return the kind of lists of distinct names: a Python list, ``"a,b"``, or a JSON list ``'["a", "b"]'``."""
    by_lower = {name.lower(): name for name in valid}
    with_number = re.compile("(?!)" if numbered is None else rf"{numbered}(0|[1-9][0-9]{{0,3}})")

    def parse(value: Any) -> tuple[str, ...]:
        items = _split_names(value)
        if not all(isinstance(item, str) and item for item in items):
            raise ValueRefusedError
        unknown = [repr(i) for i in items if i.lower() not in by_lower and not with_number.fullmatch(i.lower())]
        if unknown:
            raise ValueRefusedError(f"leave out or correct {', '.join(unknown)}")
        items = [by_lower.get(item.lower(), item.lower()) for item in items]
        if len(set(items)) != len(items):
            raise ValueRefusedError("give every name once")
        return tuple(items)

    shown = valid if numbered is None else (*valid, f"{numbered}N")
    return OptionKind("names", f"a comma-separated list of {', '.join(shown)}", parse, ",".join)


def parse_paths(value: Any) -> tuple[str, ...]:
    """Parse a list of column paths; whether they are paths to anything, the columns say."""
    items = _split_names(value)
    if not all(isinstance(item, str) and item for item in items):
        raise ValueRefusedError
    return tuple(items)


PATHS = OptionKind("names", "a comma-separated list of columns", parse_paths, ",".join)


def read_json(value: Any, fix: str | None = None, *, says_why: bool = False, **how: Any) -> Any:
    """Read what is written as JSON; another value than a text is taken as it is.

    Args:
        value: Of an option.
        fix: As of a :class:`ValueRefusedError`.
        says_why: Whether that goes on with what is wrong with the text.
        how: See ``json.loads``.
    """
    try:
        return json.loads(value, **how) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueRefusedError(f"{fix}: {error}" if says_why else fix) from None


def _split_listed(text: str) -> list[str]:
    items: list[str] = []
    position = 0
    while True:
        match = _LISTED.match(text, position)
        if match is None:
            raise ValueRefusedError("close every backquote")
        items.append(match[1].strip())
        position = match.end()
        if not match[2]:
            return items


def _split_names(value: Any) -> list[Any]:
    if isinstance(value, str):
        if not value.strip():
            return []
        if not value.lstrip().startswith("["):
            return _split_listed(value)
        value = read_json(value, "write a name that begins with [ as a JSON list")
    if isinstance(value, list | tuple):
        return list(value)
    raise ValueRefusedError


def parse_pattern(value: Any) -> str:
    """Check a regular expression and return it as text."""
    try:
        re.compile(value)
    except (TypeError, re.error) as failure:
        raise ValueRefusedError(f"correct the expression: {failure}") from None
    if not isinstance(value, str) or not value:
        raise ValueRefusedError("an empty expression matches every name; write (?!) to match none")
    return value


PATTERN = OptionKind("regex", "a regular expression (Python syntax)", parse_pattern, show_text)


def parse_moment(value: Any) -> dt.datetime:
    """Parse a point in time; without an offset of its own it is still to be placed in a time zone."""
    if isinstance(value, dt.datetime):
        return value
    if not isinstance(value, str) or not _MOMENT.fullmatch(value.strip()):
        raise ValueRefusedError
    try:
        return dt.datetime.fromisoformat(value.strip())
    except ValueError:
        raise ValueRefusedError from None


MOMENT = OptionKind("timestamp", "YYYY-MM-DDTHH:mm:ss (in timeZone), e.g. 2024-12-31T23:59:59", parse_moment)


def plain_name(name: str) -> str:
    """Return a name of an option without case and without what divides its words: all its spellings have the same."""
    return name.replace("_", "").lower()


def python_twin(spark_name: str) -> str:
    """Return the snake_case twin of a camelCase option name.

    Example:
        >>> python_twin("lineSep"), python_twin("timestampNTZFormat")
        ('line_sep', 'timestamp_ntz_format')
    """
    return _HUMP.sub("_", spark_name).lower()


@dataclass(frozen=True, slots=True)
class Option:
    """The declaration of one option.

    Attributes:
        name: Spark's name, camelCase.
        kind: Kind of its values.
        meaning: One sentence or clause, for help and documentation.
        aliases: Other camelCase names of the same option.
        attribute: Field that holds the value.
        default: Value when it is not given, ``REQUIRED`` when it must be given.
    """

    name: str
    kind: OptionKind
    meaning: str
    aliases: tuple[str, ...] = ()
    attribute: str = ""
    default: Any = None

    def spellings(self) -> frozenset[str]:
        """Every spelling that names this option, in lower case."""
        spellings: set[str] = set()
        for name in (self.name, *self.aliases):
            spellings.update((name.lower(), python_twin(name)))
        return frozenset(spellings)

    def show_default(self) -> str:
        """Render the default for people: empty when there is none."""
        if self.default is REQUIRED:
            return "required"
        return "" if self.default is None else self.kind.show(self.default)


def option(
    kind: OptionKind | type[enum.Enum], meaning: str, default: Any = REQUIRED, *aliases: str, name: str = ""
) -> Any:
    """Declare the option that a field of a dataclass holds.

    Args:
        kind: See :class:`Option`; an enum stands for the choice of its members.
        meaning: See :class:`Option`.
        default: Of the field and the option; immutable.
        aliases: See :class:`Option`.
        name: Spark's name, where it is not the camelCase twin of the field's.
    """
    given = {} if default is REQUIRED else {"default": default}
    kind = choice(kind) if isinstance(kind, type) else kind
    return dataclasses.field(metadata={Option: Option(name, kind, meaning, aliases, default=default)}, **given)


def _declared(options_class: type) -> tuple[Option, ...]:
    """Options of a dataclass, in order; those that it shares with others, by its base, come last."""
    fields = {field.name: field for field in dataclasses.fields(options_class)}
    own_first = dict.fromkeys((*options_class.__annotations__, *fields))
    found = [(name, fields[name].metadata.get(Option)) for name in own_first if name in fields]
    named = [
        dataclasses.replace(option, name=option.name or _camel_case(name), attribute=name)
        for name, option in found
        if option is not None
    ]
    return tuple(named)


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


# typed by hand: to mypy, the class of a dataclass without a hash cannot be the argument of a cache
declared_options: Callable[[type], tuple[Option, ...]] = functools.cache(_declared)


@functools.lru_cache(maxsize=64)
def by_spellings(known: tuple[Option, ...]) -> Mapping[str, Option]:
    """Return options by every spelling that names one of them, in lower case."""
    return MappingProxyType({spelling: option for option in known for spelling in option.spellings()})


def parsed_values(
    known: tuple[Option, ...], raw: Mapping[str, Any], on_unknown: Callable[[str, Any], None]
) -> dict[str, Any]:
    """Parse what was given, by option name; one option given twice must have one value.

    Raises:
        UsageError: ``[unknown-option]``, ``[bad-option]``.
    """
    by_spelling = by_spellings(known)
    values: dict[str, Any] = {}
    given: dict[str, tuple[str, Any]] = {}
    for name, value in raw.items():
        option = by_spelling.get(str(name).lower())
        if option is None:
            on_unknown(str(name), value)
            continue
        if value is None:
            continue
        parsed = _parse_value(str(name), option, value)
        if option.name in values and values[option.name] != parsed:
            first, first_value = given[option.name]
            seen = None if option.kind.secret else f"{show_value(first_value)} and {show_value(value)}"
            raise bad_option(
                f"options {first} and {name} are the same option with two values", seen, "give one of them"
            )
        values[option.name], given[option.name] = parsed, (str(name), value)
    return values


def suggestion_for(name: str, known: tuple[Option, ...]) -> str:
    """Begin the cure for a name that is no option: with the nearest one, spelled as the name is, if one is near."""
    close = difflib.get_close_matches(name.lower(), by_spellings(known), n=1)
    if not close:
        return "leave it out; "
    nearest = by_spellings(known)[close[0]].name
    return f"did you mean {python_twin(nearest) if '_' in name else nearest}? "


def check_required(whose: str, options_class: type, given: Mapping[str, Any]) -> None:
    """Refuse to go without an option that has no default.

    Args:
        whose: Subject of the message.
        options_class: What declares the options.
        given: Values, by attribute.

    Raises:
        UsageError: ``[bad-option]``.
    """
    for option in declared_options(options_class):
        if option.default is REQUIRED and option.attribute not in given:
            fix = f"give {option.name}: {option.kind.allowed}"
            raise bad_option(f"{whose} needs option {option.name}", "nothing", fix)


def _parse_value(name: str, option: Option, value: Any) -> Any:
    try:
        return option.kind.parse(value)
    except ValueRefusedError as refused:
        seen = "a value that is not shown" if option.kind.secret else show_value(value)
        default = option.show_default()
        leave = f" or leave {name} out: then it is {default}" if default not in ("", "required") else ""
        raise bad_option(
            f"option {name} takes {option.kind.allowed}", seen, refused.fix or f"correct it{leave}"
        ) from None


def fields_given(options_class: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Options given of a class, by its attributes."""
    return {o.attribute: values[o.name] for o in declared_options(options_class) if o.name in values}


@dataclass(frozen=True, slots=True)
class OptionDescription:
    """One option as people see it."""

    name: str
    aliases: tuple[str, ...]
    python_name: str
    type: str
    allowed: str
    default: str
    meaning: str
    formats: tuple[str, ...]


def describe(option: Option, formats: tuple[str, ...]) -> OptionDescription:
    """One option as people see it; *formats* have it."""
    return OptionDescription(
        name=option.name,
        aliases=option.aliases,
        python_name=python_twin(option.name),
        type=option.kind.name,
        allowed=option.kind.allowed,
        default=option.show_default(),
        meaning=option.meaning,
        formats=formats,
    )
