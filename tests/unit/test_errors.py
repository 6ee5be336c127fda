from __future__ import annotations

import ast
import importlib
import pickle
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

import splitscan
from splitscan.errors import (
    IngestError,
    InvariantError,
    RebalanceError,
    RecordError,
    SchemaError,
    SourceChangedError,
    SourceError,
    SourceMissingError,
    SplitscanError,
    UsageError,
    Where,
    quote_bytes,
)

PROJECT = Path(__file__).parents[2]
SOURCES = sorted((PROJECT / "src").rglob("*.py"))
JAVA_SOURCES = sorted((PROJECT / "connector" / "src").rglob("*.java"))
JAVA_CODE = re.compile(r" \[([a-z-]+)\](?=\\n|\")")  # in the texts of errors
PAGE = (PROJECT / "docs" / "errors.md").read_text(encoding="utf-8")
CODE = re.compile(r"[a-z]+(-[a-z0-9]+)*")
CODE_ARGUMENT = 4  # of SplitscanError, by position
FIRST_IS_CODE = {"Finding", "problem"}  # what `verify` finds has codes too, and is not raised
PLACE = Where("s3://b/a.csv", 134217700, (0, 134217728), "price")


def every_error_class() -> list[type[SplitscanError]]:
    for module in pkgutil.walk_packages(splitscan.__path__, "splitscan."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = [SplitscanError]
    for known in found:
        found += known.__subclasses__()
    return found


def texts_in(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may become: a constant, or either branch of a choice."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from texts_in(node.body)
        yield from texts_in(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from texts_in(value)


def codes_in(source: str) -> Iterator[str]:
    """Every code that Python text spells out: as an argument, a class attribute, a default or a named constant."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
            yield from (text for word in node.keywords if word.arg == "code" for text in texts_in(word.value))
            if name.endswith("Error") and len(node.args) > CODE_ARGUMENT:
                yield from texts_in(node.args[CODE_ARGUMENT])
            if name in FIRST_IS_CODE:
                yield from texts_in(node.args[0])
        elif isinstance(node, ast.FunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args]
            defaults = zip(reversed(arguments), reversed(node.args.defaults), strict=False)
            only = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            yield from (t for a, value in [*defaults, *only] if a.arg == "code" and value for t in texts_in(value))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            for text in texts_in(node.value):
                if "code" in names or any(is_named_like(name, text) for name in names):
                    yield text


def is_named_like(name: str, text: str) -> bool:
    """``SHORT_RECORD = "short-record"`` declares a code; other constants do not repeat their name."""
    return "-" in text and name.strip("_") == text.upper().replace("-", "_")


@cache
def codes_in_sources() -> set[str]:
    java = (JAVA_CODE.findall(path.read_text(encoding="utf-8")) for path in JAVA_SOURCES)
    python = (codes_in(path.read_text(encoding="utf-8")) for path in SOURCES)
    return {code for codes in chain(java, python) for code in codes}


def documented_codes() -> list[str]:
    return re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE)


def test_every_code_is_documented() -> None:
    assert sorted(codes_in_sources() - set(documented_codes())) == []


def test_every_documented_code_exists() -> None:
    assert sorted(set(documented_codes()) - codes_in_sources()) == []


def test_codes_are_documented_once_and_look_alike() -> None:
    codes = documented_codes()
    assert len(codes) == len(set(codes))
    assert [code for code in codes if not CODE.fullmatch(code)] == []


@pytest.mark.parametrize(
    "source",
    [
        'raise UsageError("r", code="a-b")',
        'raise errors.UsageError("r", None, "seen", "fix", "a-b")',
        'raise make("r", code="a-b" if x else y)',
        'Finding("a-b", "path", "text")',
        'A_B = "a-b"',
        '_A_B: Final = "a-b"',
        'class E:\n    code: ClassVar[str] = "a-b"',
        'def broken(code: str = "a-b"): ...',
        'def broken(*, code: str = "a-b"): ...',
    ],
)
def test_codes_are_found_however_they_are_written(source: str) -> None:
    assert list(codes_in(source)) == ["a-b"]


def test_texts_that_are_no_codes_are_not_found() -> None:
    assert list(codes_in('NAME = "a-b"; f("a-b"); x = UsageError("r", None, "a-b"); A = "a"')) == []


@pytest.mark.parametrize("kind", every_error_class(), ids=lambda kind: kind.__name__)
def test_every_error_travels_with_its_fields(kind: type[SplitscanError]) -> None:
    error = kind("a rule broke", PLACE, "something else", "do this", "my-code")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert (copy.rule, copy.where, copy.seen, copy.fix) == ("a rule broke", PLACE, "something else", "do this")
    assert copy.reason_code == "my-code"
    assert str(copy) == str(error)


@pytest.mark.parametrize("kind", every_error_class(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_code_of_its_own_and_an_exit_code(kind: type[SplitscanError]) -> None:
    assert kind("r").reason_code == kind.code
    assert [other for other in every_error_class() if other.code == kind.code] == [kind]
    assert 1 <= kind.exit_code <= 125


def test_the_exit_codes_are_the_documented_ones() -> None:
    rows = re.findall(r"^\| (\d+) \|(.*)\|$", PAGE, re.MULTILINE)
    documented = {name: int(number) for number, text in rows for name in re.findall(r"`(\w+Error)`", text)}
    assert documented == {
        kind.__name__: kind.exit_code for kind in every_error_class() if SplitscanError in (kind, *kind.__bases__)
    }


def test_a_message_says_rule_where_seen_and_fix() -> None:
    error = RecordError(
        "record does not end within maxRecordBytes=1048576", PLACE, "1048576 bytes without a line end",
        "raise maxRecordBytes", "record-too-long",
    )  # fmt: skip
    assert str(error) == (
        "record does not end within maxRecordBytes=1048576 [record-too-long]\n"
        "  where: s3://b/a.csv, byte 134217700, column 'price', in block [0, 134217728)\n"
        "  seen:  1048576 bytes without a line end\n"
        "  fix:   raise maxRecordBytes"
    )


def test_a_message_leaves_out_what_is_not_known() -> None:
    assert str(SourceError("cannot read")) == "cannot read [source]"
    assert str(SourceError("cannot read", Where(), fix="try later")) == "cannot read [source]\n  fix:   try later"


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (Where(), ""),
        (Where(path="a.csv"), "a.csv"),
        (Where(path="a.csv", offset=0), "a.csv, byte 0"),
        (Where(column="n"), "column 'n'"),
        (Where(block=(0, 5)), "in block [0, 5)"),
        (Where(path="a.csv", block=(3, 5)), "a.csv, in block [3, 5)"),
    ],
)
def test_a_place_is_as_much_as_is_known(where: Where, text: str) -> None:
    assert str(where) == text


def test_errors_are_caught_by_who_can_act() -> None:
    assert issubclass(UsageError, ValueError)
    assert issubclass(SourceMissingError, SourceError)
    assert issubclass(SourceChangedError, SourceError)
    for kind in (UsageError, SourceError, RecordError, SchemaError, IngestError, RebalanceError, InvariantError):
        assert kind.__bases__[0] is SplitscanError
        assert not issubclass(kind, OSError)  # it would rewrite the arguments, and the error would not travel


def test_bytes_of_users_are_quoted_and_cut() -> None:
    assert quote_bytes(b"a\n\xff") == "b'a\\n\\xff'"
    assert quote_bytes(b"x" * 80) == repr(b"x" * 80)
    assert quote_bytes(b"x" * 81) == repr(b"x" * 80) + "... (81 bytes)"
    assert quote_bytes(memoryview(b"abcdef"), limit=2) == "b'ab'... (6 bytes)"


def test_no_message_shows_a_secret_of_its_path():
    place = Where("https://host/a.csv?X-Amz-Signature=hunter2&part=1", 7)
    text = str(RecordError("a record breaks a rule", place))
    assert "where: https://host/a.csv?X-Amz-Signature=***&part=1, byte 7" in text
