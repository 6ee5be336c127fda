"""The kernel projects a document as Python writes it for the projection: one law, of two that decide it."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.formats.decoding.ddl import as_schema
from splitscan.reading.block_documents import scan_document
from splitscan.reading.spec import ScanSpec, make_spec
from splitscan.scans.request import ReadRequest

splitscan_kernel = pytest.importorskip("splitscan_kernel")

_FLAT = "k int, v string NOT NULL, d date"
_NESTED = (
    "n bigint NOT NULL, "
    "s struct<a: int NOT NULL, b: struct<c: string, `d e`: array<struct<x: int, y: date NOT NULL>>>>, "
    "m map<string, int>, l array<struct<p: int, q: string>> NOT NULL"
)
_MEMBERS = ("s.a", "s.b", "s.b.c", "s.b.`d e`.y", "s.b.`d e`", "l.p", "l.q", "l[0].q", "n", "m", "s", "l")


def _spark_json(kind: pa.DataType) -> Any:
    """A type as Spark writes it in JSON, as far as the kernel looks at it."""
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": [{"name": f.name, "type": _spark_json(f.type)} for f in kind]}
    if pa.types.is_list(kind):
        return {"type": "array", "elementType": _spark_json(kind.value_type)}
    return str(kind)


def _spec(draw: st.DrawFn) -> tuple[ScanSpec, list[str]]:
    kind = draw(st.sampled_from(["csv", "json", "xml", "fixed_width", "log"]))
    options: dict[str, Any] = {"mode": draw(st.sampled_from(["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]))}
    options["metadata_columns"] = draw(st.sampled_from(["file_name", "record_offset,file_size", "record_length"]))
    if draw(st.booleans()):
        options["rescued_data_column"] = "rest"
    if draw(st.booleans()):
        options["reject_reason_column"] = "why"
    schema = _NESTED if kind in {"json", "xml"} else _FLAT
    if kind == "xml":
        options["row_tag"] = "r"
    if kind == "fixed_width":
        options["layout"] = "k 1 3 int, v 4 3, d 7 10 date"
    if kind == "log":
        options["record_pattern"] = r"(?P<k>\S+) (?P<v>\S+) (?P<d>\S+)"
    schema += draw(st.sampled_from(["", ", _corrupt_record string"]))
    spec = make_spec(ReadRequest.of(kind, None, options).options, as_schema(schema))
    return spec, [*spec.columns, *(_MEMBERS if schema.startswith(_NESTED) else ())]


@given(st.data())
def test_a_projected_document_is_that_of_the_projection(data: st.DataObject) -> None:
    spec, paths = data.draw(st.composite(_spec)())
    chosen = data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=5, unique=True))
    selected = spec.select(chosen)
    wanted = _spark_json(pa.struct(list(selected.schema)))
    whole, narrow = scan_document(spec), scan_document(selected)
    assert whole is not None
    assert narrow is not None
    expected = json.loads(narrow.text)
    expected["notices"] = expected["notices"] and selected.schema == spec.schema
    assert json.loads(splitscan_kernel.project_document(whole.text, json.dumps(wanted))) == expected
