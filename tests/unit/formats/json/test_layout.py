"""Lines or values: the first bytes of a file of JSON decide."""

import json

import pytest

from splitscan.formats.json.layout import first_values, later_values

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
