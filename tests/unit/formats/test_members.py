"""The columns of JSON and XML are found in all of their records: no value and no member that comes late is lost."""

from __future__ import annotations

import gzip
import json
import re

import numpy as np
import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.formats.framing.frames import Frames
from splitscan.formats.json.format import JsonMembers
from splitscan.formats.json.options import JsonOptions
from splitscan.formats.members import MOST_MEMBERS, MemberSummary
from splitscan.formats.xml.format import XmlMembers
from splitscan.formats.xml.options import XmlOptions

EARLY = [{"id": i, "v": i, "m": {"x": i}} for i in range(800)]
LATE = [
    {"id": 2**40, "v": "text", "extra": 1.5},
    {"id": 1, "v": 1, "m": {"x": 1, "y": [True, False]}},
]
SMALL = {"sampleBytes": 1000}


def written(path, records, *, form="lines"):
    """A file of records; the form of a compressed one ends in ``.gz``."""
    form, _, codec = form.partition(".")
    if form == "xml":
        text = "<all>" + "\n".join(f"<r>{as_xml(record)}</r>" for record in records) + "</all>"
    else:
        lines = [json.dumps(record) for record in records]
        text = "[" + ",\n".join(lines) + "]" if form == "array" else "\n".join(lines)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if codec else data)
    return path


def as_xml(value):
    """What is in an element: members, or a text as JSON has it."""
    if not isinstance(value, dict):
        return json.dumps(value).strip('"')
    each = [(name, part) for name, inner in value.items() for part in (inner if isinstance(inner, list) else [inner])]
    return "".join(f"<{name}>{as_xml(part)}</{name}>" for name, part in each)


def scan(path, form="lines", **options):
    """A scan of a file that :func:`written` wrote."""
    if form.startswith("xml"):
        return ss.scan_xml(path, row_tag="r", **options)
    return ss.scan_json(path, multi_line=form.startswith(("array", "values")), **options)


@pytest.mark.parametrize("block_size", [1000, 1 << 20])
@pytest.mark.parametrize("form", ["lines", "lines.gz", "array", "values", "xml", "xml.gz"])
def test_what_comes_late_is_found(tmp_path, form, block_size):
    path = written(tmp_path / "a", [*EARLY, *LATE], form=form)
    found = scan(path, form, block_size=block_size)
    assert found.schema == pa.schema(
        {
            "id": pa.int64(),
            "v": pa.string(),
            "m": pa.struct({"x": pa.int64(), "y": pa.list_(pa.bool_())}),
            "extra": pa.float64(),
        }
    )
    rows = found.to_arrow().to_pylist()
    assert len(rows) == 802
    assert rows[-2] == {"id": 2**40, "v": "text", "m": None, "extra": 1.5}
    assert rows[-1]["m"] == {"x": 1, "y": [True, False]}


@pytest.mark.parametrize("form", ["lines", "xml"])
def test_a_later_file_has_a_say_too(tmp_path, form):
    for number in range(40):
        written(tmp_path / f"{number:02}", [LATE[0] if number == 20 else EARLY[0]], form=form)
    assert scan(tmp_path, form).schema.names == ["id", "v", "m", "extra"]


@pytest.mark.parametrize("form", ["lines", "xml"])
@pytest.mark.parametrize("sample", [SMALL, {"sampleFiles": 1}])
def test_a_sample_is_looked_at_where_one_is_asked_for(tmp_path, sample, form):
    written(tmp_path / "a", EARLY, form=form)
    written(tmp_path / "b", [*EARLY, *LATE], form=form)
    assert scan(tmp_path, form, **sample).schema.names == ["id", "v", "m"]


MANY = {f"k{i}": i for i in range(MOST_MEMBERS + 1)}
DATA_AS_NAMES = {  # records, and the options that the error says
    "a record": ([MANY], {"singleVariantColumn": "record"}),
    "one in each record": ([{name: 1} for name in MANY], {"singleVariantColumn": "record"}),
    "a member": ([{"id": 1, "counts": MANY}], {"schema": "counts map<string, bigint>"}),
    "a few in each record": ([{"counts": {name: 0.5}} for name in MANY], {"schema": "counts map<string, double>"}),
    "deep": (
        [{"element": [{"a b": [{"x": 1}, MANY], "n": 7}]}],
        {"schema": "element array<struct<`a b`: array<map<string, bigint>>>>"},
    ),
    "of several types": ([{"m": MANY | {"s": [], "t": "x"}}], {"schema": "m map<string, string>"}),
}


@pytest.mark.thin(3)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("case", DATA_AS_NAMES)
def test_names_that_are_data_are_refused_with_options_that_read_them(tmp_path, case):
    records, options = DATA_AS_NAMES[case]
    path = written(tmp_path / "a.json", records)
    with pytest.raises(ss.SchemaError, match="more than 10,000 different members") as caught:
        _ = ss.scan_json(path).schema
    for option, value in options.items():
        said = repr(value) if option == "schema" else value
        assert f"{option}={said}" in caught.value.fix
    assert ss.scan_json(path, **options).to_arrow().num_rows == len(records)


@pytest.mark.thin(1)
@pytest.mark.parametrize("form", ["lines", "xml"])
def test_as_many_members_as_are_kept_are_columns(tmp_path, form):
    names = list(MANY)[:MOST_MEMBERS]
    assert scan(written(tmp_path / "a", [dict.fromkeys(names, 1)], form=form), form).schema.names == names
    assert ss.scan_json(written(tmp_path / "b.json", [MANY]), "k0 int, k10000 int").to_arrow().to_pylist() == [
        {"k0": 0, "k10000": 10_000}
    ]


@pytest.mark.slow
def test_names_that_are_data_are_refused_in_xml(tmp_path):
    with pytest.raises(ss.SchemaError, match="more than 10,000 different members") as caught:
        _ = ss.scan_xml(written(tmp_path / "a", [MANY], form="xml"), row_tag="r").schema
    assert "another rowTag" in caught.value.fix


@pytest.mark.slow
def test_members_of_files_together_are_counted(tmp_path):
    for start in (0, 6000):
        written(tmp_path / f"{start}.json", [dict.fromkeys(list(MANY)[start : start + 6000], 1)])
    with pytest.raises(ss.SchemaError, match="more than 10,000 different members"):
        _ = ss.scan_json(tmp_path).schema


@pytest.mark.slow
@pytest.mark.parametrize("rules", [JsonMembers(JsonOptions()), XmlMembers(XmlOptions(row_tag="r"))])
def test_the_reference_makes_no_type_again_for_each_record(rules, monkeypatch):
    monkeypatch.setenv("SPLITSCAN_ENGINE", "reference")
    records = [b'{"k%d": 1}' % i if rules.text is None else b"<r><k%d>1</k%d></r>" % (i, i) for i in range(4000)]
    made = []
    make = pa.struct
    fields = lambda kind: made.append(kind.num_fields) or kind  # noqa: E731
    monkeypatch.setattr(pa, "struct", lambda members: fields(make(members)))
    work = []
    for some in (records[:2000], records):
        made.clear()
        data, stops = b"".join(some), np.cumsum([len(record) for record in some])
        summary = MemberSummary(rules)
        summary.take(memoryview(data), Frames(np.concatenate([[0], stops[:-1]]), stops, len(data)))
        assert summary.members.kind.num_fields == len(some)
        work.append(sum(made))
    assert work[1] < 5 * len(records)
    assert work[1] < 4 * work[0]


@pytest.mark.parametrize(
    ("rules", "data", "names"),
    [
        (
            JsonMembers(JsonOptions(allow_unquoted_field_names=True)),
            b'{"a": 1}\n{"a": 2, "\xc3\xa4": tru\xc3\xa9}\n{"\xc3\xa4": true, b\xc3\xa4: 0.5}\n{"c": 1}',
            {"a", "ä", "bä", "c"},
        ),
        (
            XmlMembers(XmlOptions(row_tag="r")),
            b"<r><a>1</a></r>\n<r><\n<r><a>2020-01-01 00:00 Europe/Berlin</a><b/></r>\n<r c='1'/>",
            {"a", "b", "_c"},
        ),
    ],
)
def test_records_that_only_the_reference_reads_count_too(rules, data, names, monkeypatch):
    bounds, at = [], 0
    for line in data.split(b"\n"):
        bounds.append((at, at + len(line)))
        at += len(line) + 1
    frames = Frames(np.array([a for a, _ in bounds]), np.array([b for _, b in bounds]), len(data))
    summaries = []
    for engine in ("reference", ""):
        monkeypatch.setenv("SPLITSCAN_ENGINE", engine)
        summaries.append(MemberSummary(rules))
        summaries[-1].take(memoryview(data), frames)
    wanted, found = (summary.members for summary in summaries)
    assert set(found.schema) == set(wanted.schema)
    assert (found.records, found.has_other) == (wanted.records, wanted.has_other) == (4, True)
    assert names == set(wanted.schema.names)


def test_both_values_of_a_name_that_comes_twice_count():
    assert JsonMembers(JsonOptions()).kind_of(b'{"a": 1, "a": 0.5}') == pa.struct({"a": pa.float64()})


MIXED = {  # many records, one that differs, and what a column is then
    "an attribute late": ("<r><a>1</a></r>", "<r><a u='x'>2</a></r>", "a struct<_VALUE: bigint, _u: string>"),
    "a child late": ("<r><a>1</a></r>", "<r><a><b>2</b></a></r>", "a struct<_VALUE: bigint, b: bigint>"),
    "a text late": ("<r><a><b>1</b></a></r>", "<r><a>x</a></r>", "a struct<b: bigint, _VALUE: string>"),
    "several late": ("<r><a>1</a></r>", "<r><a>1</a><a>0.5</a></r>", "a array<double>"),
    "several with attributes": (
        "<r><a>1</a></r>", "<r><a/><a u='1'/></r>", "a array<struct<_VALUE: bigint, _u: bigint>>",
    ),
    "nothing but blanks": ("<r><a> </a></r>", "<r><a>7</a></r>", "a bigint"),
    "a leading zero": ("<r><a>1</a></r>", "<r><a>007</a></r>", "a string"),
    "a date among moments": ("<r><a>2020-01-31</a></r>", "<r><a>2020-01-31 10:00:00</a></r>", "a timestamp"),
    "a date among numbers": ("<r><a>1</a></r>", "<r><a>2020-01-31</a></r>", "a string"),
    "beyond 64 bits": ("<r><a>1</a></r>", f"<r><a>{10**20}</a></r>", "a decimal(21,0)"),
    "CDATA": ("<r><a>1</a></r>", "<r><a><![CDATA[<x>]]></a></r>", "a string"),
    "a name twice in a tag": ("<r><a>1</a></r>", "<r><a>1</a>t</r>", "a bigint, _VALUE string"),
}  # fmt: skip


@pytest.mark.parametrize("case", MIXED)
def test_elements_of_several_shapes_have_a_type_that_holds_all(tmp_path, case):
    many, late, wanted = MIXED[case]
    for name, records in (("a.xml", [many] * 300 + [late]), ("b.xml", [late] + [many] * 300)):
        data = "\ufeff<?xml version='1.0'?><all>" + "".join(records) + "</all>"
        (tmp_path / name).write_text(data, encoding="utf-8")
        found = ss.scan_xml(tmp_path / name, row_tag="r", block_size=2000)
        assert words(found) == words(wanted)
        assert found.to_arrow().num_rows == 301
    (tmp_path / "c.xml").write_bytes(b"")
    assert words(ss.scan_xml(tmp_path, row_tag="r")) == words(wanted)


def words(found):
    """Names and types, in any order."""
    return sorted(re.findall(r"\w+", found if isinstance(found, str) else found.explain_schema().ddl))
