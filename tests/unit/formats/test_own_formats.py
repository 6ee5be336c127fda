"""What a record format of a user's own says of itself decides how its files are opened."""

import gzip
from dataclasses import replace
from typing import ClassVar

import pytest

import splitscan as ss
from splitscan.formats.framing.contract import Need
from splitscan.formats.registry import parse_options, record_format
from splitscan.formats.text.lines import line_format


class _Lines:
    """A format that is none of splitscan's, and says nothing of its text."""

    def __init__(self):
        self._lines = line_format()

    def __getattr__(self, name):
        if name.startswith("_") or name == "encoding":
            raise AttributeError(name)
        return getattr(self._lines, name)


class _Text(_Lines):
    """The same format, which says that it is text."""

    @property
    def encoding(self):
        return self._lines.encoding


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress(b"a\nb\n"))
    return path


def test_files_of_text_are_decompressed_for_a_format_of_the_users_own(packed):
    assert ss.scan(packed, format=_Text()).to_arrow()["value"].to_pylist() == [b"a", b"b"]


def test_a_format_that_does_not_say_that_it_is_text_gets_the_bytes_of_the_file(packed):
    values = ss.scan(packed, format=_Lines()).to_arrow()["value"].to_pylist()
    assert b"".join(values).startswith(packed.read_bytes()[:3])


class Own:
    """A format of a user's own that answers whatever one of splitscan's would, and is of no class of splitscan's."""

    asked: ClassVar[set[str]] = set()

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self.asked.add(name)
        return getattr(self._inner, name)

    def preamble(self, head, *, at_end):
        found = self._inner.preamble(head, at_end=at_end)
        return found if isinstance(found, Need) else replace(found, format=Own(found.format))

    def __eq__(self, other):
        return isinstance(other, Own) and self._inner == other._inner

    def __hash__(self):
        return hash(self._inner)

    def __repr__(self):
        return f"Own({self._inner!r})"

    def __reduce__(self):
        return Own, (self._inner,)


ANY = {"needs_head", "frame", "count", "encoding"}
CONTEXT = {*ANY, "summarise", "safe_cut", "gap_bytes"}
FILES = {
    "csv": (
        {"header": True, "multiLine": True, "escape": '"', "comment": "#", "schema": "a int, b string"},
        b'a,b\n1,"x\n,2"\n\n#"no\n2,"y""\r\n"\n3,z\n4,"\n\n"\n' * 3,
        CONTEXT,
    ),
    "json": ({"multiLine": True, "schema": "a int"}, b'[{"a": 1,\n"b": "}"}, {"a": [{}]}\n,{"a"\n:3}]', CONTEXT),
    "xml": ({"rowTag": "r", "schema": "a int"}, b"<c><!--<r>--><r a='<r>'>1</r>\n<r><r/></r> <r/></c>" * 3, CONTEXT),
    "text": ({"escape": "\\"}, b"a\r\nb\\\nc\\\\\n\n\r\rd", {*ANY, "first_start"}),
}


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", FILES)
def test_a_format_of_the_users_own_gets_what_the_built_in_ones_get(tmp_path, name, compress):
    given, content, asked = FILES[name]
    path = tmp_path / ("a" if compress is bytes else "a.gz")
    path.write_bytes(compress(content))
    framing = record_format(
        parse_options(name, {option: value for option, value in given.items() if option != "schema"})
    )
    Own.asked.clear()
    for block_size in (1, 5, 1000):
        told = {"metadata_columns": "record_offset,record_length", "block_size": block_size}
        built_in = ss.scan(path, name, **given, **told).select("record_offset", "record_length")
        own = ss.scan(path, format=Own(framing), **told)
        places = built_in.to_arrow()
        assert own.select("record_offset", "record_length").to_arrow() == places
        assert own.count() == built_in.count() == len(places)
        spans = zip(places["record_offset"].to_pylist(), places["record_length"].to_pylist(), strict=True)
        assert own.to_arrow()["value"].to_pylist() == [content[at : at + length] for at, length in spans]
        assert len(list(own.blocks())) == len(list(built_in.blocks()))
    missed = (asked if compress is bytes else ANY) - Own.asked
    assert not missed
