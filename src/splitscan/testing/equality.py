"""What every law comes down to: two sequences that must be equal, and where they first are not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any


def must_equal(expected: Sequence[Any], found: Sequence[Any], situation: str) -> None:
    """Make sure that two sequences are equal.

    Args:
        expected: What the law says.
        found: What was done.
        situation: Which law, and in which case.

    Raises:
        AssertionError: With the first item that differs, or is there only once.

    Example:
        >>> must_equal([1, 2], [1], "some law")
        Traceback (most recent call last):
        ...
        AssertionError: some law: item 1 should be 2, is 'nothing'
    """
    if list(expected) == list(found):
        return
    pairs: Iterator[tuple[Any, Any]] = itertools.zip_longest(expected, found, fillvalue="nothing")
    differences = ((index, one, other) for index, (one, other) in enumerate(pairs) if one != other)
    index, one, other = next(differences, ("?", expected, found))
    message = f"{situation}: item {index} should be {one!r}, is {other!r}"
    raise AssertionError(message)
