import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.errors import UsageError
from splitscan.scans.globs import compile_glob, expand_braces, fixed_prefix, has_glob


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.csv", ["a.csv", ".csv", "ä b.csv"], ["a.csv.gz", "acsv", "d/a.csv"]),
        ("**", ["a", ""], ["a/b"]),
        ("a?c", ["abc", "a.c", "aäc"], ["ac", "abbc", "a/c"]),
        ("[abc]x", ["ax", "cx"], ["dx", "x", "[abc]x"]),
        ("[a-c1-3]x", ["bx", "2x"], ["dx", "-x"]),
        ("[^a]x", ["bx", "-x"], ["ax", "/x"]),
        ("[!a-c]x", ["dx"], ["ax", "bx"]),
        ("[-a]x", ["-x", "ax"], ["bx"]),
        ("[a-]x", ["-x", "ax"], ["bx"]),
        ("[a-c-e]x", ["bx", "-x", "ex"], ["dx"]),
        ("[--0]x", ["-x", ".x"], ["1x"]),
        (r"[\a-\c]x", ["bx"], ["\\x"]),
        ("[&&~~||[x]y", ["&y", "~y", "|y", "[y"], ["ay"]),
        ("[]a]x", ["]x", "ax"], ["bx"]),
        (r"[\]]x", ["]x"], ["\\x"]),
        ("[{,}]x", ["{x", ",x", "}x"], ["ax"]),
        ("{a,b}.csv", ["a.csv", "b.csv"], ["c.csv", "{a,b}.csv"]),
        ("{a,b{1,2},}x", ["ax", "b1x", "b2x", "x"], ["bx"]),
        ("a{}b", ["ab"], ["a{}b"]),
        (r"\*\{a\}\[b\]\?", ["*{a}[b]?"], ["x{a}[b]?"]),
        ("a.b+(c)|d^$", ["a.b+(c)|d^$"], ["axb+(c)|d^$"]),
        ("a}b,c]", ["a}b,c]"], ["ab"]),
        ("a\nb*", ["a\nbc"], ["a b"]),
    ],
)
def test_globs_mean_what_they_mean_in_hadoop(pattern, yes, no):
    matches = compile_glob(pattern)
    assert [name for name in yes if not matches(name)] == []
    assert [name for name in no if matches(name)] == []


@given(st.text("ab*?[]{},\\-^!.", max_size=12), st.text("ab*?[]{},\\-^!.", max_size=12))
def test_an_escaped_name_matches_itself_and_nothing_else(name, other):
    matches = compile_glob("".join("\\" + char for char in name))
    assert matches(name)
    assert matches(other) is (other == name)


@given(st.text("ab*?[]{},\\-^!", max_size=14))
def test_any_pattern_is_understood_or_refused_as_malformed(pattern):
    try:
        matches = compile_glob(pattern)
    except UsageError as error:
        code = error.reason_code
    else:
        code = None
        matches("a")
    assert code in ({None, "bad-glob"} if has_glob(pattern) else {None})


@pytest.mark.parametrize("pattern", ["{a", "[a", "a{b,{c}", "[", "[!", "a[", "[\\", "[a\\"])
def test_an_open_bracket_or_brace_is_refused(pattern):
    with pytest.raises(UsageError, match=r"a glob is malformed: a . is not closed \[bad-glob\]") as caught:
        compile_glob(pattern)
    assert "backslash" in str(caught.value)


def test_reversed_ranges_are_refused_as_malformed():
    with pytest.raises(UsageError, match="bad-glob"):
        compile_glob("[b-a]")


def test_braces_expand_in_the_order_they_are_written_also_over_slashes():
    assert expand_braces("/d/{b/x,a}/{1,2}") == ["/d/b/x/1", "/d/b/x/2", "/d/a/1", "/d/a/2"]
    assert expand_braces(r"\{a,b\}") == [r"\{a,b\}"]


@pytest.mark.parametrize("pattern", ["[{]b", "a][{]b", "[]{]b"])
def test_a_brace_in_a_class_of_characters_opens_no_group(pattern):
    assert expand_braces(pattern) == [pattern]


def test_braces_that_multiply_without_end_are_refused():
    with pytest.raises(UsageError, match="more than 10000 patterns"):
        expand_braces("{a,b}" * 20)


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("/a/*.csv", "/a"), ("/*", "/"), ("/a/b{c,d}/e", "/a"), ("/a/{b/c,d}", "/a"), ("/a/b", "/a/b"),
        ("s3://b/*", "s3://b"), ("s3://b/x/[0-9]/y", "s3://b/x"),
    ],
)  # fmt: skip
def test_the_fixed_prefix_ends_before_the_first_glob(pattern, prefix):
    assert fixed_prefix(pattern) == prefix
