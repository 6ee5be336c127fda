"""The program: its commands, and what happens around every one of them."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from splitscan import __version__, startup
from splitscan.cli import failures
from splitscan.cli.help_text import EXIT_CODES, SETTINGS, commands
from splitscan.cli.output import write_anything

_MODULES = {
    "ingest": "ingesting",
    "verify": "ingesting",
    "rejects": "ingesting",
    "watch": "ingesting",
    "status": "streams",
    "purge": "streams",
    "count": "reading",
    "head": "reading",
    "blocks": "reading",
    "options": "reading",
    "convert": "converting",
    "stats": "converting",
    "check": "converting",
    "index": "reading",
    "schema": "schemas",
    "sniff": "schemas",
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
            failures.drop_output()
            raise typer.Exit(failures.OUTPUT_CLOSED) from None
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
    rest, debug = failures.take_debug_flag(sys.argv[1:] if args is None else list(args))
    if debug:
        os.environ[failures.DEBUG_VARIABLE] = "1"  # for everything that this process starts, too
    try:
        if args is None:
            failures.take_output()
        write_anything(sys.stdout)
        with failures.plain_warnings():
            code = _command()(args=rest, prog_name="splitscan", standalone_mode=False)
        sys.stdout.flush()
    except Exception as error:  # the last resort: every error ends here
        return failures.report_error(error)
    finally:
        startup.end()
    return code if isinstance(code, int) else 0
