"""The program: its commands, how their help looks, and what happens around every one of them.

Help is dense and plain, in groups, with examples; nothing heavy is imported to print it. Errors are told on standard
error, in four facts, without a traceback.
"""

from __future__ import annotations

import functools
import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from splitscan import __version__, startup
from splitscan.cli.terminal import fold, show_text, write_anything
from splitscan.errors import Advice, IngestError, SplitscanError, UsageError

REJECTS = 8
"""Of a command that published records and rejects."""

OUTPUT_CLOSED = 141  # 128 + SIGPIPE: who read our output went away
TERMINATED = 143  # 128 + SIGTERM
OUTPUT_FAILED = "output-failed"

_FACT = " " * len("  where: ")  # what a fact goes on with in the next line of a terminal

DEBUG_FLAG = "--debug"
DEBUG_VARIABLE = "SPLITSCAN_DEBUG"


def debugging() -> bool:
    """True if the user wants to see tracebacks and what Spark says."""
    return os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")


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
        """Write some of *data*: ``[output-failed]`` if it takes nothing, though its reader is there."""
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
    known.seen = spell_hint(known.seen) if isinstance(known.seen, Advice) else known.seen
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


_KEEP_LINES = "\b\n"  # a paragraph that begins so is not wrapped
_ARGUMENTS = "Arguments"
_OTHER_OPTIONS = "Options"
_MOST_OPTIONS = 15
_EVERYDAY = frozenset({
    "format", "schema", "columns", "sep", "header", "option", "once", "max_rejects", "table", "partition_by", "dry_run",
    "master", "json", "as_json", "quiet", "help", "help_all",
})  # fmt: skip
"""Parameters of the first screen of a command with more options than that."""
SHOWS_ALL = "splitscan.help_all"
"""Key of a context whose help shows every option."""

EXIT_CODES = _KEEP_LINES + "\n".join(
    [
        "Exit codes:",
        "    0  it did what was asked",
        "    1  an unexpected error",
        "    2  usage: an argument or option has no meaning",
        "    3  source: a file is missing, unreadable, or has changed",
        "    4  data: a record breaks a rule, or does not fit the schema",
        "    5  destination, or standard output: it cannot be written or committed, or does not verify",
        "    7  stream: its state is missing, damaged, or another's",
        "    8  it did what was asked, and there are rejects: broken records, in the reject table",
        "   70  splitscan broke a law of its own: nothing was published; report it",
        "  130  interrupted with Ctrl-C: run it again, and the work is finished",
        "  141  whoever read the output went away, as in: splitscan head FILE | true",
        "  143  a watch was ended with SIGTERM: run it again, and it goes on",
    ]
)


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

commands = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS)
"""Commands whose modules are imported, until the program takes them."""


def command(*examples: tuple[str, str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command of the program; the examples, each after its meaning, end its help."""
    texts = [f"  # {meaning}\n" + "\n".join(f"  {line}" for line in call.split("\n")) for meaning, call in examples]
    return commands.command(cls=GroupedCommand, epilog=_KEEP_LINES + "Examples:\n" + "\n".join(texts))


def _show_all(ctx: typer.Context, _: Any, value: bool) -> None:
    if value:
        ctx.meta[SHOWS_ALL] = True
        typer.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class GroupedCommand(TyperCommand):
    """A command whose help lists arguments first, then options under the heading of their panel.

    The help of a command with many options shows those of every day; ``--help-all`` shows the others too.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters; with ``--help-all`` where there are many."""
        params = super().get_params(ctx)
        if len(params) <= _MOST_OPTIONS + sum(param.param_type_name == "argument" for param in params):
            return params
        show_all = TyperOption(
            param_decls=["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all,
            help="Show all options and exit.",
        )  # fmt: skip
        return [*params, show_all]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments as they are called, after ``[OPTIONS]``."""
        arguments = [param for param in self.get_params(ctx) if param.param_type_name == "argument"]
        return [self.options_metavar or "", *(param.metavar or str(param.name).upper() for param in arguments)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the last argument where it is missing: a parser gives it the only one there is, and misses the first."""
        arguments = [param for param in self.get_params(ctx) if param.param_type_name == "argument"]
        given = self.make_parser(ctx).parse_args(args=list(args))[0]
        values = [given.get(str(param.name)) for param in arguments]
        if len(values) > 1 and values[-1] and not values[0] and not given.get("help"):
            raise UsageError(f"Missing argument '{arguments[-1].metavar}'", fix=f"see {ctx.command_path} --help")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the groups."""
        groups: dict[str, list[tuple[str, str]]] = {_ARGUMENTS: []}
        params = self.get_params(ctx)
        shows_all = ctx.meta.get(SHOWS_ALL) or all(param.name != "help_all" for param in params)
        for param in params:
            if param.param_type_name == "argument":
                groups[_ARGUMENTS].append((param.metavar or str(param.name).upper(), getattr(param, "help", "") or ""))
                continue
            record = param.get_help_record(ctx)
            if record is not None and (shows_all or str(param.name) in _EVERYDAY):
                panel = getattr(param, "rich_help_panel", None) or _OTHER_OPTIONS
                groups.setdefault(panel, []).append(record)
        last = groups.pop(_OTHER_OPTIONS, [])
        for title, records in [*groups.items(), (_OTHER_OPTIONS, last)]:
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


_MODULES = {
    "ingest": "ingesting",
    "verify": "ingesting",
    "rejects": "ingesting",
    "watch": "ingesting",
    "status": "ingesting",
    "purge": "ingesting",
    "count": "reading",
    "head": "reading",
    "blocks": "reading",
    "options": "reading",
    "convert": "converting",
    "stats": "converting",
    "check": "converting",
    "index": "reading",
    "schema": "reading",
    "sniff": "reading",
    "spark-conf": "session",
}
"""Every command, in the order of the help, and the module beside this one that has it."""


_loaded: dict[str, Any] = {}


class _Commands(TyperGroup):
    """Imports a command when it is asked for. Ends quietly where the user ended it, or the reader of a pipe."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            near = sorted({*_MODULES.values()})  # all of them, to say what is like an unknown one
            for module in [_MODULES[cmd_name]] if cmd_name in _MODULES else near:
                import_module(f"splitscan.cli.{module}")
            _loaded.update(typer.main.get_group(commands).commands)
            commands.registered_commands.clear()  # the functions of each are read once
            self.commands.update(_loaded)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        found = super().resolve_command(ctx, args)
        startup.finish()
        return found

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            drop_output()
            raise typer.Exit(OUTPUT_CLOSED) from None
        except KeyboardInterrupt:
            sys.stderr.write("interrupted\n")
            raise typer.Exit(startup.INTERRUPTED) from None
        return result


app = typer.Typer(
    cls=_Commands,
    name="splitscan",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"splitscan {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True, epilog=EXIT_CODES)
def _splitscan(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an error too; also SPLITSCAN_DEBUG=1.")
    ] = False,
) -> None:
    """Read record files in parallel, each record exactly once, and prove it."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help(), err=True)
        raise typer.Exit(2)


@functools.cache
def _command() -> Any:
    """The command, its arguments read once from the functions."""
    return typer.main.get_command(app)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; see ``docs/cli.md``."""
    rest, debug = take_debug_flag(sys.argv[1:] if args is None else list(args))
    if debug:
        os.environ[DEBUG_VARIABLE] = "1"  # for everything that this process starts, too
    try:
        if args is None:
            take_output()
        write_anything(sys.stdout)
        with plain_warnings():
            code = _command()(args=rest, prog_name="splitscan", standalone_mode=False)
        sys.stdout.flush()
    except Exception as error:  # the last resort: every error ends here
        return report_error(error)
    finally:
        startup.end()
    return code if isinstance(code, int) else 0
