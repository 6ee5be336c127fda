"""Records of XML by their row tag, wherever a piece of the file begins and ends."""

import pytest

from splitscan.engine import kernel
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.xml.framing import XmlFormat
from splitscan.testing import check_chunking_law, check_summary_law

FORMAT = XmlFormat("r", resolve_encoding("UTF-8"))


@pytest.mark.thin(2)
@pytest.mark.skipif(kernel() is None, reason="the reference has no summaries")
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


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16LE", "UTF-32BE"])
def test_a_row_tag_may_have_any_letters(encoding):
    format = XmlFormat("é☃", resolve_encoding(encoding))
    parts = ["<ü☃>1</ü☃><é☂/>", "<é☃ a='<é☃>'>", "<é☂/>2</é☃>", "<☃é/></☃é>"]
    before, *record = (format.encoding.encode(part) for part in parts[:3])
    frames = format.frame(b"".join([before, *record, format.encoding.encode(parts[3])]), at_end=True)
    assert (frames.starts.tolist(), frames.stops.tolist()) == ([len(before)], [len(before) + sum(map(len, record))])


@pytest.mark.parametrize("mark", ["<!---->", "<!-- - -->", "<![CDATA[]]>", "<?p?>", "<a b='>'>", "<r>1</r>", "</r >"])
@pytest.mark.parametrize("tag", ["r", "a_long_name_of_records"])
def test_wherever_the_file_is_cut_the_next_piece_goes_on_in_the_mark(mark, tag):
    format = XmlFormat(tag, resolve_encoding("UTF-8"))
    data = f"x{mark}<r>1</r>{mark}<!--y--><r/>y<r>2</r>".replace("r>", f"{tag}>").replace("<r", f"<{tag}").encode()
    for buffer in range(1, len(data), 1 + len(data) // 40):
        check_chunking_law(format, data, [buffer])
    found = format.frame(data, at_end=True).starts.tolist()
    for cut in range(1, len(data)):
        state = format.state_after(data[:cut])
        run = format.summarise(data[cut:], data[:cut], b"", 0).run(state)
        if run is not None:
            assert run.records == sum(start >= cut for start in found)


@pytest.mark.parametrize(
    ("text", "dealt_with"),
    [("<r>1</r>x", 9), ("<r>1</r><", 8), ("<r>1</r></r", 8), ("<r>1</r><!--", 8), ("<r>1</r><a b='", 8), ("<r>1", 0)],
)
def test_a_mark_that_nobody_closes_is_left_to_be_given_up(text, dealt_with):
    assert FORMAT.frame(text.encode(), at_end=True).next_start == dealt_with
