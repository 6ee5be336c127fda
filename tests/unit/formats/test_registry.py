"""A format is one object in the registry: nobody asks which one it is, and one more needs nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.formats import registry
from splitscan.formats.text.format import Text, TextOptions
from splitscan.options.table import FLAG, option

SOURCE = Path(ss.__file__).parent
PACKAGE = "splitscan.formats."
NAMED = re.compile(rf"[\"'](?:{'|'.join(registry.FORMATS)})[\"']|{re.escape(PACKAGE)}")


def modules_outside_of_formats() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE).parts
        if not (inside[0] == "formats" and inside[1] in folders()) and NAMED.search(text := path.read_text("utf-8")):
            yield str(path.relative_to(SOURCE)), ast.parse(text)


def folders() -> set[str]:
    return {path.parent.name for path in (SOURCE / "formats").glob("*/format.py")}


def questions(tree: ast.Module) -> Iterator[str]:
    """What compares something with the name of a format, or asks for a class of one."""
    own = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").removeprefix(PACKAGE).split(".")[0] in folders()
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            names = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)} & set(registry.FORMATS)
            if names and "format" in ast.unparse(node).lower():
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and is_isinstance(node.func) and own & names_in(node.args[1]):
            yield ast.unparse(node)


def is_isinstance(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "isinstance"


def names_in(tree: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}


def test_nothing_outside_of_its_folder_tests_which_format_it_has() -> None:
    assert {name: found for name, tree in modules_outside_of_formats() if (found := list(questions(tree)))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "if options.record_format == 'csv': pass",
        "if format.lower() in ('json', 'xml'): pass",
        "from splitscan.formats.csv.options import CsvOptions\nisinstance(own, CsvOptions | int)",
    ],
)
def test_such_a_question_would_be_seen(text: str) -> None:
    assert list(questions(ast.parse(text)))


@dataclass(frozen=True, slots=True)
class ShoutedOptions(TextOptions):
    loud: bool = option(FLAG, "Whether to shout.", False)


class Shouted(Text):
    options_class = ShoutedOptions


def test_one_more_format_is_one_line_in_the_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(registry.KNOWN, "shouted", registry.Known(__name__, "Shouted", {"loud": {}}))
    path = tmp_path / "a.txt"
    path.write_text("a\nb\n")
    assert registry.endings()["loud"] == ("shouted", {})
    scan = ss.scan(str(path), "shouted", loud=True, block_size=1)
    assert (scan.count(), scan.to_arrow()["value"].to_pylist()) == (2, ["a", "b"])
    with pytest.raises(ss.UsageError, match="it is an option of shouted"):
        ss.scan(str(path), "text", loud=True)
