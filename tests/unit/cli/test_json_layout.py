"""JSON on the command line: the first bytes decide between lines and values, and what contradicts them later stops."""

import gzip
import json

import pytest

ARRAY = "[" + ",".join(f'{{"a":{n},"p":"{"x" * 100}"}}' for n in range(700)) + "]"  # longer than a sample
LONG = json.dumps({"a": "y" * 100_000})


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="a.json"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return write_file


COUNTS = {
    "an array in one line": (ARRAY, 700),
    "an array after a mark": ("\ufeff" + ARRAY, 700),
    "an array over lines": (ARRAY.replace("},", "},\n"), 700),
    "an array over lines of Windows": (ARRAY.replace("},", "},\r\n"), 700),
    "an empty array": ("[]", 0),
    "an empty array in blanks": ("\n [ ]\n", 0),
    "an array whose first line has a comma only": ('[\n,\n{"a": 1},\n{"a": 2}]', 2),
    "an array of arrays": ("[[1],[2],[3]]", 3),
    "an object over lines": ('{\n"a": 1\n}\n{\n"a": 2\n}\n', 2),
    "objects in one line": ('{"a": 1}{"a": 2}', 2),
    "a long object and another in one line": (LONG + '{"a": 1}', 2),
    "a long object in one line": (LONG + "\n", 1),
    "lines": ('{"a": 1}\n{"a": 2}\n', 2),
    "lines in UTF-16": ('{"a": 1}\n{"a": 2}\n'.encode("utf-16"), 2),
    "lines in UTF-16 without a mark": ('{"a": 1}\n{"a": 2}\n'.encode("utf-16-le"), 2),
    "lines in UTF-32": ('{"a": 1}\n{"a": 2}\n'.encode("utf-32"), 2),
    "scalars": ("1\n2\n3\n", 3),
    "lines of which one is cut off": ('{"a": 1}\n{"a": "x\n{"a": 3}\n', 3),
    "a text sequence": ('\x1e{"a": 1}\n\x1e{"a": 2}\n', 2),
}


@pytest.mark.parametrize("case", COUNTS)
def test_each_layout_gives_its_number_of_records(run, write, case):
    content, records = COUNTS[case]
    assert run("count", write(content))[:2] == (0, f"{records}\n")


def test_a_compressed_array_is_an_array(run, write):
    assert run("count", write(gzip.compress(ARRAY.encode()), "a.json.gz"))[:2] == (0, "700\n")


def test_an_array_that_is_cut_off_loses_its_last_record_and_says_so(run, write, caplog):
    assert run("count", write(ARRAY[:-50]))[:2] == (0, "699\n")
    assert "1 record is no row" in caplog.text
    assert "[unfinished-record]" in caplog.text


def test_what_was_found_is_said_with_the_option_to_pin(run, write):
    path = write(ARRAY)
    assert run("count", path)[2] == "read with -o multiLine=true (found in samples); give it to pin it\n"
    assert run("count", path, "-o", "multiLine=true") == (0, "700\n", "")
    assert run("count", path, "-o", "multiLine=false") == (0, "1\n", "")


def test_an_array_in_utf_16_is_refused_for_values_are_not_read_in_it(run, write):
    code, said, error = run("count", write(ARRAY.encode("utf-16")))
    assert (code, said) == (2, "")
    assert "encoding=UTF-16, multiLine=true" in error
    assert "convert the file to UTF-8" in error


LATER = {
    "a value over lines": ('{"a": 1}\n{"b":\n2}\n', 3, 2),
    "two values in a line": ('{"a": 1}\n{"a": 2}{"a": 3}\n', 2, 3),
    "far behind the sample": ('{"a": 1}\n' * 20_000 + '{"b":\n2}\n' + '{"a": 1}\n' * 20_000, 40_002, 40_001),
    "arrays in lines": ("[1, 2]\n[3]\n", 2, 3),
}


@pytest.mark.parametrize("command", ["count", "stats", "convert"])
@pytest.mark.parametrize("case", LATER)
def test_a_contradiction_later_in_the_file_stops_with_both_counts(run, write, tmp_path, case, command):
    content, lines, values = LATER[case]
    path = write(content)
    written = [tmp_path / "out.jsonl"] if command == "convert" else []
    code, said, error = run(command, path, *written)
    assert (code, said) == (2, "")
    assert "[dialect-contradicted]" in error
    assert f"{lines:,} records with multiLine=false, {values:,} with multiLine=true" in error
    assert not (tmp_path / "out.jsonl").exists()
    for option, records in (("multiLine=false", lines), ("multiLine=true", values)):
        assert f" -o {option}" in error.replace("-o -o", "twice")
        assert run("count", path, "-o", option)[:2] == (0, f"{records}\n")
