"""Lines that begin with a sign among records: comments that would be records, and records that are none."""

from __future__ import annotations

import random
import re

import pytest

import splitscan as ss
from splitscan.cli.arguments import spell_hint
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import COMMENTS_ONLY, RawSample
from splitscan.reading.oddities import OddRecords
from splitscan.spark.source import SplitscanDataSource

SIGNS = ["#", "%", "!", ";", "*", "//", "--"]


def found(text, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given)


def measured(sign, sep="\t"):
    return "".join(sep.join((f"{n}.5", f"1.{n}", "3")) + f"\n{sign} Port{sep}50{sep}0\n" for n in range(6))


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("top", ["", "{} made by hand\n", "{}freq\tA\tB\n", "freq\tA\tB\n"])
def test_lines_with_a_sign_that_are_as_wide_as_records_are_told(sign, top):
    text = top.format(sign) + measured(sign) + "9.5\t1.5\t3\n"
    doubt = found(text).doubts[0]
    assert f"among the records begin with {sign}" in doubt
    assert f"give comment='{sign[0]}'" in doubt
    given = found(text, comment=sign[0])
    assert (given.columns, given.comment) == (3, sign[0])


@pytest.mark.parametrize("sign", [";", "*", "//", "--"])
def test_lines_with_a_sign_that_are_narrower_than_records_are_told(sign):
    rows = "".join(f"name{n},1.{n},3\n" for n in range(20))
    text = f"a,b,c\n{rows}{sign} a note\n{rows}"
    assert f"1 line among the records begins with {sign}" in found(text).doubts[0]


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_above_and_among_lines_of_texts_is_told(sign):
    text = f"{sign} words of a list\n" + "".join(f"word{n}x\n" + f"{sign} next\n" * (n % 9 == 4) for n in range(30))
    dialect = found(text)
    assert dialect.comment == sign or dialect.doubts


def test_signs_that_begin_values_with_a_minus_are_left_out_before():
    text = "".join(f"-{n}.5,1.{n}\n-- Port,50\n" for n in range(6)) + "-7.5,2\n"
    assert "grep -v '^--'" in found(text).doubts[0]


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n--,3\n4,5\n6,7\n",
        "a,b\n-1,2\n-2,3\n4,5\n6,7\n",
        "a,b\n*,2\n1,3\n*,5\n6,7\n",
        "mark,count\n!,2\n;,3\n%,5\nword,7\n*,4\n",
        "name,count\n*ann,2\nbob,3\n*cat,5\ndan,7\n",
        "tag,count\n#one,2\ntwo,3\n#three,5\nfour,7\n",
        "a,b\n%5,2\n6,3\n7,5\n8,7\n",
        "path,size\n//srv/a,2\n/b,3\n//srv/c,5\n/d,7\n",
        "a,b\n#N/A,2\n6,3\n7,5\n8,7\n",
        "!important,7\nplain,8\n!other,9\nmore,10\nlast,11\n",
    ],
)
def test_values_that_begin_with_a_sign_are_values(text):
    assert not [doubt for doubt in found(text).doubts if "among the records" in doubt]


ROWS3 = "".join(f"{n}.5,1.{n},3.{n}\n" for n in range(9))
TABS3 = ROWS3.replace(",", "\t")
RUNS3 = ROWS3.replace(",", "   ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# time,rain,wind\n#\n# drawn by hand in the year\n" + ROWS3, 1),
        ("# made by hand of a lot of things\n# time , rain , wind\n# extra point of the year 3\n" + ROWS3, 2),
        ("# made by hand of a lot of things\n#time;rain;wind\n" + ROWS3, 2),
        ("#time\train\twind\n" + ROWS3, 1),
        ("#time,rain,wind\n" + TABS3, 1),
        ("#time\train\t\twind  \t\n" + TABS3, 1),
        ("# prose of many words in a line\n#N 3\n#L time  rain  wind\n" + RUNS3, 3),
        ("#L Column 1  Column 2  Column 3\n" + RUNS3, 1),
        ("#time rain wind\n" + TABS3, 1),
        ("% time|rain|wind\n%\n" + ROWS3, 1),
        ("#depth\tT\n" + "".join(f"{n}.5\t\t{n}.25\n" for n in range(9)), 1),
        ("! time,rain,wind\n! of the north and of the south\n" + ROWS3, 1),
    ],
)
def test_names_that_stand_in_comments_are_taken_or_told(text, line):
    dialect = found(text)
    comments = dialect.settings["comment"].evidence
    assert dialect.header or dialect.doubts or comments.startswith(f"names may stand in line {line}: "), comments


@pytest.mark.parametrize(
    "top",
    ["# made by hand", "# made by hand, in spring", "# of 2.5, 3.5, 4.5", "#", "# a, b, and so on.", "# x,x,x"],
)
def test_comments_that_name_nothing_are_told_of_nothing(top):
    dialect = found(f"{top}\n# which is all that there is to say of it\n{ROWS3}")
    assert dialect.is_clear
    assert dialect.settings["comment"].evidence == COMMENTS_ONLY


@pytest.mark.parametrize("sign", ["#", "%", "!"])
@pytest.mark.parametrize("words", ["ab", "آجید", "a b", "1"])
def test_a_sign_that_stands_in_most_lines_is_no_comment_unseen(sign, words):
    text = "".join(f"{words}{n}{sign}x{words}\n" for n in range(9)) + f"{sign}{words}\n"
    assert f"The character {sign} begins lines, and stands in 9 others: give sep={sign}" in found(text).doubts[0]


@pytest.mark.parametrize("text", ["# x\nC#\nF#\n", "# x\na # b\nb # c\n", "! x\na!\nb!\nc\n", "# a\nx#1\ny\nz\n"])
def test_a_sign_at_the_ends_of_words_may_be_a_comment(text):
    assert found(text).comment == text[0]


@pytest.mark.thin(10)
@pytest.mark.parametrize("sign", ["#", "%", "!"])
@pytest.mark.parametrize(
    "names",
    ["Pressure (GPa) Temperature (K) Vs (km/s)", "a [m] b [s] c [kg]", "Columns are: x(m) y(m) z(m)", "a, b, c",
     "cols: a b c", "Fields: a, b, c", "made by: x; columns: a b c", "x y z", "time [s] wind dir", "Format: a b c"],
)  # fmt: skip
def test_names_with_units_or_after_a_colon_are_told_where_they_stand_in_a_comment(sign, names, tmp_path, caplog):
    path = tmp_path / "a.txt"
    path.write_text(f"{sign} {names}\n" + "".join(f"{n}.5\t{n}\t1{n}.25\n" for n in range(9)))
    told = f"names may stand in line 1: '{sign} {names}"[:40]
    assert found(path.read_text()).unread_names.startswith(told)
    assert ss.scan_csv(path, dialect="auto").count() == 9
    assert told in caplog.text
    caplog.clear()
    assert len(SplitscanDataSource({"path": str(path), "dialect": "auto"}).schema().fields) == 3
    assert told in caplog.text
    caplog.clear()
    assert ss.scan_csv(path, "a double, b int, c double", dialect="auto").count() == 9
    assert ss.scan_csv(path, dialect="auto", comment=sign).count() == 9
    assert "names may stand" not in caplog.text


@pytest.mark.parametrize(
    "names",
    ["a,b,c (of all that is known)", "a,b,c (see below)", "a, b, c [units as of old]", "a;b;c (in order of their size)",
     "a\tb\tc (the last is a sum)", "a  b  c (and nothing more to say)", "a|b|c (no. 2 is old)", "x,y,z (in m of 20)",
     "name,kind,size of it (in meters, as we say)", "Fields: a, b, c (note that c is upper case)"],
)  # fmt: skip
def test_names_with_words_in_parentheses_after_them_are_told(names):
    text = f"# {names}\n\n# of other things, by hand\n" + "".join(f"w{n},n,u{n}\n" for n in range(9)) + "w1,n,v\n"
    assert found(text).unread_names.startswith("names may stand in line 1: ")


def test_the_notice_of_lines_that_are_skipped_is_spelled_as_it_is_typed():
    assert "to read such lines give -o comment=, else" in spell_hint(str(OddRecords("comment-record", 1, "a.csv", 7)))


COLOURS = ["red", "olive", "navy", "teal", "plum", "coral", "peach", "lime", "gold", "sand", "rose", "mint"]


def drawn(form, top="; a palette\n;\n"):
    """Lines of one form, with a colour of six digits, its name and a number."""
    seed = random.Random(form)
    rows = (form.format(f"{seed.randrange(1 << 24):06x}", name, n + 1) for n, name in enumerate(COLOURS))
    return top + "".join(f"{row}\n" for row in rows)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (drawn("#{0};;{1}"), {"comment": None, "skipRows": 2}),
        (drawn("#{0};;{1}").replace("\n", "\r\n"), {"comment": None, "skipRows": 2}),
        ("; a palette\n;\n#00a;;name\n", {"comment": None, "skipRows": 2}),
        ("; a palette\n;\n#00a;;name\n#0f0;;other\n", {"comment": None, "skipRows": 2}),
        (drawn("#{2};{1};open"), {"comment": None, "skipRows": 2}),
        (drawn("#{1};{2};{0}"), {"comment": None, "skipRows": 2}),
        (drawn("%{2};{1};{0}"), {"comment": None, "skipRows": 2}),
        (drawn("!{1};;{2}"), {"comment": None, "skipRows": 2}),
        (drawn("#{2},{1},open", "issues, all of them\nof 2024, in short\n"), {"comment": None, "skipRows": 2}),
        (drawn("%{2}\t{1}\t{0}", "; shares\t\n;\t\n"), {"comment": None, "skipRows": 2}),
        (drawn("#{0},{2},{1}", "palette, of mine\n"), {"comment": None, "skipRows": 1}),
    ],
)
def test_a_mark_that_would_drop_most_lines_is_told_and_the_hint_reads_them(text, given):
    dialect = found(text)
    marked = [line for line in text.splitlines() if line[0] in "#%!"]
    mark = marked[0][0]
    seen = next(doubt for doubt in dialect.doubts if doubt.startswith(f"{len(marked)} line"))
    assert f"begin{'s' * (len(marked) == 1)} with {mark}" in seen
    assert f"give comment='{mark}'" in seen
    assert (
        f"an empty comment if {'they are' if len(marked) > 1 else 'it is'}, with skipRows={given['skipRows']}" in seen
    )
    dialect = found(text, **given)
    assert (dialect.columns, dialect.doubts) == (3, ())
    assert dialect.first_record[0] == re.split(r"[;,\t]", marked[0])[0]


def test_comments_that_outnumber_the_records_among_them_are_told():
    text = "name,x\n" + "".join(f"# {name} is nice\n# as few\n{name},{n}\n" for n, name in enumerate(COLOURS))
    dialect = found(text)
    assert any(doubt.startswith("24 lines begin with #") and "beside 13" in doubt for doubt in dialect.doubts)
    assert found(text, comment="#").doubts == ()


@pytest.mark.parametrize(
    "top", [drawn("#{0};{1}", ""), drawn("#{0};{1};x", ""), "#1;a\n#2;b\n#3;c\n"], ids=["even", "wider", "few"]
)
def test_lines_at_the_top_that_are_like_records_are_told(top):
    doubts = found(top + "".join(f"{name};{n}\n" for n, name in enumerate(COLOURS))).doubts
    assert doubts
    assert "comment" in doubts[0]


@pytest.mark.parametrize("count", [3, 40])
def test_a_head_of_comments_that_is_longer_than_the_table_is_no_doubt(count):
    text = "".join(f"# line {n} of a licence; with all its words\n" for n in range(count))
    dialect = found(text + "name;x\n" + "".join(f"{name};{n}\n" for n, name in enumerate(COLOURS)))
    assert (dialect.comment, dialect.header, dialect.doubts) == ("#", True, ())
