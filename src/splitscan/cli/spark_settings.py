"""The command ``spark-conf``: lines that give Spark sessions to come what makes reading faster."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from splitscan.cli.arguments import Json
from splitscan.cli.help_text import GroupedCommand, examples
from splitscan.cli.output import write_json

_Submit = Annotated[bool, typer.Option("--submit", help="Print arguments of spark-submit instead.")]


def add_commands(app: typer.Typer) -> None:
    """Add the command of this module to the program."""
    app.command(
        name="spark-conf",
        cls=GroupedCommand,
        epilog=examples(
            ("for every session to come", "splitscan spark-conf >> $SPARK_HOME/conf/spark-defaults.conf"),
            ("for one job", 'eval "spark-submit $(splitscan spark-conf --submit) job.py"'),
        ),
    )(spark_conf)


def spark_conf(submit: _Submit = False, as_json: Json = False) -> None:
    """Print the settings that make Spark read faster: the connector's jar, and how the JVM runs. Needs no Spark.

    They are lines of spark-defaults.conf. A session that is running takes the jar with splitscan.register(spark).
    """
    from splitscan.api.jobs import recommended_conf  # noqa: PLC0415 - what jobs need loads with it

    settings = recommended_conf()
    if as_json:
        write_json(settings, indent=2)
    elif submit:
        sys.stdout.write("".join(f"--conf {shlex.quote(f'{name}={value}')}\n" for name, value in settings.items()))
    else:
        sys.stdout.write("".join(f"{name} {value}\n" for name, value in settings.items()))
