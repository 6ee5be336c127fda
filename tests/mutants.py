"""Changes one place of the code at random and says whether the tests notice: a plugin for pytest, run by hand.

``python -m pytest -p tests.mutants --mutate src/splitscan/ranges --mutants 40 -n 0 -m 'not slow and not large'
--hypothesis-profile=quick tests/unit/ranges --doctest-modules src/splitscan/ranges``

Tests are collected once and run once, to learn which test runs which line. Then each mutant has a process of its own,
forked from here, whose functions get their changed code; it runs the tests of the changed line, the quickest first.
A survivor is printed with its line as it would read.
"""

import ast
import functools
import gc
import os
import pickle
import random
import resource
import signal
import sys
import threading
import time
import types
from collections import defaultdict
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

_LONGEST_SECONDS = 30  # at least; and ten times what the tests of the line took
_MOST_BYTES = 8 << 30  # of addresses that a mutant may use
_OPPOSITES = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip
_REMOVED = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)


@pytest.hookimpl(tryfirst=True)
def pytest_configure():
    os.environ.setdefault("SPLITSCAN_TESTS_DRAW", "all")  # tests that are marked thin have all their cases


def pytest_addoption(parser):
    parser.addoption("--mutate", action="append", default=[], help="folder or module to change")
    parser.addoption("--mutants", type=int, default=40, help="how many places")
    parser.addoption("--mutants-seed", type=int, default=1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    roots = [Path(given).resolve() for given in session.config.getoption("mutate")]
    if not roots:
        return None
    files = {str(file) for root in roots for file in ([root] if root.is_file() else root.rglob("*.py"))}
    seen = _in_child(lambda: _trace(session.items, files), 3600)
    lines = defaultdict(list)
    for number, (seconds, covered) in seen.items():
        for place in covered:
            lines[place].append((seconds, number))
    places = [(file, index, line) for file in sorted(files) for index, line in _places(file) if (file, line) in lines]
    chosen = random.Random(session.config.getoption("mutants_seed"))
    sample = chosen.sample(places, min(len(places), session.config.getoption("mutants")))
    say = session.config.pluginmanager.get_plugin("terminalreporter").write_line
    killed = 0
    for file, index, line in sorted(sample):
        tests = sorted(lines[file, line])
        limit = max(_LONGEST_SECONDS, 10 * sum(seconds for seconds, _ in tests))
        changed = _mutated(file, index)
        lived = _in_child(
            lambda changed=changed, file=file, tests=tests: _survives(
                session, file, changed, [session.items[number] for _, number in tests]
            ),
            limit,
        )
        killed += not lived
        if lived:
            say(f"survived {len(tests)} tests: {os.path.relpath(file)}:{line}: {_shown(file, index)}")
    say(f"{killed} of {len(sample)} mutants were killed; {len(places)} places are covered")
    return True


def _in_child(work, seconds):
    """What *work* returns in a forked process; ``None`` if it did not end in time, or died."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))  # a loop that fills the memory fails here
        with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            result = pickle.dumps(work())
        with os.fdopen(writing, "wb") as out:
            out.write(result)
        os._exit(0)
    os.close(writing)
    timer = threading.Timer(seconds, lambda: os.killpg(child, signal.SIGKILL))
    timer.start()
    with os.fdopen(reading, "rb") as answer:
        text = answer.read()
    timer.cancel()
    os.waitpid(child, 0)
    return pickle.loads(text) if text else None


def _run(item, following):
    reports = runtestprotocol(item, log=False, nextitem=following)
    return not any(report.failed for report in reports)


def _trace(items, files):
    """Seconds and covered lines of every test that passes, by its number."""
    seen, caches = {}, _caches()
    for number, item in enumerate(items):
        covered = set()
        for cache in caches:  # a test depends on the lines whose results another one has left
            cache.cache_clear()
        started = time.perf_counter()
        with _traced(files, covered):
            passed = _run(item, items[number + 1] if number + 1 < len(items) else None)
        if passed and covered:
            seen[number] = (time.perf_counter() - started, covered)
    return seen


@contextmanager
def _traced(files, covered):
    def local(frame, event, _):
        if event == "line":
            covered.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def calls(frame, _event, _):
        return local if frame.f_code.co_filename in files else None

    threading.settrace(calls)
    sys.settrace(calls)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)


def _survives(session, file, tree, items):
    _replace(file, compile(ast.fix_missing_locations(tree), file, "exec"))
    return all(_run(item, items[number + 1] if number + 1 < len(items) else None) for number, item in enumerate(items))


def _replace(file, module):
    """Give every function of the file its new code, and nothing that the old one has left."""
    codes, waiting = {}, [module]
    while waiting:
        code = waiting.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        waiting += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    for cache in _caches():
        cache.cache_clear()
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType) and function.__code__.co_filename == file:
            code = codes.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                function.__code__ = code


def _caches():
    """The functions of ours that keep their results."""
    gc.unfreeze()  # tests/conftest.py has frozen what was there
    found = [each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper)]
    return [each for each in found if each.__module__.startswith("splitscan.")]


def _places(file):
    """Number and line of all that can be changed in the file's functions."""
    for index, (node, _) in enumerate(_changes(ast.parse(Path(file).read_text()))):
        yield index, node.lineno


def _mutated(file, index):
    tree = ast.parse(Path(file).read_text())
    _, change = list(_changes(tree))[index]
    change()
    return tree


def _shown(file, index):
    tree = ast.parse(Path(file).read_text())
    node, change = list(_changes(tree))[index]
    before = ast.unparse(node)
    change()
    return f"{before}  ->  {ast.unparse(node) if not isinstance(node, (*_REMOVED, ast.Expr)) else 'removed'}"


def _changes(tree):
    """Each node that can be changed, in order, with what changes it."""
    for function in _outermost(tree):
        yield from _removals(function)
        for statement in function.body:
            for node in ast.walk(statement):
                yield from _changes_of(node)


def _outermost(node):
    """Functions and methods that are not inside another function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child
        elif not isinstance(child, ast.expr):
            yield from _outermost(child)


def _changes_of(node):
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            yield (
                node,
                lambda number=number, operator=operator: node.ops.__setitem__(number, _OPPOSITES[type(operator)]()),
            )
    elif isinstance(node, (ast.BoolOp, ast.BinOp)) and type(node.op) in _OPPOSITES:
        yield node, lambda: setattr(node, "op", _OPPOSITES[type(node.op)]())
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield node, lambda: setattr(node, "value", node.value + 1)
    for body in ("body", "orelse", "finalbody"):
        if isinstance(getattr(node, body, None), list):
            yield from _removals(node, body)


def _removals(parent, body="body"):
    statements = getattr(parent, body)
    for number, statement in enumerate(statements):
        is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Call, ast.Await))
        if is_call or isinstance(statement, _REMOVED):
            # still there, so that the function has the same free variables: `super()` is one
            never = ast.If(test=ast.Constant(value=False), body=[statement], orelse=[])
            replacement = ast.copy_location(never, statement)
            yield (
                statement,
                lambda number=number, replacement=replacement: statements.__setitem__(number, replacement),
            )
