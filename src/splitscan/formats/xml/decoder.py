"""XML records to typed columns: the definition, one record at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from xml.parsers import expat

import pyarrow as pa

from splitscan.formats.decoding.contract import BAD_VALUE, Decoded, Fault, Faults, bad_value, is_variant, wrong_value
from splitscan.formats.decoding.conversions import Rules, stored_value
from splitscan.formats.decoding.values import Rescue, with_path
from splitscan.formats.decoding.variant import (
    NULL,
    ValueTypes,
    VariantError,
    VariantParts,
    VariantRules,
    encode_variant,
    name_order,
    value_of_text,
)
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, records_in_utf8
from splitscan.formats.xml.options import XmlOptions
from splitscan.formats.xml.reference import SPACE


@dataclass(slots=True)
class Element:
    """An element.

    Attributes:
        start: Where its content begins in the bytes of the record.
        stop: After its content.
        content: Elements by name, and the pieces that they divide its own text into, which have none.
    """

    start: int = 0
    stop: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    content: list[tuple[str | None, Element | str]] = field(default_factory=list)

    @property
    def children(self) -> list[tuple[str, Element]]:
        """Elements by name, in order."""
        return [(name, part) for name, part in self.content if name is not None and isinstance(part, Element)]

    @property
    def texts(self) -> list[str]:
        """The pieces of its own text, in order."""
        return [part for _, part in self.content if isinstance(part, str)]


class NotXmlError(Exception):
    """The text is no XML element; the message says what is wrong and where."""


def parse_element(record: bytes, *, ignore_namespace: bool = False) -> Element:
    """Parse one element; nesting of any depth is read.

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
            self._open[-1].content.append((self._name(name), element))
        else:
            self.root = element
        self._open.append(element)
        self._continues = False

    def _end(self, name: str) -> None:
        del name
        self._open.pop().stop = self.parser.CurrentByteIndex
        self._continues = False

    def _text(self, text: str) -> None:
        content = self._open[-1].content
        before = content.pop()[1] if self._continues else ""
        content.append((None, f"{before}{text}"))
        self._continues = True

    def _name(self, name: str) -> str:
        return name.rpartition(":")[2] if self._ignore_namespace else name


def content_of(record: bytes, element: Element) -> str:
    """Content of an element, as it is written."""
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


class _Node(NamedTuple):
    """The parts of one name, on their way into a variant."""

    parts: list[Element | str]
    is_outermost: bool = False


def folded(name: str) -> str:
    """A name without regard to case, as Java compares names: letter by letter.

    Example:
        >>> folded("Straße"), folded("ÉTÉ") == folded("été")
        ('straße', True)
    """
    return name.lower() if name.isascii() else "".join(_lower(_upper(letter)) for letter in name)


def _upper(letter: str) -> str:
    upper = letter.upper()
    return upper if len(upper) == 1 else letter


def _lower(letter: str) -> str:
    return letter.lower()[0]


BAD_XML = "bad-xml"

_SPACE = SPACE.decode()
_DEEPEST = 100  # elements nested deeper are rescued as they are written
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class XmlDecoder:
    """Decodes records that are elements."""

    encoding: Encoding
    fields: tuple[pa.Field, ...]
    own: XmlOptions
    rules: Rules = field(default_factory=Rules)
    own_rules: Mapping[str, Rules] = field(default_factory=dict)
    rescue: Rescue | None = None
    variants: VariantRules = field(default_factory=VariantRules)
    is_whole: bool = False  # a record is one variant

    @property
    def rescues(self) -> bool:
        """True if there is a column of what does not fit."""
        return self.rescue is not None and self.rescue.wanted

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        records = records_in_utf8(data, frames, self.encoding)
        read = [self.read(index, record) for index, record in enumerate(records)]
        columns = [pa.array([row[i] for row, _, _ in read], each.type) for i, each in enumerate(self.fields)]
        rescued = None
        if self.rescues:
            rescued = pa.array([kept for _, kept, _ in read], pa.string())
        return Decoded(columns, len(read), Faults(fault for *_, fault in read if fault is not None), rescued)

    def read(self, index: int, record: bytes) -> tuple[Sequence[Any], str | None, Fault | None]:
        """The values of one record, what is rescued of it if that is wanted, and what is wrong with it."""
        try:
            element = parse_element(record, ignore_namespace=self.own.ignore_namespace)
        except NotXmlError as error:
            nothing = [None] * len(self.fields)
            return nothing, None, Fault(index, BAD_XML, f"the record is no XML element: {error}", True)
        reader = XmlValueReader(record, self.own, self.rules, self.own_rules, self.variants)
        whole: list[Element | str] = [element]
        members = {each.name: whole for each in self.fields} if self.is_whole else reader.members(element)
        row = [reader.column(each, members.get(each.name, [])) for each in self.fields]
        problems = reader.problems
        if self.rescue is None:
            return row, None, Fault(index, BAD_VALUE, problems[0], False) if problems else None
        kept = reader.rescued(members, self.fields) if self.rescues else []
        return row, with_path(kept, self.rescue.path), None


@dataclass
class XmlValueReader:
    """Turns the parts of one record into Python values that Arrow takes for a column."""

    record: bytes
    own: XmlOptions
    rules: Rules
    own_rules: Mapping[str, Rules]
    variants: VariantRules = field(default_factory=VariantRules)
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

    def rescued(self, members: Mapping[str, list[Element | str]], fields: Sequence[pa.Field]) -> list[str]:
        """Parts that have no column, or a value that is not of its column's type, as members of a JSON object.

        Of a struct only the parts that do not fit are kept; an array or a map with such a part is kept whole.
        """
        kinds = {each.name: each.type for each in fields}
        found: list[str] = []
        for name, parts in members.items():
            self._column = name
            unfit = self._unfit_members({name: parts}, kinds)
            found += [json.dumps(unfit, ensure_ascii=False, separators=(",", ":"))[1:-1]] if unfit else []
        return found

    def _unfit_members(
        self, members: Mapping[str, list[Element | str]], kinds: Mapping[str, pa.DataType]
    ) -> dict[str, Any]:
        found = {}
        for name, parts in members.items():
            if name not in kinds:
                found[name] = self._as_json(parts)
            elif (unfit := self._unfit(kinds[name], parts)) is not None:
                found[name] = unfit
        return found

    def _unfit(self, kind: pa.DataType, parts: list[Element | str]) -> Any:
        """The part of a value that a type cannot hold; ``None`` if it holds all."""
        if pa.types.is_list(kind):
            fits = all(self._unfit(kind.value_type, [part]) is None for part in parts)
            return None if fits else self._as_json(parts)
        if len(parts) > 1 and not all(isinstance(part, str) for part in parts):
            return self._as_json(parts)  # the last one alone is read
        element = parts[0]
        if isinstance(element, str):
            element = Element(content=[(None, part) for part in parts])
        members = self.members(element)
        if pa.types.is_struct(kind) and not is_variant(kind):
            return self._unfit_members(members, {each.name: each.type for each in kind}) or None
        if pa.types.is_map(kind):
            fits = all(self._unfit(kind.item_type, each) is None for each in members.values())
            return None if fits else self._as_json(parts)
        before = len(self.problems)
        self._value(kind, parts)
        has_more = bool(element.attributes) and not self.own.exclude_attribute and not is_variant(kind)
        return self._as_json(parts) if has_more or len(self.problems) > before else None

    def _as_json(self, parts: list[Element | str], depth: int = 0) -> Any:
        """Content of the parts of one name: texts, objects of elements, or a list of them; null for nothing."""
        values = [part if isinstance(part, str) else self._object(part, depth) for part in parts]
        return values if len(values) > 1 else values[0]

    def _object(self, element: Element, depth: int) -> Any:
        members = self.members(element)
        if members.keys() <= {self.own.value_tag} and not element.children:
            return "".join(element.texts) or None
        if depth > _DEEPEST:
            return content_of(self.record, element)
        return {name: self._as_json(parts, depth + 1) for name, parts in members.items()}

    def _value(self, kind: pa.DataType, parts: list[Element | str]) -> Any:
        if not parts:
            return None
        if pa.types.is_list(kind):
            return [self._one(kind.value_type, part) for part in parts]
        if all(isinstance(part, str) for part in parts):
            return self._one(kind, "".join(part for part in parts if isinstance(part, str)))
        return self._one(kind, parts[-1])

    def _one(self, kind: pa.DataType, part: Element | str) -> Any:
        if is_variant(kind):
            return self._variant(part)
        element = Element(content=[(None, part)]) if isinstance(part, str) else part
        if pa.types.is_struct(kind):
            members = self.members(element)
            return {each.name: self._value(each.type, members.get(each.name, [])) for each in kind}
        if pa.types.is_map(kind):
            return [(name, self._value(kind.item_type, parts)) for name, parts in self.members(element).items()]
        if pa.types.is_list(kind):
            return [self._one(kind.value_type, part)]
        return self._scalar(kind, content_of(self.record, element) if element.children else "".join(element.texts))

    def _variant(self, part: Element | str) -> dict[str, bytes] | None:
        try:
            return encode_variant(_Node([part], is_outermost=True), self._view, self.variants)
        except VariantError as error:
            written = part if isinstance(part, str) else content_of(self.record, part)
            self.problems.append(wrong_value(self._column, f"variant: {error}").fault(0, written).reason)
            return None

    def _view(self, node: _Node) -> bytes | VariantParts[_Node]:
        """The bytes or the parts of a node, members in the order in which Spark writes them."""
        parts, is_outermost = node
        while len(parts) == 1 and isinstance(element := parts[0], Element):
            members = self._folded(element)
            if members.keys() != {self.own.value_tag}:
                order = folded if is_outermost else name_order
                found = sorted(members.items(), key=lambda member: order(member[0]))
                return VariantParts(True, ((name, _Node(each)) for name, each in found)) if found else NULL
            (parts,), is_outermost = members.values(), False
        if len(parts) > 1:
            return VariantParts(False, (("", _Node([part])) for part in parts))
        written = str(parts[0]).strip(_SPACE) if self.own.ignore_surrounding_spaces else str(parts[0])
        types = ValueTypes(self.rules, has_moments=False)
        return value_of_text(None if written == self.own.null_value else written, types)

    def _folded(self, element: Element) -> dict[str, list[Element | str]]:
        """Attributes, texts and child elements in order; names that differ in case are that which comes first."""
        attributes = {} if self.own.exclude_attribute else element.attributes
        parts: list[tuple[str, Element | str]]
        parts = [(self.own.attribute_prefix + name, value) for name, value in attributes.items()]
        texts = (each for each in element.content if not isinstance(each[1], str) or each[1].strip(_SPACE))
        parts += [(self.own.value_tag if name is None else name, part) for name, part in texts]
        first: dict[str, str] = {}
        found: dict[str, list[Element | str]] = {}
        for name, part in parts:
            found.setdefault(first.setdefault(folded(name), name), []).append(part)
        return found

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
