"""Lines at the end of a file that are no records: refused with their lines, unless they are rejects."""

from __future__ import annotations

import pytest

import splitscan as ss
from splitscan.errors import SchemaError
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import RawSample

HEADER = "id,name,amount\n"
ROWS = "".join(f"{n},n{n},{n}.5\n" for n in range(6))
SUMS = "kind,amount,price\n" + "".join(f"n{n},{n},{n}.5\n" for n in range(6))


def found(text, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given)


def doubt(text, **given):
    """The only doubt of a text."""
    [told] = found(text, **given).doubts
    return told


@pytest.mark.parametrize(
    "last",
    [
        "Total,,18.0", ",Total,18.0", "total:,,18", "Grand Total,,18.0", "SUM,,18.0", "Average,,3.0", "Summe,,18",
        "Gesamt,,18.0", "Итого,,18", "合計,,18", ",,18.0", ",,18", "Totals,6,18.0", "*Total*,,18.0",
        "Source: Office,,", "Note: all of it is estimated,,", "* provisional,,", "Quelle: Amt,,", "Last updated: May,,",
    ],
)  # fmt: skip
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_sums_and_notes_are_no_records(last, sep):
    text = (HEADER + ROWS + last + "\n").replace(",", sep)
    told = doubt(text)
    assert told.startswith(f"The file ends with {last.replace(',', sep)!r}, line 8: what may be a ")
    assert "head -n 7" in told
    assert found(text, header=True).is_clear
    assert any("line 8" in each for each in found(text, header=True).objections)


@pytest.mark.parametrize("gap", ["\n", ",,\n", "\n\n", "---,---,---\n"])
@pytest.mark.parametrize("last", ["Data of A, and B, and C", "figures for May,,", "see the annex of page 3,,"])
def test_a_text_below_a_gap_and_columns_of_numbers_is_a_note(gap, last):
    told = doubt(HEADER + ROWS + gap + last + "\n")
    assert repr(last if gap[0] != "-" else gap[:-1]) in told
    assert "what may be a note" in told


@pytest.mark.parametrize(
    "rule", ["----,----,----", "====,====,====", "--------------", "+----+", "---------|", "--,-,--"]
)
@pytest.mark.parametrize("last", ["Total,15,18.0", "Mean,2.5,3.0"])
def test_a_rule_and_a_sum_below_it_are_no_records(rule, last):
    dialect = found(f"{SUMS}{rule}\n{last}\n")
    assert any(f"ends with {rule!r}, lines 8 to 9: a rule and what" in told for told in dialect.doubts), dialect.doubts


def test_a_rule_at_the_end_is_no_record():
    assert "ends with '----,----,----', line 8: a rule, and no record" in doubt(SUMS + "----,----,----\n")


def test_a_rule_among_records_is_left_out_as_a_comment():
    text = SUMS + "----,----,----\n" + SUMS.partition("\n")[2]
    assert "line 8, is a rule, and no record: give comment=- to leave it out" in doubt(text)
    assert found(text, comment="-").is_clear


@pytest.mark.parametrize(
    "last", ["-----\n10\n", "=====\n10\n", "\nTotal: 10\n", "Total 10\n", "(4 rows)\n", "4 rows\n"]
)
def test_a_column_of_numbers_ends_before_its_sum_or_count(last):
    told = doubt("amount\n1\n2\n3\n4\n" + last)
    assert "head -n 5" in told or "head -n 6" in told


@pytest.mark.parametrize("last", ["(3 rows)", "(3 rows affected)", "3 rows selected.", "Fetched: 3 rows", "1203 rows"])
def test_a_count_of_rows_is_no_value_of_a_column(last):
    assert "a count of rows" in doubt(f"name\nann\nbob\ncyd\n{last}\n")


@pytest.mark.parametrize(
    "last", ["(6 rows affected)", "6 rows in set (0.00 sec)", "* estimated", "Total: 18", "END", "--"]
)
def test_lines_of_fewer_fields_are_read_as_rejects(tmp_path, last):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + ROWS + "\n" + last + "\n")
    scan = ss.scan_csv(path, dialect="auto")
    [reject] = scan.rejects().to_arrow().to_pylist()
    assert reject["offset"] == len(HEADER + ROWS) + 1


@pytest.mark.parametrize(
    "text",
    [
        HEADER + ROWS + "7,,\n",
        HEADER + ROWS + "7,total,2.5\n8,n,2\n",
        HEADER + "1,Total,2\n2,a,2\n3,Total,4\n4,b,1\n5,Total,3\n",
        "name,city,kind\n" + "ann,Rome,a\nbob,Oslo,b\n" * 4 + "eve,,\n",
        "name,n,m\n" + "a,1,2\nb,1,3\nc,1,4\nd,1,2\n" + "e,,11\n" + "f,4,4\n",
        "day,n\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n2020-01-04,6\n",
        "n\n1\n2\n3\n6\n",
        "key,a,b\n" + "".join(f"k{n},{n},-\n" for n in range(6)) + "-,-,-\n",
        "word\n" + "sum\ntotal\nmean\nsource\n" * 3,
        "name,text\n" + "".join(f"a{n},of {n}\n" for n in range(6)) + "\nb b,of 7\n",
        HEADER + ROWS + ",,\n,,\n",
    ],
)
def test_records_like_these_are_read(text):
    assert found(text).is_clear, found(text).doubts


FILLED = "id,a,b,c,d,e,f,g,h\n" + "".join(f"{n},{n}.5,x{n},y,{n},z,{n}0,w,v\n" for n in range(40))


@pytest.mark.parametrize(
    "last",
    [
        ["Remember that these are large,,,,,,,,"] * 20, [",,,,,,,,", ",the values may be wrong,,,,,,,", ",,,,,,,,"],
        [",,,* computed by two programs,,,,,", ",,,** computed by one,,,,,"], [",,,,,,,,all of it is estimated"],
        ['"All values, but the last, are estimated",,,,,,,,'], ["short text,,,,,,,,", "a longer text below,,,,,,,,"],
    ],
)  # fmt: skip
def test_text_in_a_table_without_such_records_is_no_record(last):
    told = doubt(FILLED + "\n".join(last) + "\n")
    assert "The file ends with" in told
    assert "text, and no record" in told


@pytest.mark.parametrize(
    "text",
    [
        FILLED + "40,,,,,,,,\n", FILLED + "word,,,,,,,,\n", FILLED + "40,the last of them all,,,,,,,\n",
        FILLED.replace("3,3.5,x3,y,3,z,30,w,v", "a text of words,,,,,,,,") + "a text of more words,,,,,,,,\n",
        "a,b,c\n" + "1,2,x\n" * 9 + "a text of words,,\n",
        "a,b,c,d\n" + "1,2,x,y\n" * 3 + "Row with few values,,,\n",
    ],
)  # fmt: skip
def test_records_with_few_values_are_read(text):
    assert found(text).is_clear


@pytest.mark.thin(1)
@pytest.mark.parametrize("rows", [3500, 9000, 40_000])
def test_the_end_of_a_large_file_is_looked_at(tmp_path, rows):
    path = tmp_path / "a.csv"
    path.write_text(
        "kind,n,price\n" + "".join(f"n{n},{n},{n}.5\n" for n in range(rows)) + "----,--,--\nTotal,15,18.0\n"
    )
    with pytest.raises(SchemaError, match=r"the last 2 lines: a rule and what may be a sum.*head -n -2"):
        ss.scan_csv(path, dialect="auto")


def test_the_end_of_a_large_file_may_be_in_quotes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,note,n\n" + "".join(f'{n},"a\nb, c\n",{n}.5\n' for n in range(9000)) + "Total,,18.0\n")
    with pytest.raises(SchemaError, match=r"the last line: what may be a sum.*head -n -1"):
        ss.scan_csv(path, dialect="auto")
