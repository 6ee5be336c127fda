"""Apostrophes and pipes at the edges of values: no quotes where lines are a table without them."""

from __future__ import annotations

import pytest

import splitscan as ss
from splitscan.cli.arguments import spell_hint
from splitscan.errors import SchemaError
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import RawSample


def found(text, named=None, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given, named)


@pytest.mark.parametrize(
    ("sep", "rows"),
    [
        ("\t", ["id\tname", "1\tBacillus", "2\tMonera", "3\t'Tubero mutans'", "4\t'aiakeakua", "5\tpopolo'", "6\tx"]),
        ("\t", ["a\tb\tc", "1\t'x\t3", "2\ty'\t4", "3\tz\t5"]),
        (",", ["id,word", "1,apple", "2,'tis", "3,o'", "4,pear", "5,'quoted'", "6,plum"]),
        (",", ["word,n", "'twas,1", "night,2", "runnin',3", "'em,4", "goin',5", "all,6"]),
        (";", ["city;pop", "Berlin;36", "'s-Hertogenbosch;2", "Oslo;6", "Sana';25", "'Ain Taya';8"]),
        ("|", ["k|term|n", "1|'til|2", "2|cause|3", "3|'n'|4", "4|o'|5", "5|rock|6"]),
        ("\t", ["id\tname", "1\tal", "2\t'x'", "3\tbo"]),
        (",", ["a,b", "1,'x", "2,'y", "3,z", "4,it''s", "5,w'", "6,v"]),
    ],
)
def test_apostrophes_of_a_table_stay_in_its_values(tmp_path, sep, rows):
    text = "\n".join(rows) + "\n"
    dialect = found(text)
    assert (dialect.sep, dialect.doubts) == (sep, ())
    assert dialect.quote != "'"
    path = tmp_path / "a.csv"
    path.write_text(text)
    read = ss.scan_csv(path, dialect="auto").to_arrow().to_pylist()
    assert [sep.join(str(value) for value in row.values()) for row in read] == rows[1:]


@pytest.mark.parametrize(
    "text",
    [
        "id,name\n1,'a, b'\n2,c\n3,'d, e'\n4,f\n",
        "id,name,n\n1,'a',2\n2,'b',3\n3,'c',4\n",
        "id;name\n1;'it''s; so'\n2;'b'\n3;'c'\n",
        "'id','name'\n'1','a'\n'2','b'\n'3','c'\n",
        "1\t'a\tb'\n2\t'c'\n3\t'd'\n4\t'e'\n",
    ],
)
def test_apostrophes_that_enclose_whole_columns_or_separators_are_quotes(text):
    dialect = found(text)
    assert (dialect.quote, dialect.doubts) == ("'", ())


def test_apostrophes_that_would_join_lines_of_a_table_that_is_not_even_are_in_doubt():
    rows = "".join(f"{number}\tword\t{number}\n" for number in range(20))
    dialect = found(f"id\tw\tn\n{rows}20\t'tis\t3\n21\to'\t4\n22\tshort\n", quote="'")
    assert not dialect.doubts  # given is given
    dialect = found("id\tw\tn\n" + rows + "20\t'tis\t3\n21\to'\t4\n22\t'x\ty'\t5\n")
    assert dialect.quote != "'" or any("may be a part of them" in each for each in dialect.doubts)


@pytest.mark.parametrize(
    "rows",
    [
        ["0\t|\t\t|\tnone\t|\t \t|", "1\t|\t\t|\tstandard\t|\tFFL\t|", "2\t|\t\t|\tyeast\t|\tGGL\t|"],
        ["1\t|\tall\t|", "2\t|\tbac\t|", "3\t|\tvir\t|"],
        ["1\t|\tall\t|\t\t|\tsynonym\t|", "2\t|\t'tis\t|\to'\t|\tname\t|", "3\t|\tc\t|\t\t|\tname\t|"],
        ["id\t|\tv\t|", "1\t|\t2.5\t|", "2\t|\t3.5\t|", "4\t|\t7\t|"],
        ["1\t|\ta, b\t|\tx\t|", "2\t|\tc, d\t|\ty\t|", "3\t|\te\t|\tz\t|", '4\t|\t"f"\t|\tz\t|'],
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_pipes_between_tabs_and_at_line_ends_are_refused_with_what_reads_them(tmp_path, rows, end):
    path = tmp_path / "a.dmp"
    path.write_bytes("".join(row + end for row in rows).encode())
    with pytest.raises(SchemaError, match=r"give sep=\\t\|\\t with a lineSep of tab, pipe and line end"):
        ss.scan_csv(path, dialect="auto")
    scan = ss.scan_csv(path, sep="\t|\t", line_sep=f"\t|{end}", quote="", escape="", header=False)
    read = [[value or "" for value in row.values()] for row in scan.to_arrow().to_pylist()]
    assert read == [row.removesuffix("\t|").split("\t|\t") for row in rows]


@pytest.mark.parametrize(
    "rows",
    [
        ["a\t|\tb\t|\tc", "1\t|\tx\t|\t2", "2\t|\ty\t|\t3"],
        ["1\t|\t2", "2\t|\t3", "3\t|\t4", "4\t|\t5"],
        ["id\t|\tname", "1\t|\t'tis", "2\t|\to'", "3\t|\tz"],
    ],
)
def test_pipes_between_tabs_are_the_separator(rows):
    dialect = found("\n".join(rows) + "\n")
    assert (dialect.sep, dialect.columns, dialect.doubts) == ("\t|\t", len(rows[0].split("\t|\t")), ())


@pytest.mark.parametrize(
    "text",
    [
        "1\t|\tx\n2\t|\ty|z\n3\t|\tz\n",
        "1\t2\t|\n2\t3\t|\n3\t4\t|\n",
        "a\t|b\tc|\n1\t|\t2\n2\t|x\ty|\n3\t4\t5\n",
        "1,|,2\n2,|,3\n3,|,4\n",
        "|\t1\n|\t2\n|\t3\n",
    ],
)
def test_pipes_that_stand_alone_are_no_quotes(text):
    dialect = found(text)
    assert dialect.quote != "|"
    assert all(each.quote != "|" for each in dialect.candidates)


def test_pipes_around_values_with_commas_are_quotes():
    dialect = found("1,2,|a, b|\n2,3,|c, d|\n3,4,|e|\n")
    assert (dialect.sep, dialect.quote, dialect.doubts) == (",", "|", ())


def test_a_line_separator_that_holds_a_line_end_ends_the_lines_that_are_looked_at():
    dialect = found("1\t|\tall\t|\n2\t|\tbac\t|\n3\t|\tvir\t|\n", lineSep="\t|\n")
    assert (dialect.sep, dialect.columns, dialect.doubts) == ("\t|\t", 2, ())


@pytest.mark.parametrize(
    ("hint", "spelled"),
    [
        ("set archivePathFilter=*: the files in it are read", "set -o 'archivePathFilter=*': the files in it are read"),
        ("give sep=:, or for whole lines quote=|", "give --sep :, or for whole lines --quote '|'"),
    ],
)
def test_a_colon_after_an_option_of_a_hint_is_no_part_of_it(hint, spelled):
    assert spell_hint(hint) == spelled


@pytest.mark.parametrize(
    "rows",
    [
        ["1|open|2", "2|'left\nright'|3", "3|x|4", "4|'a|b'|5"],
        ["1|open|2", "2|'left\nright, north'|3", "3|'O''Neil|b'|4", "4|x|5"],
        ["1|'O''Neil'|2", "2|x|3", "3|y|4", "4|z|5"],
        ["1|'a\nb\nc'|2", "2|y|3", "3|z|4", "4|w|5"],
    ],
)
def test_apostrophes_that_keep_lines_of_a_value_together_are_quotes(rows):
    dialect = found("id|note|n\n" + "\n".join(rows) + "\n")
    assert (dialect.sep, dialect.quote, dialect.doubts) == ("|", "'", ())


@pytest.mark.parametrize(
    "rows",
    [
        ["20\t'tis\t3", "21\to'\t4", "22\t'x\ty'\t5"],  # two whole records in one
        ["20\t'a\nb'\t3", "21\to'er\t4", "22\t'x\ty'\t5"],  # one inside a word
    ],
)
def test_apostrophes_that_join_whole_records_or_stand_in_words_are_in_doubt(rows):
    dialect = found("id\tw\tn\n" + "".join(f"{n}\tword\t{n}\n" for n in range(20)) + "\n".join(rows) + "\n")
    assert dialect.quote == "'"
    assert any("may be a part of them" in each for each in dialect.doubts)
