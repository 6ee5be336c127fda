"""What the native inference must give: the union of the members of every record, by the reference engine."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import fields
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pytest
from tests.kernel.json_cases import Writer, is_utf8, mutated, random_decoder

from splitscan.formats.framing.frames import Frames
from splitscan.formats.json.format import JsonMembers
from splitscan.formats.json.lines import json_lines
from splitscan.formats.json.options import JsonOptions
from splitscan.formats.json.text import JsonDialect
from splitscan.formats.members import MemberRules, Members, MemberSummary

_NAMES = ["a", "b", "c", "long_name_of_a_member", "é", "a b", 'q\\"', "\\u0061", "x1", "x2", "x3"]


def _value(draw: random.Random, levels: int = 0) -> str:
    roll = draw.random()
    if roll < 0.15 and levels < 4:
        return "[" + draw.choice([",", " , "]).join(_value(draw, levels + 1) for _ in range(draw.randrange(4))) + "]"
    if roll < 0.35 and levels < 4:
        return _object(draw, levels + 1)
    if roll < 0.4:
        depth = draw.randrange(45, 60)  # on both sides of the bound
        return "[" * depth + '{"z":1}' + "]" * depth if draw.random() < 0.5 else '{"z":' * depth + "1" + "}" * depth
    digits = "".join(draw.choice("0123456789") for _ in range(draw.choice([1, 5, 18, 19, 20, 38, 39, 45])))
    whole = digits.lstrip("0") or "0"
    return draw.choice(
        [
            "null", "true", "false", whole, "-" + whole, digits, whole + ".5", f"-0.{digits}", whole + ".0e5", "1E400",
            "9223372036854775807", "-9223372036854775808", "9223372036854775808", "NaN", "-INF", '"text"', '"1"', "''",
            '"2020-01-01"', '"007"', "nulls", "trueé", "01", "-",
        ]
    )  # fmt: skip


def _object(draw: random.Random, levels: int = 0) -> str:
    members = []
    for _ in range(draw.choice([0, 1, 2, 3, 8])):
        name = draw.choice(_NAMES)
        written = draw.choice([f'"{name}"'] * 20 + [f"'{name}'", name])
        members.append(written + draw.choice([":", ": ", " :"]) + _value(draw, levels))
    return "{" + draw.choice([",", ", "]).join(members) + "}"


def random_records(draw: random.Random) -> bytes:
    """Lines of objects of a few names, now and then of other things, some of them damaged."""
    if draw.random() < 0.3:
        writer = Writer(draw, random_decoder(draw).fields)
        lines = [writer.record().replace("\n", " ") for _ in range(draw.randrange(6))]
    else:
        lines = [_object(draw) if draw.random() < 0.95 else _value(draw) for _ in range(draw.randrange(12))]
    data = "\n".join(lines).encode()
    return mutated(draw, data) if draw.random() < 0.2 else data


def random_options(draw: random.Random) -> JsonOptions:
    """Any leniencies, and the options that types depend on."""
    names = [each.name for each in fields(JsonDialect)] + ["primitives_as_string", "prefers_decimal"]
    return JsonOptions(**{name: draw.random() < 0.3 for name in names if draw.random() < 0.5})


def taken(summary: MemberSummary, data: bytes, frames: Frames) -> Members:
    """The members that a summary finds."""
    summary.take(memoryview(data), frames)
    return summary.members


def by_reference(rules: MemberRules) -> MemberSummary:
    """A summary of no records without the kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPLITSCAN_ENGINE", "reference")
        return MemberSummary(rules)


def sorted_kind(kind: pa.DataType) -> pa.DataType:
    """The type with members by name, wherever they are: their order is no part of the law."""
    if pa.types.is_list(kind):
        return pa.list_(sorted_kind(kind.value_type))
    if pa.types.is_struct(kind):
        members = sorted((kind.field(index) for index in range(kind.num_fields)), key=lambda member: member.name)
        return pa.struct([(member.name, sorted_kind(member.type)) for member in members])
    return kind


def frames_of(data: bytes) -> Frames:
    """All lines by the reference framer."""
    framer = json_lines(None, "UTF-8").reference_framer()
    for byte in data:
        framer.push(byte)
    framer.finish()
    starts, stops = (np.array([record[i] for record in framer.records], dtype=np.int64) for i in (0, 1))
    return Frames(starts, stops, len(data))


def check_case(seed: int) -> Counter[str]:
    """One case of JSON."""
    draw = random.Random(seed)
    options, data = random_options(draw), random_records(draw)
    return check_members(draw, JsonMembers(options), data, frames_of(data))


def check_members(draw: random.Random, rules: MemberRules, data: bytes, frames: Frames) -> Counter[str]:
    """The kernel finds what the reference finds, parts in any order merge to the same, and what is kept comes back."""
    wanted, found = taken(by_reference(rules), data, frames), taken(MemberSummary(rules), data, frames)
    undecided = found.kind != wanted.kind
    assert (found.repeated is None) == (wanted.repeated is None), (rules, data)
    assert undecided or found.repeated == wanted.repeated, (rules, data)
    if undecided:  # such a record counts as if it came last
        assert sorted_kind(found.kind) == sorted_kind(wanted.kind), (rules, data, found.kind, wanted.kind)
    assert (found.has_other, found.records) == (wanted.has_other, wanted.records), (rules, data)
    assert Members.of_plain(json.loads(json.dumps(found.plain()))) == found
    cuts = sorted(draw.randrange(len(frames) + 1) for _ in range(3))
    bounds = zip([0, *cuts], [*cuts, len(frames)], strict=True)
    parts = [taken(MemberSummary(rules), data, Frames(frames.starts[a:b], frames.stops[a:b], 0, {})) for a, b in bounds]
    if not undecided:
        assert reduce(or_, parts) == found, (rules, data)
        assert parts[0] | (parts[1] | (parts[2] | parts[3])) == found, (rules, data)
    draw.shuffle(parts)
    assert sorted_kind(reduce(or_, parts).kind) == sorted_kind(found.kind), (rules, data)
    met = Counter(invalid=not is_utf8(data), broken=found.has_other, undecided=undecided, records=len(frames))
    kinds = str(found.kind)
    names = ("decimal", "double", "int64", "bool", "list", "string", "null", "date32", "timestamp", "struct")
    met.update({name: name in kinds for name in names})
    return met
