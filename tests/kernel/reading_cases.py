"""Whole files, read through the doors by the kernel's loop and by the reference's, at any cut: both give the same."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.kernel import cobol_cases, csv_cases, fixed_width_cases, json_cases, lines_cases, value_cases, xml_cases
from tests.kernel.two_loops import both

import splitscan as ss
from splitscan.errors import SplitscanError
from splitscan.formats.decoding.contract import VARIANT, is_variant
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.json.decoder import JsonDecoder
from splitscan.options import BlankAs
from splitscan.reading.block_documents import scan_document

VALUES = 200  # of a case of values
_MODES = ["PERMISSIVE", "PERMISSIVE", "PERMISSIVE", "DROPMALFORMED", "FAILFAST"]
_ENCODINGS = (
    "UTF-8", "UTF-8", "UTF-8", "ISO-8859-15", "windows-1252", "windows-1254", "UTF-16LE", "UTF-16BE", "UTF-32LE",
    "UTF-32BE",
)  # fmt: skip
_KINDS = [
    pa.string(), pa.string(), pa.string(), pa.binary(), pa.bool_(), pa.int8(), pa.int32(), pa.int64(), pa.float64(),
    pa.decimal128(9, 2), pa.date32(), pa.time64("us"), pa.timestamp("us"), pa.timestamp("us", "UTC"),
]  # fmt: skip


@cache
def _home() -> tempfile.TemporaryDirectory[str]:
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)


def check_reading(
    draw: random.Random, format: str, data: bytes, schema: pa.Schema | None, most_blocks: int = 4, **options: Any
) -> Counter[str]:
    """Read a file by both loops; how often which situation was met, and ``kernel`` if the kernel reads such a scan."""
    path = Path(_home().name, f"f{draw.getrandbits(64):x}.dat")
    path.write_bytes(data)
    given = {name: value for name, value in options.items() if value is not None}
    if schema is not None:
        given["schema"] = schema
    block_bytes = max(1, len(data) // draw.randint(1, most_blocks))
    try:
        scan = ss.scan(
            str(path), format=format, blockBytes=block_bytes, metadataColumns="record_offset,record_length", **given
        )
        blocks, spec = list(scan.plan()), scan.spec
        if scan_document(spec) is None:
            return Counter(python=1)
        met = Counter(kernel=1)
        for block in blocks:
            met.update(_met(both(spec, block)))
    except SplitscanError as error:
        return Counter({"refused": 1, f"refused: {error.reason_code}": 1})
    except AssertionError as error:
        raise AssertionError(f"{error}\n{format} {given}\n{data!r}") from error
    finally:
        path.unlink()
    met["wide"] += not data.isascii()
    return met


def _met(answer: Any) -> Counter[str]:
    if not isinstance(answer[0], list):
        return Counter(failed=1)
    rows, _, rejects = answer
    met = Counter(reject.code for reject in rejects)
    met["cut-off block"] = sum("more bytes follow" in reject.reason for reject in rejects)
    met.update(records=len(rows), rescued=sum(row.get("_rescued") is not None for row in rows))
    return met


def _common(draw: random.Random) -> dict[str, Any]:
    are_small = draw.random() < 0.3  # limits that are met together, and often
    return {
        "mode": draw.choice(_MODES),
        "rescuedDataColumn": draw.choice([None, None, "_rescued"]),
        "rejectReasonColumn": draw.choice([None, None, "why"]),
        "maxRecordBytes": draw.randint(1, 16) if are_small else draw.choice([100_000, 100_000, draw.randint(1, 60)]),
        "readBytes": draw.randint(1, 60) if are_small else draw.choice([1 << 20, 1 << 20, draw.randint(1, 100)]),
        "batchRows": draw.choice([10_000, draw.randint(1, 4)]),
    }


def check_csv(seed: int) -> Counter[str]:
    """CSV of any dialect, fields as columns, as one array, or as one variant."""
    draw = random.Random(seed)
    dialect = csv_cases.random_dialect(draw, _ENCODINGS)
    if draw.random() < 0.5:
        data = csv_cases.mixed_data(draw, dialect)
    else:
        data = csv_cases.random_data(draw, dialect, draw.choice([4, 12, 12, 60]))
    names = ["a", 'b"', "c\n", "é"][: draw.randint(1, 4)]
    schema = pa.schema([(name, draw.choice(_KINDS)) for name in names])
    options = _common(draw) | {"header": False}
    if draw.random() < 0.2:
        schema = pa.schema([("v", VARIANT)])
        options.update(
            rescuedDataColumn=None, singleVariantColumn="v", header=draw.random() < 0.5,
            maxColumns=draw.choice([None, None, draw.randint(1, 6)]), **_variants(draw),
        )  # fmt: skip
    elif draw.random() < 0.2:
        schema = pa.schema([("columns", pa.list_(pa.string()))])
        options.update(rescuedDataColumn=None, maxColumns=draw.randint(1, 6))
    else:
        if draw.random() < 0.3:
            kinds = [draw.choice([VARIANT, *schema.types]) for _ in names]
            schema = pa.schema(list(zip(names, kinds, strict=True)))
            options.update(_variants(draw))
        plain = [field.name for field in schema if not is_variant(field.type)]
        blanks = {name: {"blankAs": draw.choice(list(BlankAs)).value} for name in plain if draw.random() < 0.1}
        options["columnOptions"] = json.dumps(blanks) if blanks else None
    special = "\0" if dialect.escape_escape == "" else dialect.escape_escape
    return check_reading(
        draw, "csv", data, schema,
        encoding=dialect.encoding.name, sep=dialect.sep, quote=dialect.quote or "",
        escape=dialect.escape or "", charToEscapeQuoteEscaping=special,
        unescapedQuoteHandling="SKIP_VALUE" if dialect.skips_values else None, comment=dialect.comment,
        lineSep=dialect.line_sep, multiLine=dialect.multi_line,
        ignoreLeadingWhiteSpace=dialect.trim_leading, ignoreTrailingWhiteSpace=draw.random() < 0.3,
        nullValue=draw.choice(["", "", "", "a", "é", "12"]), emptyValue=draw.choice(["", "", "", "a", "empty", "\t"]),
        maxCharsPerColumn=draw.choice([None, None, None, 1, 3]), **options,
    )  # fmt: skip


def _variants(draw: random.Random) -> dict[str, Any]:
    return {
        "preferDate": draw.random() < 0.7, "dateFormat": draw.choice([None, None, "yyyy-M-d"]),
        "timeZone": draw.choice([None, "Europe/Paris"]), "locale": draw.choice([None, None, "de", "hi"]),
        "timestampFormat": draw.choice([None, None, "yyyy-MM-dd HH:mm:ss"]),
        "variantAllowDuplicateKeys": draw.random() < 0.5,
        "maxVariantBytes": draw.choice([None, None, draw.randint(1, 40)]),
    }  # fmt: skip


def _written(draw: random.Random, fields: tuple[pa.Field, ...]) -> str | None:
    times = [field.name for field in fields if pa.types.is_temporal(field.type) and draw.random() < 0.1]
    return json.dumps({name: {"format": "dd.MM.yyyy"} for name in times}) if times else None


def check_json(seed: int) -> Counter[str]:
    """JSON of any leniencies: lines, values and arrays."""
    draw = random.Random(seed)
    kind, decoder = draw.choice(["values", "array", "lines"]), json_cases.random_decoder(draw)
    data = json_cases.random_records(draw, kind, decoder.fields)
    if draw.random() < 0.2:  # a record is one variant
        corrupt = [pa.field("_corrupt_record", pa.string())] if draw.random() < 0.5 else []
        decoder = replace(decoder, fields=(pa.field("v", VARIANT), *corrupt), is_whole=True)
    return _check_json(draw, decoder, b"[" + data + b"]" if kind == "array" else data, multiLine=kind != "lines")


def check_json_below(seed: int) -> Counter[str]:
    """JSON below a path: documents with arrays, with something else at the path, and damaged ones."""
    draw = random.Random(seed)
    decoder = json_cases.random_decoder(draw)
    parts = []
    for _ in range(draw.randint(0, 4)):
        inner = b"[" + json_cases.random_records(draw, "array", decoder.fields).rstrip(b", \n") + b"]"
        value = draw.choice([inner, inner, inner, b"[]", b'{"a":[1]}', b"null", b"-7", b'"[{"'])
        name = draw.choice([b'"d"', b'"d"', b'"d"', b'"\\u0064"', b'"x"'])
        numbers = f'"m" : {{"d":[{{"x":"]"}}], "n":{draw.randint(0, 9)}}}'.encode()
        members = [name + b":" + value, numbers, b'"s":"\\"d\\":[{"']
        draw.shuffle(members)
        document = b"{" + b" , ".join(members[draw.randint(0, 1) :]) + b"}"
        if draw.random() < 0.3:
            document = b'{"p":[' + document + b",{}]}"
        parts += [document, draw.choice([b"\n", b"\n", b"", b" x "])]
    data = b"".join(parts)
    data = json_cases.mutated(draw, data) if draw.random() < 0.3 else data
    record_path = draw.choice(["$.d[*]", "$.d[*]", "$.p[*].d[*]"])
    around = record_path.removesuffix("d[*]")
    columns = draw.choice([None, f"{around}m.n as m_n int", f"{around}s as s_s, {around}m as m_m", "$.s as s_s"])
    return _check_json(draw, decoder, data, recordPath=record_path, recordPathColumns=columns)


def _check_json(draw: random.Random, decoder: JsonDecoder, data: bytes, **options: Any) -> Counter[str]:
    allowed = {
        name.split("_")[0] + "".join(map(str.title, name.split("_")[1:])): value
        for name, value in asdict(decoder.dialect).items()
    }
    common = _common(draw) | ({"singleVariantColumn": "v", "rescuedDataColumn": None} if decoder.is_whole else {})
    return check_reading(
        draw, "json", data, pa.schema(decoder.fields), timeZone=decoder.rules.time_zone, locale=decoder.rules.locale,
        columnOptions=_written(draw, decoder.fields), variantAllowDuplicateKeys=draw.random() < 0.5,
        maxVariantBytes=draw.choice([None, None, None, draw.randint(1, 40)]), **options,
        **allowed, **common,
    )  # fmt: skip


def check_xml(seed: int) -> Counter[str]:
    """XML with all that names and texts may be."""
    draw = random.Random(seed)
    decoder = xml_cases.random_decoder(draw)
    own, common, data = decoder.own, _common(draw), xml_cases.random_records(draw, decoder)
    if draw.random() < 0.3:  # a record is one variant
        corrupt = [pa.field("_corrupt_record", pa.string())] if draw.random() < 0.5 else []
        decoder = replace(decoder, fields=(pa.field("v", VARIANT), *corrupt))
        common |= {"singleVariantColumn": "v", "rescuedDataColumn": None}
    return check_reading(
        draw, "xml", data, pa.schema(decoder.fields), maxVariantBytes=draw.choice([None, None, draw.randint(1, 60)]),
        rowTag=own.row_tag, attributePrefix=own.attribute_prefix, valueTag=own.value_tag,
        excludeAttribute=own.exclude_attribute, ignoreNamespace=own.ignore_namespace,
        ignoreSurroundingSpaces=own.ignore_surrounding_spaces, nullValue=own.null_value,
        timeZone=decoder.rules.time_zone, locale=decoder.rules.locale, columnOptions=_written(draw, decoder.fields),
        **common,
    )  # fmt: skip


def check_width(seed: int) -> Counter[str]:
    """Columns at fixed places, of lines and of records of a fixed length."""
    draw = random.Random(seed)
    columns, options, data = fixed_width_cases.random_case(draw)
    rules = columns.cases[0].rules if columns.cases else Rules()
    return check_reading(
        draw, "fixed_width", data, pa.schema(columns.fields) if columns.fields else None,
        **options, **_rules(rules), **_common(draw),
    )  # fmt: skip


def check_cobol(seed: int) -> Counter[str]:
    """Records by a copybook."""
    draw = random.Random(seed)
    options, data, _ = cobol_cases.random_case(draw)
    return check_reading(
        draw, "cobol", cobol_cases.damaged(draw, data, options), None,
        stringTrimmingPolicy=draw.choice(["both", "both", "left", "right", "none"]),
        improvedNullDetection=draw.random() < 0.7, strictSignOverpunching=draw.random() < 0.7, **options,
        **_common(draw),
    )  # fmt: skip


def check_cobol_values(seed: int) -> Counter[str]:
    """Records by a copybook that are whole: their rows are those that they were made of."""
    options, data, rows = cobol_cases.random_case(random.Random(seed))
    path = Path(_home().name, f"v{seed}.dat")
    path.write_bytes(data)
    try:
        found = ss.scan(str(path), format="cobol", blockBytes=max(1, len(data) // 3), **options)
        assert found.to_arrow().to_pylist() == rows, options
        assert found.count() == len(rows)
    finally:
        path.unlink()
    return Counter(kernel=1, records=len(rows))


def check_text(seed: int) -> Counter[str]:
    """Lines in any encoding, with any delimiter."""
    draw = random.Random(seed)
    case = lines_cases.random_case(draw)
    options = {name: value for name, value in _common(draw).items() if not name.endswith("Column")}
    return check_reading(
        draw, "text", case.data, None,
        encoding=case.encoding, lineSep=case.delimiter, escape=case.escape, **options,
    )  # fmt: skip


def _rules(rules: Rules) -> dict[str, Any]:
    return {
        "dateFormat": rules.date_format, "timeFormat": rules.time_format, "timestampFormat": rules.timestamp_format,
        "timestampNTZFormat": rules.timestamp_ntz_format, "timeZone": rules.time_zone, "locale": rules.locale,
    }  # fmt: skip


def _value_options(case: value_cases.Case) -> dict[str, Any]:
    rules = case.rules
    exact = json.dumps({"c": {"exactNumbers": True}}) if rules.exact_numbers else None
    return {**_rules(rules), "columnOptions": exact}


def check_csv_values(seed: int) -> Counter[str]:
    """Many texts of one type, as fields of CSV, and as variants beside them."""
    draw = random.Random(seed)
    case = value_cases.random_case(draw)
    texts = value_cases.random_texts(draw, case, VALUES)
    fields = ["" if text is None else '"' + text.replace('"', '""') + '"' for text in texts]
    columns, prefers_dates = [("k", pa.string()), ("c", case.kind)], draw.random() < 0.5
    if draw.random() < 0.3:
        columns.append(("v", VARIANT))
    data = "".join("x" + f",{field}" * (len(columns) - 1) + "\n" for field in fields).encode()
    rules = case.rules
    named = {"nanValue": rules.nan_value, "positiveInf": rules.positive_inf, "negativeInf": rules.negative_inf}
    met = check_reading(
        draw, "csv", data, pa.schema(columns), 1, escape='"', multiLine=True, header=False, preferDate=prefers_dates,
        **named, **_value_options(case),
    )  # fmt: skip
    return met + _of_kind(case, met)


def check_json_values(seed: int) -> Counter[str]:
    """Numbers and strings of JSON."""
    draw = random.Random(seed)
    case = value_cases.random_case(draw)
    values = [
        json.dumps(text or "") if draw.random() < 0.6 else value_cases.json_number(draw)
        for text in value_cases.random_texts(draw, case, VALUES)
    ]
    data = "".join(f'{{"c":{value}}}\n' for value in values).encode()
    allows = draw.random() < 0.7
    schema = pa.schema([("c", case.kind)])
    met = check_reading(draw, "json", data, schema, 1, allowNonNumericNumbers=allows, **_value_options(case))
    return met + _of_kind(case, met)


def _of_kind(case: value_cases.Case, met: Counter[str]) -> Counter[str]:
    name = str(case.kind) + (" patterned" if case.rules.date_format is not None else "")
    return Counter({name: met["records"] - met["bad-value"], "zone": int("/" in case.rules.time_zone)})
