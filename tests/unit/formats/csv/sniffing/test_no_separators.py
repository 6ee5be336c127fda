"""Separators that are parts of values, however regular, and texts that are no tables: told, with what reads them."""

from __future__ import annotations

import logging
import random

import pytest

import splitscan as ss
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import Confidence, RawSample


def found(text, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given)


def padded(value, mark="", rows=12, seed=1):
    """Lines of a name, a value with separators in it, and numbers, all at places."""
    dice = random.Random(seed)
    lines = (
        f"{dice.choice(['Globin', 'Ig_3', 'U2']):<20} {value.format(n):<24} {dice.uniform(0, 99):8.1f} {n:6} free "
        f"{'text ' * dice.randint(0, 3)}"
        for n in range(rows)
    )
    return mark + "\n".join(map(str.rstrip, lines)) + "\n"


@pytest.mark.parametrize("mark", ["", "#name   id     score\n#------ ------ -----\n", "name    id    score\n"])
@pytest.mark.parametrize(
    "value", ["gi|{}|ref", "sp|P{}|KS_RAT", "{};x", "a;{};c", "ENA|X{}|B.2", "x^{}", "~{}~", "a,{}", "{},b,c", "k|{}"]
)
def test_runs_of_blanks_at_places_are_in_doubt(value, mark):
    dialect = found(padded(value, mark))
    assert dialect.doubts
    assert dialect.settings["sep"].confidence is not Confidence.CERTAIN
    assert not found(padded(value), sep=r"\s+", columnsArray=True, header=False).doubts
    assert not found(padded(value), sep="\x1f", header=False).doubts


@pytest.mark.parametrize(
    "text",
    [
        "id,note\n" + "".join(f"{n},a sentence.  Another one\n" for n in range(9)),
        "id,note\n" + "".join(f"{n},{'x' * (n % 4)} y  z\n" for n in range(9)),
        "id    ,   note\n" + "".join(f"{n}     ,   a b\n" for n in range(9)),
        "id|note\n" + "".join(f'{n}|"a    b"\n' for n in range(9)),
        "id,note\n" + "".join(f"{n},{'far    away' if n == 4 else 'near'}\n" for n in range(9)),
        "id,at,v\n" + "".join(f"{n},f({n}),{n}.5\n" for n in range(9)),
        "id,v\n" + "".join(f"{n}),{n}.5\n" for n in range(9)),
        "id,v,w\n" + "".join(f"{n},(a{n}) x,[b]\n" for n in range(9)),
        "id,v\n1,x\n2,(a\n3,b)\n4,c\n",
    ],
)
def test_fields_that_hold_blanks_or_brackets_otherwise_are_none(text):
    dialect = found(text)
    assert (dialect.doubts, dialect.settings["sep"].confidence) == ((), Confidence.CERTAIN)


@pytest.mark.parametrize(
    "line",
    [
        "Abad{} [P: Noun,Prop]", "x{} (a,b)", "f({},2)", "{{{}:1,b:2}}", "[{},2]", "go{} [a;b]", "p{} {{x|y}}",
        "(({},b) c", "{} (a,b,c,d)", "w{} [1;2;3]",
    ],
)  # fmt: skip
def test_separators_inside_of_brackets_only_are_in_doubt(line):
    text = "".join(line.format(f"w{n}") + ")" * line.startswith("((") + "\n" for n in range(9))
    dialect = found(text)
    assert "Brackets open" in " ".join(dialect.doubts) or "which is no CSV" in " ".join(dialect.doubts)
    assert not found(text, sep="\x1f").doubts


@pytest.mark.parametrize("blank", [" ", "   ", "\t "])
@pytest.mark.parametrize(
    "shape", ["D{0} ROUND {0},000 0,{0} LINE", "{0} x{0} 1{0},5", "a {0},25 b", "k{0} -{0},50 1,5 z"]
)
def test_decimal_commas_between_blanks_are_in_doubt(shape, blank):
    text = "".join(shape.format(n).replace(" ", blank) + "\n" for n in range(10, 30))
    dialect = found(text)
    assert dialect.doubts or dialect.sep in (r"\s+", "\t")
    assert dialect.settings["sep"].value != "," or dialect.settings["sep"].confidence is not Confidence.CERTAIN


@pytest.mark.parametrize("sep", ["|", ";"])
def test_a_decimal_comma_after_a_name_is_no_separator(sep):
    text = "".join(f"Kind=K{n}{sep}Name=x{n}{sep}Minimum=-{n},00\n" for n in range(12))
    assert (found(text).sep, found(text).columns) == (sep, 3)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("value", ["{}", "a{}", "x y {}"])
def test_one_value_before_a_tab_and_a_pipe_is_refused_with_what_reads_it(tmp_path, value, end):
    values = [value.format(n) for n in range(20)]
    text = "".join(f"{each}\t|{end}" for each in values)
    assert "lineSep" in found(text).doubts[0]
    path = tmp_path / "delnodes.dmp"
    path.write_bytes(text.encode())
    rows = ss.scan_csv(path, sep="\t|\t", line_sep="\t|" + end, quote="").to_arrow()
    assert list(map(str, rows.column(0).to_pylist())) == values


@pytest.mark.parametrize(
    "top",
    ["; a palette\n; of mine\n", "; a palette\n;\n", "; one palette of many colours for plots\n", "; a\n; b\n; c\n"],
)
@pytest.mark.parametrize("first", ["#{}0a", "k{}", "{}"])
def test_comments_that_begin_with_the_separator_are_told(top, first):
    lines = [f"{first.format(n)};name{n}\n" for n in range(6)]
    assert "give skipRows=" in found(top + "".join(lines)).doubts[0]
    assert (found(top + "".join(lines), comment=";").doubts, found(top + "".join(lines), comment=";").columns) == (
        (),
        2,
    )
    for sep in (
        () if first[0] == "#" else (" ; ", ";;", ";x;")
    ):  # where a wider table shows that such lines stand above it, they are skipped
        dialect = found(top + "".join(line.replace(";", sep) for line in lines))
        assert dialect.doubts or dialect.skip_rows == top.count("\n")


@pytest.mark.parametrize("text", [";a;b\nx;1;2\ny;3;4\nz;5;6\n", "; 2019; 2020\nx; 1; 2\ny; 3; 4\nz; 5; 6\n"])
def test_a_header_without_its_first_name_is_no_comment(text):
    assert not found(text).doubts


@pytest.mark.parametrize("kind", ["types\tnumeric\ttext", "missing\tno-missing\tinsdc", "types\tnumeric", "types"])
@pytest.mark.parametrize("top", ["", "# made by hand\n", "#\n"])
@pytest.mark.parametrize("more", ["", "#q2:missing\tx\ty\n", "# note\n"])
def test_directives_are_told_one_way_wherever_they_stand(kind, top, more):
    rows = "".join(f"s{n}\t{n}\tx{n}\n" for n in range(5))
    text = f"{top}id\ta\tb\n#q2:{kind}\n{more}{rows}"
    assert any(
        "has directives, and is no record: give comment=# and header=true." in each for each in found(text).doubts
    )
    read = found(text, comment="#", header=True)
    assert (read.doubts, read.first_record) == ((), ("id", "a", "b"))
    text = f"#id\ta\tb\n#q2:{kind}\n{more}{rows}"
    below = 2 + more.startswith("#q2")
    assert any(f"give comment=# and header=false with skipRows={below}, and" in each for each in found(text).doubts)
    assert not found(text, comment="#", header=False, skipRows=below).doubts


@pytest.mark.parametrize(
    "text",
    [
        "The files are these:\n\nFirst of all this one:\na.fcs\n\nThen one with more information:\nb.fcs\n",
        "            Moon             \n\n   Apparent Positions   \n\n Date  Time  Place \n 1 2 3\n 2 3 4\n",
        "Dear all\n\nthe table is late\n\nwe are sorry about it\n",
        "a b\nc d\n\ne f\ng h\n",
        "# note\nSET this that\n\nSFX A B\nSFX C D\n",
    ],
)
def test_blocks_of_lines_of_words_are_refused(text):
    dialect = found(text)
    assert "stand in blocks, with empty lines between" in dialect.doubts[0]
    assert not found(text, sep="\x1f").doubts


@pytest.mark.parametrize("text", ["a\nb\n\nc\nd\ne\n", "# a note of it\n\nx\ny\nz\n", "x\n\n\n", "n\n1\n\n2\n3\n"])
def test_single_words_with_empty_lines_between_are_none(text):
    assert not found(text).doubts


@pytest.mark.parametrize(
    "line", ["Food is tested, which is hard to do, as we know", "See here, in all these many places"]
)
def test_a_single_sentence_is_no_record(line):
    assert "The only line may be a text" in found(line + "\n").doubts[0]
    assert not found("id, name, value\n").doubts


def test_a_first_line_of_many_words_is_no_name():
    text = "What this file of words is about\n" + "on\noff\n" * 40
    assert (found(text).header, found(text).settings["header"].confidence) == (False, Confidence.UNSURE)


def test_long_lines_without_a_quote_are_not_said_to_be_quoted(tmp_path, caplog):
    rows = [",".join(f"n{i}" for i in range(4000)), *(",".join(f"{n}.{i}" for i in range(4000)) for n in range(9))]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(rows) + "\n")
    text = path.read_text()
    cut = find_dialect([RawSample(text[:64000].encode(), 0, is_end=False)], {})
    assert not cut.doubts
    assert (
        "may be quoted" in find_dialect([RawSample(f'a,b\n1,"{text[:9000]}'.encode(), 0, is_end=False)], {}).doubts[0]
    )
    with caplog.at_level(logging.WARNING):
        ss.scan(path).schema  # noqa: B018
    assert "header=true" in caplog.text
    assert "quoted" not in caplog.text
