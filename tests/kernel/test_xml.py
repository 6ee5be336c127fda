"""The native engine reads XML as the reference does, whatever the bytes and the cuts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings

pytest.importorskip("splitscan_kernel")

import numpy as np
import pyarrow as pa
import splitscan_kernel
from tests.counting import at_most_cpu_seconds
from tests.kernel import xml_framing, xml_inferring, xml_parsing
from tests.kernel.native_faults import native_faults

from splitscan.formats.xml.decoder import NotXmlError, parse_element

CASES = 15 * settings().max_examples  # fewer in make check
USUAL = {
    "attribute_prefix": "_",
    "value_tag": "_VALUE",
    "exclude_attribute": False,
    "ignore_namespace": False,
    "ignore_surrounding_spaces": True,
}
NO_LIMIT = 1 << 40


def test_framing_gives_what_the_reference_gives() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(xml_framing.check_case(seed))
    assert all(met[situation] for situation in ("records", "unfinished", "nested", "told", "wide")), met


def test_parsing_gives_what_the_exact_decoder_gives() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(xml_parsing.check_case(seed))
    situations = ("long", "invalid", "rescued", "bad-xml", "bad-value", "nested", "unfinished")
    assert all(met[situation] for situation in situations), met
    assert met["undecided"] * 100 < met["records"], "the reference reads few records: those with a zone by its name"


@pytest.mark.slow
def test_inference_finds_what_the_reference_finds_and_merges_in_any_order() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(xml_inferring.check_case(seed))
    kinds = ("decimal", "double", "int64", "bool", "list", "string", "null", "date32", "timestamp", "struct")
    assert all(met[situation] for situation in ("invalid", "broken", "records", *kinds)), met
    assert met["undecided"] * 10 < CASES, "the reference reads few records: those with a zone by its name"


@pytest.mark.slow
def test_names_have_the_letters_that_the_reference_allows() -> None:
    parser = splitscan_kernel.XmlParser(splitscan_kernel.Xml(b"r"), pa.schema([("a", pa.string())]), **USUAL)
    symbols = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x10400), 0x2F800, 0x10FFFF)]
    for write in ("<r><{}/></r>", "<r><a{}/></r>", "<r>{}</r>", "<r a='{}'/>"):
        records = [write.format(symbol) for symbol in symbols]
        data = "\n".join(records).encode()
        starts = [0]
        for record in records:
            starts.append(starts[-1] + len(record.encode()) + 1)
        places = np.array(starts, "<i8")
        framed = parser.parse_framed(data, places[:-1].tobytes(), (places[1:] - 1).tobytes())
        broken = {record for record, *_ in native_faults(framed)} | set(framed.undecided)
        wanted = {number for number, record in enumerate(records) if not is_element(record)}
        assert broken == wanted, sorted(map(symbols.__getitem__, broken ^ wanted))[:10]


def is_element(record: str) -> bool:
    """Whether the reference takes a record for one."""
    try:
        parse_element(record.encode())
    except NotXmlError:
        return False
    return True


def test_any_depth_and_any_number_of_parts_is_read() -> None:
    schema = pa.schema([("a", pa.string()), ("b", pa.list_(pa.int32())), ("m", pa.map_(pa.string(), pa.int32()))])
    parser = splitscan_kernel.XmlParser(splitscan_kernel.Xml(b"r"), schema, **USUAL, rescue=("}", True))
    deep = b"<e>" * 300_000 + b"</e>" * 300_000
    many = b"".join(b"<m%d>1</m%d>" % (number, number) for number in range(100_000))
    attributes = b"".join(b" a%d='1'" % number for number in range(100_000))
    data = b"<r%s><a>%s</a>%s<m>%s</m></r>" % (attributes, deep, b"<b>7</b>" * 300_000, many)
    with at_most_cpu_seconds(30):
        parsed = parser.parse(data, 0, len(data), len(data), True, NO_LIMIT, NO_LIMIT)
    batch = pa.record_batch(parsed.batch)
    assert [len(batch.column(number)[0].as_py()) for number in range(3)] == [len(deep), 300_000, 100_000]
    assert batch.column(3)[0].as_py().count("_a") == 100_000


def test_a_row_tag_has_a_name_and_few_letters() -> None:
    letters = "".join(map(chr, range(0x100, 0x100 + 128))).encode("utf-16-le")
    for name, width in ((b"", 1), (b"r", 3), (letters, 2)):
        with pytest.raises(splitscan_kernel.Unsupported, match="row tag"):
            splitscan_kernel.Xml(name, width, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        b"<r>",
        b"</r>",
        b"<r",
        b"<r a='",
        b'<r a="<r>',
        b"<!--",
        b"<![CDATA[",
        b"<?",
        b"<a '",
        b"</r ",
        b"<",
        b" ",
        b"&",
        b"&amp;",
        b"]",
        b"<a/>",
        b"<a b='1'/>",
    ],
)
def test_hostile_bytes_are_framed_in_linear_time(unit: bytes) -> None:
    """In seconds; in quadratic time it would be hours."""
    data = unit * (4_000_000 // len(unit))
    xml = splitscan_kernel.Xml(b"r")
    schema = pa.schema([("a", pa.int32()), ("b", pa.string())])
    parser = splitscan_kernel.XmlParser(xml, schema, **USUAL, rescue=("}", True))
    with at_most_cpu_seconds(10):
        for at_end in (True, False):
            xml.frame(data, 0, len(data), at_end)
        xml.count(data, 0, len(data), True)
        xml.open_starts(data, 0, len(data), 1000)
        xml.summarise(data, 0, len(data), b"x", b"", 0)
        parser.parse(data, 0, len(data), len(data), True, NO_LIMIT, NO_LIMIT)
        whole = b"<r>" + data + b"</r>"
        bounds = np.array([0, len(whole)], "<i8")
        parser.parse_framed(whole, bounds[:1].tobytes(), bounds[1:].tobytes())
