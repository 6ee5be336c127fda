"""Causes of texts that are no JSON, for people, with the option that accepts them: the kernel has the same table."""

from __future__ import annotations

from typing import NamedTuple

NOT_ENDED, COLON, NAME, VALUE, OBJECT, ARRAY, FOLLOWS, TEXT = "ECNVOAFT"
"""Places where a text is wrong, each with a sentence below."""

SENTENCES = {
    NOT_ENDED: "the record ends too early",
    COLON: "no colon follows the name",
    NAME: "a name is expected",
    VALUE: "no value is here",
    OBJECT: "an object does not go on or end",
    ARRAY: "an array does not go on or end",
    FOLLOWS: "something follows the value",
    TEXT: "a string has a control character",
}
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NO_NAME = "".join(map(chr, range(33))) + (
    "!\"#%&'(),./:;<=>?[\\]^`{|}~\x7f\x85\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000\ufffd"
)
"""Characters that no name without quotes has."""


class Cause(NamedTuple):
    """A row of the table; the first one that fits counts.

    Attributes:
        places: Where a text is wrong.
        first: Characters of which one stands there; empty for any.
        second: Characters of which one follows; empty for any.
        before: Characters of which one stands before, white space aside; a digit touches; empty for any.
        sentence: What people read.
        option: The option that accepts it, if it is not set; empty for none.
    """

    places: str
    first: str
    second: str
    before: str
    sentence: str
    option: str


CAUSES = (
    Cause("NVOAFC", "/#", "", "", "a comment begins here", ""),
    Cause("NVOAFC", "\ufeff", "", "", "a byte order mark is here", ""),
    Cause("NVOAFC", "\u00a0", "", "", "a no-break space is here", ""),
    Cause("NV", "\u201c\u201d\u2018\u2019", "", "", "a typographic quote is here", ""),
    Cause("N", "'", "", "", "a name is in single quotes", "allowSingleQuotes"),
    Cause("V", "'", "", "", "a string is in single quotes", "allowSingleQuotes"),
    Cause("NV", "]}", "", ",", "a comma stands before the closing bracket", ""),
    Cause("NV", ",", "", "", "nothing stands before the comma", ""),
    Cause("N", _LETTERS + "0123456789_$@*+-", "", "", "a name has no quotes", "allowUnquotedFieldNames"),
    Cause("N", _NO_NAME, "", "", SENTENCES[NAME], ""),
    Cause("N", "", "", "", "a name has no quotes", "allowUnquotedFieldNames"),
    Cause("V", "N", "a", "", "NaN is no number", "allowNonNumericNumbers"),
    Cause("V", "I", "n", "", "Infinity is no number", "allowNonNumericNumbers"),
    Cause("V", "+-", "NI", "", "a number is a word", "allowNonNumericNumbers"),
    Cause("V", "+", "", "", "a number begins with a plus sign", ""),
    Cause("V", ".", "", "", "a number begins with its point", ""),
    Cause("V", _LETTERS, "", "", "a word is here that is none of true, false and null", ""),
    Cause("OAF", "0123456789", "", "0", "a number begins with zeros", "allowNumericLeadingZeros"),
    Cause("OAF", "xX", "", "0", "a number is hexadecimal", ""),
    Cause("OAF", ".", "", "0123456789", "no digit follows the point of a number", ""),
    Cause("OAF", ";", "", "", "a semicolon stands in place of a comma", ""),
    Cause("OA", '"{[', "", "", "no comma stands here", ""),
    Cause("F", "{[", "", "", "another value follows the value", "multiLine"),
    Cause("F", ",", "", "", "a comma follows the value", "multiLine"),
    Cause("C", "=", "", "", "an equals sign stands in place of a colon", ""),
    Cause("T", "\\", "u", "", "four hexadecimal digits do not follow \\u", ""),
    Cause("T", "\\", "'", "", "a single quote is escaped", "allowSingleQuotes"),
    Cause("T", "\\", "", "", "a backslash escapes what needs none", "allowBackslashEscapingAnyCharacter"),
    Cause("T", "", "", "", SENTENCES[TEXT], "allowUnquotedControlChars"),
)


def sentence_of(place: str, text: str, at: int, options: frozenset[str]) -> str:
    """Say what is wrong with a text, and which option accepts it.

    Args:
        place: Where it is wrong.
        text: All of it.
        at: The offset where it is wrong.
        options: Those that are set: they are no cure.
    """
    first, second = text[at : at + 1], text[at + 1 : at + 2]
    if not first or (place == TEXT and first == "\\" and not second):
        said = "a string does not end" if place == TEXT else SENTENCES[NOT_ENDED]
        return f"{said} (character {at})"
    touching, before = text[:at][-1:], text[:at].rstrip(" \t\r\n")[-1:]
    for cause in CAUSES:
        fits = place in cause.places and (not cause.first or first in cause.first)
        if fits and cause.second:
            fits = second != "" and second in cause.second
        if fits and cause.before:
            fits = before != "" and before in cause.before and before in (",", touching)
        if fits and cause.option not in options:
            cure = f"; {cause.option}=true accepts it" if cause.option else ""
            return f"{cause.sentence} (character {at}){cure}"
    return f"{SENTENCES[place]} (character {at})"
