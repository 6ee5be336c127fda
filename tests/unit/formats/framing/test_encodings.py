"""Which encodings are known, and what the head of a file says about them."""

from __future__ import annotations

import codecs
import pickle
import random

import pytest

from splitscan.errors import UsageError
from splitscan.formats.framing.encodings import (
    MULTI_BYTE_CODECS,
    SINGLE_BYTE_CODECS,
    Encoding,
    detect_bom,
    resolve_encoding,
)


@pytest.mark.parametrize(
    ("spelling", "name", "codec"),
    [
        ("UTF-8", "UTF-8", "utf-8"),
        ("utf8", "UTF-8", "utf-8"),
        ("utf-8-sig", "UTF-8", "utf-8"),
        ("US-ASCII", "US-ASCII", "ascii"),
        ("ISO-8859-1", "ISO-8859-1", "iso8859-1"),
        ("latin1", "ISO-8859-1", "iso8859-1"),
        ("ISO_8859-15", "ISO-8859-15", "iso8859-15"),
        ("Cp1252", "windows-1252", "cp1252"),
        ("windows-1251", "windows-1251", "cp1251"),
        ("IBM850", "CP850", "cp850"),
        ("KOI8-R", "KOI8-R", "koi8-r"),
        ("utf-16", "UTF-16", "utf-16-be"),
        ("UTF-16LE", "UTF-16LE", "utf-16-le"),
        ("UTF-16BE", "UTF-16BE", "utf-16-be"),
        ("UTF-32", "UTF-32", "utf-32-be"),
        ("UTF_32LE", "UTF-32LE", "utf-32-le"),
        ("UTF-32BE", "UTF-32BE", "utf-32-be"),
        ("GB2312", "GB2312", "gb2312"),
        ("x-EUC-CN", "GB2312", "gb2312"),
        ("GBK", "GBK", "gbk"),
        ("CP936", "GBK", "gbk"),
        ("windows-936", "GBK", "gbk"),
        ("gb18030", "GB18030", "gb18030"),
        ("Shift-JIS", "Shift_JIS", "shift_jis"),
        ("SJIS", "Shift_JIS", "shift_jis"),
        ("windows-31j", "windows-31j", "cp932"),
        ("MS932", "windows-31j", "cp932"),
        ("EUC-KR", "EUC-KR", "euc_kr"),
        ("x-windows-949", "x-windows-949", "cp949"),
        ("MS949", "x-windows-949", "cp949"),
        ("Big5", "Big5", "big5"),
        ("x-windows-950", "x-windows-950", "cp950"),
        ("Big5-HKSCS", "Big5-HKSCS", "big5hkscs"),
    ],
)
def test_every_usual_spelling_is_understood(spelling: str, name: str, codec: str) -> None:
    encoding = resolve_encoding(spelling)
    assert (encoding.name, encoding.codec) == (name, codec)
    assert pickle.loads(pickle.dumps(encoding)) == encoding


@pytest.mark.parametrize("name", ["ISO-2022-JP", "hz", "EUC-JP", "UTF-7", "cp037", "base64", "nonsense", "", "a\0b"])
def test_an_encoding_that_cannot_be_split_is_refused_with_those_that_can(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_encoding(name)
    text = str(caught.value)
    assert "option encoding names no encoding that can be read in parallel [bad-option]" in text
    assert f"seen:  {name!r}" in text
    assert "UTF-8, US-ASCII, ISO-8859-1 to -16, windows-1250 to -1258" in text


@pytest.mark.parametrize("codec", sorted(SINGLE_BYTE_CODECS))
def test_a_single_byte_encoding_extends_ascii_and_maps_every_byte_on_its_own(codec: str) -> None:
    encoding = resolve_encoding(codec)
    assert encoding.unit_bytes == 1
    assert not encoding.bom
    assert bytes(range(128)).decode(encoding.codec) == "".join(map(chr, range(128)))
    for byte in range(128, 256):
        try:
            alone = bytes([byte]).decode(encoding.codec)
        except UnicodeDecodeError:
            continue  # a byte without a character
        assert len(alone) == 1
        assert bytes([byte, ord("A"), byte, ord("\n")]).decode(encoding.codec) == f"{alone}A{alone}\n"


def decoded(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return None


@pytest.mark.thin(3)
@pytest.mark.parametrize("codec", sorted(MULTI_BYTE_CODECS))
def test_ascii_bytes_inside_characters_are_known_and_marks_are_found_in_any_bytes(codec: str) -> None:
    """All beginnings of two bytes, which decide how many more belong to a character, each before three bytes."""
    encoding = resolve_encoding(codec)
    assert bytes(range(128)).decode(codec) == "".join(map(chr, range(128)))
    inside = set()
    marks = [mark for mark in range(128) if mark not in encoding.inside]
    for first in range(128, 256):
        if decoded(bytes([first]), codec) is not None:
            continue
        for second in range(256):
            pair = bytes([first, second])
            text = decoded(pair, codec)
            if text is not None:
                inside.add(second)
                assert len(text) > 1 or ord(text) not in marks or not text.isascii()
            for mark in (ord("\n"), ord('"'), marks[(17 * first + second) % len(marks)]):  # each in turn
                assert encoding.text(pair + bytes([mark])).endswith(chr(mark))
    if codec == "gb18030":  # of four bytes, the second and the last are digits
        assert decoded(b"\x81\x30\x81\x30", codec) == "\x80"
        inside |= set(b"0123456789")
    assert sorted(byte for byte in inside if byte < 128) == sorted(encoding.inside)


@pytest.mark.parametrize("codec", sorted(MULTI_BYTE_CODECS))
def test_a_record_is_the_text_that_it_has_in_its_file(codec: str) -> None:
    """Whatever its bytes are; only at the very end of a file a codec may replace several at once."""
    encoding = resolve_encoding(codec)
    chance = random.Random(codec)
    alphabet = b'\xa4\xd4\xa1\xbf\x81\x30\x39\xfe\x8e\x80\xffa\\|,"'
    records = [bytes(chance.choices(alphabet, k=chance.randrange(12))) for _ in range(2000)]
    whole = b"\n".join([*records, b"\n" * encoding.longest_bytes]).decode(codec, "replace").split("\n")
    assert [encoding.text(record) for record in records] == whole[: len(records)]


@pytest.mark.parametrize("name", ["UTF-8", "UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE", "windows-1252"])
def test_units_and_bytes_are_two_views_of_the_same_text(name: str) -> None:
    encoding = resolve_encoding(name)
    data = encoding.encode("a\\é\n")
    assert len(encoding.units(data)) == len(data) / encoding.unit_bytes
    assert encoding.write_units(encoding.units(data)) == data
    assert encoding.units(encoding.encode("\n")) == (10,)


def test_text_that_an_encoding_lacks_is_refused() -> None:
    with pytest.raises(UsageError, match=r"text cannot be written in encoding ISO-8859-1 \[bad-option\]"):
        resolve_encoding("ISO-8859-1").encode("☃")


@pytest.mark.parametrize(
    ("head", "name", "resolved", "bom_bytes"),
    [
        (b"\xef\xbb\xbfab", "UTF-8", "UTF-8", 3),
        (b"\xef\xbb", "UTF-8", "UTF-8", 0),
        (b"abcd", "UTF-8", "UTF-8", 0),
        (b"\xef\xbb\xbfab", "ISO-8859-1", "ISO-8859-1", 0),
        (b"\xef\xbb\xbfab", "US-ASCII", "US-ASCII", 0),
        (b"\xff\xfea\0", "UTF-16", "UTF-16LE", 2),
        (b"\xfe\xff\0a", "UTF-16", "UTF-16BE", 2),
        (b"\0a\0b", "UTF-16", "UTF-16BE", 0),
        (b"", "UTF-16", "UTF-16BE", 0),
        (b"\xff\xfea\0", "UTF-16LE", "UTF-16LE", 2),
        (b"\xfe\xffa\0", "UTF-16LE", "UTF-16LE", 0),
        (b"\xff\xfe\0\0", "UTF-16", "UTF-16LE", 2),
        (b"\xff\xfe\0\0", "UTF-32", "UTF-32LE", 4),
        (b"\0\0\xfe\xff", "UTF-32", "UTF-32BE", 4),
        (b"\0\0\0a", "UTF-32", "UTF-32BE", 0),
    ],
)
def test_the_byte_order_mark_settles_the_encoding(head: bytes, name: str, resolved: str, bom_bytes: int) -> None:
    encoding, found_bytes = detect_bom(head, resolve_encoding(name))
    assert (encoding.name, found_bytes) == (resolved, bom_bytes)
    assert not encoding.needs_bom_detection


def test_only_an_open_byte_order_must_be_detected() -> None:
    assert {name: resolve_encoding(name).needs_bom_detection for name in ("UTF-16", "UTF-32", "UTF-16LE", "UTF-8")} == {
        "UTF-16": True, "UTF-32": True, "UTF-16LE": False, "UTF-8": False,
    }  # fmt: skip


def test_the_codec_of_an_encoding_adds_and_removes_no_mark() -> None:
    for name in ("UTF-8", "UTF-16", "UTF-16LE", "UTF-32", "UTF-32BE"):
        encoding = resolve_encoding(name)
        assert "a".encode(encoding.codec).decode(encoding.codec) == "a"
        assert len(encoding.encode("a")) == encoding.unit_bytes
        assert (encoding.bom + encoding.encode("a")).decode(encoding.codec) == "\ufeffa"


def test_an_encoding_is_found_by_value() -> None:
    assert resolve_encoding("utf8") == Encoding("UTF-8", "utf-8", bom=codecs.BOM_UTF8)
    assert len({resolve_encoding("utf8"), resolve_encoding("UTF-8")}) == 1
