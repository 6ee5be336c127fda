"""How the command starts and ends. Whoever imports splitscan as a library keeps the handlers and settings they have.

Importing the package takes some tenths of a second. Nothing is open and no process is started in that time, so that
Ctrl-C ends the process on the spot: one word and exit code 130, where Python would print a traceback.

What is imported is never garbage. Looking for some in it would take a fifth of the time of a command on a small file,
most of that when the process ends.
"""

from __future__ import annotations

import gc
import os
import signal
import sys  # and nothing that Python has not imported by then: each import is time in which Ctrl-C is a traceback

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def is_command(argv0: str, original: list[str]) -> bool:
    """True if this process is the command, and not a program that imports splitscan.

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
    place, program = os.path.split(argv0)
    is_module = program == "__main__.py" and os.path.basename(place) == "splitscan"  # noqa: PTH119 - no pathlib yet
    return is_module or os.path.splitext(program)[0] == "splitscan"  # noqa: PTH122 - the same


def begin() -> None:
    """If this process is the command: collect no garbage, and end on Ctrl-C unless the signal is ignored."""
    if not _is_ours():
        return
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def finish() -> None:
    """The command is imported: garbage is collected, and Ctrl-C is Python's own ``KeyboardInterrupt`` again."""
    if _is_ours():
        gc.enable()
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end() -> None:
    """The command is done: nothing that is left is looked at again."""
    if _is_ours():
        gc.freeze()


def _is_ours() -> bool:
    return is_command(sys.argv[0] if sys.argv else "", sys.orig_argv)


def _end(_signal: int, _frame: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
