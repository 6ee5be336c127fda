"""Random options, schemas and records of XML for the tests of the native engine: what is odd meets often in them."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pyarrow as pa
from tests.kernel.json_cases import LEAVES

from splitscan.formats.decoding.contract import VARIANT, is_variant
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.values import Rescue
from splitscan.formats.framing.encodings import UTF_8
from splitscan.formats.xml.decoder import XmlDecoder
from splitscan.formats.xml.options import XmlOptions

BETWEEN = [
    "\n", "\n", "", " x ", "<!-- <r> -->", "<b a='<r>'/>", "<?p?>", "</c>", "<!D [", "]>", "<![CDATA[<r>]]>", "\ufeff",
]  # fmt: skip
TAGS = ["r", "r", "r", "x:r", "é"]
NAMES = ["a", "a", "b", "c", "x:a", "é", "long_name_of_an_element", "_a", "_VALUE", "r", "n.1"]
OTHER_CASE = ["A", "É", "_A", "X:a", "_value", "C"]
ODD_NAMES = ["1", "-a", "a\u00d7", "\u2603", "", ":", "a:", "a\u00b7", "\u4e00", "\U00020000", "a b", "A&"]
TEXTS = [
    "x", "", " ", "\n  ", "some text", "1", "12", "-7", "127", "128", "2147483647", "1.5", "-0.25", "1e3", "999.994",
    "true", "FALSE", "0", "2020-01-02", "1999-12-31 23:59:59.5", "2020-01-02T03:04:05Z", "2021", "02.01.2020", "é", "-",
    "&lt;", "a&amp;b", "&#65;", "&#xe9;", "&#10;", "&#x1F600;", "a\r\nb", "a\rb", "a\tb", "]]", "]", "\u00a0x\u2003",
    "\u2028", "2020-01-02 01:00 Europe/Berlin", "99999999999999999999", "NaN", "Inf", "null", "long text " * 5,
    "a>b", "'",
    '"', "\x7f", "\x85", "\ufffd", "1 2", " 3 ",
]  # fmt: skip
ODD_TEXTS = [
    "&", "&x", "&nbsp;", "&#0;", "&#8;", "&#xD800;", "&#xFFFE;", "&#x110000;", "&#99999999999;", "&#;", "&#x;", "&#xg;",
    "&lt", "&1;", "&;", "&é;", "&amp;nbsp;", "\x00", "\x0b", "\ufffe", "\uffff", "]]>", "]]]>", "<", "\ufeff", "&#-1;",
    "& ", "&#1x;", "\x1f",
]  # fmt: skip
MARKUP = [
    "<!-- c -->", "<!---->", "<!-- <r> </r> -->", "<![CDATA[<a>&lt;]]>", "<![CDATA[]]>", "<![CDATA[ ]]>", "<?p?>",
    "<?p <r> ?>", "<![CDATA[a\r\nb]]>", "<![CDATA[]]]]>", "<!-- é - -->", "<?é ? ?>", "<![CDATA[</r>]]>",
]  # fmt: skip
ODD_MARKUP = [
    "<!-- -- -->", "<!--->", "<!-- --->", "<!- ->", "<!D>", "<!DOCTYPE r [<!ENTITY e 'x'>]>", "<![CDATA [x]]>", "<![",
    "<?xml version='1.0'?>", "<?XML?>", "<?xMl a?>", "<??>", "<?1?>", "<?p?x?>", "<? p?>",
    "<!---- >", "<![CDATA[\x01]]>",
    "<!--\uffff-->", "<?p \x02?>", "<?xml\x01?>", "<?xml ", "<!-- ", "<![cdata[x]]>", "<", "<>", "< a>", "</>", "</ a>",
]  # fmt: skip
ODD_TAGS = [
    "<a b>", "<a b=>", "<a b=c>", "<a b='1'c='2'/>", "<a b='1' b='2'/>", "<a x:b='1' b='2'/>", "<a b='<'/>", "<a /b>",
    "<a b = \n'1' />", "<a/ >", "<a b='\x01'/>", "<a b='&x;'/>", "<a b='&#0;' b='1'/>", "<a b='1' b='&x;'/>", "<a\t/>",
    "<a b=\"'\"/>", "<a b='\uffff'/>", "<a b='a\r\n\tb&#10;'/>", "<a ='1'/>", "<a b='&'/>", "<a b='1'/c>", "<a!>",
    "<a é='1'/>", "<a 1='1'/>", "<a b='>'/>", "<a b='1'", "<a b='1", "<r", "</a >", "</a b>", "</é>",
    "<a\u2603>", "<a;>",
]  # fmt: skip
NOISE = [
    "<",
    ">",
    "/",
    "'",
    '"',
    "&",
    ";",
    "=",
    " ",
    "\n",
    "<r>",
    "</r>",
    "<r",
    "!",
    "?",
    "-",
    "[",
    "]",
    "a",
    "é",
    "\x00",
]


def random_kind(draw: random.Random, depth: int = 2) -> pa.DataType:
    """A type, nested or not."""
    if depth == 0 or draw.random() < 0.6:
        return draw.choice([*LEAVES, VARIANT, VARIANT])
    inner = random_kind(draw, depth - 1)
    choice = draw.randrange(4)
    if choice == 0:
        return pa.map_(pa.string(), inner)
    if choice == 1:
        return pa.list_(inner)
    names = draw.sample(sorted({*NAMES, "_b", "_x:a"}), draw.randint(1, 4))
    return pa.struct([pa.field(name, random_kind(draw, depth - 1)) for name in names])


def random_options(draw: random.Random) -> XmlOptions:
    """The usual options, or any."""
    own = XmlOptions(row_tag=draw.choice(TAGS))
    if draw.random() < 0.4:
        return own
    return replace(
        own,
        attribute_prefix=draw.choice(["_", "_", "", "@", "_VALU"]),
        value_tag=draw.choice(["_VALUE", "_VALUE", "a", "b"]),
        exclude_attribute=draw.random() < 0.2,
        ignore_namespace=draw.random() < 0.4,
        ignore_surrounding_spaces=draw.random() < 0.5,
        null_value=draw.choice([None, None, "", "-", "null", "1"]),
    )


def random_decoder(draw: random.Random) -> XmlDecoder:
    """The definition, with options of all kinds."""
    names = draw.sample(sorted({*NAMES, "_b", "_x:a"}), draw.randint(0, 5))
    fields = tuple(pa.field(name, random_kind(draw)) for name in names)
    rules = Rules(time_zone=draw.choice(["UTC", "UTC", "Europe/Berlin"]), locale=draw.choice(["en-US", "en-US", "de"]))
    own_rules = {
        f.name: Rules(date_format="dd.MM.yyyy", timestamp_format="yyyy") for f in fields if draw.random() < 0.1
    }
    rescue = draw.choice([None, None, Rescue('a/é\\".xml', wanted=draw.random() < 0.8)])
    return XmlDecoder(UTF_8, fields, random_options(draw), rules, own_rules, rescue)


@dataclass
class Writer:
    """Writes XML that fits a schema, more or less."""

    draw: random.Random
    decoder: XmlDecoder

    def __post_init__(self) -> None:
        self._oddity = self.draw.choice([0, 0, 0.02, 0.15])
        self._misfit = self.draw.choice([0, 0.05, 0.3])
        self._own = self.decoder.own
        self._names = NAMES + (OTHER_CASE if self.draw.random() < 0.5 else [])

    def record(self) -> str:
        """One record."""
        return self._element(self._own.row_tag, pa.struct(self.decoder.fields), 3)

    def _element(self, name: str, kind: pa.DataType | None, depth: int) -> str:
        draw = self.draw
        if draw.random() < self._oddity:
            name = draw.choice(ODD_NAMES)
        attributes, inside = self._inside(kind, depth)
        tag = name + "".join(f"{draw.choice([' ', ' ', chr(10), '  '])}{each}" for each in attributes)
        if not inside and draw.random() < 0.5:
            return f"<{tag}/>"
        if draw.random() < self._oddity:
            return draw.choice(ODD_TAGS) + inside + f"</{name}>"
        return f"<{tag}{draw.choice(['', '', ' '])}>{inside}</{name}{draw.choice(['', '', ' '])}>"

    def _inside(self, kind: pa.DataType | None, depth: int) -> tuple[list[str], str]:
        draw = self.draw
        if kind is None or is_variant(kind) or draw.random() < self._misfit:
            kind = random_kind(draw, max(depth, 0))
            kind = pa.string() if is_variant(kind) else kind
        while pa.types.is_list(kind):
            kind = kind.value_type
        if pa.types.is_struct(kind):
            members = [(kind.field(i).name, kind.field(i).type) for i in range(kind.num_fields)]
        elif pa.types.is_map(kind):
            members = [(draw.choice(self._names), kind.item_type) for _ in range(draw.choice([0, 1, 2, 3, 12]))]
        else:
            extra = [self._attribute(draw.choice(self._names))] if draw.random() < 0.1 else []
            return extra, self._text()
        while draw.random() < 0.3:
            members.insert(draw.randint(0, len(members)), (draw.choice(self._names), None))
        attributes, parts = [], []
        for name, inner in members:
            prefix = self._own.attribute_prefix
            if draw.random() < 0.15:
                continue
            if name == self._own.value_tag and draw.random() < 0.8:
                parts.append(self._text())
            elif name.startswith(prefix) and len(name) > len(prefix) and draw.random() < 0.7:
                attributes.append(self._attribute(name[len(prefix) :]))
            else:
                count = (
                    draw.randint(0, 3) if inner is not None and pa.types.is_list(inner) else draw.choice([1, 1, 1, 2])
                )
                parts += [self._element(name, inner, depth - 1) for _ in range(count)]
        between = draw.choice(["", "", "\n  ", " "])
        if draw.random() < 0.2:
            parts.insert(draw.randint(0, len(parts)), self._text())
        return attributes, between + between.join(parts) + between

    def _attribute(self, name: str) -> str:
        draw = self.draw
        quote = draw.choice("'\"")
        value = self._text_alone().replace("<", "&lt;").replace(quote, "")
        return f"{name}{draw.choice(['=', '=', ' = '])}{quote}{value}{quote}"

    def _text_alone(self) -> str:
        return self.draw.choice(ODD_TEXTS if self.draw.random() < self._oddity else TEXTS)

    def _text(self) -> str:
        draw = self.draw
        if draw.random() < 0.85:
            return self._text_alone()
        markup = draw.choice(ODD_MARKUP if draw.random() < self._oddity else MARKUP)
        return draw.choice(["", self._text_alone()]) + markup + draw.choice(["", self._text_alone()])


def random_records(draw: random.Random, decoder: XmlDecoder) -> bytes:
    """Records of a schema, some of them damaged."""
    writer, parts = Writer(draw, decoder), []
    for _ in range(draw.choice([1, 1, 2, 3, 6])):
        parts += [writer.record(), draw.choice(BETWEEN)]
    data = "".join(parts).encode("utf-8", "replace")
    return mutated(draw, data) if draw.random() < 0.3 else data


def mutated(draw: random.Random, data: bytes) -> bytes:
    """The bytes with some changes: noise, any bytes, parts that are gone or come twice."""
    for _ in range(draw.randint(1, 3)):
        at = draw.randint(0, len(data))
        stop = at + draw.choice([0, 0, 1, 5])
        noise = (
            draw.choice(NOISE).encode() if draw.random() < 0.8 else draw.choice([b"\xff", b"\xe2\x82", b"\xef\xbf\xbe"])
        )
        data = data[:at] + draw.choice([noise, noise, noise, data[at:stop], b""]) + data[stop:]
    return data
