"""The page ``docs/options.md``, from the declarations: ``python -m tools.options_page > docs/options.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from splitscan.formats.registry import FORMATS, KNOWN, describe_options
from splitscan.messages.spec import describe_kafka_options
from splitscan.options.files import FileOptions
from splitscan.options.read import ReadingOptions, SchemaOptions
from splitscan.options.sources import describe_table_options
from splitscan.options.spark_only import (
    ACCEPTED_UNUSED,
    KAFKA_ACCEPTED_UNUSED,
    KAFKA_REFUSED,
    KAFKA_REFUSED_IF_TRUE,
    REFUSED,
    REFUSED_IF_TRUE,
)
from splitscan.options.stream import StreamOptions
from splitscan.options.table import OptionDescription, declared_options, describe, python_twin

_INTRODUCTION = """\
# Options

<!-- Written by `python -m tools.options_page > docs/options.md`; a test compares. Change
the declarations in src/splitscan/options and src/splitscan/formats instead. -->

Options have Spark's own names and mean what they mean in Spark, except for what
[differences.md](differences.md) lists.

* **Names** are camelCase as in Spark, and any case will do (`lineSep`, `linesep`). Every name has a snake_case
  twin for Python (`line_sep`). Both spellings work everywhere: in Python, in `.option(...)`, in SQL and on the
  command line. An option that is given in two spellings must have one value.
* **Editors** complete both spellings in `scan_csv` and the other functions named after a format, and type checkers
  refuse a misspelt one; options of Spark that have no effect here are left out of these signatures.
* **Values** are Python values or the text of them: `True` or `"true"`, `4` or `"4"`, `["a", "b"]` or `"a,b"`.
  `None` means that the option was not given.
* **Sizes** are bytes, or a number with a unit: `64 MiB`, `128m`, `1.5g`. Units are binary, as in Spark.
* **Lists** of names are separated by commas. A name that holds a comma needs a JSON list: `["a,b", "c"]`.
* **Unknown names** are errors `[unknown-option]` that suggest the right one; values that are not allowed, and
  options that contradict each other, are errors `[bad-option]`.

## Without a record format

`ss.scan(path)`, `spark.read.format("splitscan").load(path)` without `recordFormat`, and every command without
`--format` decide alike:

1. The ending of the path, in front of one that names a compression:
{endings}
2. Else the endings of the files that a directory or glob names. Files of several kinds are refused.
3. Else (`.txt`, `.dat`, no ending) the first bytes of the first file that has some: JSON, XML, or CSV for all others.
   An option that only CSV has, such as `sep`, makes it CSV.

A format that is given stands: as the argument, as the option `recordFormat`, or as `--format`. Where the first bytes
contradict the name or the format, a warning says so. XML needs `rowTag`; without it the error names elements that may
be meant. One JSON object around an array of records is one record, and a warning names the array. ARFF, SAM and stanzas
as of Debian are refused with the options that read them. A stream decides once, by the files that are there when it
begins: give it the format.
"""


def options_page() -> str:
    """Return the whole page, in Markdown, ending in a newline."""
    return "\n".join(_page_lines())


def _page_lines() -> Iterator[str]:
    said = {name: [f"`.{ending}`" for ending in known.endings] for name, known in KNOWN.items() if known.endings}
    shown = "\n".join(f"    - `{name}`: {', '.join(endings)}" for name, endings in said.items())
    yield _INTRODUCTION.format(endings=shown)
    with_columns = [name for name, found in FORMATS.items() if found.options_class.has_columns]
    for name in FORMATS:
        own = {option.name for option in declared_options(FORMATS[name].options_class)}
        yield f"## Record format `{name}`\n"
        yield from _option_table([option for option in describe_options(name) if option.name in own])
    yield f"## Record formats {' and '.join(f'`{name}`' for name in with_columns)}: columns\n"
    wanted = {option.name for option in declared_options(SchemaOptions)}
    yield from _option_table([option for option in describe_options(with_columns[0]) if option.name in wanted])
    shared = describe_options("slices")
    for title, options_class in (("reading", ReadingOptions), ("files", FileOptions)):
        wanted = {option.name for option in declared_options(options_class)}
        if options_class is FileOptions:
            wanted.add("timeZone")  # the csv table has its own line, where it means more
        yield f"## Every record format: {title}\n"
        yield from _option_table([option for option in shared if option.name in wanted])
    yield "## Streams\n"
    yield "Of `spark.readStream` and `splitscan watch` ([streaming.md](streaming.md)), beside all others.\n"
    yield from _option_table([describe(option, tuple(FORMATS)) for option in declared_options(StreamOptions)])
    yield "## Messages of Kafka\n"
    yield 'Of `option("source", "kafka")` ([kafka.md](kafka.md)), beside those of the record format of their values.\n'
    yield from _option_table(describe_kafka_options())
    yield "Of Spark's own Kafka source these are accepted without effect:\n"
    yield from _reason_table("why it has no effect", KAFKA_ACCEPTED_UNUSED)
    yield "And these are refused:\n"
    yield from _reason_table("what to do instead", {**KAFKA_REFUSED, **KAFKA_REFUSED_IF_TRUE})
    yield "## Tables\n"
    yield 'Of `scan_table` and `option("source", "table")` ([tables.md](tables.md)), which take no others.\n'
    yield from _option_table(describe_table_options())
    yield "## Accepted without effect\n"
    yield "Options of Spark that need not be taken out of existing code. Their values are not looked at.\n"
    yield from _reason_table("why it has no effect", ACCEPTED_UNUSED)
    of_formats = {name: fix for each in FORMATS.values() for name, fix in each.options_class.refused_if_true.items()}
    yield "## Refused\n"
    yield "Options of Spark and Databricks that would change what is read, and that splitscan does not have.\n"
    yield from _reason_table("what to do instead", {**REFUSED, **REFUSED_IF_TRUE, **of_formats})


def _option_table(described: list[OptionDescription]) -> Iterator[str]:
    yield "| option | in Python | values | default | meaning |"
    yield "|---|---|---|---|---|"
    for option in described:
        aliases = "".join(f", `{alias}`" for alias in option.aliases)
        default = f"`{option.default}`" if option.default not in ("", "required") else option.default
        cells = (f"`{option.name}`{aliases}", f"`{option.python_name}`", option.allowed, default, option.meaning)
        row = " | ".join(cell.replace("|", r"\|") for cell in cells)
        yield f"| {row} |"
    yield ""


def _reason_table(heading: str, reasons: Mapping[str, str]) -> Iterator[str]:
    yield f"| option | in Python | {heading} |"
    yield "|---|---|---|"
    for name, reason in reasons.items():
        yield f"| `{name}` | `{python_twin(name)}` | {reason} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(options_page())
