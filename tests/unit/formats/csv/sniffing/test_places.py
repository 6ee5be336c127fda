"""Columns at places with values that are missing, columns between two kinds of blanks, and between single ones."""

from __future__ import annotations

import re

import pytest

import splitscan as ss
from splitscan.errors import SchemaError
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import RawSample


def found(text, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given)


def laid_out(pattern, rows):
    return "".join(pattern.format(*row).rstrip() + "\n" for row in rows)


WHOLE = [("st", "temp", "hum", "note"), *((f"A{n}", f"1{n}.5", f"5{n}", "ok") for n in range(9))]
MONTHS = [("Year", "Jan", "Feb", "Note"), *((f"200{n}", f"{n}.5", f"{n + 1}.25", "est") for n in range(9))]
PATTERNS = ["{:<8}{:<8}{:<8}{}", "{:<6} {:>6} {:>6}  {}", "{:>5}{:>9}{:>9}  {:<5}", "{:<10}{:<6}{:>6}   {}"]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("table", [WHOLE, MONTHS])
@pytest.mark.parametrize("column", [1, 2])
def test_a_value_that_is_missing_moves_no_other_to_its_column(tmp_path, pattern, table, column):
    moved = [*table[5][:column], "", *table[5][column + 1 : 3], "bad data"]
    text = laid_out(pattern, [*table[:5], moved, *table[6:]])
    [told] = found(text).doubts
    assert "nothing at the place of a column" in told
    path = tmp_path / "a.txt"
    path.write_text(text)
    layout = re.search(r"layout='([^']*)'", told)[1]
    rows = ss.scan_fixed_width(path, layout=layout).to_arrow().to_pylist()
    assert [list(row.values()) for row in rows][5] == [value or None for value in moved]
    assert list(rows[0]) == list(table[0])
    assert found(text, sep=r"\s+").is_clear


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("name", "missing"), [("San Jo", 1), ("New Yo", 3), ("St Lo", 2)])
def test_a_text_of_two_words_moves_no_value_into_a_place_that_is_empty(pattern, name, missing):
    rows = [("town", "id", "temp", "rh"), *((f"Town{n}", f"D{n}", f"1{n}.5", f"5{n}") for n in range(9))]
    moved = [name, *rows[5][1:]]
    moved[missing] = ""
    text = laid_out(pattern, [*rows[:5], moved, *rows[6:]])
    [told] = found(text).doubts
    assert "nothing at the place of a column" in told


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("table", [WHOLE, MONTHS])
def test_columns_without_a_gap_are_fields_between_blanks(pattern, table):
    dialect = found(laid_out(pattern, table))
    assert (dialect.sep, dialect.is_clear, dialect.columns) == (r"\s+", True, 4)


@pytest.mark.parametrize("text", [
    "x   y\n" + "".join(f"{10 ** (n % 6)}   {n}\n" for n in range(9)),
    "x   y   z\n" + "".join(f"{'7' * (1 + n % 7)}   {n}   {'1' * (1 + n % 4)}\n" for n in range(20)),
])  # fmt: skip
def test_values_of_many_lengths_stand_in_no_places(text):
    assert found(text).is_clear


@pytest.mark.parametrize("quote", ['"', ""])
@pytest.mark.parametrize("gap", ["   ", "  ", "      "])
@pytest.mark.parametrize("lead", ["", " "])
def test_numbers_between_blanks_before_a_tab_are_columns(quote, gap, lead):
    rows = (lead + gap.join([f"{n}.5", str(n), f"{n}0."]) + f"\t{quote}car{quote}\n" for n in range(10, 30))
    dialect = found("".join(rows))
    assert not dialect.is_clear or (dialect.sep, dialect.columns) == (r"\s+", 4)


@pytest.mark.parametrize("line", [
    "{0}.47\t1.0{0}     1.0 \t0.98765     0.010", "{0}\t{0}.5 2.5\t7", "{0}\t1\t{0}   3", "-{0}e-3\t{0}  4.5 \t6",
    "  {0}.5\t2.5   3.5\t4", "{0}.5 1\t2\t3\t4",
])  # fmt: skip
@pytest.mark.parametrize("head", ["", "# by hand\n", "a b c d e\n"])
def test_several_numbers_between_tabs_are_columns(line, head):
    width = len(line.split())
    names = " ".join(head.split()[:width]) + "\n" if head.startswith("a") else head
    dialect = found(names + "".join(line.format(n) + "\n" for n in range(40, 60)))
    assert not dialect.is_clear or (dialect.sep, dialect.columns) == (r"\s+", width)


@pytest.mark.parametrize("gap", ["  ", "   ", "        "])
@pytest.mark.parametrize("names", ["id\tname{0}value\n", "id\tname{0}value\tkey\n", ""])
def test_texts_and_numbers_with_runs_of_blanks_between_tabs_are_columns(gap, names):
    key = "\t7" * ("key" in names)
    dialect = found(names.format(gap) + "".join(f"{n}\tn{n}{gap}{n}.5{key}\n" for n in range(40)))
    assert not dialect.is_clear or (dialect.sep, dialect.columns) == (r"\s+", 3 + bool(key))


@pytest.mark.parametrize("text", [
    "name\tplace\tkey\n" + "".join(f"k{n}\t{n}.5 2.5\t{n}\n" for n in range(9)),
    "".join(f"{n}\tx{n}\t2024-01-01 10:00:0{n}\n" for n in range(9)),
    "".join(f"{n}\tx{n}\t1 00{n}\n" for n in range(9)),
    "id\tfull name\tkey\n" + "".join(f"{n}\tJo Li\t{n}\n" for n in range(9)),
])  # fmt: skip
def test_values_with_blanks_between_tabs_are_whole(text):
    dialect = found(text)
    assert (dialect.is_clear, dialect.sep, dialect.columns) == (True, "\t", 3)


@pytest.mark.parametrize("text", [
    "first last state phone\nJohn Smith WA 418-Y11-4111\nMary Hartford CA 319-Z19-4341\nEvan Nolan IL 219-532-c301\n",
    "name town plate\nAnn Oslo AB12x\nBob Rome CD34y\nCid Bonn EF56z\n",
    "host role zone\nweb1 front a\nweb2 front b\ndb7 back c\n",
    "city country code\nOslo Norway NO\nRome Italy IT\nBonn Germany DE\n",
    "from to carrier\nOSL Rome x\nFCO Bonn y\nCGN Oslo z\n",
    "gene chrom strand\nTP53 chr17 plus\nMYC chr8 plus\nKRAS chr12 minus\n",
    "user shell home key\nann bash /home/a k1\nbob zsh /home/b k2\ncid fish /home/c k3\n",
    "pkg version arch\nzlib 1.2.11-r3 arm\ncurl 7.79.1-r0 arm\ngrep 3.7-r0 x86\n",
])  # fmt: skip
def test_codes_between_single_blanks_are_no_column_without_a_word(text):
    dialect = found(text)
    width = len(text.split("\n", 1)[0].split())
    assert "between blanks" in " ".join(dialect.doubts) or (dialect.sep, dialect.columns) == (" ", width)
    assert found(text, sep=" ").columns == width
    assert found(text, sep=" ").is_clear


@pytest.mark.parametrize("text", [
    "a line of text\nno other is like\nany one of these\nfor they are words\n",
    "species\nAbies alba Mill\nPicea abies Karst\nPinus mugo Turra\n",
    "full name\nAnn Lee\nBob Roe\nCid Poe\n",
])  # fmt: skip
def test_words_between_single_blanks_are_one_column(text):
    assert (found(text).is_clear, found(text).columns) == (True, 1)


@pytest.mark.parametrize("digits", [4, 8, 32, 40, 64, 128])
@pytest.mark.parametrize("line", ["{name} {hash}", "{hash} {name}", "{hash}  {name}"])
def test_names_and_hashes_with_one_blank_are_no_column_without_a_word(tmp_path, digits, line):
    names = ["a.txt", "b_sao.wmo", "c.shx", "read.me"]
    rows = [line.format(name=name, hash=f"{7**150 * (n + 3):0200x}"[-digits:]) for n, name in enumerate(names)]
    path = tmp_path / "a.txt"
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(SchemaError, match="between"):
        ss.scan_csv(path, dialect="auto")


MIXED = ['1,"say \\"hi\\""', '2,"say ""ho"""', '3,"x"', '4,"y ""z"" \\"w\\" v"']


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("rows", [MIXED[:2], MIXED[:3], MIXED, MIXED[1:], MIXED[::-1]])
def test_quotes_that_are_escaped_in_two_ways_are_never_read_without_a_word(sep, rows):
    text = "\n".join(["id,a", *rows]).replace(",", sep) + "\n"
    assert any("backslash" in told for told in found(text).doubts), (found(text), found(text).settings)


@pytest.mark.parametrize("sep", ["::", "||"])
@pytest.mark.parametrize(
    "row", ["{0}{s}1193{s}5{s}978300", "{0}{s}Toy: {0} (1995){s}Drama", "k{0}{s}x{s}{0}.5", "{0}{s}{s}a"]
)
@pytest.mark.parametrize("count", [2, 3, 9])
def test_doubled_marks_are_separators(sep, row, count):
    dialect = found("".join(row.format(n, s=sep) + "\n" for n in range(count)))
    assert (dialect.sep, dialect.columns) == (sep, row.count("{s}") + 1)


def test_names_of_programs_are_one_column():
    names = [f"{name}::{other}" for name in ("std", "boost", "Foo") for other in ("string", "map", "Bar", "list")]
    assert found("\n".join(names) + "\n").columns == 1
