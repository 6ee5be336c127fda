import re

import pytest

from splitscan.redaction import MARK_OF_SECRETS, has_credentials, redact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://key:secret@bucket/x", "s3://***@bucket/x"),
        (
            "cannot open 's3://key:se/cr+et=@bucket/x' and ftp://a:b@h",
            "cannot open 's3://***@bucket/x' and ftp://***@h",
        ),
        ("https://h/x?X-Amz-Signature=abc&part=1", "https://h/x?X-Amz-Signature=***&part=1"),
        ("https://h/x?sv=1&sig=a%2Fb", "https://h/x?sv=1&sig=***"),
        ("https://h/x?X-Amz-Security-Token=abc", "https://h/x?X-Amz-Security-Token=***"),
        ("https://h/x?access_key=abc", "https://h/x?access_key=***"),
        ("sc://h/;user=a;token=abc;x=1", "sc://h/;user=a;token=***;x=1"),
        ("simplecache::https://user:secret@host/x", "simplecache::https://***@host/x"),
        ("zip://a.csv::ftp://u:p@h/a.zip", "zip://a.csv::ftp://***@h/a.zip"),
        ("user:se/cret@host/x", "***@host/x"),
        ("cannot open 'user:secret@host/x' and u:p@[::1]", "cannot open '***@host/x' and ***@[::1]"),
        ("https://token@host/x", "https://***@host/x"),
    ],
)
def test_secrets_in_uris_are_masked(text, shown):
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "/a/b@c:d",
        "s3://bucket/a:b@c",
        "hdfs://host:8020/a@b",
        "https://h/x?page=2",
        "abfs://box@account/x",
        "a: b@c",
        "file:/data/a@b",
        "abfss://box@account.host:443/x",
        "/data/u:p@h",
        "cache::abfs://box@account/x",
    ],
)
def test_harmless_text_stays_as_it_is(text):
    assert redact(text) == text
    assert not has_credentials(text)


@pytest.mark.parametrize("text", ["s3://AKIA:s3cr/et@bucket/a.csv", "https://host/a.csv?sig=abc", "me:s3cret@host/a"])
def test_what_is_masked_has_a_mark_of_secrets(text):
    assert redact(text) != text
    without = re.sub(MARK_OF_SECRETS, "", text)
    assert without != text
    assert redact(without) == without


def test_values_of_secret_options_are_masked_wherever_they_stand():
    options = {
        "key": "AKIA123",
        "client_kwargs": {"aws_secret_access_key": "hunter22"},
        "region": "eu-west-1",
        "sig": "ab",
    }
    text = "AKIA123 in eu-west-1 with hunter22 and ab"
    assert redact(text, options) == "*** in eu-west-1 with *** and ab"


def test_a_secret_that_holds_another_is_masked_whole():
    assert redact("abcdefgh", {"token": "abcd", "password": "abcdefgh"}) == "***"
