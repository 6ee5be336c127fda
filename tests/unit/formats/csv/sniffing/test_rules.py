"""What looks like one thing and is another: each rule of the search in small samples, and what is never certain."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import SchemaError
from splitscan.formats.csv.inference import TypeSummary
from splitscan.formats.csv.options import CsvOptions
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import Confidence, RawSample
from splitscan.formats.csv.sniffing.header import find_header
from splitscan.formats.csv.sniffing.values import ValueKind, kind_of


def found(text, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given)


def header_of(text, sep=","):
    return find_header([[(value.encode(), False) for value in line.split(sep)] for line in text.splitlines()])


PAIRS = [(chr(65 + n % 26), chr(65 + n * 7 % 26)) for n in range(60)]
MEASURES = "Aruba,ABW,1.5,2,3\nAngola,AGO,4,5,6\nAlbania,ALB,7,8,9\n"


@pytest.mark.parametrize(
    ("first", "value", "confidence"),
    [
        ("Country Name,Country Code,1960,1961,1962", True, Confidence.CERTAIN),
        ("Country Name,Country Code,2020,2010,2000", True, Confidence.CERTAIN),
        ("Country Name,Country Code,2024-01-01,2024-01-02,2024-01-03", True, Confidence.CERTAIN),
        ("Country Name,Country Code,1960,1961,1960", False, Confidence.CERTAIN),  # no year is a name twice
        ("Bonaire,BES,5,2,9", False, Confidence.CERTAIN),
        ("Albania,ALB,1960,1961,1962", False, Confidence.CERTAIN),  # its texts come again
    ],
)
def test_years_and_dates_in_order_above_measures_are_names(first, value, confidence):
    setting = header_of(f"{first}\n{MEASURES}")
    assert (setting.value, setting.confidence) == (value, confidence)


@pytest.mark.parametrize(
    ("first", "value", "confidence"),
    [
        ("1990,1991,1992,1993", True, Confidence.LIKELY),
        ("2020,2010,2000,1990", True, Confidence.LIKELY),
        ("1990,1995,2003,2010", False, Confidence.UNSURE),
        ("1990,2000,2010", False, Confidence.UNSURE),
        ("1990,2000,2011", False, Confidence.LIKELY),
        ("1990,1950,2000,1980", False, Confidence.CERTAIN),
        ("1990,1990,1990,1990", False, Confidence.CERTAIN),
    ],
)
def test_years_in_order_above_values_that_look_like_years_are_never_certainly_records(first, value, confidence):
    rows = [(1733, 1590, 2017, 1866), (2090, 1781, 1902, 1515), (1600, 2000, 1777, 1999), (1501, 1540, 1520, 2011)]
    columns = first.count(",") + 1
    setting = header_of(first + "\n" + "".join(",".join(map(str, row[:columns])) + "\n" for row in rows))
    assert (setting.value, setting.confidence) == (value, confidence)


@pytest.mark.parametrize(
    ("first", "rows", "value", "confidence"),
    [
        ("land,2019,2020", (1500, 2090), False, Confidence.UNSURE),  # as populations are, and years
        ("land,2020,2019", (1000, 3000), False, Confidence.UNSURE),
        ("land,1990,2000,2019", (1000, 3000), False, Confidence.UNSURE),
        (",2019,2020", (1000, 3000), False, Confidence.UNSURE),
        ("land,2019,2020", (1, 900), True, Confidence.CERTAIN),
        ("land,1990,2000,2019", (5000, 9000), True, Confidence.CERTAIN),
        ("land,2019", (1000, 3000), False, Confidence.LIKELY),
        ("2019,2020", (1000, 3000), False, Confidence.LIKELY),
        ("land,10,20", (1, 90), False, Confidence.LIKELY),
        ("17,1999", (1, 90), False, Confidence.CERTAIN),
    ],
)
def test_few_years_or_numbers_that_may_be_names_are_never_certainly_records(first, rows, value, confidence):
    draw, (name, *cells) = random.Random(5), first.split(",")
    texts = [] if name.isdigit() else [name]
    lines = [
        [*(f"l{n}" for _ in texts), *(str(draw.randint(*rows)) for _ in [*cells, *[""] * (not texts)])]
        for n in range(20)
    ]
    setting = header_of("\n".join([first, *map(",".join, lines)]))
    assert (setting.value, setting.confidence) == (value, confidence)


def test_years_above_measures_of_which_many_are_missing_are_names():
    rows = "".join(f"land {n},{'..' if n % 3 else n * 7},{'..' if n % 2 else n * 9}\n" for n in range(20))
    assert header_of(f"Country,2019,2020\n{rows}").value


def test_where_last_fields_are_left_out_the_hint_reads_each_record_as_long_as_it_is(tmp_path):
    """As in zone1970.tab: comments, tabs, and a last field that a third of the records lack."""
    path = tmp_path / "zones.tab"
    rows = "".join(
        f"{a}{b}\t+{n}{a}\tArea/{a}{b}" + "\tmost of it" * (n % 3 > 0) + "\n" for n, (a, b) in enumerate(PAIRS)
    )
    path.write_text(f"# zones\n#\n# 1.  codes, two letters\n{rows}")
    with pytest.raises(SchemaError, match="and the others fewer: columnsArray=true reads each as long as it is"):
        ss.scan_csv(path, dialect="auto")
    found = ss.scan_csv(path, dialect="auto", columns_array=True).to_arrow()["columns"].to_pylist()
    assert ["\t".join(each) for each in found] == rows.splitlines()


@pytest.mark.parametrize("full", ["a,b,c,d,e,f", "1,2,3,4,5,6"])
def test_the_hints_for_records_without_last_fields_are_not_refused_again(tmp_path, full):
    """As the releases of distributions, of which the older ones lack last fields."""
    path = tmp_path / "releases.csv"
    rows = ["2,x,y"] * 6 + ["3,x,y,z"] * 3 + [full] * 2
    path.write_text("\n".join(["version,codename,series,created,release,eol", *rows]) + "\n")
    with pytest.raises(SchemaError, match=r"columnsArray=true reads each.* sep=, with header=true fills them up"):
        ss.scan_csv(path, dialect="auto")
    assert len(ss.scan_csv(path, dialect="auto", columns_array=True).to_arrow()) == 12
    for given in ({"sep": ","}, {"sep": ",", "header": True}):
        table = ss.scan_csv(path, dialect="auto", **given).to_arrow()
        assert table.column_names == ["version", "codename", "series", "created", "release", "eol"]
        assert table["created"].to_pylist() == [None] * 6 + ["z"] * 3 + [full.split(",")[3]] * 2


def test_all_doubts_of_lines_that_may_be_one_text_are_told_at_once():
    """As Unicode's lists of blocks: comments with semicolons, and blanks after the semicolons of all lines."""
    text = "# Blocks\n\n# @missing: 0000..10FFFF; No_Block\n\n" + "".join(
        f"{n:02X}80..{n:02X}FF; Block {chr(65 + n)}\n" for n in range(20)
    )
    doubts = " ".join(found(text).doubts)
    assert "give comment, or an empty one" in doubts
    assert "give sep, or for one column" in doubts
    assert found(text, sep=";", comment="#").is_clear


CODES = [f"{a}_{b}.UTF-8 {c}" for a in ("aa", "de", "fr", "en") for b in ("DJ", "ER") for c in ("UTF-8", "L1", "L15")]


@pytest.mark.parametrize(
    "lines", [CODES, [f"host{n} up" for n in range(20)], [f"{n:x}1a name of it" for n in range(40)]]
)
def test_values_between_single_blanks_are_no_column_without_a_word(lines):
    assert any("values between blanks" in doubt for doubt in found("\n".join(lines) + "\n").doubts)


@pytest.mark.parametrize(
    "lines", [[f"{a} {b}" for a in ("Ann", "Bob", "Cid", "Eve") for b in ("Ames", "Bell", "Cole", "Dean", "Eck")]]
)
def test_names_of_two_words_are_one_column(lines):
    assert found("\n".join(lines) + "\n").is_clear


def test_years_in_order_above_years_in_order_are_records():
    lines = [",".join(map(str, range(year, year + 5))) for year in range(1990, 2000)]
    assert header_of("\n".join(lines) + "\n").confidence is Confidence.CERTAIN


def test_years_above_years_are_records():
    assert not header_of("name,1990,1995\nann,1991,2001\nbob,1980,1985\ncid,1999,2000\n").value


@pytest.mark.parametrize(
    ("first", "value", "confidence"),
    [
        ("sample,400,410,420", True, Confidence.LIKELY),
        ("sample,0.0,0.5,1.0", True, Confidence.LIKELY),
        (",0,1,2", True, Confidence.LIKELY),
        ("sample,5,5,5", False, Confidence.CERTAIN),
    ],
)
def test_numbers_in_order_above_measures_are_names(first, value, confidence):
    draw = random.Random(3)
    rows = "".join(f"s{n}," + ",".join(f"{draw.random():.3f}" for _ in range(3)) + "\n" for n in range(20))
    setting = header_of(f"{first}\n{rows}")
    assert (setting.value, setting.confidence) == (value, confidence)


def test_a_matrix_of_numbers_that_count_has_no_header():
    assert header_of("1,2,3\n4,5,6\n7,8,9\n").confidence is Confidence.CERTAIN
    assert not header_of("1,2,3\n4,5,6\n7,8,9\n").value


def test_a_first_record_that_counts_above_whole_numbers_that_do_not_is_left_open():
    dialect = found("0,1,2\n" + "".join(f"{n * 7 % 5},{n * 3 % 11},{n % 4}\n" for n in range(1, 30)))
    assert any("Whether the first record names the columns is not clear" in doubt for doubt in dialect.doubts)
    assert not found("0,1,2\n" + "9,3,7\n" * 9, header=True).doubts


def test_a_column_whose_values_seldom_repeat_says_nothing_of_a_header():
    words = "".join(f"word{'x' * (n % 13)}{chr(97 + n % 26)}{chr(97 + n // 26)}\n" for n in range(100))
    assert header_of("alpha\n" + words + "worda\nworda\n").confidence is Confidence.UNSURE


@pytest.mark.parametrize(("names", "is_clear"), [("b,c", False), ("a,b,c", True), ("a,b,c,d", False)])
def test_a_header_of_another_width_than_the_records_is_never_certain_and_is_refused(names, is_clear):
    dialect = found(f"{names}\n" + "".join(f"r{i},{i},{i}.5\n" for i in range(20)))
    assert (not dialect.doubts) == is_clear
    assert is_clear == (dialect.settings["header"].confidence is Confidence.CERTAIN)


def test_what_the_refusal_of_a_narrow_header_says_works(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("b,c\n" + "".join(f"r{i},{i},{i}.5\n" for i in range(20)))
    with pytest.raises(SchemaError, match="2 names and the records have 3 fields: give header=false with skipRows=1"):
        ss.scan_csv(path, dialect="auto")
    rows = ss.scan_csv(path, dialect="auto", header=False, skip_rows=1).to_arrow().to_pylist()
    assert (len(rows), rows[0]) == (20, {"_c0": "r0", "_c1": "0", "_c2": "0.5"})
    named = ss.scan_csv(path, "a string, b int, c double", dialect="auto", header=True, enforce_schema=True)
    assert named.to_arrow().to_pylist()[1] == {"a": "r1", "b": 1, "c": 1.5}


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_the_refusal_of_separators_at_the_ends_of_records_says_works(tmp_path, sep, end):
    path = tmp_path / "a.csv"
    path.write_bytes(("a,b\n" + "".join(f"{i},x,\n" for i in range(20))).replace(",", sep).replace("\n", end).encode())
    with pytest.raises(SchemaError, match="give header=true with rescuedDataColumn=_rescued"):
        ss.scan_csv(path, dialect="auto")
    scan = ss.scan_csv(path, dialect="auto", header=True, rescued_data_column="_rescued", mode="FAILFAST")
    assert scan.to_arrow().to_pylist()[:1] == [{"a": "0", "b": "x", "_rescued": None}]


def test_a_skipped_line_that_could_be_the_header_is_not_skipped():
    rows = "".join(f"{i},x,{i}.5\n" for i in range(9))
    assert any("may be the header" in doubt for doubt in found("id;note;price\n" + rows).doubts)
    assert any("may be the header" in doubt for doubt in found("id  note  price\n" + rows).doubts)
    assert not found("Report of sales\n" + rows).doubts
    assert any("may name a single column" in doubt for doubt in found("Report\n" + rows).doubts)
    assert found("url\n" + "http://x.org/a,b\n" * 9).doubts
    assert not found("id;note;price\n" + rows, header=False, skipRows=1).doubts
    assert not found("Made by us\nid,note,price\n" + rows).doubts


def test_what_is_skipped_is_shown():
    setting = found("Report of sales\n\nid,note,price\n" + "1,x,1.5\n" * 9).settings["skipRows"]
    assert setting.evidence == "the lines before have no 3 values: 'Report of sales'"


BODY = "".join(f"{i},n{i},x\n" for i in range(9))


@pytest.mark.parametrize(
    "lines", ["# a tool\n", '# made by, "us\n', "#,,\n", '# 5" long\n# 1,2\n', "# one, two, three\n#\n"]
)
def test_comments_above_the_header_are_comments_whatever_is_in_them(lines):
    dialect = found(f"{lines}id,name,kind\n{BODY}")
    assert (dialect.comment, dialect.first_record, dialect.doubts) == ("#", ("id", "name", "kind"), ())


def test_comments_above_a_long_table_without_a_header_are_comments():
    dialect = found("# made by us\n#\n" + "".join(f"word{i};{i};x\n" for i in range(5000)))
    assert (dialect.comment, dialect.header, dialect.doubts) == ("#", False, ())


def test_a_header_that_begins_with_a_mark_is_one_below_comments_too():
    dialect = found(f"## made, by\n## us\n#id,name,kind\n{BODY}")
    assert (dialect.comment, dialect.skip_rows, dialect.header) == (None, 2, True)
    assert dialect.first_record == ("#id", "name", "kind")
    assert any("may be a comment, or the header" in doubt for doubt in found(f"#id,name,kind\n{BODY}# end\n").doubts)


def test_a_marked_line_that_may_be_a_record_is_left_open():
    assert any("or a record as those below" in doubt for doubt in found("#7,n,x\n" + BODY).doubts)
    assert found("#7,n,x\n" + BODY, comment="#").is_clear
    assert found("#1,n,x\n#2,n,x\n" + BODY + "#3,n,x\n").comment is None


def test_a_separator_in_dates_and_numbers_only_is_none():
    rows = [f"April {i + 1}, 2023;{i},5;x;{i}" for i in range(20)]
    rows[7] = rows[7].rpartition(";")[0]
    assert found("\n".join(rows)).sep == ";"
    assert found("\n".join(rows)).is_clear


def test_a_constant_number_of_fields_is_not_beaten_by_values_with_more_separators():
    assert found("day,a,b\n" + "".join(f"2024-01-{i},4;5;6,7;8;9\n" for i in range(10, 30))).sep == ","
    words = "".join(f"w{i}\t{i}.5\t[1, 2, {i}, 4]\n" for i in range(20))
    assert (found(words).sep, found(words).columns) == ("\t", 3)


def test_quoted_texts_in_one_column_are_a_table_of_it():
    assert found("city\n" + "".join(f'"Town{i}, Land{i}"\n' for i in range(9))).is_clear


@pytest.mark.parametrize(
    "lines",
    [
        ["city", *(f"Town{i}, Land{i}" for i in range(20))],
        ["value", *(f"{i},5" for i in range(20))],
        ["when", *(f"May {i + 1}, 2023" for i in range(20))],
        [f"Sat, {i + 1} Apr 2017 15:11:58 -0500" for i in range(20)],
    ],
)
def test_commas_in_texts_numbers_and_dates_make_no_second_column(lines):
    dialect = found("\n".join(lines))
    assert (dialect.columns, dialect.skip_rows, dialect.doubts) == (1, 0, ())


def test_two_texts_in_every_line_may_be_one_and_both_candidates_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("".join(f"Town{i}, Land{i}\n" for i in range(20)))
    with pytest.raises(SchemaError, match=r"sep , with.*2 columns(.|\n)*sep \\u001f with.*1 column") as caught:
        ss.scan_csv(path, dialect="auto")
    assert r"for one column sep=\u001f" in str(caught.value)
    assert ss.scan_csv(path, dialect="auto", sep=r"\u001f").to_arrow().to_pylist()[0] == {"_c0": "Town0, Land0"}


def test_numbers_in_two_columns_stay_two():
    assert found("1,5\n2,7\n3,9\n").columns == 2
    assert found("time,count\n2015/01/01 01:00:00,2\n2015/01/01 02:00:00,3\n").columns == 2


def test_a_value_that_is_longer_than_a_sample_is_read_whole(tmp_path):
    path = tmp_path / "a.csv"
    long = "word, and\nso " * 20_000
    path.write_text('id,note,n\n0,"a, b",1\n' + f'1,"{long}",2\n' + "2,x,3\n" * 9)
    scan = ss.scan_csv(path, dialect="auto")
    assert [row["note"] for row in scan.to_arrow().to_pylist()][:3] == ["a, b", long, "x"]


@pytest.mark.slow
def test_a_value_that_is_longer_than_every_sample_leaves_the_dialect_open(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,note,n\n0,"a, b",1\n1,"' + "word, and\nso " * 400_000 + '",2\n')
    with pytest.raises(SchemaError, match="does not end in the first 4,194,304 bytes: give quote"):
        ss.scan_csv(path, dialect="auto")
    assert ss.scan_csv(path, dialect="auto", quote='"').count() == 2


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("April 1, 2023", ValueKind.DATE),
        ("1 Apr 2023", ValueKind.DATE),
        ("Sat, 22 Apr 2017 15:11:58 -0500", ValueKind.DATE),
        ("2023-04-01T10:00:00Z", ValueKind.DATE),
        ("-1.5e3", ValueKind.NUMBER),
        ("12:30", ValueKind.TIME),
        ("yes", ValueKind.TRUTH),
        ("N/A", ValueKind.NOTHING),
        ("a@b.org", ValueKind.SPECIAL),
        ("April", None),
        ("1, 2", None),
    ],
)
def test_values_are_known_by_how_they_are_written(value, kind):
    assert kind_of(value.encode()) is kind


def test_names_of_rows_below_nothing_make_a_header_of_texts():
    rows = '"V1","Do you often long for it?"\n"V2","Do you need friends?"\n"V3","Are you careful?"\n'
    assert found('"","Content"\n' + rows).header
    assert not found('"V0",""\n' + rows).header
    assert not found(',"Content"\n,"a"\nx,"b"\n').header  # a row without its name


@pytest.mark.parametrize("first", ["#Network | Station | Start", "# Network|Station|Start"])
def test_a_header_behind_a_mark_is_no_comment_where_blanks_stand_beside_its_bars(first):
    dialect = found(f"{first}\nBW|ROTZ|2002-11-03\nGR|FUR|2003-01-01\n")
    assert (dialect.header, dialect.comment, dialect.columns) == (True, None, 3)


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        (
            "root:x:0:0:root:/root:/bin/sh\n" + "".join(f"a{n}:x:{n}:1:A:/home/a{n}:/bin/sh\n" for n in range(5)),
            "between colons",
        ),
        ("0001  One\n\t0001  a\n\t0002  b\n0002  Two\n\t0001  c\n\t0003  d\n\t0004  e\n", "tabs may indent lines"),
    ],
)
def test_lines_that_hold_more_than_a_separator_shows_are_in_doubt(text, doubt):
    assert any(doubt in each for each in found(text).doubts)


POINTS = [".5", "-.5", "+.5", "5.", "-5.", "5.e3", ".5E-3", "+5.e+2", "1.D0", "-.1d-3", "Infinity", "+Inf", "1.5D+01"]


@pytest.mark.parametrize("first", POINTS)
@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_a_number_without_a_digit_on_one_side_of_its_point_names_nothing(first, sep):
    text = f"{first}{sep}{first}\n" + "".join(f"{n}.5{sep}{n}.25\n" for n in range(1, 9))
    dialect = found(text)
    assert dialect.is_clear, dialect.doubts
    assert (dialect.header, dialect.columns) == (False, 2)


@pytest.mark.parametrize("first", POINTS)
def test_a_column_of_such_numbers_has_no_header(first):
    assert not header_of(f"{first}\n1.5\n2.5\n3.5\n").value


def test_what_the_types_read_as_a_number_is_one_for_the_search():
    for text in (
        "1",
        "-1",
        "+1",
        ".5",
        "5.",
        "1e5",
        "1.e5",
        ".5e5",
        "1E+5",
        "-.5E-5",
        "NaN",
        "Inf",
        "-Inf",
        "Infinity",
    ):
        column = pa.array([text, "1.5"])
        assert pa.types.is_floating(TypeSummary.of(column, CsvOptions()).kind(CsvOptions())), text
        assert kind_of(text.encode()) is not None, text


@pytest.mark.parametrize("text", [".", "-", "v1.", "1.2.x", "1D5", ".b", "5.x", "D0", ".D0", "1.D"])
def test_points_beside_no_digit_make_no_number(text):
    assert kind_of(text.encode()) is not ValueKind.NUMBER


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("names", ["Entry,Positiv,Negativ,Strong", "id,A,B,C", "w,Yes,No,x", "word,2020,2021,2022"])
def test_columns_that_have_their_first_value_or_none_have_names(names, end):
    labels = names.split(",")
    marked = [[f"w{n}", *[label if n % (2 + i) == 0 else "" for i, label in enumerate(labels[1:])]] for n in range(30)]
    dialect = found(end.join([names, *map(",".join, marked), ""]))
    assert (dialect.header, dialect.settings["header"].confidence) == (True, Confidence.LIKELY)


@pytest.mark.parametrize("missing", [" ", "  ", "\t", ""])
@pytest.mark.parametrize("value", ["1", "2.5", "2020-01-01", "10:30"])
def test_blanks_alone_are_no_values_of_a_column(missing, value):
    dialect = found("NAMES, NUMBERS\n" + f"Ann, {value}\nBob,{missing}\n" * 5)
    assert (dialect.header, dialect.settings["header"].confidence) == (True, Confidence.CERTAIN)


@pytest.mark.parametrize("name", ["Blog Post, Titles", "What's new", "Size; weight", "a+b", "Wow!"])
def test_a_first_record_of_titles_is_not_surely_a_record(name):
    text = f'"{name}",Date,Subject\n' + "".join(f"Abstract {chr(97 + n)},march {chr(98 + n)} x,Go\n" for n in range(9))
    setting = found(text.replace("Go", "Go|C")).settings["header"]
    assert setting.confidence is not Confidence.CERTAIN
    assert setting.value or setting.confidence is Confidence.UNSURE


CODES = [
    (
        "DA0A,N11",
        lambda n: f"D{'LBGFK'[n % 5]}{n % 9 + 1}{'XYZ'[n % 3]}{'AQ'[: n % 3]},S{n % 40}",
    ),
    ("A100;X1", lambda n: f"B{n + 200};Y{n % 7}"),
    ("da0a\tn11", lambda n: f"dl{n % 9 + 1}x{chr(97 + n % 26)}\ts{n % 30}"),
    ("K-1,EU-7", lambda n: f"L-{n + 2},AS-{n % 8}"),
    ("Q1,DEU", lambda n: f"Q{n + 2},{('FRA', 'CHE', 'POL')[n % 3]}"),
    ("DEU,EUR", lambda n: f"{chr(65 + n % 26)}{chr(70 + n // 26)}X,{('CHF', 'PLN', 'CZK')[n % 3]}"),
    ("N11", lambda n: f"S{n % 4 + 10}"),
    ("V0.1,r7,Bob", lambda n: f"V{n}.{n % 5},r{n % 6},{('Udo', 'Eva')[n % 2]}"),
    ("AB12|x9", lambda n: f"CD{n + 13}|y{n % 5}"),
    ("W1XYZ,MA-01", lambda n: f"K{n % 9}ABC,NY-{n % 5 + 10}"),
    ("IATA1,ICAO2,L3", lambda n: f"ABCD{n % 7},EFGH{n % 5},M{n % 4}"),
]


@pytest.mark.parametrize(("first", "record"), CODES, ids=[first for first, _ in CODES])
def test_a_first_code_above_codes_is_a_record(tmp_path, first, record):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{line}\n" for line in (first, *(record(n) for n in range(60)))))
    assert ss.scan_csv(path, dialect="auto").count() == 61


@pytest.mark.parametrize("names", ["call,dok", "Call,DOK", "CALL,DOK", "call sign,district", "Station,Dok No."])
def test_names_above_codes_are_names(names):
    assert header_of(f"{names}\n" + "".join(f"DL{n % 9 + 1}AB{chr(65 + n % 26)},S{n % 40}\n" for n in range(60))).value


def test_values_that_mostly_occur_once_tell_no_header():
    once = "".join(f"{'abcdefghijklmnopqrst'[n]}x{'y' * n},{'long' if n < 6 else 'k' * n}\n" for n in range(20))
    assert not header_of(f"oak,tall\n{once}").value


RAGGED = [
    "1\ta\n" + "2\tb\tc\td\te\n" * 4,
    "a,b\n" + "c,d,e,f,g,h\n" * 9,
    "x\n" + "c,d,e\n" * 9,
    "1;2\n3;4\n" + "1;2;3;4;5\n" * 9,
    "7|8\n" + "7|8|9|1|2\n" * 5 + "1\n",
    "milk,tea\n" + "milk,rice,eggs,tea\n" * 20,
    "k1\n\n" + "k2\tv\tw\n" * 6,
    "1,2\n" * 3 + "1,2,3,4\n" * 12,
    "a\tb\n" + "a\tb\tc\td\te\tf\n" * 5,
    "total,1\n" + "a,1,b,2,c,3\n" * 8,
]


@pytest.mark.parametrize("text", RAGGED)
def test_no_line_is_skipped_where_records_are_arrays(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text)
    lines = sum(bool(line) for line in text.split("\n"))
    assert found(text, columnsArray=True, header=False).skip_rows == 0
    assert ss.scan_csv(path, dialect="auto", columns_array=True).count() == lines


def test_records_of_any_width_are_arrays_in_the_middle_of_a_file_too(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("".join(",".join("ab"[: n % 2 + 1] * (1 + n % 7)) + "\n" for n in range(40_000)))
    assert ss.scan_csv(path, dialect="auto", columns_array=True).count() == 40_000


@pytest.mark.parametrize("below", ["", "!\n", "! a b c\n! d e f\n", "\n! x\n\n", "   ! y\n"])
def test_the_lines_below_the_options_of_touchstone_are_counted(tmp_path, below):
    path = tmp_path / "a.s3p"
    path.write_text(f"! by hand\n# GHz S RI R 50\n{below}" + "".join(f"{n}.5 0.1 {n}\n" for n in range(9)))
    lines = 2 + below.count("\n")
    assert f"stand below {lines} lines" in found(path.read_text()).doubts[0]
    assert ss.scan_csv(path, sep=r"\s+", header=False, skip_rows=lines).count() == 9


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("share", [2, 3])
def test_a_narrow_header_above_records_of_many_widths_is_told_with_what_reads_them(tmp_path, sep, share):
    lines = ["name,kind", *("a,b," if n % share else f"{n}" for n in range(40))]
    path = tmp_path / "a.csv"
    path.write_text("".join(line.replace(",", sep) + "\n" for line in lines))
    assert "rescuedDataColumn" not in "".join(found(path.read_text()).doubts)
    assert ss.scan_csv(path, sep=sep, columns_array=True, dialect="auto").count() == 41


@pytest.mark.parametrize("sign", ["#", "%", "!"])
def test_lines_of_which_few_have_a_mark_below_comments_are_read_with_the_hint(tmp_path, sign):
    path = tmp_path / "a.data"
    names = "".join(f".dir{n}/file{'; old' * (n == 7)}{', too' * (n == 9)}\n" for n in range(60))
    path.write_text(f"{sign} Files\n{sign} (no slash; of all, and more)\n{names}{sign} others\n.x\n")
    told = " ".join(found(path.read_text()).doubts)
    assert f"sep=\\u001f, with comment={sign}" in told
    assert ss.scan_csv(path, sep="\x1f", comment=sign).count() == 61


def test_places_are_named_first_where_lines_have_not_as_many_values():
    lines = "".join(
        f"{n:2} AB  {n}.50  {'' if n % 2 else '0.125'}  {'x  y' if n % 3 else '    '}  end\n" for n in range(40)
    )
    told = " ".join(found(lines).doubts)
    assert told.index("fixed_width") < told.index("sep=")


def _word(n):
    return f"{chr(97 + n)}{'bcdfgh'[n % 6] * (n % 4 + 1)}"


OTHER_LETTERS = [
    ("targets, factors", lambda n: f"{_word(n).title()}, (! A{n} & B)"),
    ("IPA,X-SAMPA,Name", lambda n: f"{chr(0x250 + n)},{_word(n)}`{n},vl plosive {_word(n)}"),
    ("word,meaning", lambda n: f"{_word(n).upper()},See {_word(n + 1)}"),
    ("name,city", lambda n: f"Ann{_word(n)},Oslo {_word(n)}"),
    ("key,label,help", lambda n: f"K_{_word(n)},The {_word(n)},Says {_word(n + 1)}"),
    ("Word,Part of speech", lambda n: f"{_word(n)},noun of {_word(n + 1)}"),
    ("Code,Title,Note", lambda n: f"{_word(n)},About {_word(n + 2)},{_word(n)} see"),
    ("Term,Definition", lambda n: f"{_word(n)},a kind of {_word(n + 3)}"),
    (" from, to", lambda n: f" Node {_word(n)}, Leaf {_word(n)}"),
    ("first name,last name", lambda n: f"{_word(n).title()},{_word(n + 1).title()}"),
]


@pytest.mark.parametrize(("names", "record"), OTHER_LETTERS, ids=[names for names, _ in OTHER_LETTERS])
def test_names_are_told_by_letters_that_no_value_has(names, record):
    setting = header_of(f"{names}\n" + "".join(f"{record(n)}\n" for n in range(20)))
    assert (setting.value, setting.confidence) == (True, Confidence.LIKELY)


WORDS = [_word(n) for n in range(20)]


@pytest.mark.parametrize(
    ("first", "others"),
    [
        ("Anna,Oslo", [f"{each.title()},{each.title()} Rome" for each in WORDS]),
        ("anna,oslo", [f"{each},{each} rome" for each in WORDS]),
        ("aaa,Oslo", [f"{each},Rome {each}" for each in WORDS]),
        ("und,and", [f"H{each},house {each}" for each in WORDS]),
        ("Alpha,Beta", [f"{each},rome {each}" for each in WORDS[:9]]),
        ("Alpha,Beta", [f"{each},{each} rome" for each in WORDS] + ["Omega,Rome"]),
        (" Oslo, Anna", [f" {each.title()}, {each.title()}us" for each in WORDS]),
        ("Haus", [f"{each}baum" for each in WORDS]),
        ("haus", [f"{each.title()}baum" for each in WORDS]),
        ("Oslo,two", [f"{each},rome {each}" for each in WORDS]),
    ],
)
def test_first_records_with_the_letters_of_others_are_no_names(first, others):
    assert not header_of("".join(f"{line}\n" for line in (first, *others))).value
