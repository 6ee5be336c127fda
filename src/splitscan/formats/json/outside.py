"""The definition of what lies around the arrays below a path: a state machine that takes one byte at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from splitscan.formats.framing.encodings import LF
from splitscan.formats.json.paths import BACKSLASH, BEFORE_BRACE, BRACE, OPENERS, QUOTE, SPACE, RecordPath, unescape

COLON, _COMMA, _SEQUENCE = (ord(symbol) for symbol in ":,\x1e")
_ENDS_SCALAR = SPACE | frozenset(b',{[}]:"')
_OPENER_OF = dict(zip(b"}]", b"{[", strict=True))
_NULL = b"null"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The state between two bytes outside of the arrays.

    Attributes:
        matched: How many containers of the path are open.
        unmatched: How many others inside of those.
        in_string: Whether it is in a string.
        is_escaped: Whether an odd number of backslashes lies right before this byte.
        has_value: Whether a colon was met in the innermost container of the path, and no comma since.
        is_named: Whether the string before the next colon is the name of the path.
        is_next: Whether the next value is the member of that name.
        may_open: Whether a brace may stand here.
        is_damaged: Whether anything was damaged since the last array.
        has_null: Whether there was a null where arrays are.
    """

    matched: int = 0
    unmatched: int = 0
    in_string: bool = False
    is_escaped: bool = False
    has_value: bool = False
    is_named: bool = False
    is_next: bool = False
    may_open: bool = False
    is_damaged: bool = False
    has_null: bool = False

    @property
    def is_outside(self) -> bool:
        """True if a file may end here."""
        return not (self.matched or self.unmatched or self.in_string)


class Outside:
    """Goes through what lies around the arrays of a path, up to where reading begins again.

    Args:
        path: To the arrays.
        place: Where it begins; ``None`` for the beginning of a file.

    Attributes:
        place: Where it is.
        kept: The bytes from where a name began that may be that of the path, or from the colon after it; ``None`` if
            neither is the last thing that was met.
    """

    def __init__(self, path: RecordPath, place: Surroundings | None = None) -> None:
        self._path = path
        self.place = Surroundings() if place is None else place
        self.kept: bytearray | None = None
        self._scalar: bytearray | None = None  # of a member that should be an array

    @classmethod
    def after_array(cls, path: RecordPath) -> Outside:
        """After the bracket that ends an array."""
        return cls(path, Surroundings(path.deepest, has_value=True))

    @classmethod
    def before_value(cls, path: RecordPath) -> Outside:
        """Before a value at the path that is no array."""
        return cls(path, Surroundings(path.deepest, has_value=True, may_open=True))

    def push(self, byte: int) -> int | None:
        """Take the next byte.

        Returns:
            ``None`` as long as reading does not begin again; else how many bytes before the end of this one it does:
            0 in an array, else at the colon of a value that is none, or of an array before which the file is damaged.
        """
        if self.kept is not None:
            self.kept.append(byte)
        if self._scalar is not None:
            self._scalar.append(byte)
            if _NULL.startswith(self._scalar):
                return None
            if not (self._scalar[:-1] == _NULL and byte in _ENDS_SCALAR):
                return self._back_to_colon()
            self._leave(has_null=True)
        before = self.place
        is_quote = byte == QUOTE and not before.is_escaped
        self._set(is_escaped=byte == BACKSLASH and not before.is_escaped)
        if before.in_string:
            self._take_in_string(byte, is_quote)
            return None
        if byte in SPACE:
            return None
        self._set(may_open=byte in BEFORE_BRACE)
        if byte == BRACE and not before.may_open and before.matched + before.unmatched:
            self.place = Surroundings(is_damaged=True, has_null=before.has_null)  # it begins another document
            self.kept = None
        elif before.unmatched:
            change = (byte in OPENERS) - (byte in _OPENER_OF)
            self._set(unmatched=before.unmatched + change, in_string=is_quote)
            return None
        return self._take(byte, is_quote, before)

    def _take(self, byte: int, is_quote: bool, before: Surroundings) -> int | None:
        if byte in OPENERS:
            return self._open(byte)
        if byte in _OPENER_OF:
            self._close(byte)
        elif byte == _COMMA:
            self._leave(has_value=False)
        elif byte == COLON and not before.has_value and self._path.name_in(before.matched) is not None:
            self._set(has_value=True, is_next=before.is_named, is_named=False)
            if before.is_named and before.matched == self._path.deepest:
                self.kept = bytearray([byte])
        elif before.is_next and self.kept is not None:
            self._scalar = bytearray([byte])
            return None if _NULL.startswith(self._scalar) else self._back_to_colon()
        else:
            is_damaged = before.is_damaged or (not before.matched and byte != _SEQUENCE)
            self._set(is_named=False, is_next=False, in_string=is_quote, is_damaged=is_damaged)
            if is_quote and not before.has_value and self._path.name_in(before.matched) is not None:
                self.kept = bytearray([byte])
        return None

    def _take_in_string(self, byte: int, is_quote: bool) -> None:
        if byte == LF:
            self._set(in_string=False, is_damaged=True)
            self.kept = None
        elif is_quote:
            self._set(in_string=False)
            if self.kept is not None:
                self._set(is_named=_means(bytes(self.kept[1:-1]), self._path.name_in(self.place.matched)))
                self.kept = None

    def _open(self, bracket: int) -> int | None:
        place = self.place
        is_each = not place.matched or self._path.name_in(place.matched) is None
        if not (is_each or place.is_next):
            self._leave(unmatched=1)
            return None
        is_good = self._path.opener_of(place.matched + 1) == bracket
        if place.matched == self._path.deepest and self.kept is not None:
            return 0 if is_good and not place.is_damaged else self._back_to_colon()
        if is_good:
            self._leave(matched=place.matched + 1, has_value=False)
        else:
            self._leave(unmatched=1)
        return None

    def _close(self, bracket: int) -> None:
        place = self.place
        is_good = self._path.opener_of(place.matched) == _OPENER_OF[bracket] and not place.is_next
        self._leave(
            matched=max(0, place.matched - 1), has_value=True, is_damaged=place.is_damaged or not is_good,
        )  # fmt: skip

    def _back_to_colon(self) -> int:
        return len(self.kept or b"")

    def _leave(self, **changes: Any) -> None:
        self._set(is_named=False, is_next=False, **changes)
        self.kept = self._scalar = None

    def _set(self, **changes: Any) -> None:
        self.place = replace(self.place, **changes)


def _means(written: bytes, name: str | None) -> bool:
    """True if the text between the quotes of a name means *name*."""
    if name is None or BACKSLASH not in written:
        return name is not None and written == name.encode()
    try:
        return unescape(written.decode()) == name
    except UnicodeDecodeError:
        return False
