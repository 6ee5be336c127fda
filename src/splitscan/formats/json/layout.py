"""Lines, values, or inside of one value: how the beginning of a file of JSON says that its records are written."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any, NamedTuple

from splitscan.formats.json.paths import RecordPath

SHOWN_CHARACTERS = 40
MARK_OR_BLANK = "\ufeff\u00ef\u00bb\u00bf \t\r\n"  # the mark of UTF-8, decoded or byte by byte
SEQUENCE = "\x1e"  # begins a value of a text sequence (RFC 7464)
_BRACKETS_ALONE = frozenset({"{", "}", "},", "[", "]", "],"})
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|[\[\]{}\n]')


def first_line(text: str) -> str | None:
    """The first line of a text, if it is whole and might be a value."""
    line, end, _ = text.lstrip(MARK_OR_BLANK).partition("\n")
    return line if end and not line.startswith(SEQUENCE) else None


def first_value(text: str) -> str | None:
    """The first object of a text or of its array, if it is whole, as brackets and texts in double quotes tell."""
    text = text.lstrip(MARK_OR_BLANK).removeprefix("[").lstrip()
    stop = _first_value(text).stop if text[:1] == "{" else None
    return text[:stop] if stop else None


class _Value(NamedTuple):
    """The first value of a text that begins with a bracket.

    Attributes:
        stop: After its closing bracket; ``None`` where the text ends before.
        line_feeds: How many lie outside of its strings.
    """

    stop: int | None
    line_feeds: int


def first_values(text: str) -> str | None:
    r"""First values of a text, if its records are values wherever their lines end; ``None`` for lines.

    The first characters that are not blank decide. An array is one, unless its line holds it whole and other lines
    follow. An object is one if it goes on in the next line, or others follow in its own; a first line that is only
    broken does not count against lines that are whole.

    Args:
        text: The beginning of a file.

    Example:
        >>> first_values('[{"id": 1}, {"id'), first_values('{"id": 1}\n{"id": 2}\n')
        ('[{"id": 1}, {"id', None)
        >>> first_values('{\n  "id": 1\n}\n'), first_values('{"id": 1}{"id": 2}\n')
        ('{', '{"id": 1}{"id": 2}')
    """
    text = text.lstrip(MARK_OR_BLANK)
    line, _, others = text.partition("\n")
    shown = line.strip()[:SHOWN_CHARACTERS]
    if text[:1] == SEQUENCE:
        return shown
    if text[:1] not in {"[", "{"}:
        return None
    value = _first_value(text)
    if value.stop is None:
        unclosed = text[0] == "[" or (value.line_feeds > 0 and not _are_lines(others))
        return shown if unclosed else None
    after, _, below = text[value.stop :].partition("\n")
    if value.line_feeds or after.strip()[:1] in {"{", "[", ",", SEQUENCE}:
        return shown
    return shown if text[0] == "[" and not below.strip() else None


def _first_value(text: str) -> _Value:
    depth = line_feeds = 0
    for found in _TOKEN.finditer(text):
        symbol = found.group()
        if symbol == "\n":
            line_feeds += 1
        elif symbol in {"[", "{"}:
            depth += 1
        elif symbol in {"]", "}"}:
            depth -= 1
            if depth == 0:
                return _Value(found.end(), line_feeds)
    return _Value(None, line_feeds)


def _are_lines(text: str) -> bool:
    """True if most whole lines of a text are objects of their own."""
    lines = [line.strip() for line in text.split("\n")[:-1] if line.strip()]
    whole = sum(line.startswith("{") and _first_value(line).stop == len(line) for line in lines)
    return bool(lines) and whole * 2 > len(lines)


def later_values(text: str) -> str | None:
    """A line of a later part of a text that no line of records is: a bracket alone; ``None`` where there is none.

    Args:
        text: From anywhere on: what stands before the first line feed may be the rest of a line.
    """
    lines = [line.strip() for line in text.split("\n")[1:-1]]
    alone = next((line for line in lines if line in _BRACKETS_ALONE), None)
    return None if alone is None or _are_lines(text.partition("\n")[2]) else alone


_DEEPEST = 3  # names of a path that is looked for
AS_TEXT = (
    "schema='_corrupt_record string' with mode=PERMISSIVE, "
    "in an ingest also with max_reject_ratio=1, reads each as text"
)
_LEAST_OF_KIND = 20  # members, fewer of which may well be the columns of one record
_MOST = 0.5  # of the members, so that they are data and no columns
_KINDS: dict[type, str] = {str: "texts", list: "arrays", dict: "objects", bool: "truth values", type(None): "null"}
_LEAST = 2  # rows, of which one would be no sign
_MARK = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{},]', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}


def about_inside(text: str) -> str | None:
    r"""Advice on a file that is one object around its records, or whose lines are arrays; ``None`` for others.

    Args:
        text: The beginning of a file. Of an object that goes on after it the whole members count.

    Example:
        >>> about_inside('{"n": 2, "rows": [{"a": 1}, {"a": 2}]}').partition(":")[0]
        "is one JSON object around the array 'rows', and is read as one record"
        >>> about_inside('{"a": 1}\n{"a": 2}\n')
    """
    text = text.lstrip(MARK_OR_BLANK)
    if text.startswith("["):
        return _about_array_lines(text)
    return _about_object(text) if text.startswith("{") else None


def about_path(path: RecordPath, text: str) -> str | None:
    """Advice on a file that is one document without an array at a path; ``None`` for others, and longer ones.

    Example:
        >>> about_path(RecordPath(("row", None)), '{"rows": [{"a": 1}, {"a": 2}]}').partition(";")[0]
        'has no array at recordPath=$.row[*]'
    """
    text = text.lstrip(MARK_OR_BLANK)
    try:
        document, stop = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    found = [document]
    for step in path.steps[:-1]:
        if step is None:
            found = [item for each in found if isinstance(each, list) for item in each]
        else:
            found = [each[step] for each in found if isinstance(each, dict) and step in each]
    if text[stop:].strip() or any(each is None or isinstance(each, list) for each in found):
        return None
    inside = about_inside(text)
    return f"has no array at recordPath={path}{f'; it {inside}' if inside else ''}"


def _about_array_lines(text: str) -> str | None:
    lines = text.split("\n")
    lines = [line.strip() for line in (lines[:-1] or lines)[: _LEAST + 1] if line.strip()]
    if len(lines) < _LEAST or not all(line[0] == "[" and _first_value(line).stop == len(line) for line in lines):
        return None
    return f"has an array in each line, and an array is no record: {AS_TEXT}, and recordFormat=text whole lines"


def _about_object(text: str) -> str | None:
    try:
        value, stop = json.JSONDecoder().raw_decode(text)
    except ValueError:
        cut = _whole_members(text)
        return _about_level("begins with one JSON object", [((), cut)], 1) if cut else None
    except RecursionError:
        return None  # deeper than anyone writes around records
    return None if text[stop:].strip() else _about_level("is one JSON object", [((), value)], _LEAST)


def _whole_members(text: str) -> dict[str, Any] | None:
    """The members of an object up to its last comma, if that is JSON."""
    marks = list(_MARK.finditer(text))
    while marks and marks[-1].group() != ",":
        marks.pop()
    open_: list[str] = []
    for mark in marks:
        if (closer := _CLOSERS.get(mark.group())) is not None:
            open_.append(closer)
        elif mark.group() in "]}" and open_:
            open_.pop()
    try:
        return dict(json.loads(text[: marks[-1].start()] + "".join(reversed(open_)))) if marks else None
    except (ValueError, RecursionError):
        return None


def _about_level(what: str, level: list[tuple[tuple[str, ...], dict[str, Any]]], least: int) -> str | None:
    """Advice on the first of these objects, or of those in them, that holds the records."""
    for _ in range(_DEEPEST):
        advice = next(filter(None, (_about_members(names, each, least) for names, each in level)), None)
        if advice is not None:
            return f"{what} {advice}"
        level = [((*names, name), inner) for names, each in level for name, inner in each.items() if _is_object(inner)]
    return None


def _about_members(names: tuple[str, ...], value: dict[str, Any], least: int) -> str | None:
    """Say which array of an object holds the records, or that its members are them; and how they are read."""
    if len(value) == 1 and not names:
        least = 1  # nothing but an array, even of one
    arrays = {name: each for name, each in value.items() if isinstance(each, list) and len(each) >= least}
    of_objects = [name for name, each in arrays.items() if all(map(_is_object, each))]
    of_arrays = [name for name, each in arrays.items() if all(isinstance(item, list) for item in each)]
    if of_objects or (of_arrays and not names):
        name = max(of_objects or of_arrays, key=lambda name: len(arrays[name]))
        path = f"recordPath={shlex.quote(str(RecordPath((*names, name, None))))}"
        around = f"around the array {'.'.join((*names, name))!r}"
        if of_objects:
            return f"{around}, and is read as one record: for a row of each element set {path}"
        return f"{around} of arrays without names, and is read as one record: {path} and {AS_TEXT}"
    around = f"around {'.'.join(names)!r}, whose" if names else "whose"
    count = f"first {len(value):,}" if least == 1 and len(value) > 1 else f"{len(value):,}"
    inner = [set(each) for each in value.values() if _is_object(each)]
    alike = sum(bool(each) and each <= inner[0] for each in inner)
    if alike == len(value) >= _LEAST or alike >= max(_LEAST_OF_KIND, len(value) * _MOST):
        kind = "objects with the same names" if alike == len(value) else "mostly objects with the same names"
    elif len(arrays) == len(value) >= _LEAST and len({len(each) for each in arrays.values()}) == 1 and not names:
        kind = "arrays of the same length"
    elif len(value) >= _LEAST_OF_KIND and len(kinds := {type(each) for each in value.values()}) == 1 and not names:
        kind = f"all {_KINDS.get(kinds.pop(), 'numbers')}"
    else:
        return None
    return f"{around} {count} members are {kind}, and is read as one record: write each row as a line to read rows"


def _is_object(value: object) -> bool:
    return isinstance(value, dict)
