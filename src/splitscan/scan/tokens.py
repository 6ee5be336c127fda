"""The tokens of a short text, one after the other: what parsers of schemas and conditions read from."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Token(NamedTuple):
    """A piece of a text.

    Attributes:
        kind: The group of the pattern that matched it; ``"end"`` behind the last one.
        text: As it is written.
        offset: Where it begins, in characters.
    """

    kind: str
    text: str
    offset: int


class Tokens:
    r"""The tokens of a text, and which of them is next.

    Args:
        text: What is read; white space at its end does not matter.
        pattern: Matches one token, and what may stand before it, in one of its named groups.
        end: Offset of the token ``end``.
        refuse: Makes the error for an offset at which no token begins.

    Raises:
        Exception: What *refuse* makes.

    Example:
        >>> tokens = Tokens("a , b", re.compile(r"\s*(?:(?P<name>[a-z])|(?P<mark>,))"), 5, ValueError)
        >>> tokens.take().text, tokens.take_if("mark", ","), tokens.take().text, tokens.next.kind
        ('a', True, 'b', 'end')
    """

    def __init__(self, text: str, pattern: re.Pattern[str], end: int, refuse: Callable[[int], Exception]) -> None:
        self._tokens: list[Token] = []
        self._position = 0
        offset, stop = 0, len(text.rstrip())
        while offset < stop:
            match = pattern.match(text, offset)
            if match is None or match.lastgroup is None:
                raise refuse(offset)
            self._tokens.append(Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            offset = match.end()
        self._tokens.append(Token("end", "", end))

    @property
    def next(self) -> Token:
        """The next token; at the end, the token ``end``."""
        return self._tokens[self._position]

    @property
    def second(self) -> Token:
        """The token behind the next one."""
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def take(self) -> Token:
        """The next token, which is passed by."""
        token = self.next
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def take_if(self, kind: str, text: str) -> bool:
        """Pass by the next token if it is of that kind and, without regard to case, has that text."""
        if self.next.kind == kind and self.next.text.lower() == text:
            self.take()
            return True
        return False
