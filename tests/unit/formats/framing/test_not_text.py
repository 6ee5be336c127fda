"""Bytes that are no text are told from text in every language and encoding, mangled text included."""

import bz2
import gzip
import lzma
import random
import zlib

import pytest

from splitscan.formats.framing.encodings import is_no_text, resolve_encoding

LANGUAGES = {
    "English": "id,name\n1,Ann\n",
    "German": "Übergröße;naïve\n",
    "Russian": "Привет;мир\n",
    "Greek": "Καλημέρα,κόσμε\n",
    "Arabic": "مرحبا,بالعالم\n",
    "Hebrew": "שלום,עולם\n",
    "Chinese": "你好,世界\n",
    "Japanese": "日本語,テキスト\n",
    "Korean": "안녕,세계\n",
    "Emoji": "🙂,👍\n",
}
ENCODINGS = ["UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "UTF-32LE", "windows-1251", "windows-1252", "GBK",
             "Shift_JIS", "EUC-KR", "Big5", "GB18030", "ISO-8859-7"]  # fmt: skip
RECORDS = b"".join(b"%d,name %d,%d\n" % (i, i, i * i) for i in range(3000))
DATA = {
    "gzip without its head": gzip.compress(RECORDS)[10:],
    "zlib": zlib.compress(RECORDS),
    "bzip2 without its head": bz2.compress(RECORDS)[10:],
    "lzma": lzma.compress(RECORDS, lzma.FORMAT_ALONE),
    "random": random.Random(0).randbytes(5000),
    "an ELF file": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00\x01\x00\x00\x00\xa0\x6b" + bytes(30),
}


@pytest.mark.thin(40)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("times", [1, 300])
def test_text_in_its_own_encoding_is_text(language, encoding, times):
    told = resolve_encoding(encoding)
    data = (LANGUAGES[language] * times).encode(encoding, "ignore")
    assert not is_no_text(data, told)


@pytest.mark.thin(40)
@pytest.mark.parametrize("charset", ["latin-1", "cp1251", "cp1253", "gbk", "shift_jis", "euc_kr", "utf-8"])
@pytest.mark.parametrize("read_as", ["UTF-8", "ISO-8859-1", "windows-1252", "GBK"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_letters_in_another_encoding_than_was_said_are_no_proof(language, read_as, charset):
    assert not is_no_text((LANGUAGES[language] * 50).encode(charset, "ignore"), resolve_encoding(read_as))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a",
        b"\0" * 5000,
        b"a\0b\0c\n" * 100,
        b"1\x01a\x02b\x03c\n" * 100,
        b"a\x1fb\x1ec\x1d\x1c" * 100,
        b"\x1b[31mred\x1b[0m \x07done\x08\n" * 100,
        b"page 1\x0cpage 2\x0b\r\n\x1a",
        b"cut off in a \xe2\x82",
        b"\xef\xbb\xbfid\n",
        "\ufeffid,n\n1,2\n".encode("utf-16-le"),
        "\ufffd\ufffd,\ufffd\n".encode() * 100,
    ],
)
def test_control_characters_of_text_are_no_proof(data):
    assert not is_no_text(data, resolve_encoding("UTF-8"))


@pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-1", "windows-1252", "GBK", "Shift_JIS", "UTF-16", "UTF-32"])
@pytest.mark.parametrize("name", [name for name in DATA if name != "an ELF file"])
def test_compressed_and_random_bytes_are_no_text_in_any_encoding(name, encoding):
    assert is_no_text(DATA[name], resolve_encoding(encoding))


@pytest.mark.parametrize("length", [40, 64, 200])
@pytest.mark.parametrize("name", DATA)
def test_little_of_it_is_enough(name, length):
    assert is_no_text(DATA[name][:length], resolve_encoding("UTF-8"))
