"""JSON through whole scans: every layout and block size, modes, damage, and schemas that are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.generated_json import JSON_SCHEMA, JsonLayout, generated_json_batch, write_generated_json

import splitscan as ss
from splitscan.blocks import Reject
from splitscan.errors import RecordError, SchemaError, UsageError
from splitscan.formats.decoding.contract import format_ddl
from splitscan.testing.scan_laws import check_block_law, check_projection_law, cut_blocks

SCHEMA = "a int, b string, c array<struct<d: int>>, _corrupt_record string"
META = {"metadata_columns": ["record_offset", "record_length"]}
ROWS = [
    {"a": 7, "b": '"abc'},
    {"a": 1, "b": "}]{[,"},
    {"b": 'quote " and \\ backslash \\"', "c": [{"d": 1}, {}]},
    {},
    {"a": -1, "b": "", "x": [[{"y": {}}]], "c": []},
    {"b": "é☃\n\t", "a": None},
]
LAYOUTS = {
    "lines": "\n".join(json.dumps(row) for row in ROWS),
    "lines with gaps": "\n\n" + " \r\n\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS) + "\n \n",
    "concatenated": "".join(json.dumps(row) for row in ROWS),
    "pretty": "\n".join(json.dumps(row, indent=2) for row in ROWS),
    "flush left": "\n".join(json.dumps(row, indent=0) for row in ROWS),
    "array in one line": json.dumps(ROWS),
    "pretty array": "\ufeff" + json.dumps(ROWS, indent="\t") + "\n",
    "array of lines": "[\n" + ",\n".join(json.dumps(row) for row in ROWS) + "\n]\n",
    "aggregated": " [" + ", \n ".join(json.dumps(row) for row in ROWS) + "]",
}
DAMAGED = {
    "cut line": '{"a":1}\n{"a":2, "c":[{"d"\n{"a":3}\n',
    "open string": '{"a":1}\n{"b":"x}\n{"a":3}\n{"b": "\\""}\n',
    "open string in an array": '[\n {"a":1},\n {"b":"x},\n {"a":3}\n]',
    "truncated": json.dumps(ROWS, indent=1)[:-60],
    "never closed": '[{"a":1},\n {"a":{"x":[2},\n {"a":3},\n {"a":4}\n ',
    "garbage": '[{"a":1}, 5, "x", null,, nonsense { "a":2 } ] {"a":3}] tail "',
    "backslashes": '{"b":"\\\\\\\\"}\\"{"a":1}\\\\"{"b":"\\\\\\""}',
    "stray closers": '}{"a":1}]]}\n{"a":2}}',
    "bad values": '[{"a":"x"},{"a":1,"c":[{"d":"y"}]},[{"a":7}],{"b":{"x": 1}}]',
}


def write(folder: Path, text: str | bytes, name: str = "a.json") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def read(path: str, schema: str | None = SCHEMA, **options: Any) -> tuple[list[dict[str, Any]], list[Reject]]:
    rejects: list[Reject] = []
    scan = ss.scan_json(path, schema, **options)
    return [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()], rejects


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_the_same_rows_for_every_block_size(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, LAYOUTS[name])
    scan = ss.scan_json(path, "a int, b string, c array<struct<d: int>>", multi_line=True, read_bytes=16)
    expected = [
        {"a": row.get("a"), "b": row.get("b"), "c": row.get("c") and [{"d": e.get("d")} for e in row["c"]]}
        for row in ROWS
    ]
    assert scan.to_arrow().to_pylist() == expected
    sizes = [1, 2, 3, 5, 8, 13, 16, 31, 64, 100]
    scan = ss.scan_json(path, SCHEMA, multi_line=True, read_bytes=64, **META)
    assert check_block_law(scan, sizes) == len(ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("max_record_bytes", [32, 1 << 20])
def test_damage_is_the_same_for_every_block_size(tmp_path: Path, name: str, max_record_bytes: int) -> None:
    path = write(tmp_path, DAMAGED[name])
    options = {"multi_line": True, "read_bytes": 32, "max_record_bytes": max_record_bytes, **META}
    scan = ss.scan_json(path, SCHEMA, **options)
    check_block_law(scan, [1, 2, 3, 4, 7, 11, 25, 50])
    check_block_law(ss.scan_json(path, SCHEMA, mode="DROPMALFORMED", **options), [1, 7])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lines", "lines with gaps"])
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "UTF-32LE"])
def test_lines_give_the_same_rows_for_every_block_size(tmp_path: Path, name: str, encoding: str) -> None:
    path = write(tmp_path, LAYOUTS[name].encode(encoding.lower()))
    scan = ss.scan_json(path, SCHEMA, encoding=encoding, read_bytes=64, **META)
    assert check_block_law(scan, [1, 2, 3, 5, 8, 13, 21, 34, 55]) == len(ROWS)


@pytest.mark.slow
def test_the_number_of_rows_never_depends_on_the_projection(tmp_path: Path) -> None:
    for name, text in DAMAGED.items():
        for mode in ("PERMISSIVE", "DROPMALFORMED"):
            scan = ss.scan_json(write(tmp_path, text, f"{name}.json"), SCHEMA, multi_line=True, mode=mode)
            assert check_projection_law(scan) > 4


def test_of_a_truncated_array_all_but_the_last_record_are_read(tmp_path: Path) -> None:
    rows = [{"a": i, "c": [{"d": 1}, {"d": 2}]} for i in range(5)]
    for indent in (None, 1, 2):
        text = json.dumps(rows, indent=indent)
        text = text[: text.rindex('"d"')]
        found, rejects = read(write(tmp_path, text), multi_line=True)
        assert [row["a"] for row in found] == [0, 1, 2, 3, None]
        assert [reject.code for reject in rejects] == ["unfinished-record"]
        assert found[4]["_corrupt_record"] == text[rejects[0].offset :]
        assert rejects[0].offset + rejects[0].length_bytes == len(text)
        assert rejects[0].reason == "a bracket is opened and never closed"
        assert rejects[0].delivered


def test_a_record_that_is_too_long_costs_only_itself(tmp_path: Path) -> None:
    rows = [{"a": i, "b": "x" * (500 if i == 2 else 5)} for i in range(5)]
    for text in (",\n".join(json.dumps(row) for row in rows), json.dumps(rows, indent=2)):
        found, rejects = read(write(tmp_path, text), multi_line=True, max_record_bytes=100, read_bytes=64)
        assert [row["a"] for row in found] == [0, 1, None, 3, 4]
        assert found[2]["_corrupt_record"] == text[text.rindex("{", 0, text.index("xxxxxx")) :][:100]
        assert [reject.code for reject in rejects] == ["record-too-long"]


def test_modes_decide_about_broken_records_and_not_about_values(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a":"x"}\n{"a":1\n[2]\n{"a":3}\n')
    found, rejects = read(path)
    assert [(row["a"], row["_corrupt_record"]) for row in found] == [
        (None, '{"a":"x"}'), (None, '{"a":1'), (None, "[2]"), (3, None),
    ]  # fmt: skip
    assert [reject.code for reject in rejects] == ["bad-value", "bad-json", "not-an-object"]
    assert [row["a"] for row in read(path, mode="DROPMALFORMED")[0]] == [None, 3]
    with pytest.raises(RecordError, match="""column 'a': '"x"' is no int""") as caught:
        read(path, mode="FAILFAST")
    assert f"{path}, byte 0, " in str(caught.value)
    with pytest.raises(RecordError, match="the record is no JSON value"):
        ss.scan_json(path, SCHEMA, mode="FAILFAST").select("b").count()


def test_a_file_is_cut_into_blocks_that_know_their_first_record(tmp_path: Path) -> None:
    text = json.dumps([{"a": i, "b": "}{"} for i in range(100)], indent=1)
    scan = ss.scan_json(write(tmp_path, text), "a int", multi_line=True)
    blocks = cut_blocks(scan, 200)
    starts = [block.first_record_start for block in blocks]
    records = [i for i in range(len(text)) if text.startswith('{\n  "a"', i)]
    expected = [min((r for r in records if r >= block.start), default=len(text)) for block in blocks[1:]]
    assert starts[1:] == expected


# ------------------------------------------------------------------ schemas


def schema_of(folder: Path, *texts: str, **options: Any) -> str:
    folder.mkdir(exist_ok=True)
    for index, text in enumerate(texts):
        write(folder, text, f"{index}.json")
    return format_ddl(ss.scan_json(str(folder), **options).schema)


def test_columns_are_the_union_of_fields_in_order_of_appearance(tmp_path: Path) -> None:
    texts = ('{"b":1,"a":"x"}\n{"c":true,"a":null}', '{"d":{"y":1,"x":[1]},"b":2}\n{"d":{"z":"s","x":[2.5,null]}}')
    expected = "b bigint, a string, c boolean, d struct<y: bigint, x: array<double>, z: string>"
    assert schema_of(tmp_path / "lines", *texts) == expected
    assert schema_of(tmp_path / "arrays", *(f"[{t}]" for t in texts), multi_line=True) == expected


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2"], "bigint"),
        (["1", "1.5"], "double"),
        (["9223372036854775807"], "bigint"),
        (["9223372036854775808"], "decimal(19,0)"),
        (["1", "9223372036854775808"], "decimal(20,0)"),
        (["1.5", "9223372036854775808"], "string"),
        (["1.5", "9007199254740993"], "string"),
        (["1.5", "123456789012345"], "double"),
        (["12345678901234567.89"], "string"),
        (["1e-400"], "string"),
        (["1" * 39], "string"),
        (["1e2"], "double"),
        (["NaN"], "double"),
        (["true", "null"], "boolean"),
        (["true", "1"], "string"),
        (['"2020-01-02"'], "string"),
        (["null"], "string"),
        (["[]"], "array<string>"),
        (["[null]", "[1]"], "array<bigint>"),
        (["[1]", '["x"]'], "array<string>"),
        (["[1]", "1"], "string"),
        (['{"x":1}', "1"], "string"),
        (['{"x":{}}', '{"x":null}'], "struct<x: string>"),
        (["{}", "null"], "string"),
        (["[" * 200 + "1" + "]" * 200], "array<" * 50 + "string" + ">" * 50),
    ],
)
def test_types_hold_all_values_that_were_seen(tmp_path: Path, values: list[str], kind: str) -> None:
    assert schema_of(tmp_path / "a", *(f'{{"a":{value}}}' for value in values)) == f"a {kind}"
    assert schema_of(tmp_path / "b", *(f'{{"a":{value}}}' for value in reversed(values))) == f"a {kind}"


def test_options_of_inference(tmp_path: Path) -> None:
    text = '{"i":1,"j":1.50,"k":true,"l":null,"m":[null],"n":{"o":null},"p":0.001}'
    assert schema_of(tmp_path / "a", text, primitives_as_string=True, drop_field_if_all_null=True) == (
        "i string, j string, k string, p string"
    )
    assert schema_of(tmp_path / "b", text, prefers_decimal=True).startswith("i bigint, j decimal(3,2), k boolean")
    assert schema_of(tmp_path / "c", text, prefers_decimal=True).endswith("p decimal(3,3)")


def test_broken_records_in_the_sample_add_the_corrupt_column(tmp_path: Path) -> None:
    assert schema_of(tmp_path / "a", '{"a":1}\nbad\n{"b":2}') == "a bigint, b bigint, _corrupt_record string"
    assert schema_of(tmp_path / "b", '{"a":1}\n[1]', mode="DROPMALFORMED") == "a bigint"
    assert schema_of(tmp_path / "c", '{"_corrupt_record":1}\n[1]\n{"a":1}') == "a bigint, _corrupt_record string"


def test_without_any_field_there_is_no_schema(tmp_path: Path) -> None:
    for text in ("", "{}", "[1]"):
        rule = "no record shows a column" if text else "no file has a record to take the columns from"
        with pytest.raises(SchemaError, match=rule):
            _ = ss.scan_json(write(tmp_path, text)).schema


def test_fields_that_differ_in_case_only_are_not_guessed(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a":1}\n{"A":2}')
    with pytest.raises(SchemaError, match="fields that differ in case only") as caught:
        _ = ss.scan_json(path).schema
    assert caught.value.seen == "'a' and 'A'"
    assert read(path, "A int")[0] == [{"A": None}, {"A": 2}]


# ------------------------------------------------------------------ options


@pytest.mark.parametrize("name", ["allowComments", "inferTimestamp", "explodeEmbeddedArray"])
def test_options_that_cannot_be_honoured_are_refused(name: str) -> None:
    assert ss.scan("x", "json", **{name: "false"})
    with pytest.raises(UsageError, match=f"option {name} takes only false") as caught:
        ss.scan("x", "json", **{name: True})
    assert caught.value.reason_code == "bad-option"


def test_a_delimiter_of_lines_and_values_over_lines_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="multiLine and lineSep contradict each other") as caught:
        ss.scan("x", "json", multiLine=True, lineSep="\n")
    assert caught.value.seen == "multiLine=true, lineSep='\\n'"


def test_wide_encodings_are_for_lines(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="in UTF-8 and in encodings that extend ASCII"):
        ss.scan_json(write(tmp_path, "{}"), "a int", multi_line=True, encoding="UTF-16").to_arrow()


def test_a_delimiter_of_any_length_divides_lines(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a":1}||||{"a":\n2}|| ||{"a":3}')
    assert [row["a"] for row in read(path, "a int", line_sep="||")[0]] == [1, 2, 3]
    assert check_block_law(ss.scan_json(path, "a int", line_sep="||"), [1, 2, 3, 7]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("layout", JsonLayout)
def test_generated_records_are_known_whatever_the_block_size(tmp_path: Path, layout: JsonLayout) -> None:
    path = tmp_path / "generated"
    records = write_generated_json(path, 4000, layout, chunk_records=20)
    is_document = layout is JsonLayout.DOCUMENT
    options = {"record_path": "$.data[*]"} if is_document else {"multi_line": layout is JsonLayout.ARRAY}
    scan = ss.scan_json(str(path), JSON_SCHEMA, **options, read_bytes=700)
    assert scan.to_arrow().to_pylist() == generated_json_batch(0, records).to_pylist()
    assert check_block_law(scan, (17, 63, 64, 65, 127, 300, 1000, 5000)) == records


# ----------------------------------------------------------- names and members


def test_names_are_as_they_are_written(tmp_path: Path) -> None:  # parity 108
    path = write(tmp_path, '{" a ": 1, "": 2, " ": 3, "A": 4, "b.c": 5}\n{}\n{"A": 6}\n')
    scan = ss.scan_json(path)
    assert scan.schema.names == [" a ", "", " ", "A", "b.c"]
    assert [tuple(row.values()) for row in scan.to_arrow().to_pylist()] == [
        (1, 2, 3, 4, 5), (None,) * 5, (None, None, None, 6, None),
    ]  # fmt: skip
    assert [row["b.c"] for row in scan.select("b.c", "a").to_arrow().to_pylist()] == [5, None, None]
    assert read(path, "a int")[0] == [{"a": None}] * 3  # another name, and matched exactly
    assert ss.scan_json(write(tmp_path, "{}\n{}\n{}\n"), "a int").count() == 3


def test_null_members_of_arrays_stay_where_they_are(tmp_path: Path) -> None:  # parity 109
    path = write(tmp_path, '{"l": [null, {"x": 1, "y": "bad"}, {}], "o": "bad"}\n{"l": null}\n{"l": [null]}\n')
    scan = ss.scan_json(path, "l array<struct<x: int, y: int>>, o int")
    rejects: list[Reject] = []
    rows = [row for batch in scan.select("l.x").to_batches(rejects.append) for row in batch.to_pylist()]
    assert rows == [{"l": [None, {"x": 1}, {"x": None}]}, {"l": None}, {"l": [None]}]
    assert rejects == []  # l.y and o hold texts, and nobody asked for them


@pytest.mark.parametrize(
    ("text", "multi_line", "rows", "codes"),
    [
        ("", False, 0, []), ("", True, 0, []), ("[]", True, 0, []), (" \n ", True, 0, []), ("{}\n{}\n{}", False, 3, []),
        ("{}{}{}", True, 3, []), ('[{"a":1},{"a":2}]', True, 2, []), ('[{"a":1},{"a":2}]', False, 1, ["not-an-object"]),
        ('{"a":1', False, 1, ["bad-json"]), ('{"a":\n{"a":2}', False, 2, ["bad-json"]),
        ('{"b":"x\n{"a":2}', False, 2, ["bad-json"]), ('{"a":[1\n{"a":2}', False, 2, ["bad-json"]),
        ('{"a":1', True, 0, ["unfinished-record"]), ('[{"a":1},{"a":[2', True, 1, ["unfinished-record"]),
    ],
)  # fmt: skip
def test_files_of_few_values_and_values_without_end(  # parity 108, 110
    tmp_path: Path, text: str, multi_line: bool, rows: int, codes: list[str]
) -> None:
    path = write(tmp_path, text)
    found, rejects = read(path, "a int, b string", multi_line=multi_line)
    assert (len(found), [reject.code for reject in rejects]) == (rows, codes)
    assert ss.scan_json(path, "a int", multi_line=multi_line).count() == rows
    kept = rows - sum(reject.delivered for reject in rejects)
    assert len(read(path, "a int, b string", multi_line=multi_line, mode="DROPMALFORMED")[0]) == kept
    if codes:
        with pytest.raises(RecordError, match=codes[0]):
            read(path, "a int", multi_line=multi_line, mode="FAILFAST")


def test_arrays_of_every_kind_of_value(tmp_path: Path) -> None:  # parity 111, 112
    text = (
        '{"b":[true,null],"i":[1,2],"d":[1.5,2],"s":["x",null],"n":[null],"e":[],"m":[{"x":[[1],[]]}],"z":[[["q"]]]}\n'
    )
    scan = ss.scan_json(write(tmp_path, text))
    assert format_ddl(scan.schema) == (
        "b array<boolean>, i array<bigint>, d array<double>, s array<string>, n array<string>, e array<string>, "
        "m array<struct<x: array<array<bigint>>>>, z array<array<array<string>>>"
    )
    assert scan.to_arrow().to_pylist() == [
        {"b": [True, None], "i": [1, 2], "d": [1.5, 2.0], "s": ["x", None], "n": [None], "e": [],
         "m": [{"x": [[1], []]}], "z": [[["q"]]]}
    ]  # fmt: skip


def test_an_empty_file_among_others_has_no_rows(tmp_path: Path) -> None:  # parity 113
    for name, text in (("0.json", ""), ("1.json", '{"a":1}\n'), ("2.json", "\n\n")):
        write(tmp_path, text, name)
    scan = ss.scan_json(str(tmp_path))
    assert (scan.schema.names, scan.to_arrow().to_pylist()) == (["a"], [{"a": 1}])
