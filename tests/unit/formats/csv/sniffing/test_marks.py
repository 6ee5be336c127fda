"""Lines that begin with a sign among records: comments that would be records, and records that are none."""

from __future__ import annotations

import pytest

from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import RawSample

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
