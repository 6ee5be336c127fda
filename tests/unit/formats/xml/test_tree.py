"""One XML record as a tree: what is read, and what is refused."""

import pytest

from splitscan.formats.xml.decoder import NotXmlError, content_of, parse_element


def test_attributes_elements_texts_and_references_are_read():
    row = parse_element(b"<r a='&lt;'>x<!-- y -->z<b>1</b><![CDATA[<c>]]>&#233;</r>")
    assert row.attributes == {"a": "<"}
    assert [(name, child.texts) for name, child in row.children] == [("b", ["1"])]
    assert "".join(row.texts) == "xz<c>é"


def test_prefixes_stay_unless_they_are_ignored():
    record = b"<x:r y:a='1'><x:b/></x:r>"
    assert [name for name, _ in parse_element(record).children] == ["x:b"]
    row = parse_element(record, ignore_namespace=True)
    assert (row.attributes, [name for name, _ in row.children]) == ({"a": "1"}, ["b"])


def test_the_content_of_an_element_is_shown_as_it_is_written():
    record = b"<r><a t='>'>x<b>&lt;</b></a></r>"
    assert content_of(record, parse_element(record).children[0][1]) == "x<b>&lt;</b>"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"<r>&e;</r>", "undefined entity at line 1, column 3"),
        (b"<r><a></r>", "mismatched tag"),
        (b"</r>", "not well-formed"),
        (b"<r>\n<a b></r>", "line 2"),
        (b"<!DOCTYPE r [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>", "no element found"),
    ],
)
def test_what_is_no_element_is_refused_with_its_place(record, message):
    with pytest.raises(NotXmlError, match=message):
        parse_element(record)


def test_any_depth_is_read():
    assert parse_element(b"<a>" * 20_000 + b"</a>" * 20_000).children[0][0] == "a"
