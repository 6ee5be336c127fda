"""Turn the text of an error that a worker raised back into the error: text is all that Spark hands over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from splitscan import errors
from splitscan.errors import SplitscanError, Where

_RAISED = re.compile(r"^(?:[\w.]+: )?splitscan\.errors\.(?P<name>\w+): (?P<rule>.*) \[(?P<code>[a-z0-9-]+)\]$", re.M)
_FACT = re.compile(r"^  (?P<name>where|seen|fix):\s+(?P<text>.*)$")
_NO_MODULE = re.compile(r"No module named '(splitscan|pyarrow|numpy|fsspec)'")
_TAIL_CHARS = 2000


def error_from_text(text: str) -> SplitscanError | None:
    r"""Find the last error of splitscan in a traceback and build it again, with its class and its message.

    Args:
        text: A message that holds a traceback.

    Returns:
        The error, or ``None`` if there is none of ours.

    Example:
        >>> text = "Traceback ...\nsplitscan.errors.SchemaError: wrong column [schema]\n  seen:  x\n\n\tat java"
        >>> error = error_from_text(text)
        >>> type(error).__name__, error.rule, error.seen, error.reason_code
        ('SchemaError', 'wrong column', 'x', 'schema')
    """
    found = list(_RAISED.finditer(text))
    if not found:
        return None
    last = found[-1]
    kind = getattr(errors, last["name"], None)
    if not (isinstance(kind, type) and issubclass(kind, SplitscanError)):
        return None
    facts = _facts(text[last.end() + 1 :])
    where = Where(path=facts["where"]) if "where" in facts else None
    return kind(last["rule"], where, facts.get("seen"), facts.get("fix"), last["code"])


@contextmanager
def as_raised() -> Iterator[None]:
    """Raise the errors of tasks that run in the ``with`` block as they were raised in the worker.

    Raises:
        SplitscanError: The worker's own error where it is one of ours; otherwise ``[task-failed]`` with the end of
            the worker's traceback.
    """
    try:
        yield
    except SplitscanError:
        raise
    except Exception as error:  # Spark's own, or Py4J's where a worker died
        known = error_from_text(str(error))
        if known is not None:
            raise known from None  # it says it all; after it would come pages of Java
        raise task_failed(str(error)) from error


def task_failed(text: str) -> SplitscanError:
    """The error for a task that failed for a reason that is not ours: the end of its traceback."""
    lacking = _NO_MODULE.search(text)
    if lacking is not None:
        return SplitscanError(
            f"Spark's Python workers do not have {lacking[1]}", seen=lacking[0],
            fix="set PYSPARK_PYTHON, before Spark starts, to an interpreter that has splitscan, pyarrow, numpy and "
            "fsspec; splitscan itself may come with --py-files",
            code="task-failed",
        )  # fmt: skip
    return SplitscanError(
        "a task of Spark failed", seen=_tail(text), fix="remove the cause and run again", code="task-failed"
    )


def _facts(text: str) -> dict[str, str]:
    facts: dict[str, str] = {}
    name = None
    for line in text.split("\n"):
        match = _FACT.match(line)
        if match:
            name = match["name"]
            facts[name] = match["text"]
        elif name is not None and line.startswith("         "):
            facts[name] += f"\n{line}"
        else:
            break
    return facts


def _tail(text: str) -> str:
    """The Python part of a message, without the stack of the JVM."""
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith(("at ", "..."))]
    cut = "\n".join(lines)
    return cut if len(cut) <= _TAIL_CHARS else f"... {cut[-_TAIL_CHARS:]}"
