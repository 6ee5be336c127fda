"""Standard input as a source: ``-`` stands for a file that holds what comes in, as long as the command runs."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import typer

from splitscan.content.codecs.formats import SIGNATURE_BYTES, recognise
from splitscan.errors import UsageError
from splitscan.sizes import MIB

DASH = "-"
_PREFIX = "splitscan-stdin-"
_NAME = "standard-input"


def spool_input(context: typer.Context, sources: list[str]) -> list[str]:
    """Put a file in the place of ``-``: records are found at offsets, and a pipe has none. It is removed at the end.

    Raises:
        UsageError: If ``-`` is given twice, or standard input is closed.
    """
    if DASH not in sources or context.resilient_parsing:
        return sources
    if sources.count(DASH) > 1:
        raise UsageError(
            "standard input can be read once", seen="- more than once", fix="give it once", code="bad-path"
        )
    if sys.stdin is None:
        raise UsageError("- is standard input, and it is closed", fix="give a file, or open it", code="bad-path")
    folder = context.with_resource(tempfile.TemporaryDirectory(prefix=_PREFIX))
    first = sys.stdin.buffer.read(SIGNATURE_BYTES)
    codec = recognise(first)
    path = Path(folder) / (_NAME if codec is None else _NAME + codec.extensions[0])
    with path.open("wb") as out:
        out.write(first)
        shutil.copyfileobj(sys.stdin.buffer, out, MIB)
    return [str(path) if source == DASH else source for source in sources]


def refuse_input(sources: list[str]) -> list[str]:
    """Refuse ``-`` where a file is read by other processes, or read again later.

    Raises:
        UsageError: If it is there.
    """
    if DASH in sources:
        raise UsageError(
            "this command reads files, and standard input is none: other processes read it, and a later run again",
            seen=DASH,
            fix="write it to a file first, and give that; a file whose name is - is ./-",
            code="bad-path",
        )
    return sources


def is_spooled(source: str) -> bool:
    """True if a source is what :func:`spool_input` made of ``-``."""
    path = Path(source)
    return path.name.startswith(_NAME) and path.parent.name.startswith(_PREFIX)
