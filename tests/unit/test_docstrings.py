"""Docstrings, and names of classes: every public method is described once, and every class name stands once."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[2]
OUTSIDE = re.compile(r"(What|Where|Who|Whether|The same)\b")
PATHS = sorted((PROJECT / "src/splitscan").rglob("*.py"))


@cache
def nodes() -> list[tuple[str, ast.Module | ast.ClassDef | ast.FunctionDef]]:
    return [
        (path.relative_to(PROJECT / "src/splitscan").as_posix(), node)
        for path in PATHS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
    ]


@cache
def classes() -> Mapping[str, ast.ClassDef]:
    return {node.name: node for _, node in nodes() if isinstance(node, ast.ClassDef)}


@cache
def protocols() -> frozenset[str]:
    return frozenset(name for name, node in classes().items() if "Protocol" in "".join(map(ast.unparse, node.bases)))


def test_a_class_name_stands_once_in_the_project() -> None:
    count = Counter(node.name for _, node in nodes() if isinstance(node, ast.ClassDef))
    assert {name: times for name, times in count.items() if times > 1} == {}


def test_a_docstring_says_what_a_thing_is_or_does() -> None:
    assert [(path, text) for path, node in nodes() if OUTSIDE.match(text := ast.get_docstring(node) or "")] == []


def ancestors(name: str) -> Iterator[str]:
    """The class and its bases in this project."""
    if name in classes():
        yield name
        for base in classes()[name].bases:
            yield from ancestors(re.sub(r"\[.*", "", ast.unparse(base)).rpartition(".")[2])


def own_members(name: str) -> Mapping[str, ast.AST]:
    members: dict[str, ast.AST] = {}
    for node in ast.walk(classes()[name]):
        if isinstance(node, ast.FunctionDef):
            members.setdefault(node.name, node)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            members.setdefault(node.id if isinstance(node, ast.Name) else node.attr, node)
    return members


@cache
def members_of(name: str) -> frozenset[str]:
    return frozenset(
        member for ancestor in ancestors(name) for member in own_members(ancestor) if not member.startswith("__")
    )


def is_described(name: str, method: str) -> bool:
    """True if a base of the class, or a protocol that it implements, has a docstring for the method."""
    implemented = [one for one in protocols() if members_of(one) and members_of(one) <= members_of(name)]
    implemented += ["FullFormat"] * ("Skipping" in implemented)  # a format has some of its methods
    described = {ancestor for one in [name, *implemented] for ancestor in ancestors(one)} - {name}
    found = [own_members(one).get(method) for one in described]
    return any(isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None for node in found)


def test_every_public_method_has_a_docstring_unless_its_protocol_has_it() -> None:
    assert [
        f"{name}.{node.name}"
        for name, cls in classes().items()
        if not name.startswith("_")
        for node in cls.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
        and not any(ast.unparse(mark).endswith(("overload", ".setter")) for mark in node.decorator_list)
        and not is_described(name, node.name)
    ] == []
