"""The dialect that samples show, how sure it is, and when it is left open."""

from __future__ import annotations

import pytest

import splitscan as ss
from splitscan.errors import SchemaError, UsageError
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import Confidence, RawSample, find_encoding
from splitscan.formats.csv.sniffing.reading import Sample, find_header, quotes_in_quotes


def found(text: str | bytes, **given: object):
    data = text.encode() if isinstance(text, str) else text
    return find_dialect([RawSample(data, 0, is_end=True)], given)


@pytest.mark.parametrize("sep", [",", ";", "\t", "|", "^", "||", "~", "\x01", "\x1f"])
def test_the_separator_is_found_whatever_it_is(sep):
    text = "".join(sep.join((str(i), f"name {i}", f"{i}.5")) + "\n" for i in range(9))
    assert found(text).sep == sep


def test_a_decimal_comma_is_no_separator():
    assert found("a;b\n1,5;2,3\n2,5;3,3\n4,5;1,1\n").options()["sep"] == ";"


@pytest.mark.parametrize(
    ("text", "escape", "confidence"),
    [
        ('1,"a ""b"" c"\n2,"x"\n', '"', Confidence.CERTAIN),
        ('1,"a \\"b\\" c"\n2,"x"\n', "\\", Confidence.CERTAIN),
        ('1,"a"\n2,"x"\n', '"', Confidence.ASSUMED),
        ('1,"C:\\dir\\"\n2,"D:\\"\n3,"a ""b"" c"\n', '"', Confidence.CERTAIN),
    ],
)
def test_the_escape_is_what_stands_before_quotes_in_quotes(text, escape, confidence):
    dialect = found(text)
    assert (dialect.escape, dialect.settings["escape"].confidence) == (escape, confidence)


AFTER_BLANKS = "id, name, note\n" + "".join(f'{i}, n{i}, "a, ""b"" {i}"\n' for i in range(9))


def test_quotes_after_blanks_are_quotes_and_blanks_are_trimmed():
    dialect = found(AFTER_BLANKS)
    assert dialect.is_clear
    assert dialect.options() == {"escape": '"', "header": True, "multiLine": True, "ignoreLeadingWhiteSpace": True}
    assert (dialect.columns, dialect.first_record) == (3, ("id", "name", "note"))
    setting = dialect.settings["ignoreLeadingWhiteSpace"]
    assert (setting.confidence, setting.evidence) == (Confidence.CERTAIN, "9 quoted values begin after blanks")


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{i}, name {i}, {i}.5\n" for i in range(9)),
        "".join(f'{i}, b,"he said, ""so {i}"""\n' for i in range(9)),
        "".join(f"{i}, b,'a, \"b\" {i}'\n" for i in range(9)),
    ],
    ids=["no quotes", "quotes after blanks in quotes", "in other quotes"],
)
def test_blanks_before_other_values_stay(text):
    dialect = found(text)
    assert dialect.is_clear
    assert "ignoreLeadingWhiteSpace" not in {**dialect.options(), **dialect.settings}
    assert dialect.columns == 3


def test_blanks_that_the_user_wants_kept_are_kept():
    dialect = found(AFTER_BLANKS, ignoreLeadingWhiteSpace=False)
    assert not dialect.ignore_leading_white_space
    assert dialect.settings["ignoreLeadingWhiteSpace"].confidence is Confidence.GIVEN


def test_values_with_quotes_after_blanks_are_read_whole(tmp_path):
    (tmp_path / "a.csv").write_text(AFTER_BLANKS)
    rows = ss.scan_csv(tmp_path / "a.csv", dialect="auto").to_arrow().to_pylist()
    assert rows == [{"id": str(i), "name": f"n{i}", "note": f'a, "b" {i}'} for i in range(9)]


def test_empty_quoted_values_are_no_doubled_quotes():
    assert quotes_in_quotes([Sample(b'"",a,""\nb,"",c\n""\n', is_start=True, is_end=True)], ",", '"') == (0, 0)


@pytest.mark.parametrize(
    ("records", "header", "confidence", "because"),
    [
        ("id,name\n1,a\n2,b\n", True, Confidence.CERTAIN, "column 1 of"),
        ("1,a\n2,b\n", False, Confidence.CERTAIN, "in column 1"),
        ("kind,colour\nfish,red\nfish,blue\nbird,red\n", True, Confidence.LIKELY, "repeat in columns 1, 2,"),
        ("fish,red\nbird,red\nfish,blue\n", False, Confidence.LIKELY, "columns 1, 2 comes again"),
        ("code,city\nA1,Bonn\nB2,Kiel\nC3,Jena\n", True, Confidence.LIKELY, "values of column 1 are"),
        ("north,red\nx,blue\n", False, Confidence.UNSURE, "all values are texts"),
        ("id,2019\n1,2\n3,4\n", True, Confidence.LIKELY, "has years in order"),
        ("id,5\n1,2\n3,4\n", True, Confidence.UNSURE, "column 1 of typed values begins with a text, column 2"),
        ("a,a\nx,y\n", False, Confidence.LIKELY, "no list of different names"),
        ("1,2\n", False, Confidence.LIKELY, "only record has typed"),
    ],
)
def test_a_header_is_told_by_contrast(records, header, confidence, because):
    lines = [[(value.encode(), False) for value in line.split(",")] for line in records.splitlines()]
    setting = find_header(lines)
    assert (setting.confidence, setting.value) == (
        confidence,
        header if confidence is not Confidence.UNSURE else setting.value,
    )
    assert because in setting.evidence


def test_lines_before_the_table_are_skipped_only_where_it_is_a_table():
    body = "".join(f"{i},name,{i}.5\n" for i in range(8))
    assert found("Report\nof sales\n\nid,name,price\n" + body).skip_rows == 3
    assert found("hello\na,b\n").skip_rows == 0
    assert found("a,b\n1,2,3\n4,5,6\n7,8,9\n").skip_rows == 0  # a header with a name too few is no preamble


@pytest.mark.parametrize(("line", "is_json"), [('{"a": 1, "b": 2}', True), ('{"a"},1', False), ('1,{"a": 1}', False)])
def test_lines_of_json_are_no_records_of_csv(line, is_json):
    assert any("-f json" in doubt for doubt in found(f"{line}\n" * 9).doubts) == is_json


PADDED = "Konto;123;;\n;;;\n"
STATEMENT = "Datum;Text;Betrag;Saldo\n" + "".join(f"0{i}.01.2026;Miete;-5,00;{i}0,00\n" for i in range(1, 9))


def test_lines_that_are_filled_up_to_the_width_of_the_table_are_no_records_of_it():
    dialect = found(PADDED + STATEMENT)
    assert (dialect.skip_rows, dialect.header, dialect.first_record[0]) == (2, True, "Datum")
    assert found("Export\n" + PADDED + STATEMENT).skip_rows == 3


@pytest.mark.parametrize(
    "text",
    [
        "7;b;;\n" + "".join(f"{i};n;{i};x\n" for i in range(9)),  # no header follows
        "7;b;;\n" + STATEMENT.replace("Saldo", ""),  # one that does not name all columns
        "7;b;;\nDatum;Text;Betrag;Saldo\n" + "02.01.2026;Miete;;\n" * 9,  # most records are like it
        STATEMENT + "7;b;;\n",
    ],
)
def test_a_record_with_few_values_is_kept_where_it_may_be_one(text):
    assert found(text).skip_rows == 0


def test_comments_among_the_records_are_found_and_data_with_the_mark_is_kept():
    body = "".join(f"{i},n\n" for i in range(8))
    assert found("# a tool\nid,name\n" + body).comment == "#"
    assert found("#id,name\n" + body).comment is None


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"a,b\n", "UTF-8"),
        (b"a,\0\0\n12,\0\0\n" * 9, "UTF-8"),  # zeros that are data
        ("é,b\n".encode(), "UTF-8"),
        (b"\xef\xbb\xbfa,b\n", "UTF-8"),
        ("a,b\n".encode("utf-16"), "UTF-16"),
        ("a,b\n".encode("utf-16-le"), "UTF-16LE"),
        ("a,b\n".encode("utf-16-be"), "UTF-16BE"),
        ("a,b\n".encode("utf-32"), "UTF-32"),
    ],
)
def test_the_encoding_is_what_the_bytes_prove(data, encoding):
    setting = find_encoding([RawSample(data, 0, is_end=True)])
    assert setting is not None
    assert setting.value == encoding


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n', "JSON, which is no CSV: read it with"),
        ('[{"a":1,"b":"x"},\n{"a":2,"b":"y"}]', "JSON, which is no CSV: read it with"),
        ("<!DOCTYPE html>\n<body>Not found, sorry</body>\n", "a page of HTML"),
        ("<?xml version='1.0'?>\n<rows><row>1, a</row></rows>\n", "XML, which is no CSV: read it with"),
        (
            "<?xml version='1.0'?>\n<a>\n" + "<b>&amp; <c>1</c></b>\n" * 30 + "</a>\n",
            "XML, which is no CSV: read it with",
        ),
        (
            "[" + ", ".join('{"a": 1, "b": [1, 2]}' for _ in range(20)) + "]",
            "JSON, which is no CSV: read it with",
        ),
    ],
)
def test_text_of_another_format_is_refused_with_the_name_of_that(text, said):
    assert f"It begins like {said}" in " ".join(found(text).doubts)


def test_values_of_json_in_a_table_are_no_file_of_json():
    assert not found('{"a":1}\t2024-01-02\t1.5\n{"a":2}\t2024-01-03\t2.5\n' * 10).doubts


def test_a_character_that_a_sample_cuts_is_still_utf8_but_not_at_the_end_of_the_file():
    cut = "é".encode()[:1]
    assert find_encoding([RawSample(b"a,b\n\xc3\xa9" + cut, 0, is_end=False)]) is not None
    assert find_encoding([RawSample(b"a,b\n" + cut, 0, is_end=True)]) is None


def test_eight_bit_text_is_refused_with_the_character_sets_it_could_be(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("id,city\n1,Zürich\n".encode("cp1252"))
    with pytest.raises(SchemaError, match="windows-1252") as caught:
        ss.scan_csv(path, dialect="auto")
    assert (caught.value.reason_code, caught.value.exit_code) == ("dialect-unclear", 4)
    assert ss.scan_csv(path, dialect="auto", encoding="windows-1252").to_arrow().to_pylist() == [
        {"id": "1", "city": "Zürich"}
    ]


def test_text_that_is_no_table_is_left_open():
    dialect = found("Dear all,\n\nplease find attached, as agreed, the minutes\nof our meeting, and more.\nBest\n")
    assert dialect.doubts
    assert not dialect.is_clear


def test_what_is_given_is_obeyed_and_narrows_the_search(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y,z\n1;2,3\n4;5,6\n")
    assert ss.sniff_csv(path, sep=",").sep == ","
    assert ss.sniff_csv(path, sep=",").settings["sep"].confidence is Confidence.GIVEN
    assert ss.sniff_csv(path, header=False).header is False
    assert ss.scan_csv(path, dialect="auto", sep=",").schema.names == ["x;y", "z"]


def test_quotes_late_in_a_file_are_seen(tmp_path):
    path = tmp_path / "late.csv"
    plain = "".join(f"{i},plain\n" for i in range(30_000))
    path.write_text("id,note\n" + plain + "".join(f'{i},"say ""{i}"",\nnow"\n' for i in range(5_000)))
    dialect = ss.sniff_csv(path)
    assert dialect.settings["escape"].confidence is Confidence.CERTAIN
    assert ss.scan_csv(path, dialect="auto").count() == 35_000


def test_another_table_in_the_middle_of_a_file_leaves_it_open(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("".join(f"{i},a,b\n" for i in range(20_000)) + "".join(f"{i};x\n" for i in range(60_000)))
    assert any("of the file" in doubt for doubt in ss.sniff_csv(path).doubts)


def test_files_that_differ_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("id,n\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("id;n\n1;2\n3;4\n")
    with pytest.raises(SchemaError, match=r"a\.csv has sep ,, b\.csv has sep ;"):
        ss.scan_csv(tmp_path, dialect="auto")


def test_what_one_file_shows_is_not_put_upon_another_that_contradicts_it(tmp_path):
    (tmp_path / "a.csv").write_text("id,n\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("id,n\n1,é\n3,4\n", encoding="utf-16")
    assert any("encoding" in doubt for doubt in ss.sniff_csv(tmp_path).doubts)
    (tmp_path / "b.csv").write_text("# tool\n" + "".join(f"{i},n\n" for i in range(8)))
    (tmp_path / "a.csv").write_text("".join(f"#{i},n\n" for i in range(8)))
    assert any("comment" in doubt for doubt in ss.sniff_csv(tmp_path).doubts)


def test_files_that_begin_with_the_same_texts_have_a_header(tmp_path):
    (tmp_path / "a.csv").write_text("north,red\nx,blue\n")
    assert ss.sniff_csv(tmp_path).settings["header"].confidence is Confidence.UNSURE
    (tmp_path / "b.csv").write_text("north,red\ny,green\n")
    assert ss.sniff_csv(tmp_path).header is True


def test_presets_are_options_like_others(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('sep=;\nid;note\n1;"a ""b""\nc"\n')
    assert ss.scan_csv(path, dialect="excel", header=True).to_arrow().to_pylist() == [{"id": "1", "note": 'a "b"\nc'}]
    assert ss.scan_csv(path, dialect="auto").to_arrow().to_pylist() == [{"id": "1", "note": 'a "b"\nc'}]
    options = ss.scan_csv(path, dialect="rfc4180", multi_line=False).options.format
    assert (options.escape, options.multi_line) == ('"', False)
    assert ss.scan_csv(path, dialect="spark").options.format.escape == "\\"
    with pytest.raises(UsageError, match="dialect"):
        ss.scan_csv(path, dialect="french")


def test_every_task_reads_with_what_was_found_once(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id;n\n1;2\n3;4\n")
    scan = ss.scan_csv(path, dialect="auto")
    path.write_text("id,n\n1,2\n3,4\n")
    assert scan.options.format.sep == ";"


def test_files_without_a_byte_have_the_dialect_of_most_files(tmp_path):
    (tmp_path / "a.csv").touch()
    assert ss.sniff_csv(tmp_path).options() == {"escape": '"', "multiLine": True}
    assert ss.scan_csv(tmp_path, dialect="auto").count() == 0


def test_no_escape_is_no_escape(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('"a\\","b"\n')
    assert ss.scan_csv(path, escape="").to_arrow().to_pylist() == [{"_c0": "a\\", "_c1": "b"}]
    assert ss.scan_csv(path, escape="\0").options.format.escape is None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_the_mark_of_a_file_says_the_byte_order_of_its_middle(encoding):
    def part(row):
        return "".join(f"{n};{row}\n" for n in range(50)).encode(encoding)

    head = "\ufeffid;näme\n".encode(encoding) + part("ä")
    for row, doubts in (("ä", 0), ("ä;3", 1)):
        dialect = find_dialect([RawSample(head, 0, is_end=False), RawSample(part(row), 9996, is_end=True)], {})
        assert (dialect.encoding, dialect.columns) == (encoding[:6].upper(), 2)
        assert len(dialect.doubts) == doubts


@pytest.mark.parametrize("row", ["{}::word{}::x|{}", "{}::a::5|3", "a::b{}|x::{}", "{}::Toy (19{})::Comedy|Drama"])
def test_two_colons_that_divide_all_lines_are_in_doubt_beside_another_separator(row):
    dialect = find_dialect(
        [RawSample("".join(row.format(n, n, n) + "\n" for n in range(20)).encode(), 0, is_end=True)], {}
    )
    assert dialect.sep == "::" or any("sep :: divides all lines" in each for each in dialect.doubts)


@pytest.mark.parametrize("row", ["Foo::Bar{}::Baz,1.{}", "Foo::Bar{}::Baz|{}", "{},Foo::Bar::Baz{}"])
def test_two_colons_in_names_are_no_separator(row):
    text = "".join(row.format(n, n) + "\n" for n in range(20))
    dialect = find_dialect([RawSample(text.encode(), 0, is_end=True)], {})
    assert (dialect.sep, dialect.columns, dialect.doubts) == ("|" if "|" in row else ",", 2, ())


def test_lines_of_which_few_have_a_comma_may_be_single_values():
    rows = "".join(f"Land{n}\n" for n in range(50))
    text = rows + "Helena, Ascension\n" + rows
    dialect = find_dialect([RawSample(text.encode(), 0, is_end=True)], {})
    assert dialect.doubts == (r"Each line may be one text, with , in it: give sep, or for one column sep=\u001f.",)
    assert find_dialect([RawSample(text.encode(), 0, is_end=True)], {"sep": "\x1f"}).is_clear


def test_lines_with_a_mark_of_which_only_some_are_as_wide_as_the_table_are_in_doubt():
    text = "#aa\twif\twoct\nA\t0.1\t0.5\nR\t0.8\t1.8\n#D0\t-0.1\t0.4\nC\t-0.2\t0.1\n#weighted average\nB\t0.8\t2.4\n"
    [doubt] = find_dialect([RawSample(text.encode(), 0, is_end=True)], {}).doubts
    assert doubt.startswith("Of the lines that begin with #, 1 has 3 fields as the records have, and 1 not")
    given = find_dialect([RawSample(text.encode(), 0, is_end=True)], {"comment": "#", "header": False})
    assert (given.columns, given.doubts) == (3, ())


def test_a_part_in_the_middle_of_a_long_value_is_no_evidence_where_another_shows_its_end():
    rows = b"".join(b"%d,x,%d\n" % (n, n) for n in range(200))
    head, middle = RawSample(b"id,note,n\n" + rows, 0, is_end=False), b"word, and on\n" * 200
    parts = [RawSample(middle, 9000, is_end=False), RawSample(middle + b'end",7\n' + rows, 19000, is_end=True)]
    assert find_dialect([head, *parts], {}).is_clear
    assert not find_dialect([head, parts[0]], {}).is_clear


@pytest.mark.parametrize("zeros", [b"", b"\0\0\0\1"])
def test_bytes_of_mainframes_are_told_with_what_reads_them(zeros):
    record = zeros + "SMITH & SONS    10 High Street   0001234".encode("cp037")
    assert "recordFormat=cobol reads it" in found(record * 20).doubts[0]
    assert "cobol" not in found("caf\xe9 na\xefve;1\n".encode("latin-1") * 20).doubts[0]
