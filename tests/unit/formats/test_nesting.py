"""Values that are nested deeper than a column can be: text from there on, in every format, by both engines."""

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import SchemaError
from splitscan.formats.decoding.contract import MOST_LEVELS


def levels(kind):
    """How many structs and arrays are inside each other, and the type in the innermost."""
    count = 0
    while kind.num_fields:
        kind, count = kind.field(0).type, count + 1
    return count, str(kind)


def objects(depth):
    return '{"a": ' * depth + "1" + "}" * depth


def arrays(depth):
    return '{"a": ' + "[" * depth + "1" + "]" * depth + "}"


def both(depth):
    text = "1"
    for number in range(depth):
        text = f"[{text}]" if number % 2 else f'{{"a": {text}}}'
    return f'{{"a": {text}}}'


DEPTHS = [1, MOST_LEVELS, MOST_LEVELS + 1, 63, 64, 101, 1000]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("write", "own"), [(objects, 1), (arrays, 0), (both, 0)])
def test_one_deep_record_of_json_costs_no_other(tmp_path, engine, depth, write, own):
    (tmp_path / "a.json").write_text(f'{{"b": 1}}\n{write(depth)}\n{{"b": 2}}\n')
    table = ss.scan_json(tmp_path / "a.json").to_arrow()
    assert table["b"].to_pylist() == [1, None, 2]
    found, inner = levels(table.schema.field("a").type)
    deep = depth - own > MOST_LEVELS
    assert (found, inner) == (MOST_LEVELS if deep else depth - own, "string" if deep else "int64")
    if deep:
        value = table["a"][1]
        for _ in range(MOST_LEVELS):
            value = value["a"] if hasattr(value, "keys") else value.values[0]
        assert value.as_py() in write(depth)
        assert value.as_py().count("1") == 1


@pytest.mark.parametrize("options", [{}, {"multiLine": True}, {"rescuedDataColumn": "_r"}, {"schema": "b long"}])
def test_no_depth_fails_a_scan(tmp_path, options):
    (tmp_path / "a.json").write_text(f'{{"b": 1}}\n{arrays(100_000)}\n{{"b": 2}}\n')
    scan = ss.scan_json(tmp_path / "a.json", **options)
    assert scan.to_arrow()["b"].to_pylist() == [1, None, 2]
    assert scan.count() == 3


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("twice", [False, True], ids=["elements", "repeated elements"])
def test_one_deep_record_of_xml_costs_no_other(tmp_path, depth, twice):
    deep = "<a>" * depth + "1" + ("</a><a/>" if twice else "</a>") * (depth - 1) + "</a>"
    (tmp_path / "a.xml").write_text(f"<rows><r><b>1</b></r><r>{deep}</r><r><b>2</b></r></rows>")
    table = ss.scan_xml(tmp_path / "a.xml", "r").to_arrow()
    assert table["b"].to_pylist() == [1, None, 2]
    assert levels(table.schema.field("a").type)[0] <= MOST_LEVELS
    assert table["a"][1].is_valid


def test_a_deep_column_that_appears_late_is_named_in_its_bound(tmp_path, caplog):
    (tmp_path / "a.json").write_text('{"b": 1}\n' * 20 + arrays(100) + "\n")
    assert ss.scan_json(tmp_path / "a.json", sampleBytes=64).to_arrow().num_rows == 21
    (message,) = [record.getMessage() for record in caplog.records]
    assert "a " + "array<" * MOST_LEVELS + "string" + ">" * MOST_LEVELS in message


@pytest.mark.parametrize("depth", [MOST_LEVELS, MOST_LEVELS + 1, 100])
def test_a_schema_is_bound_to_as_many_levels(tmp_path, depth):
    (tmp_path / "a.json").write_text(arrays(depth))
    schema = "a " + "array<" * depth + "int" + ">" * depth
    if depth <= MOST_LEVELS:
        table = ss.scan_json(tmp_path / "a.json", schema).to_arrow()
        assert levels(table.schema.field("a").type) == (depth, "int32")
        return
    with pytest.raises(SchemaError, match="at most 50 structs, arrays and maps inside each other"):
        ss.scan_json(tmp_path / "a.json", schema)
    kind = pa.int32()
    for _ in range(depth):
        kind = pa.list_(kind)
    with pytest.raises(SchemaError, match=rf"at most 50 structs, arrays and maps.*\n.*\n.*{depth} of"):
        ss.scan_json(tmp_path / "a.json", pa.schema([("a", kind)])).to_arrow()
