"""Addresses of databases: understood, and never shown with a password."""

import pickle
import traceback

import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.options.sources import parse_table_options
from splitscan.tables.address import parse_address, parse_relation

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    ("url", "options", "target"),
    [
        (f"postgresql://anna:{SECRET}@h/d", {}, f"postgresql://anna:{SECRET}@h/d"),
        ("postgres://h/d", {"user": "anna", "password": "a/b@c"}, "postgresql://anna:a%2Fb%40c@h/d"),
        ("postgresql://anna@h/d", {"password": SECRET}, f"postgresql://anna:{SECRET}@h/d"),
        ("postgresql:///d?host=/tmp", {"user": "anna"}, "postgresql://anna@/d?host=/tmp"),
        (f"postgresql://anna:{SECRET}@[::1]:5433,h2/d", {}, f"postgresql://anna:{SECRET}@[::1]:5433,h2/d"),
        ("postgresql://%2Fvar%2Frun/d", {}, "postgresql://%2Fvar%2Frun/d"),
        ("postgresql://h:5433/d", {}, "postgresql://h:5433/d"),
        ("sqlite:////data/a b.db", {}, "/data/a b.db"),
    ],
)
def test_addresses_are_understood(url, options, target):
    assert parse_address(url, **options).target == target


def test_a_relative_file_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parse_address("sqlite:///a.db").target == str(tmp_path / "a.db")


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://anna:{SECRET}@h/d",
        f"postgresql://anna:{SECRET}@x@h/d",
        f"postgresql://anna:{SECRET}/x@h/d",
        f"postgresql://anna:{SECRET}@[::1/d",
        f"postgresql://anna:{SECRET}@h:54x/d",
        f"postgresql://anna:x?{SECRET}@h/d",
        f"postgresql://h:{SECRET}/d",
        "sqlite:///",
        "sqlite:///:memory:",
        f"sqlite://{SECRET}.db",
        SECRET,
        f"host=h password={SECRET}",
    ],
)
def test_what_is_no_address_is_refused_and_not_shown(url):
    with pytest.raises(UsageError) as caught:
        parse_address(url)
    assert caught.value.reason_code == "bad-database"
    assert SECRET not in "".join(traceback.format_exception(caught.value, chain=True))
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_user_is_given_once():
    with pytest.raises(UsageError, match="both in the URL and as an option"):
        parse_address("postgresql://anna@h/d", user="bert")
    with pytest.raises(UsageError, match="a user or a password"):
        parse_address("sqlite:///a.db", password="x")


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://anna:{SECRET}@h/d",
        f"postgresql://h/d?user=anna&password={SECRET}",
        f"postgresql://h/d?sslpassword={SECRET}",
        "postgresql://anna:s3%63r3t@h/d",
    ],
)
def test_no_text_shows_a_password(url):
    scan = ss.scan_table(url, "t", "id")
    address = parse_address(url)
    for text in (str(address), repr(address), repr(scan), repr(scan.options), str(address.where)):
        assert SECRET not in text
        assert "s3%63r3t" not in text
    assert address.scrub(f"FATAL: {SECRET} is wrong, {url}").count(SECRET) == 0
    assert pickle.loads(pickle.dumps(address)) == address


def test_what_a_driver_quotes_is_masked_wherever_the_password_ends():
    address = parse_address("postgresql://anna:a#b+c%25d@h/d?sslpassword=x%20y+z")
    for spelling in ("a#b+c%25d", "a#b+c%d", "a#b c%d", "x%20y+z", "x y+z", "x y z"):
        assert spelling not in address.scrub(f"FATAL: {spelling} in it")


@pytest.mark.parametrize(
    ("options", "code", "shown"),
    [
        ({"dbtable": "t"}, "bad-option", "needs option url"),
        ({"url": "sqlite:///a"}, "bad-option", "neither"),
        ({"url": "sqlite:///a", "dbtable": "t", "query": "SELECT 1"}, "bad-option", "both"),
        ({"url": "sqlite:///a", "dbtable": "t", "pasword": SECRET}, "unknown-option", "did you mean password?"),
        ({"url": "sqlite:///a", "dbtable": "t", "key_colum": "x"}, "unknown-option", "did you mean key_column?"),
        ({"url": "sqlite:///a", "dbtable": "t", "password": 5}, "bad-option", "a value that is not shown"),
        ({"url": "sqlite:///a", "dbtable": "t", "snapshot": "none"}, "bad-option", "shared or own"),
    ],
)
def test_options_that_have_no_meaning_are_refused(options, code, shown):
    with pytest.raises(UsageError) as caught:
        parse_table_options(options)
    assert caught.value.reason_code == code
    assert shown in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "parts"),
    [("t", ("t",)), ("S.T_1$", ("s", "t_1$")), ('"S"."T ""x"""', ("S", 'T "x"')), ('a."B.C"', ("a", "B.C"))],
)
def test_names_of_tables_are_understood(name, parts):
    assert parse_relation(name, None, lower=True).parts == parts


@pytest.mark.parametrize("name", ["a b", "a.b.c", "", ".", "a.", ".a", '"a', "1a", "a;b", "(select 1) x", "a--"])
def test_what_is_no_name_of_a_table_is_refused(name):
    with pytest.raises(UsageError, match="bad-table"):
        parse_relation(name, None, lower=False)
