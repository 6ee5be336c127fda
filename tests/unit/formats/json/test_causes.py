"""Causes of broken JSON: both engines say the same one, and an option that is named accepts the record."""

import pytest

import splitscan as ss
from splitscan.formats.json.text import CAUSES

CURED = {
    "allowSingleQuotes": ["{'b':1}", "{\"b\":'1'}", '{"b":"it\\\'s"}', "{ 'b' : 1 }"],
    "allowUnquotedFieldNames": [
        "{b:1}",
        '{"a":1, b_2:1}',
        "{ $x:1}",
        "{9:1}",
        "{é:1}",
        '{"a":1, größe:1}',
        "{ naïve:1}",
        "{имя:1}",
        "{名前:1}",
        "{Ωx:1}",
        "{b\u00b2:1}",
        "{\u20ac:1}",
        "{\U0001f600:1}",
        '{"a":1,ø_1:1}',
    ],
    "allowNumericLeadingZeros": ['{"b":007}', '{"b":-01.5}', '{"b":[00]}', '{"b":[1, 02]}'],
    "allowNonNumericNumbers": ['{"b":NaN}', '{"b":Infinity}', '{"b":-Infinity}', '{"b":+INF}', '{"b":[NaN]}'],
    "allowBackslashEscapingAnyCharacter": ['{"b":"\\x"}', '{"b":"\\ "}', '{"\\q":1}'],
    "allowUnquotedControlChars": ['{"b":"x\ty"}', '{"b":"\x01"}', '{"\x1f":1}', '{"b":"é\x00"}'],
    "multiLine": ['{"b":1},', '{"b":1}{"b":2}', '{"b":1} {"b":2}'],
}
STRICT = {"allowSingleQuotes": False, "allowNonNumericNumbers": False}
UNCURED = {
    "a comment begins here": ['{"b":1} // c', '{"b":/* c */1}', "# c", "// c", '{"b" /**/ :1}', '{"b":1 # c'],
    "a byte order mark is here": ["\ufeff" + '{"b":1}', '{"b":\ufeff1}'],
    "a no-break space is here": ['{"b":\u00a01}'],
    "a typographic quote is here": ["{\u201cb\u201d:1}", '{"b":\u2018x\u2019}'],
    "a comma stands before the closing bracket": ['{"b":1,}', '{"b":[1,2,]}', '{"b":[1, ]}', '{"b":1 , }'],
    "nothing stands before the comma": ['{"b":,"c":1}', '{"b":1,,"c":2}', "[1,,2]"],
    "a number begins with a plus sign": ['{"b":+1}'],
    "a number begins with its point": ['{"b":.5}'],
    "a word is here that is none of": ['{"b":None}', '{"b":True}', '{"b":undefined}', '{"b":truely}'],
    "a number is hexadecimal": ['{"b":0x1F}'],
    "no digit follows the point of a number": ['{"b":1.}', '{"b":1.e5}'],
    "a semicolon stands in place of a comma": ['{"b":1;"c":2}'],
    "no comma stands here": ['{"b":1 "c":2}', '{"b":[1 [2]]}'],
    "an equals sign stands in place of a colon": ['{"b"=1}'],
    "four hexadecimal digits do not follow": ['{"b":"\\u12"}'],
    "a string does not end": ['{"b":"x}', '{"b":"x\\'],
    "the record ends too early": ['{"b":1', '{"b":', '{"b"', "{"],
    "no value is here": ['{"b":}', '{"b":`x`}'],
    "a name is expected": ["{:1}", "{[1]:2}", "{\u2003b:1}", "{\ufffd:1}", "{`b`:1}"],
    "something follows the value": ['{"b":1} 7', '{"b":1}}'],
    "an object does not go on or end": ['{"b":0 7}', '{"b":1]'],
}


@pytest.fixture
def reason(tmp_path, monkeypatch):
    def first_reason(text, **options):
        (tmp_path / "a.json").write_bytes(f'{{"a":0}}\n{text}\n{{"a":2}}\n'.encode())
        both = []
        for engine in ("kernel", "reference"):
            monkeypatch.setenv("SPLITSCAN_ENGINE", engine)
            told = []
            for _ in ss.scan_json(tmp_path / "a.json", "a int", **options).to_batches(on_reject=told.append):
                pass
            both.append([(each.code, each.reason) for each in told])
        assert both[0] == both[1]
        return both[0][0][1] if both[0] else None

    return first_reason


@pytest.mark.parametrize(("option", "text"), [(option, each) for option, some in CURED.items() for each in some])
def test_the_option_that_is_named_accepts_the_record(reason, option, text):
    said = reason(text, **STRICT)
    assert said.endswith(f"; {option}=true accepts it")
    assert reason(text, **{**STRICT, option: True}) is None


@pytest.mark.parametrize(("cause", "text"), [(cause, each) for cause, some in UNCURED.items() for each in some])
def test_what_no_option_accepts_has_a_cause(reason, cause, text):
    said = reason(text)
    assert cause in said
    assert "accepts it" not in said


def test_every_row_of_the_table_is_shown():
    told = " ".join([*UNCURED, *CURED])
    assert [row for row in CAUSES if (row.option or row.sentence[:30]) not in told] == []
