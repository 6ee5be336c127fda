from __future__ import annotations

from splitscan.options import parse_options


def test_both_spellings_and_every_case_of_a_name_are_accepted():
    for name in ("lineSep", "linesep", "LINESEP", "line_sep"):
        assert parse_options("csv", {name: "|"}).format.line_sep == "|"
