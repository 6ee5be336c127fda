"""Random dialects, schemas and records of JSON for the tests of the native engine: what is odd meets often in them."""

from __future__ import annotations

import random

import pyarrow as pa

from splitscan.formats.decoding.contract import VARIANT, is_variant
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.values import Rescue
from splitscan.formats.framing.encodings import UTF_8
from splitscan.formats.json.decoder import JsonDecoder
from splitscan.formats.json.text import JsonDialect

NAMES = ["a", "a", "b", "c", "Name", 'q"', "é", "", "a\n", "long_name_of_a_member", "x1"]
LEAVES = [
    pa.string(), pa.string(), pa.int32(), pa.int64(), pa.int8(), pa.float64(), pa.float32(), pa.bool_(), pa.date32(),
    pa.time64("us"), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.decimal128(5, 2), pa.binary(),
]  # fmt: skip
SCALARS = [
    "null", "true", "false", "1", "-0", "12", "0.5", "1e3", "-1.5E-2", "127", "128", "99999999999", "1.555", "1e400",
    '"x"', '""', '"1"', '"NaN"', '"Infinity"', '"2020-01-02"', '"2020-01-02T03:04:05Z"', '"aGk="', '"é"', '"a b"',
    r'"\u00e9\n\t\"\\\/"', r'"\ud83d\ude00"', r'"\ud800"', r'"\udc00\ud800x"', '"' + "long " * 12 + '"',
    "12345678901234567890123", "1.00", "-9223372036854775808", "9223372036854775808", "0.00", "-0.0", "1e-7",
    "123456789.5", "0.12345678901234567890", "1" * 39, "0." + "0" * 38 + "1", "-" + "9" * 38, '"true"',
    '"\\ud83d\\ud83d\\ude00"', '"{"', '"}]"', '",:"', '"☃💥"',
]  # fmt: skip
ODD_SCALARS = [
    "01", "-01", "tru", "truex", "true$", "nullé", "Inf", "+INF", "-Infinity", "NaN", "-NaN", "+NaN", "1.", ".5", "-",
    "+1", "'x'", "'a\"b'", "'}'", "'it\\'s'", r'"\x"', r'"\u12"', r'"\'"', '"\t"', '"\x01"', '"\n"', '"open', r'"\é"',
    '"\\', "Infinit", "", "'\\u0041\n'", "-INF", "00.5e1", "1e", "\x7f", "é", "None", "\ufeff", '"\r"', "{", "[1",
]  # fmt: skip
ODD_NAMES = [
    "a",
    "'a'",
    "é",
    "$x",
    "#1",
    "a-b",
    "1",
    "",
    "true",
    '"a',
    "'a\"'",
    r'"\u0061"',
    r'"\'"',
    "a b",
    "aé",
    '"a\n"',
]
SPACES = ["", "", "", "", " ", "\n", "  ", "\t", "\r\n"]
NOISE = ['"', "\\", "{", "}", "[", "]", ",", ":", "\n", " ", "a", "'", "1", "\r", "\x1e", "\t", "\\u", "\x00", "e", "-"]


def random_dialect(draw: random.Random) -> JsonDialect:
    """The usual leniencies, or any."""
    if draw.random() < 0.3:
        return JsonDialect()
    return JsonDialect(*(draw.random() < 0.5 for _ in range(6)))


def random_kind(draw: random.Random, depth: int = 2) -> pa.DataType:
    """A type, nested or not."""
    if depth == 0 or draw.random() < 0.65:
        return draw.choice([*LEAVES, VARIANT, VARIANT])
    inner = random_kind(draw, depth - 1)
    choice = draw.randrange(3)
    if choice == 0:
        return pa.list_(inner)
    if choice == 1:
        return pa.map_(pa.string(), inner)
    names = draw.sample(sorted(set(NAMES)), draw.randint(1, 3))
    return pa.struct([pa.field(name, random_kind(draw, depth - 1)) for name in names])


def random_fields(draw: random.Random) -> tuple[pa.Field, ...]:
    """Columns of a schema."""
    names = draw.sample(sorted(set(NAMES)), draw.randint(0, 5))
    return tuple(pa.field(name, random_kind(draw)) for name in names)


def random_decoder(draw: random.Random) -> JsonDecoder:
    """The definition, with options of all kinds."""
    fields = random_fields(draw)
    rules = Rules(time_zone=draw.choice(["UTC", "UTC", "Europe/Berlin"]), locale=draw.choice(["en-US", "en-US", "de"]))
    own = {f.name: Rules(date_format="dd.MM.yyyy", timestamp_format="yyyy") for f in fields if draw.random() < 0.1}
    rescue = draw.choice([None, None, Rescue('a/é\\".json', wanted=draw.random() < 0.8)])
    return JsonDecoder(UTF_8, fields, random_dialect(draw), rules, own, rescue)


class Writer:
    """Writes JSON that fits a schema, more or less."""

    def __init__(self, draw: random.Random, fields: tuple[pa.Field, ...]) -> None:
        self._draw = draw
        self._fields = fields
        self._oddity = draw.choice([0, 0, 0.02, 0.15])
        self._misfit = draw.choice([0, 0.05, 0.3])

    def record(self) -> str:
        """One record."""
        if self._draw.random() < self._oddity:
            return self._any(2)
        return self._object([(f.name, f.type) for f in self._fields], 3)

    def _space(self) -> str:
        return self._draw.choice(SPACES) if self._draw.random() < 0.3 else ""

    def _any(self, depth: int) -> str:
        draw = self._draw
        choice = draw.random()
        if depth and choice < 0.2:
            return "[" + ",".join(self._any(depth - 1) for _ in range(draw.randint(0, 3))) + "]"
        if depth and choice < 0.4:
            return self._object([], depth)
        return draw.choice(ODD_SCALARS if draw.random() < self._oddity else SCALARS)

    def _object(self, members: list[tuple[str, pa.DataType]], depth: int) -> str:
        draw = self._draw
        pairs: list[tuple[str, pa.DataType | None]] = [(name, kind) for name, kind in members if draw.random() < 0.9]
        while draw.random() < 0.3:
            pairs.insert(draw.randint(0, len(pairs)), (draw.choice(NAMES), None))
        texts = [self._member(name, kind, depth - 1) for name, kind in pairs]
        if draw.random() < self._oddity:
            texts.append("")
        return "{" + ",".join(texts) + ("" if texts else self._space()) + "}"

    def _member(self, name: str, kind: pa.DataType | None, depth: int) -> str:
        space = self._space
        return f"{space()}{self._name(name)}{space()}:{space()}{self._value(kind, depth)}{space()}"

    def _name(self, name: str) -> str:
        draw = self._draw
        if draw.random() < self._oddity:
            return draw.choice(ODD_NAMES)
        return '"' + name.replace('"', '\\"').replace("\n", draw.choice(["\\n", "\\u000a"])) + '"'

    def _value(self, kind: pa.DataType | None, depth: int) -> str:
        draw = self._draw
        if kind is None or is_variant(kind) or draw.random() < self._misfit:
            return self._any(max(depth, 0))
        if draw.random() < 0.1:
            return "null"
        if pa.types.is_struct(kind):
            return self._object([(kind.field(i).name, kind.field(i).type) for i in range(kind.num_fields)], depth)
        if pa.types.is_list(kind):
            items = [self._value(kind.value_type, depth - 1) for _ in range(draw.randint(0, 3))]
            return "[" + self._space() + f",{self._space()}".join(items) + self._space() + "]"
        if pa.types.is_map(kind):
            count = draw.choice([0, 1, 2, 3, 12])
            names = [draw.choice([*NAMES, "k", "l", "m", "n", "o", "p"]) for _ in range(count)]
            return "{" + ",".join(f"{self._name(n)}:{self._value(kind.item_type, depth - 1)}" for n in names) + "}"
        return self._scalar(kind)

    def _scalar(self, kind: pa.DataType) -> str:
        draw = self._draw
        if pa.types.is_string(kind):
            return draw.choice(['"x"', '"some text"', r'"a\nb"', '"é"', '"a much longer text than that"', "12", '""'])
        if pa.types.is_integer(kind):
            return draw.choice(["0", "-1", "7", "127", "100", "-128", "2147483647"])
        if pa.types.is_boolean(kind):
            return draw.choice(["true", "false"])
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return draw.choice(["0", "1.5", "-0.25", "3", "1e2", "999.994", "0.1"])
        if pa.types.is_temporal(kind):
            times = ['"10:20"', '"1:2:3.4"', '" 11:59 PM "', '"24:00:00"']
            dates = ['"2020-01-02"', '"1999-12-31 23:59:59.5"', '"2021"', '"02.01.2020"']
            return draw.choice(times if pa.types.is_time(kind) else dates)
        return draw.choice(['"aGk="', '"AAAA"'])


def random_records(draw: random.Random, kind: str, fields: tuple[pa.Field, ...]) -> bytes:
    """Records of a schema, some of them damaged."""
    writer = Writer(draw, fields)
    between = {
        "values": ["\n", "\n", " ", "", ",", "\n\n"],
        "array": [",", ",\n", " ,\n  "],
        "lines": ["\n", "\n", "\r\n", "\n \n"],
    }
    parts = []
    for _ in range(draw.choice([1, 1, 2, 3, 6])):
        record = writer.record()
        if kind == "lines" and draw.random() < 0.9:
            record = record.replace("\n", " ").replace("\r", " ")
        parts += [record, draw.choice(between[kind])]
    data = "".join(parts).encode()
    return mutated(draw, data) if draw.random() < 0.3 else data


def mutated(draw: random.Random, data: bytes) -> bytes:
    """The bytes with some changes: noise, any bytes, parts that are gone or come twice."""
    for _ in range(draw.randint(1, 3)):
        at = draw.randint(0, len(data))
        stop = at + draw.choice([0, 0, 1, 5])
        noise = (
            draw.choice(NOISE).encode() if draw.random() < 0.8 else draw.choice([b"\xff", b"\xe2\x82", b"\xf0\x9f\x98"])
        )
        data = data[:at] + draw.choice([noise, noise, noise, data[at:stop], b""]) + data[stop:]
    return data


def is_utf8(data: bytes) -> bool:
    """Whether all of *data* is valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
