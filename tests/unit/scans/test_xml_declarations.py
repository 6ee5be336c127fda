"""The encoding of a file of XML is the one that its declaration names, unless an option says otherwise."""

import gzip

import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.formats.xml.framing import XmlFormat

ROWS = "<rows>\n" + "".join(f"<r><id>{n}</id><t>{{0}}</t></r>\n" for n in range(30)) + "</rows>"


def read(path, **options):
    return set(ss.scan_xml(path, "r", "id long, t string", **options).to_arrow()["t"].to_pylist())


DECLARED = {
    "ISO-8859-1": ('<?xml version="1.0" encoding="ISO-8859-1"?>', "latin-1", "é"),
    "single quotes": ("<?xml version='1.0' encoding='ISO-8859-1'?>", "latin-1", "ÿ"),
    "small letters": ('<?xml version="1.0" encoding="iso-8859-15"?>', "iso-8859-15", "€"),
    "windows-1252": ('<?xml version="1.0" encoding="windows-1252" standalone="yes"?>', "cp1252", "“x”"),
    "KOI8-R": ('<?xml version="1.0" encoding="KOI8-R"?>', "koi8-r", "Ж"),
    "EUC-KR": ('<?xml version="1.0" encoding="EUC-KR"?>', "euc_kr", "가"),
    "blanks and line feeds": ('<?xml\n version = "1.0"\n encoding = "latin1"\n?>', "latin-1", "ü"),
    "UTF-8": ('<?xml version="1.0" encoding="UTF-8"?>', "utf-8", "é€"),
    "no encoding": ('<?xml version="1.0"?>', "utf-8", "é€"),
    "no declaration": ("", "utf-8", "é€"),
    "UTF-16 said of bytes": ('<?xml version="1.0" encoding="utf-16"?>', "utf-8", "é€"),
    "another instruction": ('<?xml-stylesheet encoding="latin1"?>', "utf-8", "é€"),
    "in a comment": ('<!-- <?xml encoding="latin1"?> -->', "utf-8", "é€"),
}


@pytest.mark.parametrize("case", DECLARED)
@pytest.mark.parametrize("options", [{}, {"blockSize": 100, "openCostInBytes": 0}])
def test_the_declaration_decides_and_every_block_knows_it(tmp_path, case, options):
    declaration, codec, text = DECLARED[case]
    path = tmp_path / "a.xml"
    path.write_bytes((declaration + ROWS.format(text)).encode(codec))
    assert read(path, **options) == {text}
    scan = ss.scan_xml(path, "r", **options)
    assert (scan.count(), set(scan.to_arrow()["t"].to_pylist())) == (30, {text})
    if options:
        assert len(scan.plan()) > 5


def test_an_option_is_obeyed_instead(tmp_path):
    path = tmp_path / "a.xml"
    path.write_bytes(('<?xml version="1.0" encoding="latin1"?>' + ROWS.format("é")).encode())
    assert read(path, encoding="UTF-8") == {"é"}
    assert read(path) == {"Ã©"}


def test_a_byte_order_mark_is_obeyed_instead(tmp_path):
    path = tmp_path / "a.xml"
    path.write_bytes(('\ufeff<?xml version="1.0" encoding="latin1"?>' + ROWS.format("é")).encode())
    assert read(path) == {"é"}


def test_each_file_has_its_own_compressed_or_not(tmp_path):
    one = '<?xml version="1.0" encoding="latin1"?>' + ROWS.format("é")
    other = '<?xml version="1.0" encoding="cp1252"?>' + ROWS.format("€")
    (tmp_path / "a.xml").write_bytes(one.encode("latin-1"))
    (tmp_path / "b.xml.gz").write_bytes(gzip.compress(other.encode("cp1252")))
    (tmp_path / "c.xml").write_bytes(ROWS.format("ж").encode())
    assert read(tmp_path) == {"é", "€", "ж"}


def test_row_tags_beyond_ascii_are_looked_for_in_that_encoding(tmp_path):
    text = '<?xml version="1.0" encoding="latin1"?><a><é>1</é><é>2</é></a>'
    (tmp_path / "a.xml").write_bytes(text.encode("latin-1"))
    assert ss.scan_xml(tmp_path / "a.xml", "é").count() == 2


@pytest.mark.parametrize("name", ["EBCDIC-CP-US", "no such", ""])
def test_an_encoding_that_cannot_be_read_is_an_error_that_names_it(tmp_path, name):
    path = tmp_path / "a.xml"
    path.write_bytes(f'<?xml version="1.0" encoding="{name}"?>{ROWS.format("x")}'.encode())
    with pytest.raises(UsageError) as caught:
        read(path)
    assert caught.value.seen == f"encoding={name!r}"
    assert "the XML declaration names an encoding" in str(caught.value)
    assert read(path, encoding="UTF-8") == {"x"}


def test_a_declaration_without_end_is_not_waited_for_forever():
    format = XmlFormat("r", reads_declaration=True)
    head = b"<?xml version='1.0' " + b" " * 2000
    assert format.preamble(head, at_end=False).format.encoding.name == "UTF-8"
