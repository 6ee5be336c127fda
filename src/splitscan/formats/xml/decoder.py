"""XML records to typed columns: the definition, one record at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

import pyarrow as pa

from splitscan.formats.decoding.contract import BAD_VALUE, Decoded, Fault, bad_value
from splitscan.formats.decoding.conversions import Rules, stored_value
from splitscan.formats.decoding.values import records_in_utf8
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames
from splitscan.formats.xml.options import XmlOptions


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


BAD_XML = "bad-xml"

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class XmlDecoder:
    """Decodes records that are elements.

    Args:
        encoding: Of the file.
        fields: Columns to deliver, in order.
        own: What attributes and texts are called, and which texts are null.
        rules: How times are written.
        own_rules: The same for columns that have a pattern of their own, by name.
    """

    encoding: Encoding
    fields: tuple[pa.Field, ...]
    own: XmlOptions
    rules: Rules = field(default_factory=Rules)
    own_rules: Mapping[str, Rules] = field(default_factory=dict)

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a value that does not convert is null and reported, a record that is no element too."""
        records = records_in_utf8(data, frames, self.encoding)
        read = [self.read(index, record) for index, record in enumerate(records)]
        columns = [pa.array([row[i] for row, _ in read], each.type) for i, each in enumerate(self.fields)]
        return Decoded(columns, len(read), [fault for _, fault in read if fault is not None])

    def read(self, index: int, record: bytes) -> tuple[Sequence[Any], Fault | None]:
        """The values of one record, and what is wrong with it."""
        try:
            element = parse_element(record, ignore_namespace=self.own.ignore_namespace)
        except NotXmlError as error:
            nothing = [None] * len(self.fields)
            return nothing, Fault(index, BAD_XML, f"the record is no XML element: {error}", True)
        reader = ValueReader(record, self.own, self.rules, self.own_rules)
        members = reader.members(element)
        row = [reader.column(each, members.get(each.name, [])) for each in self.fields]
        problems = reader.problems
        return row, Fault(index, BAD_VALUE, problems[0], False) if problems else None


@dataclass
class ValueReader:
    """Turns the parts of one record into Python values that Arrow takes for a column.

    Attributes:
        problems: What did not convert.
    """

    record: bytes
    own: XmlOptions
    rules: Rules
    own_rules: Mapping[str, Rules]
    problems: list[str] = field(default_factory=list)
    _column: str = ""

    def members(self, element: Element) -> dict[str, list[Element | str]]:
        """Attributes, texts and child elements by the names of columns, each in order."""
        found: dict[str, list[Element | str]] = {}
        if not self.own.exclude_attribute:
            for name, value in element.attributes.items():
                found[self.own.attribute_prefix + name] = [value]
        for text in element.texts:
            if text.strip():
                found.setdefault(self.own.value_tag, []).append(text)
        for name, child in element.children:
            found.setdefault(name, []).append(child)
        return found

    def column(self, column: pa.Field, parts: list[Element | str]) -> Any:
        """The value of a column."""
        self._column = column.name
        return self._value(column.type, parts)

    def _value(self, kind: pa.DataType, parts: list[Element | str]) -> Any:
        if not parts:
            return None
        if pa.types.is_list(kind):
            return [self._one(kind.value_type, part) for part in parts]
        if all(isinstance(part, str) for part in parts):
            return self._one(kind, "".join(part for part in parts if isinstance(part, str)))
        return self._one(kind, parts[-1])

    def _one(self, kind: pa.DataType, part: Element | str) -> Any:
        element = Element(texts=[part]) if isinstance(part, str) else part
        if pa.types.is_struct(kind):
            members = self.members(element)
            return {each.name: self._value(each.type, members.get(each.name, [])) for each in kind}
        if pa.types.is_map(kind):
            return [(name, self._value(kind.item_type, parts)) for name, parts in self.members(element).items()]
        if pa.types.is_list(kind):
            return [self._one(kind.value_type, element)]
        return self._scalar(kind, content_of(self.record, element) if element.children else "".join(element.texts))

    def _scalar(self, kind: pa.DataType, text: str) -> Any:
        written = text.strip() if self.own.ignore_surrounding_spaces else text
        if written == self.own.null_value:
            return None
        if pa.types.is_string(kind):
            return written
        if pa.types.is_binary(kind):
            return written.encode()
        written = written.strip()
        if not written:
            return None
        rules = self.own_rules.get(self._column, self.rules)
        value = _BOOLEANS.get(written.lower()) if pa.types.is_boolean(kind) else stored_value(written, kind, rules)
        if value is None:
            self.problems.append(bad_value(self._column, written, kind))
        return value
