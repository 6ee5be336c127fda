"""Line ends and separators in values without quotes: told, with what reads them."""

from __future__ import annotations

import pytest

import splitscan as ss
from splitscan.errors import SchemaError
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import RawSample

NAMES = "id,note,n"


def table(end, value, rows=30, every=1, sep=","):
    """Records, of which one in so many has a value."""
    lines = [NAMES, *(f"{n},{value if n % every == 0 else 'plain'},{n}.5" for n in range(rows))]
    return "".join(line + end for line in lines).replace(",", sep)


def doubts(text, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given).doubts


@pytest.mark.parametrize(
    ("end", "value", "line_sep"),
    [
        ("\n", "x\ry", "\n"),
        ("\n", "\rx", "\n"),
        ("\r\n", "x\ry", "\r\n"),
        ("\r\n", "x\ny", "\r\n"),
        ("\n", "x\r\ry", "\n"),
    ],
)
@pytest.mark.parametrize("every", [1, 3, 29])
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_line_ends_in_values_name_what_ends_records(tmp_path, end, value, line_sep, every, sep):
    path = tmp_path / "a.csv"
    path.write_bytes(table(end, value, every=every, sep=sep).encode())
    shown = line_sep.replace("\r", r"\r").replace("\n", r"\n")
    with pytest.raises(SchemaError) as caught:
        ss.scan_csv(path, dialect="auto")
    assert f"give lineSep={shown}, in a shell -o $'lineSep={shown}'." in str(caught.value)
    scan = ss.scan_csv(path, dialect="auto", line_sep=line_sep)
    rows = scan.to_arrow().to_pylist()
    assert (scan.schema.names, len(rows), rows[0]["note"]) == (NAMES.split(","), 30, value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("every", [1, 3])
def test_backslashes_before_line_ends_are_told(end, sep, every):
    [told] = doubts(table(end, "x\\" + end + "y", every=every, sep=sep))
    assert "A backslash stands before" in told
    assert "sed -e" in told


def test_a_file_without_a_header_whose_records_are_cut_alike_is_told():
    [told] = doubts("".join(f"{n}\tx\\\ny\t\\N\n" for n in range(8)))
    assert "A backslash stands before 8 line ends" in told


@pytest.mark.parametrize("sep", [",", ";", "|"])
def test_backslashes_before_separators_are_told(sep):
    [told] = doubts(table("\n", "x\\,y", every=3, sep=sep))
    assert "A backslash stands before 10 separators" in told


@pytest.mark.parametrize(
    "text",
    [
        table("\n", "x"), table("\r\n", "x"), table("\r", "x"),
        table("\n", "x") + table("\r\n", "y").partition("\n")[2],
        table("\n", '"x\ry"'), table("\r\n", '"x\ny"'), "dir,path\n" + "".join(f"{n},C:\\{n}\\\n" for n in range(9)),
        table("\n", '"x\\\ny"'), table("\n", '"x\\\ny"', every=3), table("\r\n", '"x\\\r\ny"', every=29),
        table("\n", "x\\y"), table("\n", "C:\\"),
    ],
)  # fmt: skip
def test_files_without_such_values_are_clear(text):
    assert not doubts(text)
