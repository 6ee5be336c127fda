"""The command that looks compressed files through, so that later reads begin inside them: index."""

from __future__ import annotations

import typer

from splitscan.cli.arguments import Format, Json, Options, ScanArguments, StoredSources
from splitscan.cli.help_text import GroupedCommand, examples
from splitscan.cli.output import write_rows
from splitscan.plan.seek_index import keep_seek_index
from splitscan.redaction import redact


def add_commands(app: typer.Typer) -> None:
    """Add the command of this module to the program."""
    app.command(
        cls=GroupedCommand,
        epilog=examples(
            ("read this file in parallel from now on", "splitscan index big.csv.gz"),
            ("and how is it cut now?", "splitscan blocks big.csv.gz --block-size 64m"),
        ),
    )(index)


def index(sources: StoredSources, format: Format = None, option: Options = None, as_json: Json = False) -> None:
    """Find where compressed files can be entered, and keep it. Needs no Spark.

    Every file is decompressed once. What is found - blocks of bzip2, members and frames of files of several, places
    inside gzip members - is kept in the user's cache directory for as long as the file stays the same, and files are
    cut there by whoever plans on this machine.
    """
    scan = ScanArguments(sources, format, None, option).build_scan()
    names = ["path", "codec", "places", "content_bytes", "index"]
    found = (
        (redact(file.path), keep_seek_index(file, scan.planner.framing, scan.options.files)) for file in scan.files()
    )
    rows = ((path, index.codec or None, index.places, index.content_bytes, index.state.value) for path, index in found)
    write_rows(names, rows, as_json=as_json, right=["places", "content_bytes"])
