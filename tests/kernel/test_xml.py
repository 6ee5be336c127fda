"""The native engine reads XML as the reference does, whatever the bytes and the cuts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

pytest.importorskip("splitscan_kernel")

import splitscan_kernel
from tests.counting import at_most_cpu_seconds
from tests.kernel import xml_framing, xml_inferring
from tests.kernel.two_loops import both

import splitscan as ss
from splitscan.formats.xml.decoder import NotXmlError, parse_element

CASES = 15 * settings().max_examples  # fewer in make check


def test_framing_gives_what_the_reference_gives() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(xml_framing.check_case(seed))
    assert all(met[situation] for situation in ("records", "unfinished", "nested", "told", "passed", "wide")), met


@pytest.mark.slow
def test_inference_finds_what_the_reference_finds_and_merges_in_any_order() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(xml_inferring.check_case(seed))
    kinds = ("decimal", "double", "int64", "bool", "list", "string", "null", "date32", "timestamp", "struct")
    assert all(met[situation] for situation in ("invalid", "broken", "records", *kinds)), met
    assert met["undecided"] * 10 < CASES, "the reference reads few records: those with a zone by its name"


@pytest.mark.slow
def test_names_have_the_letters_that_the_reference_allows(tmp_path: Path) -> None:
    symbols = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x10400), 0x2F800, 0x10FFFF)]
    for write in ("<r><{}/></r>", "<r><a{}/></r>", "<r>{}</r>", "<r a='{}'/>"):
        records = [write.format(symbol) for symbol in symbols if symbol not in "<>'/!?"]
        starts = [0]
        for record in records:
            starts.append(starts[-1] + len(record.encode()) + 1)
        path = tmp_path / "letters.xml"
        path.write_bytes("\n".join(records).encode())
        broken = {reject["offset"] for reject in ss.scan_xml(path, "r", "a string").rejects().to_arrow().to_pylist()}
        wanted = {start for start, record in zip(starts, records, strict=False) if not is_element(record)}
        assert broken == wanted


TOKENS = ("<![CDATA[x]]>", "<!--x-->", "<?p x?>", "&amp;", "&#x41;", "<x a='1'>", "</x>", "]]>", "<!DOCTYPE r>")


def test_a_token_that_ends_anywhere_costs_its_record_alone(tmp_path: Path) -> None:
    path = tmp_path / "cut.xml"
    for token in TOKENS:
        for length in range(1, len(token)):
            path.write_text(f"<a><r>1</r><r >{token[:length]}</r><r>2</r></a>")
            scan = ss.scan_xml(path, "r", "_VALUE string", rejectReasonColumn="why")
            (block,) = scan.plan()
            both(scan.spec, block)
            rows = scan.to_arrow().to_pylist()
            assert rows[0] == {"_VALUE": "1", "why": None}, token[:length]


def is_element(record: str) -> bool:
    """Whether the reference takes a record for one."""
    try:
        parse_element(record.encode())
    except NotXmlError:
        return False
    return True


@pytest.mark.slow
def test_any_depth_and_any_number_of_parts_is_read(tmp_path: Path) -> None:
    deep = b"<e>" * 300_000 + b"</e>" * 300_000
    many = b"".join(b"<m%d>1</m%d>" % (number, number) for number in range(100_000))
    attributes = b"".join(b" a%d='1'" % number for number in range(100_000))
    path = tmp_path / "deep.xml"
    path.write_bytes(b"<r%s><a>%s</a>%s<m>%s</m></r>" % (attributes, deep, b"<b>7</b>" * 300_000, many))
    schema = "a string, b array<int>, m map<string, int>"
    with at_most_cpu_seconds(30):
        (row,) = ss.scan_xml(path, "r", schema, rescuedDataColumn="kept").to_arrow().to_pylist()
    assert [len(row[name]) for name in "abm"] == [len(deep), 300_000, 100_000]
    assert row["kept"].count('"_a') == 100_000


def test_a_row_tag_has_a_name_and_few_letters() -> None:
    letters = "".join(map(chr, range(0x100, 0x100 + 128))).encode("utf-16-le")
    for name, width in ((b"", 1), (b"r", 3), (letters, 2)):
        with pytest.raises(splitscan_kernel.Unsupported, match=r"row tag|code units|characters beyond ASCII"):
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
def test_hostile_bytes_are_framed_in_linear_time(tmp_path: Path, unit: bytes) -> None:
    """In seconds; in quadratic time it would be hours."""
    data = unit * (1_000_000 // len(unit))
    xml = splitscan_kernel.Xml(b"r")
    plain, whole = tmp_path / "plain.xml", tmp_path / "whole.xml"
    plain.write_bytes(data)
    whole.write_bytes(b"<r>" + data + b"</r>")
    with at_most_cpu_seconds(10):
        for at_end in (True, False):
            xml.frame(data, 0, len(data), at_end)
        xml.count(data, 0, len(data), True)
        xml.open_starts(data, 0, len(data), 1000)
        xml.summarise(data, 0, len(data), b"x", b"", 0)
        for path in (plain, whole):
            ss.scan_xml(path, "r", "a int, b string", rescuedDataColumn="kept").to_arrow()
