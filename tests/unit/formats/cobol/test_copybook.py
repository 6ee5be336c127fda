"""Copybooks: columns of lines, clauses, places, and errors that name the place."""

import time

import pytest

from splitscan.errors import UsageError
from splitscan.formats.cobol.copybook import parse_copybook
from splitscan.formats.cobol.layout import ItemRules, lay_out
from splitscan.formats.cobol.nodes import Leaf, parse_picture


def layout(text, first=6, **rules):
    return lay_out(parse_copybook(text, first), ItemRules(**rules))


def names_of(found):
    return [each.name for each in found.columns]


def places(text, first=6, **rules):
    return [(each.name, each.at, each.size) for each in layout(text, first, **rules).columns if isinstance(each, Leaf)]


def test_only_some_columns_of_a_line_are_text():
    text = (
        "000100 01  REC.                                                         REMARK\n"
        "      * a comment with PIC X.\n"
        "000200     05  A-B      PIC\n"
        "000300                  X(3).\n"
        "      /\n"
        "           05  c pic 9(2) comp-3. ***** more\n"
        "           05  D VALUE 'it''s. 05 X' PIC X.\n"
        "           SKIP1\n"
        "           05  LONG-NA\n"
        "      -        ME PIC X(2) VALUE 'A\n"
        "      -    'B'.\n"
    )
    assert places(text) == [("A_B", 0, 3), ("c", 3, 2), ("D", 5, 1), ("LONG_NAME", 6, 2)]
    assert places("01 R.\n05 A PIC X.\n05 B PIC 9 COMP.", None) == [("A", 0, 1), ("B", 1, 2)]


def test_clauses_that_say_nothing_of_the_bytes_are_passed_over():
    text = """
       01 R EXTERNAL GLOBAL.
          05 A PIC X(2) JUSTIFIED RIGHT VALUE IS SPACES.
          05 B PIC 9(2) BLANK WHEN ZERO VALUE +1.5.
          05 C OCCURS 2 TIMES ASCENDING KEY IS K INDEXED BY I J PIC X.
             88 YES VALUE 'Y' 'J'.
          05 E PIC X VALUE X'00'.
          05 F VALUE ALL '*' PIC X.
          05 PIC X.
          05 G PIC X.
    """
    assert places(text) == [("A", 0, 2), ("B", 2, 2), ("E", 6, 1), ("F", 7, 1), ("G", 9, 1)]


def test_redefined_bytes_are_as_long_as_the_longest_of_their_views():
    text = """
       01 R.
          05 A PIC X(2).
          05 B REDEFINES A PIC 9(4) COMP-3.
          05 C REDEFINES A.
             10 D PIC X.
          05 E PIC X.
    """
    assert places(text) == [("A", 0, 2), ("B", 0, 3), ("E", 3, 1)]
    assert layout(text).length == 4


def test_groups_say_usage_and_sign_for_what_is_inside():
    text = """
       01 R.
          05 G USAGE COMP-3.
             10 A PIC 9(3).
             10 B PIC 9(3) DISPLAY.
          05 H SIGN IS TRAILING SEPARATE.
             10 C PIC S9(2).
    """
    group, other = layout(text).columns
    assert [(each.coding, each.size) for each in (*group.members, *other.members)] == [
        ("packed", 2), ("zoned", 3), ("zoned", 3)
    ]  # fmt: skip


def test_filler_is_a_column_if_it_is_asked_for():
    text = """
       01 R.
          05 FILLER PIC X.
          05 FILLER.
             10 A PIC X.
          05 B PIC X.
    """
    names = [
        names_of(layout(text, drop_values=values, drop_groups=groups))
        for values, groups in ((True, False), (True, True), (False, False))
    ]
    assert names == [["FILLER_1", "B"], ["B"], ["FILLER_P1", "FILLER_2", "B"]]
    assert names_of(layout(text, keeps_root=True)) == ["R"]


BAD = [
    ("       01 R.\n          05 A PIC X(3) SYNC.", 2, 25, "SYNC is not read"),
    ("       01 R.\n          COPY OTHER.", 2, 11, "COPY OTHER is not read"),
    ("       01 R.\n          66 A RENAMES B.", 2, 11, "level 66"),
    ("       01 R.\n          05 A PIC Q(3).", 2, 20, "picture is not known"),
    ("       01 R.\n          05 A PIC X(0).", 2, 20, "a repetition is a number"),
    ("       01 R.\n          05 A PIC X(3", 2, 20, "a statement does not end"),
    ("       01 R.\n          05 A PIC 9(39).", 2, 20, "at most 38 digits"),
    ("       01 R.\n          05 A PIC X WHATEVER.", 2, 22, "clause is not known"),
    ("       01 R.\n          05 A COMP-X PIC 9.", 2, 16, "USAGE COMP-X is not read"),
    ("       01 R.\n          05 A PIC X OCCURS 3 TO 2.", 2, 22, "OCCURS is n"),
    ("       01 R.\n          05 A PIC X OCCURS 2 DEPENDING ON B.", 2, 44, "DEPENDING ON names"),
    ("       01 R.\n          05 A PIC X.\n          05 B REDEFINES Q PIC X.", 3, 26, "REDEFINES names"),
    ("       01 R.\n          05 A PIC X.\n          05 a PIC X.", 3, 14, "the first is in line 2"),
    ("       01 R.\n          05 A.", 2, 14, "has a picture, or items"),
    ("       01 R.\n          05 A PIC X.\n             10 B PIC X.", 3, 17, "no items inside"),
    ("       01 R.\n          10 A PIC X.\n        05 B PIC X.", 3, 12, "stands beside"),
    ("       01 R.\n          05 A PIC X.\n       01 S.\n          05 B PIC X.", 3, 11, "several level-01"),
    ("       01 R.\n          05 A PIC X(3) COMP-3.", 2, 14, "a text is DISPLAY"),
    ("       01 R.\n          05 A PIC 9 COMP-1.", 2, 14, "have no picture"),
    ("       01 R.\n      D   05 A PIC X.", 2, 7, "debugging"),
    ("       01 R.\n          05 A PIC X VALUE 'x.", 2, 28, "a literal does not end"),
    ("       50 R PIC X.", 1, 8, "levels are 01 to 49"),
    ("01 R.\n   05 A PIC X.", 2, 7, "truncateComments=false"),
    ("       01 R.\n          05 FILLER PIC X.", 1, 11, "no item of the copybook"),
    ("       01 R.\n          05 A PIC X(99999) OCCURS 99999.", 2, 14, "at most 268435456 bytes"),
    ("       01 R.\n          05 A REDEFINES A PIC X.", 2, 26, "REDEFINES names"),
    ("       01 R.\n          05 A REDEFINES B PIC X.\n          05 B REDEFINES A PIC X.", 2, 26, "REDEFINES names"),
    ("", 1, 1, "there is no item"),
]


@pytest.mark.parametrize(("text", "line", "column", "said"), BAD)
def test_errors_name_line_and_column(text, line, column, said):
    with pytest.raises(UsageError) as caught:
        layout(text)
    assert f"line {line}, column {column}:" in str(caught.value)
    assert said in str(caught.value)
    assert caught.value.reason_code == "bad-copybook"


def test_names_of_numbers_that_say_lengths_are_found_in_their_own_lists():
    text = """
       01 R.
          05 N PIC 9.
          05 G OCCURS 2.
             10 M PIC 9.
             10 A OCCURS 0 TO 2 DEPENDING ON M PIC X.
             10 B OCCURS 0 TO 2 DEPENDING ON N PIC X.
    """
    group = layout(text).columns[1]
    assert [(each.level, each.counter.name) for each in group.item.members[1:]] == [(1, "M"), (0, "N")]
    with pytest.raises(UsageError, match="DEPENDING ON names one whole number"):
        layout(text + "          05 C OCCURS 0 TO 2 DEPENDING ON M PIC X.\n")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("S9(5)V99", (7, 7, 2, 0, True)), ("SVPP9", (1, 1, 3, 0, True)), ("9(3)PP", (3, 3, 0, 2, False)),
        ("9(3)PPV", (3, 3, 0, 2, False)), ("PP9", (1, 1, 3, 0, False)), ("+9(3)", (4, 3, 0, 0, True)),
        ("9(3).99-", (7, 5, 2, 0, True)), ("X(3)9", (4, 0, 0, 0, False)), ("ZZ,ZZ9", (6, 0, 0, 0, False)),
        ("99/99", (5, 0, 0, 0, False)), ("9(2)B9", (4, 0, 0, 0, False)), ("**9V99", (5, 0, 0, 0, False)),
    ],
)  # fmt: skip
def test_pictures(text, found):
    assert parse_picture(text)[:5] == found


@pytest.mark.parametrize(
    "text", ["", "V", "S", "9P9", "9V9P", "X(", "X()", "(3)", "9(3)(2)", "X(100001)", "+9-", "+S9", "9.P9"]
)
def test_pictures_without_a_meaning_are_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_picture(text)


def test_large_copybooks_take_time_in_their_length():
    def seconds(count):
        items = "".join(f"          05 T{n} OCCURS 2.\n           10 N{n} PIC 9(3).\n" for n in range(count))
        started = time.process_time()
        assert len(layout("       01 R.\n" + items).columns) == count
        return time.process_time() - started

    assert seconds(5_000) < 40 * max(seconds(500), 0.01)  # ten times as many; a square would be a hundred


def test_groups_inside_of_groups_are_as_many_as_there_are_levels():
    text = "".join(f"{' ' * 7}{level:02} L{level}{'.' if level < 49 else ' PIC X.'}\n" for level in range(1, 50))
    node, depth = layout(text).columns[0], 1
    while not isinstance(node, Leaf):
        (node,) = node.members
        depth += 1
    assert (node.name, depth) == ("L49", 48)


def test_lists_inside_of_lists_are_bounded_by_the_bytes_of_a_record():
    lists = "".join(f"{' ' * 10}{level:02} L{level} OCCURS 100.\n" for level in range(5, 49))
    with pytest.raises(UsageError, match="at most 268435456 bytes"):
        layout(f"       01 R.\n{lists}{' ' * 10}49 A PIC X.\n")
