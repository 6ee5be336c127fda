"""The page ``docs/cli.md``, written from the help of the commands: ``python -m splitscan.cli.documentation``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from splitscan.cli.program import app

_WIDTH = 80

_INTRODUCTION = """\
# The command `splitscan`

<!-- Written by `python -m splitscan.cli.documentation > docs/cli.md`; a test compares. Change the help texts in
src/splitscan/cli instead. -->

`ingest` and `watch` need Spark, and start a local one by themselves; all other commands run in one process and answer
at once.
`python -m splitscan` is the same program.
"""

_EXAMPLES = """\
## One file to another, and what is in it

```
$ cat orders.csv
id,note,price
1,"say ""hi"",
and leave",1.50
2,,
3,late,12.25
$ splitscan stats orders.csv
read with -o 'escape="' -o header=true -o multiLine=true (found in samples; give these to pin them)
column\ttype\trows\tnulls\tmin\tmax\tdistinct
id\tint\t3\t0\t1\t3\t3
note\tstring\t3\t1\tlate\tsay "hi",\\nand leave\t2
price\tdouble\t3\t1\t1.5\t12.25\t2
$ splitscan convert orders.csv orders.jsonl --infer
read with -o 'escape="' -o header=true -o multiLine=true (found in samples; give these to pin them)
3 rows in orders.jsonl, 124 bytes
$ cat orders.jsonl
{"id":1,"note":"say \\"hi\\",\\nand leave","price":1.5}
{"id":2,"note":null,"price":null}
{"id":3,"note":"late","price":12.25}
```

Of `convert`, numbers and times are texts as Spark writes them; bytes are base64 in JSON and CSV. CSV has a header, null
is nothing between two separators, and quotes are doubled: read it with `-o dialect=rfc4180 --header`.

"""

_CONVENTIONS = """\
## Where the output goes

* **Results** go to standard output, everything else (progress, errors) to standard error. With `--json` nothing but
  JSON is on standard output: one object for `count`, `convert`, `schema`, `ingest` and `verify`; one object on each
  line for `head`, `stats`, `blocks`, `index`, `options`, `status` and every window of `watch`. Bytes are base64, dates
  and decimals are texts.
* **Rows** (`head`, `stats`, `blocks`, `index`, `options`) are a table on a terminal, cut to its width. Anywhere else
  they are tab-separated lines under a header, uncut: a tab, line break, carriage return and backslash inside a value
  are written `\\t`, `\\n`, `\\r` and `\\\\`, null is `\\N`, bytes are `\\\\x` and hexadecimal digits.
* **Progress** of an ingest is a bar on a terminal, and a plain line every five seconds anywhere else. `--quiet` turns
  it off.
* **Control characters** of the data are shown as pictures on a terminal (`⏎` for a newline), or as codes. Behind a pipe
  they are written `\\x1b`, and in JSON `\\u001b`: a file cannot steer the terminal that shows its rows in the end.

## Errors and exit codes

An error says which rule broke, where, what was seen, and how to fix it; [errors.md](errors.md) lists every code in
brackets.

```
error: record format csv has no option headr [unknown-option]
  seen:  'headr'
  fix:   did you mean header? valid options: ...
```

| exit code | meaning |
|---|---|
| 0 | it did what was asked; also when there was nothing to do |
| 1 | an unexpected error, and Spark that does not start |
| 2 | usage: an argument or option has no meaning |
| 3 | source: a file is missing, unreadable, or has changed |
| 4 | data: a record breaks a rule (`mode=FAILFAST`), or does not fit the schema |
| 5 | destination: it cannot be written or committed, too many rejects, `verify` found something wrong, or standard \
output takes nothing (`> /dev/full`, `>&-`) |
| 6 | rebalancing: the coordinator does not start, or does not answer any more |
| 7 | streams: the state of a stream is missing, damaged, or another's |
| 70 | splitscan broke a law of its own; nothing was published, please report it |
| 130 | interrupted with Ctrl-C; run the same command again, and it finishes the work |
| 141 | whoever read the output went away, as `head` does in `splitscan head FILE \\| head -1` |
| 143 | a `watch` was ended with SIGTERM, as services are; run the same command again, and it goes on |

`--debug`, anywhere on the line, or `SPLITSCAN_DEBUG=1` in the environment prints the traceback, and what Spark itself
says.

Characters that the encoding of standard output does not have are written as codes, as `\\xe9`.

## Spark

`ingest` starts Spark only when there is something to read. It is local (`--master local[*]`) with settings for a job
whose rows never enter the JVM, unless `--spark-conf` says otherwise: no web page, a small driver, Unix domain sockets
to the Python workers, which run the interpreter of the command (`PYSPARK_PYTHON` overrides it). Spark's own messages
go to a temporary file that is named when an error does not explain itself, and deleted otherwise. Java 17 or newer is
found by `JAVA_HOME`, on the `PATH`, or where systems usually keep it.

Under `spark-submit` the session is the one it provides: master, memory and log are its business. With
`--master sc://HOST:PORT`, or `SPARK_REMOTE` in the environment, a server of Spark Connect runs the tasks with its own
settings; files are listed, and the ledger is written, by the command, so both need to see the same storage.

A block is `blockSize` (128 MiB) long. Where neither `--block-size` nor the option says so, and Spark is local,
`ingest` cuts smaller ones (down to 8 MiB) as long as some cores would have nothing to do.
"""


def cli_page() -> str:
    """Return the whole page, in Markdown, ending in a newline."""
    return "\n".join(_page_lines()).rstrip("\n") + "\n"


def _page_lines() -> Iterator[str]:
    group: Any = typer.main.get_command(app)
    with _context(group, "splitscan") as context:
        yield _INTRODUCTION
        yield from _help(group, context)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            yield f"## `splitscan {name}`\n"
            with _context(command, name, context) as inner:
                yield from _help(command, inner)
    yield _EXAMPLES + _CONVENTIONS


def _context(command: Any, name: str, parent: Any = None) -> Any:
    settings = {**command.context_settings, "terminal_width": _WIDTH}
    return command.context_class(command, info_name=name, parent=parent, **settings)


def _help(command: Any, context: Any) -> Iterator[str]:
    yield "```"
    yield command.get_help(context)
    yield "```\n"


if __name__ == "__main__":
    sys.stdout.write(cli_page())
