r"""Globs as Spark and Hadoop write them: ``*``, ``?``, ``[a-c]``, ``[^a]``, ``{x,y}``, and ``\`` to escape.

No wildcard crosses a ``/``; ``**`` means no more than ``*``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from splitscan.content.storage import Entry, FileTree
from splitscan.errors import UsageError

_MAGIC = re.compile(r"[*?\[{\\]")
_MAX_ALTERNATIVES = 10_000  # braces multiply: twenty pairs would be a million patterns


def has_glob(text: str) -> bool:
    r"""Tell whether a path or name holds a glob character (or ``\``, which escapes one).

    Example:
        >>> has_glob("/data/*.csv"), has_glob("/data/a.csv")
        (True, False)
    """
    return _MAGIC.search(text) is not None


def fixed_prefix(pattern: str) -> str:
    """Cut a path pattern before its first segment with a glob: what is found is named relative to that.

    Example:
        >>> fixed_prefix("/data/2024-*/x.csv"), fixed_prefix("s3://bucket/{a,b}/*")
        ('/data', 's3://bucket')
    """
    head, segments = _split(pattern)
    for number, segment in enumerate(segments):
        if has_glob(segment):
            return "/".join([head, *segments[:number]]) or "/"
    return pattern


def expand_braces(pattern: str) -> list[str]:
    """Write out the alternatives in braces, nested ones too.

    Raises:
        UsageError: If a brace is not closed, or there are too many alternatives.

    Example:
        >>> expand_braces("{a,b{1,2}}.csv")
        ['a.csv', 'b1.csv', 'b2.csv']
    """
    done: list[str] = []
    todo = [pattern]
    while todo:
        text = todo.pop()
        group = _first_group(text)
        if group is None:
            done.append(text)
        else:
            start, commas, stop = group
            edges = [start, *commas, stop]
            pieces = [text[left + 1 : right] for left, right in pairwise(edges)]
            todo.extend(text[:start] + piece + text[stop + 1 :] for piece in reversed(pieces))
        if len(todo) + len(done) > _MAX_ALTERNATIVES:
            raise _bad_glob(pattern, f"its braces stand for more than {_MAX_ALTERNATIVES} patterns")
    return done


def compile_glob(pattern: str, *, across_segments: bool = False) -> Callable[[str], bool]:
    r"""Make a test for one name (a path segment).

    Args:
        pattern: The glob; it must match the whole name.
        across_segments: Whether wildcards pass over ``/`` too: for names that are whole paths.

    Raises:
        UsageError: If a bracket or brace is not closed.

    Example:
        >>> matches = compile_glob("part-[0-9]*.{csv,txt}")
        >>> matches("part-1.csv"), matches("part-x.csv"), matches("part-1.csv.gz")
        (True, False, False)
        >>> compile_glob("*.csv", across_segments=True)("2024/part-1.csv")
        True
    """
    separator = "" if across_segments else "/"
    compiled = re.compile("|".join(_regex(piece, separator) for piece in expand_braces(pattern)), re.DOTALL)
    return lambda name: compiled.fullmatch(name) is not None


def expand_glob(tree: FileTree, pattern: str, hidden: Callable[[str], bool], ignore_missing: bool) -> list[Entry]:
    """Find the files and directories that a path pattern names.

    A wildcard does not match a hidden name, unless the segment of the pattern itself starts with that name's first
    character: ``*`` passes over ``_temporary``, ``_t*`` finds it.
    """
    found: dict[str, Entry] = {}
    for alternative in expand_braces(pattern):
        head, segments = _split(alternative)
        for entry in _descend(tree, head, segments, hidden, ignore_missing):
            found[entry.path] = entry
    return [found[path] for path in sorted(found)]


def _descend(
    tree: FileTree, directory: str, segments: list[str], hidden: Callable[[str], bool], ignore_missing: bool
) -> Iterator[Entry]:
    number = next((index for index, segment in enumerate(segments) if has_glob(segment)), len(segments))
    directory = "/".join([directory, *segments[:number]])
    entry = tree.status(directory or "/")
    if entry is None:
        return
    if number == len(segments):
        yield entry
        return
    if not entry.is_directory:
        return
    segment, rest = segments[number], segments[number + 1 :]
    matches = compile_glob(segment)

    def keep(name: str, is_directory: bool) -> bool:
        if rest and not is_directory:
            return False
        return matches(name) and (name[0] == segment[0] or not hidden(name))

    for child in tree.entries(directory or "/", keep, ignore_missing):
        if rest:
            yield from _descend(tree, child.path, rest, hidden, ignore_missing)
        else:
            yield child


def _split(pattern: str) -> tuple[str, list[str]]:
    """Divide a canonical pattern into its root (``""`` or ``scheme://bucket``) and the segments below."""
    scheme, separator, rest = pattern.partition("://")
    if not separator or "/" in scheme:
        return "", [segment for segment in pattern.split("/") if segment]
    bucket, *segments = rest.split("/")
    return f"{scheme}://{bucket}", segments


def _first_group(text: str) -> tuple[int, list[int], int] | None:
    """Find the first outermost brace group: its brace, its own commas, its closing brace."""
    start, commas, depth = -1, [], 0
    position, stop = 0, len(text)
    while position < stop:
        char = text[position]
        if char == "\\":
            position += 1
        elif char == "[" and depth == 0:
            position = max(position, text.find("]", position + 2))  # braces in a class are plain characters
        elif char == "{":
            depth += 1
            start = position if start < 0 else start
        elif char == "," and depth == 1:
            commas.append(position)
        elif char == "}" and depth > 0:
            depth -= 1
            if depth == 0:
                return start, commas, position
        position += 1
    if depth > 0:
        raise _bad_glob(text, "a { is not closed")
    return None


def _regex(piece: str, separator: str) -> str:
    """Translate a glob without brace groups, whose wildcards match all but *separator*."""
    anything = f"[^{separator}]" if separator else "."
    out: list[str] = []
    position = 0
    while position < len(piece):
        char = piece[position]
        if char == "[":
            translated, position = _char_class(piece, position, separator)
            out.append(translated)
            continue
        if char == "\\" and position + 1 < len(piece):
            position += 1
            out.append(re.escape(piece[position]))
        else:
            out.append({"*": f"{anything}*", "?": anything}.get(char) or re.escape(char))
        position += 1
    return "".join(out)


def _char_class(piece: str, start: int, separator: str) -> tuple[str, int]:
    position = start + 1
    negated = piece[position : position + 1] in {"!", "^"}
    position += negated
    items: list[str] = []
    while position < len(piece) and (piece[position] != "]" or not items):
        low, position = _class_member(piece, position)
        high = low
        if piece[position : position + 1] == "-" and piece[position + 1 : position + 2] not in {"", "]"}:
            high, position = _class_member(piece, position + 1)
        if high < low:
            raise _bad_glob(piece, f"{low}-{high} is not a range")
        items.append(re.escape(low) if high == low else f"{re.escape(low)}-{re.escape(high)}")
    if position >= len(piece):
        raise _bad_glob(piece, "a [ is not closed")
    return f"[{f'^{separator}' if negated else ''}{''.join(items)}]", position + 1


def _class_member(piece: str, position: int) -> tuple[str, int]:
    """Read one character of a class, escaped or not, and the position after it."""
    if piece[position] == "\\" and position + 1 < len(piece):
        position += 1
    return piece[position], position + 1


def _bad_glob(pattern: str, reason: str) -> UsageError:
    return UsageError(
        f"a glob is malformed: {reason}", seen=repr(pattern),
        fix="put a backslash before characters that are meant as they are", code="bad-glob",
    )  # fmt: skip
