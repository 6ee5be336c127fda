"""Scans of all kinds by the connector: rows, nulls and faults of every projection are those of Python's loop."""

import json
import random
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import splitscan as ss
from splitscan.errors import RecordError
from splitscan.spark.choice import why_python
from splitscan.spark.connector import connector_jar

from .samples import rows_of

pytestmark = pytest.mark.skipif(connector_jar() is None, reason="the connector was not built")

_MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
_NESTED = "n bigint, s struct<a: int, b: array<string>>, m map<string, int>, t timestamp, x array<struct<y: date>>"

Make = Callable[[Path, random.Random, dict[str, Any]], ss.Scan]


def _csv(folder: Path, chance: random.Random, options: dict[str, Any]) -> ss.Scan:
    value = ["1", "x", "", '"a\nb"', '"q""q"', "2024-02-30", "1.5", "é", "-7"]
    lines = [",".join(chance.choice(value) for _ in range(chance.choice([3, 3, 3, 3, 2, 4]))) for _ in range(30)]
    encoding = chance.choice(["UTF-8", "ISO-8859-1", "UTF-16"])
    (folder / "a.csv").write_text("k,v,d\n" + "\n".join(lines), encoding, newline="")
    schema = chance.choice(["k int, v string, d date", "d date, k int NOT NULL, v string"])
    schema += chance.choice(["", ", _corrupt_record string"])
    options["header_mapping"] = chance.choice(["byPosition", "byName"])
    options["enforce_schema"] = options["header_mapping"] == "byPosition"
    options["column_options"] = json.dumps({"k": {"default": "9"}})
    read = {"header": True, "multi_line": True, "escape": '"', "encoding": encoding}
    return ss.scan_csv(folder, schema, **read, **options)


def _json_value(chance: random.Random) -> Any:
    return chance.choice(
        [1, -5, 2**40, "a", "\u00e9\n", None, True, 1.5, [], [1, None], ["b", "c"], {}, {"a": 1, "b": ["x"]},
         {"a": "no"}, {"k": 3, "": 4}, "2024-01-01T00:00:00+02:00", "2024-06-01 Europe/Rome",
         [{"y": "2024-01-01"}, {"z": 1}]]
    )  # fmt: skip


def _json_records(chance: random.Random, records: int = 30) -> list[str]:
    names = ["n", "s", "m", "t", "x", "more"]
    whole = ({name: _json_value(chance) for name in names if chance.random() < 0.8} for _ in range(records))
    return [json.dumps(each) if chance.random() < 0.9 else "[1" * chance.randint(0, 1) + "{]" for each in whole]


def _json_lines(folder: Path, chance: random.Random, options: dict[str, Any]) -> ss.Scan:
    (folder / "a.json").write_text("\n".join(_json_records(chance)))
    return ss.scan_json(folder, _NESTED + chance.choice(["", ", _corrupt_record string"]), **options)


def _json_array(folder: Path, chance: random.Random, options: dict[str, Any]) -> ss.Scan:
    whole = [text for text in _json_records(chance) if not text.endswith("]")]
    (folder / "a.json").write_text("[" + ",\n".join(whole) + "]")
    return ss.scan_json(folder, _NESTED, multi_line=True, **options)


def _json_below(folder: Path, chance: random.Random, options: dict[str, Any]) -> ss.Scan:
    whole = [text for text in _json_records(chance) if not text.endswith("]")]
    half = len(whole) // 2
    parts = ['{"n": {"d": [1]}, "d": [' + ",\n".join(some) + '], "s": "]"}' for some in (whole[:half], whole[half:])]
    (folder / "a.json").write_text(parts[0] + '{"d": 5, "e": 1.5}{"d": null}' + parts[1] + '{"d": [{"k": 7}], "e": 2}')
    around = chance.choice([None, "$.e as e decimal(5,2), $.n as env", "$.s as s_s"])
    return ss.scan_json(folder, _NESTED, record_path="$.d[*]", record_path_columns=around, **options)


def _xml(folder: Path, chance: random.Random, options: dict[str, Any]) -> ss.Scan:
    part = [
        "<n>1</n>", "<n>x</n>", "<s a='1'><b>x</b><b>&lt;</b></s>", "<m><k>3</k></m>", "<x><y>1</y></x>", "<more/>",
        "<t>2024-01-01T00:00:00+02:00</t>", "<!-- <r> -->", "<![CDATA[<r>]]>", "é", "<n",
    ]  # fmt: skip
    rows = ["<r>" + "".join(chance.choices(part, k=chance.randint(0, 4))) + "</r>" for _ in range(30)]
    encoding = chance.choice(["UTF-8", "ISO-8859-1"])
    text = f"<?xml version='1.0' encoding='{encoding}'?><all>" + chance.choice(["", "\n"]).join(rows) + "</all>"
    (folder / "a.xml").write_text(text, encoding)
    return ss.scan_xml(folder, "r", _NESTED + chance.choice(["", ", _corrupt_record string"]), **options)


def _fixed_width(folder: Path, chance: random.Random, options: dict[str, Any]) -> ss.Scan:
    lines = ["".join(chance.choice("01 9xé") for _ in range(chance.choice([8, 8, 8, 3]))) for _ in range(30)]
    (folder / "a.txt").write_text("\n".join(lines))
    return ss.scan_fixed_width(folder, layout="k 1 3 int, v 4 3, w 7 2 int", **options)


def _log(folder: Path, chance: random.Random, options: dict[str, Any]) -> ss.Scan:
    lines = [
        chance.choice(["1 a 2024-01-01", "2 b x", "x c 2024-02-02", " at y", "", "3", "4 \u00e9 z"]) for _ in range(30)
    ]
    (folder / "a.log").write_text("\n".join(lines), newline="")
    pattern = r"(?P<k>\S)(?: (?P<v>\S+))?(?: (?P<d>\S+))?(?s:.*)"
    schema = chance.choice(["d date, k int", "v string, d date, k int", "k int, _corrupt_record string, v string"])
    return ss.scan_log(folder, schema, record_start=r"\d|x", record_pattern=pattern, **options)


def _cobol(folder: Path, chance: random.Random, options: dict[str, Any]) -> ss.Scan:
    book = "01 R. 05 N PIC 9. 05 T OCCURS 0 TO 2 DEPENDING ON N. 10 K PIC S9(3) COMP-3. 10 V PIC X. 05 D PIC 9V9 COMP."
    records = [bytes([0xF0 + chance.randint(0, 3), *chance.choices([0x12, 0x3C, 0xC1], k=6), 0, 9]) for _ in range(30)]
    if chance.random() < 0.5:
        options |= {"recfm": "V", "segment_field": "N", "redefine_segment_id_map": {}}
        records = [bytes([0, len(each) - cut, 0, 0]) + each[: len(each) - cut] for cut, each in enumerate(records[:5])]
    (folder / "a.dat").write_bytes(b"".join(records)[: chance.choice([270, 265])])
    schema = chance.choice([None, "t array<struct<V: string, K: bigint>>, d decimal(5,1), _corrupt_record string"])
    return ss.scan_cobol(folder, book, schema, truncate_comments=False, **options)


def _lines(folder: Path, chance: random.Random, options: dict[str, Any]) -> ss.Scan:
    for name in ("p=1", "p=2"):
        (folder / name).mkdir()
        (folder / name / "a.txt").write_text("".join(chance.choice("ab\n\ré") for _ in range(80)))
    return ss.scan_text(folder, **{"metadata_columns": "record_offset,record_length", **options})


def _fixed(folder: Path, chance: random.Random, options: dict[str, Any]) -> ss.Scan:
    (folder / "a.bin").write_bytes(chance.randbytes(chance.randint(0, 60)))
    return ss.scan(folder, "fixed", record_length=7, **options)


def _compress(folder: Path, chance: random.Random, wbits: int) -> None:
    """Compress the files: by gzip in a few members, or as zlib or bare deflate."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        data = path.read_bytes()
        cuts = [
            0,
            *sorted(chance.randrange(len(data) + 1) for _ in range(chance.randint(0, 2) * (wbits > 0))),
            len(data),
        ]
        members = (zlib.compress(data[start:stop], wbits=wbits) for start, stop in pairwise(cuts))
        path.with_name(path.name + (".gz" if wbits == 31 else ".deflate")).write_bytes(b"".join(members))
        path.unlink()


def _rows(read: Callable[[], list[Any]]) -> list[str] | str:
    """Rows as texts; or that a record broke a rule: which one is first depends on who reads at the same time."""
    try:
        return [repr(tuple(row)) for row in read()]
    except (RecordError, PySparkException) as error:
        assert "(mode=FAILFAST) [" in str(error).splitlines()[0]  # noqa: PT017 - of either
        return "failed"


@pytest.mark.parametrize(
    "make", [_csv, _json_lines, _json_array, _json_below, _xml, _fixed_width, _log, _cobol, _lines, _fixed]
)
@pytest.mark.parametrize(("seed", "wbits"), [(0, None), (1, None), (2, None), (3, 31), (4, 31), (5, 15), (6, -15)])
def test_every_projection_in_every_mode_has_the_rows_of_python(
    spark: SparkSession, tmp_path: Path, make: Make, seed: int, wbits: int | None
) -> None:
    chance = random.Random(f"{make.__name__}{seed}")
    metadata = chance.choice(["file_name", "dir0,file_size,file_modification_time", "record_offset,file_path"])
    for number, mode in enumerate(_MODES):
        folder = tmp_path / str(number)
        folder.mkdir()
        options: dict[str, Any] = {"mode": mode, "block_size": chance.choice([5, 40, 1000]), "open_cost_in_bytes": 0}
        options |= {"batch_rows": chance.choice([1, 65_536])}
        if make is not _lines:
            options["metadata_columns"] = metadata
        if make not in {_lines, _fixed} and chance.random() < 0.5:
            options["rescued_data_column"] = "rest"
        if make not in {_lines, _fixed} and chance.random() < 0.3:
            options["reject_reason_column"] = "why"
        scan = make(folder, chance, options)
        if wbits is not None:
            _compress(folder, chance, wbits)
        why = why_python(scan, spark)
        if make is _json_below and wbits is not None and why is not None:
            assert "compressed" in why
            assert "recordPathColumns" in repr(scan)
            continue
        assert why is None
        frame, names = scan.to_spark(spark), scan.schema.names
        assert "BatchScan splitscan" in frame._jdf.queryExecution().toString()
        expected = _rows(lambda scan=scan: rows_of(scan.to_arrow()))
        assert _rows(lambda frame=frame: rows_of(frame.toArrow())) == expected, mode
        for _ in range(3):
            some = sorted(chance.sample(names, chance.randint(1, len(names))), key=names.index)
            expected = _rows(lambda scan=scan, some=some: rows_of(scan.select(*some).to_arrow()))
            found = _rows(lambda frame=frame, some=some: rows_of(frame.select(*some).toArrow()))
            assert found == expected, (mode, some)
        assert _rows(lambda frame=frame: [(frame.count(),)]) == _rows(lambda scan=scan: [(scan.count(),)]), mode


def test_members_of_records_are_read_alone(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"s": {"a": 1, "b": ["x"]}, "x": [{"y": "2024-01-01"}]}\n{"s": {"a": "no"}}\n')
    frame = ss.scan_json(tmp_path, _NESTED).to_spark(spark)
    assert (
        frame.select("s.a", "x.y").collect()
        == ss.scan_json(tmp_path, _NESTED).to_spark(spark).select("s.a", "x.y").collect()
    )
    assert [row.a for row in frame.select("s.a").collect()] == [1, None]


def test_w3c_logs(spark: SparkSession, tmp_path: Path) -> None:
    fields, rows = "#Fields: date time sc-status\n", "2024-01-31 10:00:00 200\n2024-01-31 10:00:01 -\nx\n"
    path = tmp_path / "a.log"
    path.write_text((fields + rows) * 20)
    scan = ss.scan_log(str(path), log_format="w3c", block_bytes=100)
    assert why_python(scan, spark) is None
    found = [tuple(row) for row in scan.to_spark(spark).collect()]
    assert found == [tuple(row.values()) for row in scan.to_arrow().to_pylist()]
    assert len(found) == 60
    path.write_text((fields + rows) * 20 + fields.replace("date time", "time date") + rows)
    changed = ss.scan_log(str(path), log_format="w3c", block_bytes=100)
    with pytest.raises(RecordError, match=r"header-changed"):
        changed.to_spark(spark).collect()
