"""How ``--help`` looks: dense and plain, in groups, with examples; nothing heavy is imported to print it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

from splitscan.errors import UsageError

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
