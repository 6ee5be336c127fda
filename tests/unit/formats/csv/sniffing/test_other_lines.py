"""Lines among the records that are none, and first records that name nothing: refused, or read as what they are."""

from __future__ import annotations

import pytest

import splitscan as ss
from splitscan.errors import SchemaError
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import RawSample

ROWS = "".join(f"{n},{n / 2},{1000 + n},k{n}\n" for n in range(30))
HEADER = "time,temp,pressure,key\n"
SHORT = "".join(f"{n},{n / 2}\n" for n in range(6))


def found(text, **given):
    return find_dialect([RawSample(text.encode(), 0, is_end=True)], given)


def doubt(text, **given):
    """The only doubt of a text."""
    [told] = found(text, **given).doubts
    return told


UNITS = [
    "s,degC,hPa,text", "s,C,hPa,id", "[s],degC,hPa,x", "int,double,int,string", "s,m/s,%RH,-", "s,,hPa,", ",degC,,",
    "(s),(C),(Pa),()", "5n,10n,4n,8s", "d,%,,", "numeric,numeric,numeric,",
]  # fmt: skip


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("rows", [ROWS, "".join(ROWS.splitlines(keepends=True)[:3])])
def test_units_and_types_below_a_header_are_no_record(units, rows):
    told = doubt(HEADER + units + "\n" + rows)
    assert told.startswith(f"The line '{units}' below the first one may be units or names")
    assert "header=false with skipRows=2" in told
    assert not found(HEADER + units + "\n" + rows, header=True).doubts


@pytest.mark.parametrize(
    "text",
    [
        "name,score\nUnits,kg\n" + "ann,3\nbob,4\ncid,5\n",
        "name,score\n,kg\nann,3\nbob,4\n",
        "Name,Sales,,Cost,\n,2023,2024,2023,2024\n" + "A,1,2,3,4\nB,5,6,7,8\n",
        "site_no\tflow\tflow_cd\n15s\t14n\t10s\n0164\t5000\tA\n",
    ],
)
def test_units_above_few_records_or_below_merged_names_are_none(text):
    assert "units or names" in doubt(text)


def test_units_below_comments_are_counted_with_them():
    assert "skipRows=3" in doubt("# of today\n" + HEADER + "s,degC,hPa,text\n" + ROWS)


@pytest.mark.parametrize(
    "first", ["n/a,NaN,null,k", "1,2,3,k", "?,?,?,k", "-,.,--,k", "missing,<NA>,unknown,k", "*,>100,7,k", "x,2,3,k"]
)
def test_a_first_record_with_values_that_are_missing_is_a_record(first):
    assert found(HEADER + first + "\n" + ROWS).is_clear


@pytest.mark.parametrize("gap", ["", "\n", "\n\n", ",,,\n"])
@pytest.mark.parametrize("header", ["name,place,kind,more\n", "Day,max,min,of it\n"])
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_a_second_table_of_the_same_width_is_told_by_its_header(gap, header, sep):
    text = HEADER + ROWS + gap + header + "".join(f"n{n},p,q,r\n" for n in range(30))
    told = doubt(text.replace(",", sep))
    assert f"line {32 + gap.count(chr(10))}, names columns again" in told


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x,.4\n" + SHORT + "x,.3\n" + SHORT, 8),
        ("x,.02\n" + SHORT * 5 + "x,.03\n" + SHORT * 5, 32),
        ("Page,Views\n" + "".join(f"/p{n},{n}\n" for n in range(9)) + "\nCountry,Views\n" + "".join(
            f"C{n},{n}\n" for n in range(9)), 12),
        ("day,v\n" + SHORT + "\nmonth,total\n" + SHORT, 9),
        ("day,v\n" + SHORT + "month,total\n" + SHORT, 8),
        ("a,n\n" + "x,1\ny,2\nz,3\n" + "\nkind,sum\n" + "p,10\nq,20\nr,30\n", 6),
        ("# first\na,n\n" + SHORT + "\n# second\nb,m\n" + SHORT, 11),
        ("a,n\n" + SHORT * 9 + "\nb,m,o\n1,2,3\n4,5,6\n7,8,9\n", 57),
        ("1,2\n" * 9 + "\nb,m\n" + "3,4\n" * 9, 11),
        ("t,n\r\n" + SHORT.replace("\n", "\r\n") + "\r\nu,m\r\n" + SHORT.replace("\n", "\r\n"), 9),
    ],
)  # fmt: skip
def test_a_second_table_is_told_with_the_line_where_it_begins(text, line):
    assert any(f"line {line}, names columns again" in told for told in found(text).doubts), found(text).doubts


@pytest.mark.parametrize(
    "text",
    [
        HEADER + ROWS,
        HEADER + ROWS + "n/a,NaN,null,k\n" + ROWS,
        HEADER + ROWS + "x,x,x,x\n",
        ROWS,
        "name,place\n" + "ann,here\nbob,there\n" * 20,
        "id,note\n" + "".join(f"{n},x\n" for n in range(30)) + "see,above\n",
        HEADER + ROWS + "\n" + ROWS,
        "name,score\nann,1\nbob,2\n\ncid,3\ndan,4\neve,5\n",
        "name,v\n" + "".join(f"a{n},{n if n % 5 else 'none'}\n\n" for n in range(20)),
        "mark,v\n" + "".join(f"#{n},{n}\n" for n in range(20)),
    ],
)
def test_tables_without_such_lines_are_clear(text):
    assert found(text).is_clear, found(text).doubts


@pytest.mark.parametrize(
    "first",
    [
        "?,?,M,x", "-,-,M,red", "*,*,F,red", ".,.,F,red", "--,--,M,red", "<NA>,<NA>,F,red", "missing,missing,M,red",
        "?,-,M,red", "inf,>100,F,red", "..,...,M,red", "unknown,n.a.,F,red", "<5,>=1.5,M,red", "?,3,M,red",
    ],
)  # fmt: skip
@pytest.mark.parametrize("sep", [",", "\t"])
def test_what_stands_for_missing_values_names_no_column(first, sep):
    rows = "".join(f"{n},{n}.5,{'MF'[n % 2]},c{n}\n" for n in range(12))
    dialect = found((first + "\n" + rows).replace(",", sep))
    assert not dialect.header
    assert dialect.is_clear


@pytest.mark.parametrize("first", ["#,name", "n,?", "missing,total", "%,x", "region,<5"])
def test_a_mark_beside_a_name_is_a_name(first):
    assert found(first + "\n" + "".join(f"{n},{n}.5\n" for n in range(9))).header


@pytest.mark.parametrize(
    "text",
    [
        "id,name\n1,a\n2,b\nid,name\n3,c\n4,d\n",
        "\ufeffid,name\n1,a\n\ufeffid,name\n2,b\n",
        "id;v\n1;2\n3;4\n" * 2,
        "a\tb\tc\n1\t2\tx\n3\t4\ty\n" * 3,
        "when,what\n2020-01-01,x\n2020-01-02,y\n" * 2,
    ],
)
def test_a_header_that_comes_again_in_a_short_file_is_no_record(text):
    assert any("The header comes again" in told for told in found(text).doubts)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("sep", [";", ",", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_mark_of_a_file_that_was_appended_is_no_part_of_a_value(end, sep, mark):
    rows = end.join(f"{n}{sep}n{n}" for n in range(9)) + end
    assert "byte order mark" in doubt(mark + rows + "\ufeff" + rows)


@pytest.mark.parametrize("end", ["\x1a", "\x1a\r\n", "\x1a\n"])
@pytest.mark.parametrize("text", ["id\r\n1\r\n2\r\n", "id,v\r\n1,a\r\n2,b\r\n", "1,2\n3,4\n5,6\n", "a\tb\n1\t2\n"])
def test_the_mark_that_ends_a_file_of_dos_is_no_record(tmp_path, text, end):
    path = tmp_path / "a.csv"
    path.write_bytes((text + end).encode())
    dialect = ss.sniff_csv(path)
    assert (dialect.is_clear, dialect.comment) == (True, "\x1a")
    table = ss.scan_csv(path, dialect="auto").to_arrow()
    assert len(table) == len(text.splitlines()) - dialect.header
    assert {str(kind) for kind in table.schema.types} <= {"int32", "string"}
    again = ss.scan_csv(path, sep=dialect.sep, header=dialect.header, comment=r"\u001a")
    assert again.to_arrow().to_pylist() == table.to_pylist()


def test_what_the_refusal_of_units_says_works(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "s,degC,hPa,text\n" + ROWS)
    with pytest.raises(SchemaError, match="units or names"):
        ss.scan_csv(path, dialect="auto")
    read = ss.scan_csv(path, "a long, b double, c long, d string", header=False, skip_rows=2).to_arrow()
    assert read["a"].to_pylist() == list(range(30))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Jan  1 00:00:0{0} host sshd[123]: Accepted key, for root", "syslog"),
        ("Jan 1{0} 00:00:01 host kernel: [1.0] foo", "syslog"),
        ('1.2.3.4 - - [10/Oct/2020:13:55:3{0} +0000] "GET / HTTP/1.1" 200 {0}', "common"),
        ('1.2.3.4 - - [10/Oct/2020:13:55:3{0} +0000] "GET / HTTP/1.1" 200 {0} "-" "curl, 7"', "combined"),
        ("<34>1 2003-10-11T22:14:1{0}Z host su - ID47 - a; b", "syslog5424"),
        ("2024-01-31 10:00:0{0},123 [main] INFO a.B - text", "java"),
        ("2024-01-31 10:00:0{0},123 - a.b - INFO - text", "python"),
    ],
)
def test_lines_of_a_log_that_is_known_are_told_with_its_format(line, name):
    dialect = found("".join(line.format(n) + "\n" for n in range(6)))
    assert any(f"-f log -o logFormat={name}" in told for told in dialect.doubts), dialect.doubts


TOA5 = (
    '"TOA5","CR1000","CR1000","1234","Std.25","CPU:prog","5","Table1"\n"TIMESTAMP","RECORD","BattV","AirT"\n'
    '"TS","RN","Volts","Deg C"\n"","","Min","Avg"\n2024-01-01 00:00:00,0,12.5,3.4\n2024-01-01 00:10:00,1,12.6,3.5\n'
    "2024-01-01 00:20:00,2,12.6,NAN\n"
)


def test_a_first_line_that_is_wider_than_the_table_names_no_columns():
    told = doubt(TOA5)
    assert "give header=true with skipRows=1 or skipRows=2" in told
    assert "give header=false with skipRows=4 and a schema to leave all out" in told
    assert not found(TOA5, skipRows=4, header=False).doubts


def test_a_second_table_of_another_width_is_told_alone():
    first = "Page,Views,Time,Rate\n/home,1,2,3\n/about,3,4,5\n/shop,7,8,9\n"
    told = doubt(first + "\nDay Index,Views\n1/1/24,52\n1/2/24,60\n1/3/24,70\n1/4/24,75\n")
    assert told.endswith("another table begins there. Read each alone, the first as head -n 5 prints it.")


def test_a_first_record_of_another_width_is_a_record_or_left_out():
    told = doubt("1,1,2,3,4\n" + "1,2\n" * 20)
    assert "header=false to take it for a record, with skipRows=1 to leave it out" in told


FORM = (
    "Description:  Master Index\nReceived:     March 31, 2024\n \n\nForm Type   Company Name    CIK\n"
    "-----------------------------------\n10-K        ACME CORP       10\n8-K         FOO, INC        1002\n"
)


def test_a_rule_below_names_at_places_gives_the_places():
    [told] = [each for each in found(FORM).doubts if "is a rule" in each]
    assert "layout='`Form Type` 1 11, `Company Name` 13 15, CIK 29 4'" in told
    assert "tail -n +7" in told


def test_a_rule_below_names_between_pipes_is_left_out_with_the_lines_above_them():
    above = "Description: an index\nComments: none\n \n \n \n"
    text = above + "CIK|Company|Form\n--------------\n1|ACME|a\n2|BAR, INC|b\n3|X|c\n"
    [told] = [each for each in found(text).doubts if "is a rule" in each]
    assert told.endswith("give comment=- with skipRows=5.")
    assert (found(text, comment="-", skipRows=5).columns, found(text, comment="-", skipRows=5).doubts) == (3, ())


@pytest.mark.parametrize("units", UNITS)
def test_where_the_header_is_given_units_are_an_objection(units):
    dialect = found(HEADER + units + "\n" + ROWS, header=True)
    [told] = dialect.objections
    assert not dialect.doubts
    assert "below the first one may be units or names" in told
    assert told.endswith("give header=false with skipRows=2 and a schema.")


@pytest.mark.parametrize("sep", [",", ";", "|", "\t", "^"])
@pytest.mark.parametrize(
    "rule", [["----", "----", "--------", "---"], ["--", "-", "---", "-"], ["==", "====", "==", "=="], ["____"] * 4]
)
@pytest.mark.parametrize("footer", ["", "\n(30 rows affected)\n"])
def test_dashes_in_all_fields_below_a_header_are_a_rule(sep, rule, footer):
    table = (HEADER + sep.join(rule).replace(",", sep) + "\n" + ROWS).replace(",", sep)
    told = " ".join(found(table + footer).doubts)
    assert f"The line '{sep.join(rule)}' is a rule, and no record: give" in told.replace("\\t", "\t")
    assert f"comment={rule[0][0]}" in told
    below = found(table + footer, comment=rule[0][0])
    assert (below.sep, below.header, below.columns) == (sep, True, 4)


def test_a_rule_above_negative_numbers_is_skipped_with_the_names():
    told = doubt("t,key\n--,---\n" + "".join(f"-{n},k{n}\n" for n in range(1, 9)))
    assert "skipRows=2 with header=false" in told


def test_a_record_of_single_dashes_is_none_that_is_drawn():
    assert found("t,key,u\n-,-,-\n" + "".join(f"{n},k{n},{n}\n" for n in range(30))).is_clear


def test_a_rule_in_quotes_begins_no_comments():
    table = '"id","name"\n"--","----"\n' + "".join(f'"{n}","n{n}"\n' for n in range(9))
    assert "is a rule, and no record: give skipRows=2 with header=false" in doubt(table)


@pytest.mark.parametrize("groups", ["Person,,Place,", ",Person,,Place", "Person,,,Place", "A,,B,"])
@pytest.mark.parametrize("rows", [2, 9])
def test_names_of_groups_above_names_and_texts_are_none(groups, rows):
    text = f"{groups}\nfirst,last,city,street\n" + "".join(f"Ann{n},Lee{n},Oslo{n % 3},x{n % 2}\n" for n in range(rows))
    told = doubt(text)
    assert "The line 'first,last,city,street' may be the header: give header=true with skipRows=1" in told
    assert found(text, header=True, skipRows=1).is_clear


def test_names_of_groups_above_one_record_are_none():
    assert "may be the header" in doubt(",People,,Area,\nname,all,urban,land,water\np,10,20,0.5,0.25\n")


@pytest.mark.parametrize(
    "text", ["ann,,rome,x\nbob,lee,,y\neve,fox,oslo,z\n", "a,,c\nd,e,f\nd,e,g\n", "a,,c\n1,2,3\n4,5,6\n"]
)
def test_records_with_missing_values_are_no_names_of_groups(text):
    assert not any("may be the header" in told for told in found(text).doubts)


@pytest.mark.parametrize(
    "note", ["Derived from a map,,,", "measured in May 2013,,,", "see report 7,,,", "* by hand,,,"]
)
def test_a_note_below_the_names_is_no_record(note):
    text = f"name,kind,x,y\n{note}\n" + "".join(f"m{n},a,{n}.5,{n}.25\n" for n in range(8))
    assert f"The line {note!r} below the first one may be a note" in doubt(text)
    assert "header=false with skipRows=2" in doubt(text)


def test_a_first_record_of_one_value_is_read_where_others_lack_values_too():
    assert found("name,kind,x,y\nAnn Lee,,,\n" + "".join(f"m{n},a,{n}.5,\n" for n in range(8))).is_clear


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line", [9, 25, 39])
def test_a_header_of_texts_alone_that_comes_again_is_told(sep, line):
    lines = [sep.join((f"f{n}", f"name {n}", "a b")) for n in range(40)]
    lines.insert(line, sep.join(("File", "Symbol", "Note")))
    text = "\n".join([sep.join(("File", "Symbol", "Note")), *lines, ""])
    assert "The header comes again 1 time below" in found(text).doubts[0]


def test_a_record_of_texts_that_comes_again_as_others_do_is_one():
    lines = [f"{a},{b}" for a in ("ann", "bob", "cy") for b in ("x", "y", "z")] * 4
    assert found("\n".join([*lines, ""])).doubts == ()
