"""Fields between blanks or colons, and separators that the name of a file says: what is read, and what is told."""

from __future__ import annotations

import random

import pytest

import splitscan as ss
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import RawSample


def found(text, named=None, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given, named)


@pytest.mark.parametrize(
    ("text", "columns", "header"),
    [
        ("x y kind\n1 2.5 a\n2 3.5 b\n3 4.5 c\n", 3, True),
        ('"x" "y"\n1.5 "a b"\n2.5 "c d"\n3.5 "e"\n', 2, True),
        ("# taken by hand\nx y z\n1 2 3\n3 4 5\n5 6 7\n", 3, True),
        ("name count\nLi Xu 3\n", 1, False),
        ("left hand\nright hand\nleft foot\n", 1, False),
        ("2020-01-01 10:00:00\n2020-01-02 10:00:00\n2020-01-03 10:00:00\n", 1, False),
        ("1 000\n2 000\n3 000\n", 1, False),
    ],
)
def test_one_blank_divides_lines_of_values_and_no_text(text, columns, header):
    dialect = found(text)
    assert (dialect.columns, dialect.header, dialect.doubts) == (columns, header, ())


@pytest.mark.parametrize(
    "text",
    [
        "1 2 \n3 4 \n5 6 \n",
        "1 2\n3 4\n5 6\n",
        '      "first" "second"\n"A" "&#1;" "&#x1;"\n"B" "&#2;" "&#x2;"\n"C" "&#3;" "&#x3;"\n',
        "030 1234\n040 5678\n089 1234\n",
        "phone number\n030 1234\n040 5678\n089 1234\n",
        "# of the north\n1 2\n# of the south\n3 4\n5 6\n",
        "1923:06 1924:07\n1926:10 1927:11\n1929:08 1933:03\n",
        "id      sex     years\n1 12-15 years    No  10\n2  < 12 years   No   4\n",
    ],
)
def test_runs_of_blanks_are_told_with_what_to_do(text):
    assert any("between blanks" in doubt or "runs of blanks" in doubt for doubt in found(text).doubts)
    assert found(text, sep="\x1f").is_clear


def test_row_names_without_a_name_before_runs_of_blanks_are_told():
    dialect = found("name   age  sex\n1  Li   30   f\n2  Xu   40   m\n3  Bo   50   m\n")
    assert dialect.sep == r"\s+"
    assert any("The header has 3 names and the records have 4 fields" in doubt for doubt in dialect.doubts)


@pytest.mark.parametrize(
    ("text", "columns", "header"),
    [
        ("x  y\n1  2\n3  4\n5  6\n", 2, True),
        ("x y\n1   2\n 3  4\n 5  6\n", 2, True),
        (" 1.5   2\n10.5  20\n 7.0 300\n", 2, False),
        ("1.5 2.5 3\n1.5 2.5 3\n1.5 2.5 3\n", 3, False),
        ("X Y First\n39.5 18.5   .06\n 5.5  1.5  .06\n36.5 32.5  5.26\n", 3, True),
        ("1,5   2,5\n3,5  14,5\n5,5   6,5\n", 2, False),
        ("a\t b\tc\n1\t 2 \t3 x\n4\t 5\t6\n", 3, True),
        ('  id  name\n   1  "a b"\n  10  "c"\n', 2, True),
        ("# made by hand\n  t   v  kind\n 10  2.5  a\n  1  3.5  b\n", 3, True),
    ],
)
def test_runs_of_blanks_divide_what_stands_in_columns(text, columns, header):
    dialect = found(text)
    assert (dialect.sep, dialect.columns, dialect.header) == ("\t" if "\t" in text else r"\s+", columns, header)
    assert dialect.doubts == ()


@pytest.mark.parametrize(
    "text",
    [
        "Full Name   Age\nJohn Smith  25\nJane Doe    26\nAda Byron   36\n",
        "City       People  Note\nNew York       8  big\nLos Angel      4  far\nSan Diego      1  hot\n",
        "a b   c\nd e   f\ng h   i\nj k   l\n",
        "1 234 567\n2 345 678\n3 456 789\n",
        "2024 01 05\n2024 01 06\n2024 01 07\n",
    ],
)
def test_runs_of_blanks_in_values_are_never_certain(text):
    dialect = found(text)
    assert dialect.columns == 1 or dialect.doubts


@pytest.mark.parametrize(
    "text",
    [
        "1:x:2\n2:y:3\n3:z:4\n",
        "a:b\n1:2\n3:4\n",
        "0:#fff\n1:#eee\n2:#ddd\n",
        "0000:AAAA01\n0001:AAAA02\n0002:3BCE24\n",
        "ann:5f3c\nbobby:e81b\ncat:91aa\n",
    ],
)
def test_colons_between_fields_are_told_and_read_when_given(text):
    (doubt,) = found(text).doubts
    assert "give sep=:" in doubt
    assert found(text, sep=":").columns == text.splitlines()[0].count(":") + 1


def test_colons_below_a_header_of_three_names_divide_values():
    dialect = found("city:land:people\nAmber:MA:96\nBirch:MA:140\nCedar:NH:426\n")
    assert (dialect.sep, dialect.columns, dialect.header, dialect.doubts) == (":", 3, True, ())


@pytest.mark.parametrize("text", ["10:20:30\n11:20:30\n12:20:30\n", "note: x\nname: y\nthing: z\n", "a:b\nc:d\ne:f\n"])
def test_colons_in_times_and_texts_are_none(text):
    dialect = found(text)
    assert (dialect.columns, dialect.doubts) == (1, ())


@pytest.mark.parametrize(
    ("text", "named", "sep"),
    [
        ("a|b\n1|2\n3|4\n5|6\n", "\t", "|"),
        ("a\tb\n1,5,7\t2,5,7\n3,5,7\t4,5,7\n", "\t", "\t"),
        ("a\tb\tc\n1\t2,1\n3\t4,1\t5\n6\t7,1\t8\n6\t7,1\t8\n6\t7,1\t8\n", "\t", "\t"),
        ("x,y\tz\n" + "1,2\t3\n" * 8 + "7,8\n", "\t", "\t"),
        ("x,y\tz\n" + "1,2\t3\n" * 8 + "7,8\n", None, ","),
        ("a;b\n1;2\n3;4\n", "|", ";"),
    ],
)
def test_the_separator_of_a_name_is_taken_where_it_makes_a_table(text, named, sep):
    assert found(text, named).sep == sep


def test_lines_of_a_file_named_for_tabs_have_no_commas_between_fields():
    text = "".join(f"{city}, {land}\n" for city, land in zip("ABCDEF", "UVWXYZ", strict=True))
    assert found(text).doubts
    dialect = found(text, "\t")
    assert (dialect.columns, dialect.doubts) == (1, ())


def test_a_file_called_tab_that_has_pipes_is_read_with_pipes(tmp_path):
    (tmp_path / "a.tab").write_text("id|x\n1|2\n3|4\n")
    assert ss.scan_csv(tmp_path / "a.tab", dialect="auto").schema.names == ["id", "x"]


def test_a_first_record_that_is_wider_or_narrower_than_those_below_is_told():
    for first in ("1,2,3,4", "1,2"):
        assert any(doubt.startswith("The first record has") for doubt in found(f"{first}\n" + "4,5,6\n" * 9).doubts)


@pytest.mark.parametrize("first", ["# drawn by hand, on paper", "# drawn, and measured", "# a, b"])
def test_a_sentence_above_records_is_a_comment_however_long_the_file_is(first):
    for rows in (9, 3000):
        dialect = found(first + "\n" + "".join(f"CC{n},{n}.5\n" for n in range(rows)))
        assert (dialect.comment, dialect.header, dialect.doubts) == ("#", False, ())


def test_pipes_around_values_are_quotes_where_commas_divide_the_lines():
    text = "".join(f"E{n},{n}.5,|@misc{{a, title = {n}, year = 2013}}|\n" for n in range(9))
    dialect = found(text)
    assert (dialect.sep, dialect.quote, dialect.columns, dialect.doubts) == (",", "|", 3, ())


def test_of_two_quotes_the_one_that_is_in_order_is_taken():
    text = "".join(f"{n},x{n},word {n}\n" for n in range(30)) + 'a,"""",mark\nc,\',soft\nb,\'=,click\n'
    assert found(text).quote == '"'
    assert found(text).is_clear


ZONES = (
    "# tzdb timezone descriptions\n#\n# Columns are separated by a single tab.\n#codes\tcoordinates\tTZ\tcomments\n"
    "AD\t+4230+00131\tEurope/Andorra\nAE,OM\t+2518+05518\tAsia/Dubai\tCrozet\nAF\t+3431+06912\tAsia/Kabul\n"
    "AQ\t-6617+11031\tAntarctica/Casey\tCasey\nAQ\t-6835+07758\tAntarctica/Davis\tDavis\n"
    "AQ\t-6736+06253\tAntarctica/Mawson\tMawson\nAR\t-3124-06411\tAmerica/Cordoba\tmost areas\n"
)


def test_a_table_of_zones_is_refused_and_its_hints_read_it(tmp_path):
    path = tmp_path / "zone1970.tab"
    path.write_text(ZONES)
    with pytest.raises(ss.errors.SplitscanError, match=r"dialect-unclear") as refused:
        ss.scan_csv(path, dialect="auto").count()
    assert "columnsArray=true reads each as long as it is" in str(refused.value)
    scan = ss.scan_csv(path, dialect="auto", comment="#", columns_array=True)
    rows = [row["columns"] for row in scan.to_arrow().to_pylist()]
    assert rows == [line.split("\t") for line in ZONES.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(
    "text",
    [
        "model = a/b.txt\ntmax = 100\nbranching = True\nn = 2\n", "a=1\nb=2\nc=x y\n", "x.y = 1\nx.z = 2\nz = \n",
        "PATH=/bin:/usr/bin\nHOME=/root\nX=1\n", "p[0] = 1\np[1] = 2\np[2] = 3\n",
    ],
)  # fmt: skip
def test_names_and_values_with_an_equals_sign_are_told(text):
    dialect = found(text)
    assert "Each line has a name, = and a value: give sep== with header=false" in dialect.doubts[0]
    assert found(text, sep="=", header=False).is_clear


@pytest.mark.parametrize(
    "text",
    [
        "#A\n3 3.5 8.9 2 2604\n3 3.2 28.3 3.6 29.9 2 2603\n2 3.1 33.1\n", "1 2 3\n4 5 6 7\n8 9 1\n2 2 2 2\n",
        "Cr1   21 66.67 Al1  3.14  -1.65  58.0\nCr1   21 66.79 Al1  4.02  -1.42  29.5\n", "1 2 3\n4 5 6\n",
        "P 1 2 3 4\nL 1 2 3\nP 4 5 6 7 8\n",
    ],
)  # fmt: skip
def test_numbers_between_blanks_are_told_however_many_a_line_has(text):
    assert any("between blanks" in told for told in found(text).doubts)


@pytest.mark.parametrize(
    "text", ["Ann 030 1234\nBo 040 123 56\nCy 1234\n", "12 Main St\n3 High Rd\n45 Low Ln\n", "1 2 3\n"]
)
def test_texts_with_some_numbers_are_values(text):
    assert found(text).is_clear


def test_a_header_whose_text_comes_again_is_not_certain():
    setting = found("name,n\nann,1\nname,2\nbob,3\n").settings["header"]
    assert (setting.value, setting.confidence.value) == (True, "likely")


PHONES = ["AH", "B", "K", "T", "N", "D", "AE", "IY"]


@pytest.mark.parametrize(
    "lines",
    [
        "中 zhōng|人 rén|爱人 ài ren", "你好 ni3 hao3|人 ren2|大学生 da4 xue2 sheng1", "hello 你好|water 水|day 日 子",
        "привет hello there|мир world|дом house home", "house дом|world мир, свет|cat кот",
        "θεός a god|ἄνθρωπος man|κύων dog",
        "안녕 an nyeong|물 mul|사람 sa ram", "こんにちは hello you|水 water|犬 dog", "שלום peace|מים water|בית house",
        "ก chicken|ข egg of it|ค buffalo",
    ],
)  # fmt: skip
@pytest.mark.parametrize("sep", [" ", "  ", "\t "])
def test_words_and_others_of_another_script_that_explain_them_are_told(lines, sep):
    text = "\n".join(line.replace(" ", sep, 1) for line in lines.split("|")) + "\n"
    assert found(text).doubts or found(text).columns > 1


@pytest.mark.parametrize("seed", range(10))
def test_words_and_the_few_others_that_they_are_made_of_are_told(seed):
    draw = random.Random(seed)
    words = [f"{chr(65 + n % 26)}{chr(65 + n // 26)}X" for n in range(30 + seed)]
    text = "".join(f"{word} {' '.join(draw.choices(PHONES, k=draw.randint(1, 6)))}\n" for word in words)
    assert found(text).doubts[0].startswith("Each line may be a word and what stands for it")


@pytest.mark.parametrize(
    "lines",
    ["the cat sat|old man|À bientôt mon ami", "Ann Lee|Bob Ray|Cy Young", "Été 2020|Øre of it|plain words", "Łódź|a b",
     "Москва река|Волга|Дон и Волга", "北京 上海|广州 深圳", "New York|Los Angeles|San José"],
)  # fmt: skip
def test_lines_of_words_of_one_script_are_lines(lines):
    dialect = found(lines.replace("|", "\n") + "\n")
    assert (dialect.columns, dialect.doubts) == (1, ())


@pytest.mark.parametrize("lone", [0, 1, 3, 9])
@pytest.mark.parametrize(
    "line", ["{0}  2 00{0}", "  0 409   9 56{0}", "1{0} 198 145 199 149 190 154", "{0}.5 {0}  {0}", "-1 {0} 2"]
)
def test_lines_of_several_numbers_are_told_however_many_have_one(line, lone):
    text = "".join(line.format(n) + "\n" + f"      00{n}\n" * lone for n in range(3, 9))
    assert found(text).doubts or found(text).columns > 1
