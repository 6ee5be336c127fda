"""Ctrl-C while the command starts: one word and exit code 130, where Python would print a traceback.

Importing the package takes some tenths of a second. Nothing is open and no process is started in that time, so that
the process ends on the spot. Whoever imports splitscan as a library keeps the handlers they have.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def is_command(argv0: str, original: list[str]) -> bool:
    """Whether this process is the command, and not a program that imports splitscan.

    Args:
        argv0: ``sys.argv[0]``; Python has ``-m`` there while it looks for the module to run.
        original: ``sys.orig_argv``.

    Example:
        >>> is_command("-m", ["python", "-m", "splitscan", "count"]), is_command("/usr/bin/splitscan", [])
        (True, True)
        >>> is_command("-m", ["python", "-m", "pytest"]), is_command("job.py", ["python", "job.py"])
        (False, False)
    """
    if argv0 == "-m":
        return "splitscan" in original
    program = Path(argv0)
    return program.stem == "splitscan" or program.parts[-2:] == ("splitscan", "__main__.py")


def begin() -> None:
    """End the process on Ctrl-C from now on, if it is the command and does not ignore the signal."""
    is_ours = is_command(sys.argv[0] if sys.argv else "", sys.orig_argv)
    if is_ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def finish() -> None:
    """Ctrl-C is Python's own ``KeyboardInterrupt`` again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_signal: int, _frame: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
