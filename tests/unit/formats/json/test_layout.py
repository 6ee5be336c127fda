"""Lines or values: the first bytes of a file of JSON decide."""

import json

import pytest

from splitscan.formats.json.layout import about_inside, first_values, later_values

VALUES = {
    "an array": '[{"a": 1}, {"a": 2}]',
    "an array over lines": '[\n{"a": 1},\n{"a": 2}\n]\n',
    "an array without end": '[{"a": 1}, {"a',
    "an empty array": "[]",
    "an empty array in blanks": " \r\n[ \n]\n",
    "an array of scalars": "[1, 2, 3]",
    "an array with a comment in its first line": '[ // all of them\n{"a": 1}]',
    "an array whose first line ends in the middle of a record": '[{"a":\n1}]',
    "an array with line ends of Windows": '[\r\n{"a": 1},\r\n{"a": 2}\r\n]',
    "an array after a mark": '\ufeff[{"a": 1}]',
    "an array after a mark that was decoded byte by byte": '\u00ef\u00bb\u00bf[{"a": 1}]',
    "an object over lines": '{\n  "a": 1\n}\n',
    "an object whose members are in its first line": '{"a": 1, "b": [1,\n2]}\n',
    "objects in one line": '{"a": 1}{"a": 2}',
    "objects divided by blanks": '{"a": 1} {"a": 2}\n',
    "objects divided by commas": '{"a": 1},\n{"a": 2}',
    "a text sequence": '\x1e{"a": 1}\n\x1e{"a": 2}\n',
    "brackets in texts": '[{"a": "]}\\"]"},\n{"a": 2}]',
    "a GeoJSON collection": json.dumps({"type": "FeatureCollection", "features": [{"id": 1}]}, indent=2),
}
LINES = {
    "nothing": "",
    "blanks": " \n\t\n",
    "objects": '{"a": 1}\n{"a": 2}\n',
    "one object": '{"a": 1}',
    "an object and a part of one": '{"a": 1}\n{"a": ',
    "an object that goes on after the sample": '{"a": "' + "x" * 99,
    "brackets in texts": '{"a": "[{"}\n{"a": "}]"}\n',
    "scalars": '1\n"x"\nnull\n',
    "arrays": "[1, 2]\n[3, 4]\n",
    "a line that is cut off before whole ones": '{"a": "x\n{"a": 1}\n{"a": 2}\n',
    "a line with something behind the object": '{"a": 1} # note\n{"a": 2}\n',
    "no JSON": "id,name\n1,x\n",
}


@pytest.mark.parametrize("case", VALUES)
def test_values_are_known_by_the_first_bytes(case):
    assert first_values(VALUES[case])


@pytest.mark.parametrize("case", LINES)
def test_lines_are_known_by_the_first_bytes(case):
    assert first_values(LINES[case]) is None


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('": 1},\n{\n  "a": 1\n},\n', "{"),
        ('x\n  ],\n  "b": [\n    1\n', "],"),
        ('1}\n{"a": 1}\n{"a": 2}\n', None),
        ('1}\n{"a": 1}\n}\n{"a": 2}\n{"a": 3}\n', None),  # one line that is broken, among whole ones
        ("", None),
    ],
)
def test_values_later_in_a_file_are_known_by_brackets_alone_in_lines(text, seen):
    assert later_values(text) == seen


OBJECT = "is one JSON object "
INSIDE = {
    "an array of objects": ({"n": 1, "rows": [{"a": 1}, {"a": 2}]}, "'rows', and", "$.rows[*]"),
    "the longest array": ({"short": [{}, {}], "long": [{}, {}, {}]}, "'long'", "$.long[*]"),
    "nothing but an array of one": ({"results": [{"a": 1}]}, "'results'", "$.results[*]"),
    "a name that needs quotes": ({"a b": [{}, {}]}, "'a b'", """'$["a b"][*]'"""),
    "below another name": ({"meta": {"n": 2}, "data": {"rows": [{}, {}]}}, "'data.rows'", "$.data.rows[*]"),
    "below two names": ({"data": {"search": {"edges": [{}, {}]}}}, "'data.search.edges'", "$.data.search.edges[*]"),
    "arrays without names": ({"fields": [], "data": [[1, 2], [3, 4]]}, "'data' of arrays", "$.data[*]"),
    "orient=split": ({"columns": ["a"], "index": [0, 1], "data": [[1], [2]]}, "'data' of arrays", "$.data[*]"),
    "orient=table": ({"schema": {"fields": [{}, {}]}, "data": [{"i": 0}, {"i": 1}]}, "'data', and", "$.data[*]"),
    "orient=index": ({"0": {"a": 1, "b": 2}, "1": {"a": 3}}, "whose 2 members are objects with the same names", "line"),
    "keys that are data, and others": (
        {**{f"t{n}": {"a": 1, "b": 2} for n in range(25)}, "hz": 50, "more": {"c": {}}},
        "whose 27 members are mostly objects with the same names",
        "line",
    ),
    "keys that are data": ({"x": {"id1": {"a": 1}, "id2": {"a": 2}}}, "around 'x', whose 2 members", "line"),
    "texts": ({f"k{n}": "x" for n in range(30)}, "whose 30 members are all texts", "line"),
    "arrays": ({f"k{n}": ["x"] * n for n in range(30)}, "whose 30 members are all arrays", "line"),
    "numbers": ({f"k{n}": n for n in range(30)}, "whose 30 members are all numbers", "line"),
    "columns": ({"a": [1, 2], "b": [3, 4]}, "whose 2 members are arrays of the same length", "line"),
}


@pytest.mark.parametrize("name", INSIDE)
def test_records_inside_one_object_are_told_with_what_reads_them(name):
    value, where, how = INSIDE[name]
    advice = about_inside(json.dumps(value))
    assert (advice.startswith(OBJECT), where in advice, how in advice) == (True, True, True)
    assert about_inside(json.dumps(value, indent=2)) == advice
    assert about_inside(json.dumps(value) + "\n" + json.dumps(value)) is None


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1, "b": "x"},
        {"a": [1, 2], "b": [{"x": 1}]},
        {"a": [1, 2], "b": [1]},
        {"a": {"b": 1}, "c": {"d": 1}},
        {"type": "Feature", "geometry": {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}},
        {"a": {"b": {"c": {"d": [{}, {}]}}}},
        {},
        7,
    ],
)
def test_records_that_are_objects_are_no_news(value):
    assert about_inside(json.dumps(value)) is None


@pytest.mark.parametrize("length", range(60, 400, 17))
def test_records_are_told_whose_end_is_not_seen(length):
    rows = json.dumps({"meta": {"x": [{"n": 1}]}, 'q"]': 1, "rows": [{"a": i, "b": [1]} for i in range(100)]})
    ids = json.dumps({f"id{i}": {"a": i, "b": 2} for i in range(100)})
    assert "begins with one JSON object around the array 'rows'" in about_inside(rows[:length])
    assert "are objects with the same names" in about_inside(ids[:length])


def test_arrays_in_lines_are_told():
    assert "in each line" in about_inside("[1, 2]\n[3]\n")
    assert "in each line" in about_inside('[{"a": 1}]\r\n[{"a": 2}]\r\n[{"a"')
    assert about_inside('[1, 2]\n{"a": 1}\n') is None
    assert about_inside("[1, 2]\n") is None
    assert about_inside("[[1, 2],\n[3]]\n") is None


def test_deep_brackets_are_nothing():
    assert about_inside('{"a":' * 99_999) is None
    assert about_inside('{"a": 1, "b":' + "[" * 99_999 + "]" * 99_999 + "}") is None
