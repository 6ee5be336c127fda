"""Records of XML by their row tag, wherever a piece of the file begins and ends."""

import pytest

from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.xml.framing import XmlFormat
from splitscan.testing import check_summary_law

FORMAT = XmlFormat("r", resolve_encoding("UTF-8"))


@pytest.mark.parametrize(
    ("text", "open_cuts"),
    [
        ("<r>1</r><r/> <r a='/>' b=\"</r>\"/>x<r >2</r ></r><r/", []),
        ("<r><r><r>1</r ></r></r><r a='1'<r>2</r>", range(7, 11)),  # three row tags deep
        ("<!--<r>--><r><![CDATA[</r>]]></r><?r <r> ?></r ><r>", []),
        ("<r a=          'b'  />x</r        ><r>1</r        ></r         <r>2</r>", [*range(24, 35), *range(52, 64)]),
    ],
)
def test_summaries_agree_wherever_they_meet_but_in_a_closing_tag_outside_of_records(text, open_cuts):
    data = text.encode()
    checked = {cut for cut in range(len(data)) if check_summary_law(FORMAT, data[:cut], data[cut:])}
    assert set(range(1, len(data) - 3)) - checked == set(open_cuts)


@pytest.mark.parametrize(
    ("text", "dealt_with"),
    [("<r>1</r>x", 9), ("<r>1</r><", 8), ("<r>1</r></r", 8), ("<r>1</r><!--", 8), ("<r>1</r><a b='", 8), ("<r>1", 0)],
)
def test_a_mark_that_nobody_closes_is_left_to_be_given_up(text, dealt_with):
    assert FORMAT.frame(text.encode(), at_end=True).next_start == dealt_with
