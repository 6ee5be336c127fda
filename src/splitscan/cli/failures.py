"""How the command tells that something went wrong: on standard error, in four facts, without a traceback."""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from splitscan.cli.output import fold, show_text
from splitscan.errors import Advice, IngestError, SplitscanError, UsageError

REJECTS = 8
"""Of a command that published records and rejects."""

OUTPUT_CLOSED = 141  # 128 + SIGPIPE: who read our output went away
TERMINATED = 143  # 128 + SIGTERM
OUTPUT_FAILED = "output-failed"

_FACT = " " * len("  where: ")  # what a fact goes on with in the next line of a terminal

DEBUG_FLAG = "--debug"
DEBUG_VARIABLE = "SPLITSCAN_DEBUG"


def debugging(environ: Mapping[str, str] | None = None) -> bool:
    """True if the user wants to see tracebacks and what Spark says.

    Example:
        >>> debugging({"SPLITSCAN_DEBUG": "1"}), debugging({"SPLITSCAN_DEBUG": "0"})
        (True, False)
    """
    return (os.environ if environ is None else environ).get(DEBUG_VARIABLE, "") not in ("", "0")


def take_debug_flag(args: Sequence[str]) -> tuple[list[str], bool]:
    """Take ``--debug`` out of the arguments, wherever it stands in front of ``--``.

    Example:
        >>> take_debug_flag(["count", "--debug", "a.csv"])
        (['count', 'a.csv'], True)
    """
    stop = args.index("--") if "--" in args else len(args)
    flags = [arg for arg in args[:stop] if arg != DEBUG_FLAG]
    return [*flags, *args[stop:]], len(flags) < stop


class _Output(io.FileIO):
    """Standard output that tells its own failures from those of all other files."""

    def write(self, data: Any) -> int:
        """Write some of *data*.

        Raises:
            BrokenPipeError: If its reader went away.
            IngestError: ``[output-failed]`` if it takes nothing.
        """
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _output_failed(error.strerror or str(error)) from error


def take_output() -> None:
    """Make the failures of this process's standard output known as such.

    Raises:
        IngestError: ``[output-failed]`` if it is closed: the first file that is opened would take its place.
    """
    if sys.stderr is None:  # nobody wants messages
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 -- as long as the process lives
    if sys.stdout is None:
        raise _output_failed("it is closed")
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False)), stream.encoding, stream.errors,
            line_buffering=stream.line_buffering, write_through=stream.write_through,
        )  # fmt: skip


def drop_output() -> None:
    """Let standard output lead nowhere: the interpreter flushes it once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _output_failed(seen: str) -> IngestError:
    return IngestError(
        "standard output cannot be written", seen=seen,
        fix="send it to a place that takes it, or to /dev/null; what the command did elsewhere is done",
        code=OUTPUT_FAILED,
    )  # fmt: skip


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings as sentences inside, without the line of Python that they come from; with ``--debug`` as usual.

    The library's advice names options as the command takes them.
    """
    log = logging.getLogger("splitscan")
    log.addFilter(_spell_advice)
    try:
        with warnings.catch_warnings():
            if not debugging():
                warnings.showwarning = _show_warning
            yield
    finally:
        log.removeFilter(_spell_advice)


def _spell_advice(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple) and any(isinstance(each, Advice) for each in record.args):
        from splitscan.cli.arguments import spell_hint  # noqa: PLC0415 -- all formats load with it

        record.args = tuple(spell_hint(each) if isinstance(each, Advice) else each for each in record.args)
    return True


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {show_text(str(message), keep_lines=True)}\n")


def report_error(error: Exception) -> int:
    """Print an error and return the exit code."""
    if debugging():
        traceback.print_exception(error, file=sys.stderr)
    known = _as_ours(error)
    if known is None:
        known = SplitscanError(
            f"unexpected {type(error).__name__}", seen=str(error) or "no message",
            fix=f"run again with {DEBUG_FLAG} and report what it prints",
        )  # fmt: skip
    if known.reason_code == OUTPUT_FAILED and sys.stdout is not None:
        drop_output()
    from splitscan.cli.arguments import spell_hint, spell_settings  # noqa: PLC0415 -- all formats load with it

    known.rule = spell_settings(known.rule)
    known.fix = None if known.fix is None else spell_hint(known.fix)
    _print_error(show_text(str(known), keep_lines=True))
    return known.exit_code


def _as_ours(error: Exception) -> SplitscanError | None:
    """The error as one of ours; ``None`` if nobody raised it on purpose."""
    if isinstance(error, SplitscanError):
        return error
    format_message = getattr(error, "format_message", None)  # the parser's errors have it, whatever their class is
    if format_message is None:
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "splitscan"
    return UsageError(str(format_message()).rstrip("."), fix=f"see {command} --help")


def _print_error(text: str) -> None:
    if not sys.stderr.isatty():
        sys.stderr.write(f"error: {text}\n")
        return
    from rich.console import Console  # noqa: PLC0415 -- only where there is something to colour
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True, highlight=False)
    first, *facts = f"error: {text}".split("\n")
    lines = [fold(first, console.width, " " * len("error: ")), *(fold(fact, console.width, _FACT) for fact in facts)]
    shown = Text("\n".join(lines))
    shown.stylize("bold red", 0, len("error:"))
    console.print(shown, soft_wrap=True)
