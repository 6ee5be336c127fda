"""The page ``docs/cli.md``, written from the help of the commands: ``python -m tools.cli_page``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from splitscan.cli.program import SHOWS_ALL, app

_WIDTH = 80

_INTRODUCTION = """\
# The command `splitscan`

<!-- Written by `python -m tools.cli_page > docs/cli.md`; a test compares. Change the help texts in
src/splitscan/cli instead. -->

`ingest` and `watch` need Spark, and start a local one by themselves; all other commands run in one process and answer
at once. `python -m splitscan` is the same program.

Every section ends with commands that were run in this order, in the folder `/data`, and with what they printed: on
standard error first, then on standard output. They begin with one file, which has a newline inside quotes:

```
$ cat orders.csv
id,note,price
1,"say ""hi"",
and leave",1.50
2,,
3,late,12.25
```
"""

# What the commands print, one after the other; a test runs them.
_SHOWN = {
    "ingest": r"""$ splitscan ingest orders.csv out
read with -o 'escape="' --header -o multiLine=true (found in samples); give all of these to pin them
splitscan: planning
splitscan: indexing
splitscan: starting Spark
splitscan: reading: 0 of 62 bytes, 0 records
splitscan: checking
splitscan: publishing
ingested 3 records into /data/out
  files    1
  blocks   1
  records  3
  rejects  0
  read     62 bytes in 7.4 s, 8 bytes/s, after 10.7 s to start Spark
  time     planning 0.1 s, indexing 0.0 s, reading 17.8 s, checking 0.1 s, publishing 0.1 s
  Parquet  1,125 bytes in 1 file
  proof    every byte accounted for
  ledger   /data/out/_splitscan/ledger/00000001.jsonl
""",
    "verify": r"""$ splitscan verify out
data, ledger and source agree: /data/out
  jobs     1
  files    1, 62 bytes
  blocks   1
  records  3
  rejects  0
  Parquet  1,125 bytes in 1 file
  source   compared by size and time; --deep reads the bytes again
  took     0.0 s
""",
    "rejects": r"""$ splitscan rejects out
job	path	offset	length	code	reason	delivered	raw
""",
    "watch": r"""$ splitscan watch '*.csv' seen --once -o dialect=rfc4180 -o header=true
splitscan: window 1: 1 file, 3 records, 62 B, 1.5 KiB/s, 1 reader; left: nothing
""",
    "status": r"""$ splitscan status seen
stream          3e6d14acf898217de4fcadaac7702942
windows         1
published       1
files           1
unfinished      0
late            0
changed         0
plannedBytes    62
publishedBytes  62
readers         1
backlogFiles    0
backlogBlocks   0
backlogBytes    0
$ splitscan status seen --files
stream	path	size	position	generation	window	finished	late
3e6d14acf898217de4fcadaac7702942	/data/orders.csv	62	62	0	1	true	false
""",
    "purge": r"""$ splitscan purge seen --least-age 0
stream	path	size	idleHours	deleted
""",
    "count": r"""$ splitscan count orders.csv
read with -o 'escape="' --header -o multiLine=true (found in samples); give all of these to pin them
3
""",
    "head": r"""$ splitscan head orders.csv -n 2
read with -o 'escape="' --header -o multiLine=true (found in samples); give all of these to pin them
id	note	price
1	say "hi",\nand leave	1.50
2	\N	\N
$ splitscan head orders.csv -n 2 -c id,note --json
read with -o 'escape="' --header -o multiLine=true (found in samples); give all of these to pin them
{"id": "1", "note": "say \"hi\",\nand leave"}
{"id": "2", "note": null}
""",
    "blocks": r"""$ splitscan blocks orders.csv --block-size 32 --index -o dialect=rfc4180 -o header=true
path	index	start	stop	first_record_start	cut
/data/orders.csv	0	0	32	14	by bytes
/data/orders.csv	1	32	62	45	by bytes
""",
    "options": r"""$ splitscan options csv | head -3
option	values	default	meaning
sep, delimiter	one character or more; \\t is a tab, \\u0001 the character of that code, and \\s+ any run of spaces and tabs	","	Separates fields; may have several characters. \\s+: fields between blanks.
quote	exactly one character, or empty text to turn it off	"\\""	Encloses fields that hold special characters; empty: off.
""",  # noqa: E501 -- as it is printed
    "convert": r"""$ splitscan convert orders.csv orders.jsonl
read with -o 'escape="' --header -o multiLine=true (found in samples); give all of these to pin them
3 rows in orders.jsonl, 124 bytes
$ cat orders.jsonl
{"id":1,"note":"say \"hi\",\nand leave","price":1.5}
{"id":2,"note":null,"price":null}
{"id":3,"note":"late","price":12.25}
""",
    "stats": r"""$ splitscan stats orders.csv
read with -o 'escape="' --header -o multiLine=true (found in samples); give all of these to pin them
column	type	rows	nulls	min	max	distinct	estimated
id	int	3	0	1	3	3	false
note	string	3	1	late	say "hi",\nand leave	2	false
price	double	3	1	1.5	12.25	2	false
""",
    "check": r"""$ splitscan check orders.csv -s 'id int, note string, price int' --header
read with -o 'escape="' -o multiLine=true (found in samples); give all of these to pin them
3 rows in 1 file, 62 B: 2 records break a rule
bad-value: 2 records
    /data/orders.csv, line 2, byte 14: column 'price': '1.50' is no int
    /data/orders.csv, line 5, byte 49: column 'price': '12.25' is no int
column id: int
column note: string
column price: int; double holds all its values
""",
    "index": r"""$ gzip -k orders.csv
$ splitscan index orders.csv.gz
path	codec	places	content_bytes	index
/data/orders.csv.gz	gzip	1	62	no place inside, or none worth keeping
""",
    "schema": r"""$ splitscan schema orders.csv
read with -o 'escape="' --header -o multiLine=true (found in samples); give all of these to pin them
column	type	from	file	seen
id	int	file	orders.csv	int
note	string	file	orders.csv	string
price	double	file	orders.csv	double
$ splitscan schema orders.csv --ddl
read with -o 'escape="' --header -o multiLine=true (found in samples); give all of these to pin them
id int, note string, price double
""",
    "sniff": r"""$ splitscan sniff orders.csv
setting	value	how sure	evidence
sep	,	certain	3 fields in 4 of 4 records
quote	"	certain	1 quoted values, 0 damaged ones
escape	"	certain	2 doubled quotes, 0 after a backslash
header	true	certain	columns 1, 3 of typed values begin with a text
skipRows	0	likely	the table begins with the file
comment	none	assumed	no line begins like a comment
multiLine	true	certain	1 quoted value holds a line end
encoding	UTF-8	assumed	nothing but ASCII
line ends	LF		

schema:  id int, note string, price double
command: -o 'escape="' -o header=true -o multiLine=true
Python:  ss.scan_csv('orders.csv', escape='"', header=True, multi_line=True)
""",  # noqa: W291 -- as it is printed
    "spark-conf": r"""$ splitscan spark-conf
spark.jars /opt/python/site-packages/splitscan_kernel/splitscan-connector.jar
spark.python.unix.domain.socket.enabled true
spark.driver.extraJavaOptions -XX:+UseParallelGC -Darrow.enable_unsafe_memory_access=true
spark.executor.extraJavaOptions -XX:+UseParallelGC -Darrow.enable_unsafe_memory_access=true
""",
}

_CONVERTED = """\
`convert` writes numbers and times as Spark does; in JSON and CSV bytes are base64. CSV gets a header, quotes are
doubled, and null is nothing between two separators. Read such a file with `-o dialect=rfc4180 --header`.
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
  it off, and the summary; errors, and that there are rejects, are still told.
* **Control characters** of the data are shown as pictures on a terminal (`⏎` for a newline), or as codes. In a pipe
  they are written `\\x1b`, and in JSON `\\u001b`: a file cannot steer the terminal that shows its rows in the end.

## Errors and exit codes

An error says which rule broke, where, what was seen, and how to fix it; [errors.md](errors.md) lists every code in
brackets.

```
error: record format csv has no option headr [unknown-option]
  seen:  'headr'
  fix:   did you mean header? splitscan options csv lists all of them
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
| 8 | it did what was asked, and there are rejects: broken records, which are in the reject table |
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
            yield f"```\n{_SHOWN[name]}```\n"
        yield _CONVERTED
    yield _CONVENTIONS


def _context(command: Any, name: str, parent: Any = None) -> Any:
    settings = {**command.context_settings, "terminal_width": _WIDTH}
    return command.context_class(command, info_name=name, parent=parent, **settings)


def _help(command: Any, context: Any) -> Iterator[str]:
    context.meta[SHOWS_ALL] = True
    yield "```"
    yield command.get_help(context)
    yield "```\n"


if __name__ == "__main__":
    sys.stdout.write(cli_page())
