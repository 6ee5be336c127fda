"""Guesses on thin evidence: separators inside of values, lines of several values, names that may be so by chance."""

from __future__ import annotations

import pytest

from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import Confidence, RawSample


def found(text, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given)


INSIDE = {
    "decimal commas": "".join(f"D{n}   ROUNDED     {n},000   {n},500    0,000 LINE\n" for n in range(10, 30)),
    "accessions": "".join(f"sp|Q{n}|KS_{n} -      Pkinase     PF{n}   {n}.5   0.0   kinase {n}\n" for n in range(20)),
    "codes": "".join(f"U{n}        RF{n}    ENA|BK{n}.2 -     cm     1   {n}\n" for n in range(10, 30)),
    "alignment": "".join(f"gi|{n}|gb|AF{n}   TATACATTAAAG   {n}\n" for n in range(100, 120)),
    "places; more": "".join(f"a{n};b    x   y     {n}\n" for n in range(10, 30)),
    "brackets": "".join(f"Ab{'ad' * (n % 4 + 1)} [P: Noun,Prop]\n" for n in range(20)),
    "a tree": "(Horse:-0.01,(Mule:0.02,Ass:0.03):0.1,Zebra:0.2);\n",
    "calls": "".join(f"f{n}(a{n},b)\n" for n in range(20)),
    "objects": "".join("{k" + f"{n},v{n}" + "}\n" for n in range(20)),
    "ranges": "".join(f"[{n};{n + 1}) x\n" for n in range(20)),
}


@pytest.mark.parametrize("kind", INSIDE)
def test_a_separator_inside_of_values_is_doubted(kind):
    assert found(INSIDE[kind]).doubts


@pytest.mark.parametrize("sep", [",", ";", "|"])
@pytest.mark.parametrize(
    "record",
    [
        lambda n: ["a  b", f"{n}", "x"],
        lambda n: [f"name{n}     ", f"     {n}", "x   "],
        lambda n: [f"f(a{n})", f"[{n}]", "{x}"],
        lambda n: [f"12 Main St   Apt {n}" if n % 3 else "5 High St", f"{n}", "x"],
        lambda n: [*map(str, range(20)), f"a   b   c{n}"],
    ],
    ids=["two blanks", "padded", "closed", "some", "one of many"],
)
def test_blanks_and_brackets_that_values_have_by_themselves_are_not(sep, record):
    text = "".join(f"{sep.join(record(n))}\n" for n in range(20))
    assert not [each for each in found(text).doubts if "inside of brackets" in each or "runs of blanks" in each]


PARTS = [
    "   4   6\n1 A:B B:C\n2 A:B B:.\n4\n5 0:1 1:2 .:0\n",
    "  5    42\nTurkey    AAGCTNGGGC ATTTCAGGGT\nSalmo gairAAGCCTTGGC AGTGCAGGGT\nH. SapiensACCGGTTGGC CGTTCAGGGT\n"
    "Chimp     AAACC CTTGC\nGorilla   AAACC CTTGC\n",
    "  Neptune\n\n  h m  s\n2020-01-01 10 1.5\n2020-01-02 10 30 2\n2020-01-03 11 1\n2020-01-04 1 2 3\n",
    "A1 B2 C3\nA1 B2\nC3 D4 E5 F6\nx1 x2\n",
    "1:a 2:b\n3:c\n1:x 2:y 3:z\n4:d 5:e\n",
    "10 20\n30 40 50\n1 2\n3\n5 6 7 8\n",
    "r1c1 r1c2\nr2c1 r2c2 r2c3\nr3c1\nr4c1 r4c2 r4c3\n",
    "12.5 N 3.5 E\n1.5 S\n2.5 N 1 E 7\n3 N 2\n",
    "k=1 v=2\nk=3 v=4 w=5\nk=6\nk=7 v=8 w=9 x=1\n",
    "ACGTT GGCAT\nACGTA CCGTA TTGCA\nGGATC AATTC\nTTAGC\n",
]


@pytest.mark.parametrize("text", PARTS)
def test_lines_of_several_values_that_are_read_as_one_column_are_told(text):
    dialect = found(text)
    assert dialect.doubts or "read as one column" in dialect.guesses()["sep"]


@pytest.mark.parametrize("sep", ["\t", ",", ";"])
def test_a_first_value_that_is_alone_as_many_others_are_is_no_sure_name(sep):
    lines = [f"{chr(0x4E00 + n)}{sep}{'ma' * (n % 9 + 1) if n % 2 else 'x' * (n + 3)}" for n in range(60)]
    setting = found("\n".join([f"{chr(0x5E00)}{sep}a/b/c", *lines, ""])).settings["header"]
    assert setting.confidence is Confidence.UNSURE


@pytest.mark.parametrize("begin", [428.0, -3.5, 1e4, 0.25])
@pytest.mark.parametrize("falls", [False, True])
def test_many_numbers_in_order_above_others_are_names(begin, falls):
    names = sorted((begin + n * n for n in range(1, 30)), reverse=falls)
    rows = [[(n * 7919 + i * 104729) % 1000 / 1000 for i in range(29)] for n in range(8)]
    text = "".join(",".join(map(str, row)) + "\n" for row in [names, *rows])
    assert found(text).header


@pytest.mark.parametrize(
    "first", ["The files differ in these:", "It is so.", "What is here is one of many texts of it"]
)
def test_a_sentence_above_lines_is_not_surely_a_name(first):
    lines = "".join(f"file_{n}.fcs\n" for n in range(12))
    assert found(f"{first}\n{lines}").settings["header"].confidence is Confidence.UNSURE


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_value_and_a_pipe_after_a_tab_is_told(end):
    assert "each line ends with a tab and a pipe" in found("".join(f"{n}\t|{end}" for n in range(20))).doubts[0]


@pytest.mark.parametrize("count", [2, 3, 5])
def test_remarks_that_begin_with_the_separator_are_told(count):
    text = "; a remark of it\n" * count + "".join(f"#f{n}7f10 ; name {n}\n" for n in range(9))
    assert f"{count} lines among the records begin with ;" in " ".join(found(text).doubts)
    assert not found(";a;b\nx;1;2\ny;3;4\nz;5;6\n").doubts  # the corner of a cross table


@pytest.mark.parametrize("kind", ["missing\tno-missing", "types\tnumeric", "missing\tINSDC:missing"])
def test_a_directive_below_the_header_is_told(kind):
    assert "#q2:" in " ".join(found(f"id\tcol1\n#q2:{kind}\n" + "".join(f"i{n}\tv{n}\n" for n in range(5))).doubts)


@pytest.mark.parametrize("names", [9, 11, 4])
def test_a_comment_of_names_of_another_width_is_told(names):
    top = "#Gene_ID\t" + "\t".join(f"Name_{chr(97 + n)}" for n in range(names - 1))
    dialect = found(f"{top}\n" + "".join(f"g{n}\t{n}\tA\tB\tx{n}\t{n}.5\t-\tz\n" for n in range(12)))
    assert dialect.doubts or "names may stand in line 1" in (dialect.unread_names or "")


@pytest.mark.parametrize("corner", ["", '""'])
def test_a_cross_table_of_odd_names_is_not_surely_without_a_header(corner):
    text = f"{corner},( ?)x,( ?)y,(z\n" + "".join(f"r{n},\\{n}a,b({n}),c\n" for n in range(9))
    assert found(text).settings["header"].confidence is not Confidence.CERTAIN
