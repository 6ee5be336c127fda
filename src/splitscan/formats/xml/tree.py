"""The text of one XML record as a tree, read by expat.

A record holds no document type, so there is nothing that an entity could expand to. The five entities of XML itself
and references to characters are read; every other one is an error. Nothing outside of the record is ever asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat


@dataclass(slots=True)
class Element:
    """An element.

    Attributes:
        start: Where its content begins in the bytes of the record.
        stop: After its content.
        attributes: Values by name.
        children: Elements by name, in order.
        texts: Its own text, in the pieces that elements divide it into.
    """

    start: int = 0
    stop: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[tuple[str, Element]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


class NotXmlError(Exception):
    """The text is no XML element; the message says what is wrong and where."""


def parse_element(record: bytes, *, ignore_namespace: bool = False) -> Element:
    """Parse one element; nesting of any depth is read.

    Args:
        record: Its text in UTF-8.
        ignore_namespace: Whether prefixes of names are left out.

    Raises:
        NotXmlError: If it is not one element.

    Example:
        >>> row = parse_element(b"<r a='1'>x<b>&lt;&#65;</b></r>")
        >>> row.attributes, row.texts, row.children[0][1].texts
        ({'a': '1'}, ['x'], ['<A'])
    """
    builder = _Builder(record, ignore_namespace)
    try:
        builder.parser.Parse(record, True)
    except expat.ExpatError as error:
        raise NotXmlError(f"{expat.ErrorString(error.code)} at line {error.lineno}, column {error.offset}") from None
    return builder.root


class _Builder:
    def __init__(self, record: bytes, ignore_namespace: bool) -> None:
        self.root = Element()
        self._record = record
        self._ignore_namespace = ignore_namespace
        self._open: list[Element] = []
        self._continues = False  # the next text belongs to the last piece
        self.parser: Any = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = Element(start=self.parser.CurrentByteIndex)
        element.attributes = {self._name(key): value for key, value in attributes.items()}
        if self._open:
            self._open[-1].children.append((self._name(name), element))
        else:
            self.root = element
        self._open.append(element)
        self._continues = False

    def _end(self, name: str) -> None:
        del name
        self._open.pop().stop = self.parser.CurrentByteIndex
        self._continues = False

    def _text(self, text: str) -> None:
        pieces = self._open[-1].texts
        if self._continues:
            pieces[-1] += text
        else:
            pieces.append(text)
        self._continues = True

    def _name(self, name: str) -> str:
        return name.rpartition(":")[2] if self._ignore_namespace else name


def content_of(record: bytes, element: Element) -> str:
    """What is written in an element, as it is written."""
    quote, position = 0, element.start
    while position < element.stop:  # to the end of its opening tag
        byte = record[position]
        if quote:
            quote = 0 if byte == quote else quote
        elif byte in b"\"'":
            quote = byte
        elif byte == ord(">"):
            break
        position += 1
    return record[position + 1 : element.stop].decode("utf-8")
