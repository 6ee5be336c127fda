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
NODES = [
    (path.relative_to(PROJECT / "src/splitscan").as_posix(), node)
    for path in PATHS
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
]
CLASSES = {node.name: node for _, node in NODES if isinstance(node, ast.ClassDef)}
PROTOCOLS = {name for name, node in CLASSES.items() if any("Protocol" in ast.unparse(base) for base in node.bases)}


def test_a_class_name_stands_once_in_the_project() -> None:
    classes = Counter(node.name for _, node in NODES if isinstance(node, ast.ClassDef))
    assert {name: count for name, count in classes.items() if count > 1} == {}


def test_a_docstring_says_what_a_thing_is_or_does() -> None:
    assert [(path, text) for path, node in NODES if OUTSIDE.match(text := ast.get_docstring(node) or "")] == []


def ancestors(name: str) -> Iterator[str]:
    """The class and its bases in this project."""
    if name in CLASSES:
        yield name
        for base in CLASSES[name].bases:
            yield from ancestors(re.sub(r"\[.*", "", ast.unparse(base)).rpartition(".")[2])


def own_members(name: str) -> Mapping[str, ast.AST]:
    members: dict[str, ast.AST] = {}
    for node in ast.walk(CLASSES[name]):
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
    implemented = [one for one in PROTOCOLS if members_of(one) and members_of(one) <= members_of(name)]
    implemented += ["FullFormat"] * ("Skipping" in implemented)  # a format has some of its methods
    described = {ancestor for one in [name, *implemented] for ancestor in ancestors(one)} - {name}
    nodes = [own_members(one).get(method) for one in described]
    return any(isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None for node in nodes)


def test_every_public_method_has_a_docstring_unless_its_protocol_has_it() -> None:
    assert [
        f"{name}.{node.name}"
        for name, cls in CLASSES.items()
        if not name.startswith("_")
        for node in cls.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
        and not any(ast.unparse(mark).endswith(("overload", ".setter")) for mark in node.decorator_list)
        and not is_described(name, node.name)
    ] == []
