"""Lines of units and second tables: they are read as records, and it is said."""

from __future__ import annotations

import logging

import pytest

import splitscan as ss
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import RawSample

ROWS = "".join(f"{n},{n / 2},{1000 + n},k{n}\n" for n in range(30))
HEADER = "time,temp,pressure,key\n"


def notes(text, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given).notes


@pytest.mark.parametrize(
    "units", ["s,degC,hPa,text", "s,C,hPa,id", "[s],degC,hPa,x", "int,double,int,string", "s,m/s,%RH,-"]
)
def test_units_below_a_header_are_said_to_be_read_as_a_record(units):
    [note] = notes(HEADER + units + "\n" + ROWS)
    assert note.startswith(f"has texts above values in line 2, '{units}', and reads them as a record")
    assert "header=false with skipRows=2" in note


def test_units_below_lines_that_are_skipped_are_counted_with_them():
    [note] = notes("# of today\n" + HEADER + "s,degC,hPa,text\n" + ROWS)
    assert "in line 3, " in note
    assert "skipRows=3" in note


@pytest.mark.parametrize("gap", ["", "\n", "\n\n"])
@pytest.mark.parametrize("header", ["name,place,kind,more\n", "Day,max,min,of it\n"])
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_a_second_table_of_the_same_width_is_told_by_its_header(gap, header, sep):
    text = HEADER + ROWS + gap + header + "".join(f"n{n},p,q,r\n" for n in range(30))
    [note] = notes(text.replace(",", sep))
    assert note.startswith(f"has texts in line {32 + len(gap)}, ")
    assert "another table may begin there" in note


@pytest.mark.parametrize(
    "text",
    [
        HEADER + ROWS,
        HEADER + ROWS + "n/a,NaN,null,k\n" + ROWS,
        HEADER + ROWS + "total,15,1030,k\n",
        HEADER + ROWS + "x,x,x,x\n",
        ROWS,
        "name,place\n" + "ann,here\nbob,there\n" * 20,
        "id,note\n" + "".join(f"{n},x\n" for n in range(30)) + "see,above\n",
        HEADER + "1,2,3,k\n",
    ],
)
def test_tables_without_such_lines_have_no_note(text):
    assert notes(text) == ()


def test_every_door_says_it(tmp_path, caplog):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "s,degC,hPa,text\n" + ROWS)
    for door in (
        lambda: ss.sniff_csv(path).options(),
        lambda: ss.scan_csv(path, dialect="auto"),
    ):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "splitscan"):
            assert door()
        assert "a.csv has texts above values in line 2" in caplog.text
    found = ss.scan_csv(path, "a long, b double, c long, d string", header=False, skip_rows=2).to_arrow()
    assert found["a"].to_pylist() == list(range(30))
