"""The arguments that several commands share, and the scan that they describe."""

# Over 400 lines: the flags that commands share, and the one scan that they describe.

from __future__ import annotations

import enum
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Self

import typer

from splitscan.api.files import Scan, scan
from splitscan.cli import standard_input
from splitscan.cli.output import show_name, show_values, write_note
from splitscan.cli.pasting import note_of, pasted, spelled
from splitscan.errors import SourceMissingError, UsageError
from splitscan.formats.csv.options import DialectChoice
from splitscan.formats.csv.sniffing.found import Dialect
from splitscan.formats.registry import FORMATS, finds_dialect, spark_names
from splitscan.scan.dialects import needed_options, pin_dialect
from splitscan.scan.files import NamedPaths, as_paths
from splitscan.scan.finding_format import find_format

FORMAT_NAMES = ", ".join(FORMATS)
READ = "What is read"
WRITTEN = "How it is written"
SPARK = "Spark"
OUTPUT = "Output"


class TypesOfColumns(enum.StrEnum):
    """Which types columns of CSV have for which there is no schema."""

    FOUND = "found"
    TEXT = "text"


def _formats() -> list[str]:
    """For completion: the record formats."""
    return list(FORMATS)


def _option_names() -> list[str]:
    """For completion: the options of all record formats, each ready for its value."""
    return sorted({f"{name}=" for format_name in FORMATS for name in spark_names(format_name)})


Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SRC...",
        help="Files, directories, quoted globs, or URIs; - is standard input.",
        show_default=False,
        callback=standard_input.spool,
    ),
]
StoredSources = Annotated[
    list[str],
    typer.Argument(
        metavar="SRC...",
        help="Files, directories, quoted globs, or URIs.",
        show_default=False,
        callback=standard_input.refuse,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME",
        help=f"{FORMAT_NAMES}; without it, what names of files and first bytes say, else csv.",
        autocompletion=_formats,
        rich_help_panel=READ,
    ),
]
Sep = Annotated[
    str | None, typer.Option("--sep", metavar="TEXT", help=r"Separator of CSV, as ';' or '\t'.", rich_help_panel=READ)
]
Quote = Annotated[
    str | None, typer.Option("--quote", metavar="CHAR", help="Quote of CSV; empty for none.", rich_help_panel=READ)
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether CSV begins with names of columns.", rich_help_panel=READ),
]
Schema = Annotated[
    str | None,
    typer.Option(
        "--schema",
        "-s",
        metavar="DDL",
        help="Columns in Spark's DDL, as 'id long, name string'. Without it, names come from the data.",
        rich_help_panel=READ,
    ),
]
Types = Annotated[
    TypesOfColumns | None,
    typer.Option(
        "--types",
        help="Types of CSV columns without --schema: found in all values, which is the default, or text.",
        rich_help_panel=READ,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        "-c",
        metavar="A,B",
        help="Only these columns, in this order: a, m.x, columns[3], filename, dir0.",
        rich_help_panel=READ,
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        "-w",
        metavar="CONDITION",
        help="Only files for which this holds, as \"year = 2024 and filename like '%.csv'\".",
        rich_help_panel=READ,
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="Any option of the format; may be repeated. 'splitscan options' lists them.",
        autocompletion=_option_names,
        rich_help_panel=READ,
    ),
]
BlockSize = Annotated[
    str | None,
    typer.Option("--block-size", metavar="SIZE", help="Length of a block, as 64m.", rich_help_panel=READ),
]
Json = Annotated[
    bool, typer.Option("--json", help="JSON, and nothing else on standard output.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="No progress, no summary; only errors, and that there are rejects.",
        rich_help_panel=OUTPUT,
    ),
]
MaxRejects = Annotated[
    int | None,
    typer.Option(
        "--max-rejects",
        metavar="N",
        help="Fail if more records of the ingest, or of a window, are broken.",
        rich_help_panel=WRITTEN,
    ),
]
MaxRejectRatio = Annotated[
    float | None,
    typer.Option(
        "--max-reject-ratio",
        metavar="SHARE",
        help="Fail if a larger share of them is broken: 1 for never. Without a limit: 1 in 100, or 10; at most half.",
        rich_help_panel=WRITTEN,
    ),
]
Destination = Annotated[
    str, typer.Argument(metavar="DEST", help="Folder for the Parquet files, or a table: a path or a URI.")
]
Compression = Annotated[
    str, typer.Option("--compression", metavar="CODEC", help="Parquet codec.", rich_help_panel=WRITTEN)
]
Table = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="delta|iceberg|none",
        help="What DEST is: a table of that format, or a plain folder; without it, what is there.",
        rich_help_panel=WRITTEN,
    ),
]
PartitionBy = Annotated[
    str | None,
    typer.Option(
        "--partition-by",
        metavar="A,B",
        help="Columns whose values choose the folder of a row, as day=2024-01-02; without it, as DEST has it.",
        rich_help_panel=WRITTEN,
    ),
]
LayoutName = Annotated[
    str | None,
    typer.Option(
        "--layout",
        metavar="flat|jobs",
        help="Files side by side, or a folder for each job, which appears whole; without it, as DEST has it.",
        rich_help_panel=WRITTEN,
    ),
]
SchemaEvolutionMode = Annotated[
    str,
    typer.Option(
        "--schema-evolution-mode",
        metavar="MODE",
        help="New columns: failOnNewColumns, addNewColumns, rescue or none (not read).",
        rich_help_panel=WRITTEN,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Spark master, or sc://HOST for Spark Connect; local[*] unless spark-submit says.",
        rich_help_panel=SPARK,
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option("--spark-conf", metavar="KEY=VALUE", help="Spark setting; may be repeated.", rich_help_panel=SPARK),
]
StorageOptions = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="storageOptions=JSON", help="Settings of the file system."),
]


def names_of(columns: str | None) -> tuple[str, ...] | None:
    """Names that are separated by commas.

    Example:
        >>> names_of("day, country"), names_of(None)
        (('day', 'country'), None)
    """
    return None if columns is None else tuple(name.strip() for name in columns.split(","))


def storage_options_of(location: str, option: Sequence[str] | None) -> Mapping[str, Any]:
    """Settings of the file system of a place that is no scan's source."""
    return ScanArguments([location], "slices", None, option).build_scan().options.files.storage_options


LAYOUT_OPTIONS = frozenset({"multiline", "linesep"})
"""Options, in lower case, of which one says how records of JSON are written."""

_HOW_COLUMNS_ARE_FOUND = frozenset({"samplebytes", "samplefiles", "inferbytes", "providedschema"})


@dataclass(frozen=True)
class ScanArguments:
    """Arguments of the command line about the input, as they were given."""

    sources: Sequence[str]
    format: str | None = None
    schema: str | None = None
    options: Sequence[str] | None = None
    columns: str | None = None
    block_size: str | None = None
    limit: int | None = None
    where: str | None = None
    sep: str | None = None
    quote: str | None = None
    header: bool | None = None
    types: TypesOfColumns | None = None

    @classmethod
    def of(cls, flags: Mapping[str, Any]) -> Self:
        """Choose from all flags of a command, by name, those that are about the input."""
        flags = {**flags, "options": flags["option"]}
        return cls(**{each.name: flags[each.name] for each in fields(cls) if each.name in flags})

    def __post_init__(self) -> None:
        if not isinstance(self.sources, NamedPaths):  # else they are another's, who has perhaps listed them
            expanded = [os.path.expanduser(source) for source in self.sources]  # noqa: PTH111 -- URIs, globs
            object.__setattr__(self, "sources", as_paths(expanded))

    @property
    def has_block_size(self) -> bool:
        """True if the block size was given, in whatever way."""
        names = {"blocksize", "blockbytes", "maxpartitionbytes"}
        given = (name.replace("_", "").lower() for name in self.named_options())
        return self.block_size is not None or not names.isdisjoint(given)

    def named_options(self) -> dict[str, str]:
        """The repeated ``--option name=value`` by name."""
        named: dict[str, str] = {}
        for text in self.options or ():
            name, equals, value = text.partition("=")
            name = name.strip()
            if not (name and equals):
                raise UsageError(
                    "--option takes a name and a value", seen=show_name(text), fix="write --option header=true",
                    code="bad-option",
                )  # fmt: skip
            if named.setdefault(name, value) != value:
                raise UsageError(
                    f"--option {name} is given twice with two values", seen=show_values(name, named[name], value),
                    fix="give one of them", code="bad-option",
                )  # fmt: skip
        return named

    def build_scan(self) -> Scan:
        """The scan. Nothing is read or listed yet, unless an option wants a look at the files."""
        format, options = self._said()
        return scan(self.paths(), format, self.schema, **options)

    def build_typed_scan(self) -> Scan:
        """A copy with types that are found in the data, unless a schema, ``--types`` or ``inferSchema`` says them."""
        return Scan(self.build_scan().planner.typed())

    def looked_at(self) -> ScanArguments:
        """A copy with everything settled that a look at the files decides: what of CSV's dialect nobody named.

        What was found goes to standard error, in one line that says how to pin it.

        Raises:
            SchemaError: ``[dialect-unclear]`` if samples of the files leave the dialect open.
            UsageError: If an option is unknown or has no meaning.
            SourceError: If a file cannot be read.
        """
        format, pinned, _ = self._look()
        said = {name for name, value in self._given().items() if isinstance(value, str)}  # as it must be spelled
        texts = [f"{name}={value if name in said else spelled(value)}" for name, value in pinned.items()]
        return replace(
            self, format=format, options=texts, columns=None, block_size=None, limit=None, where=None, sep=None,
            quote=None, header=None, types=None,
        )  # fmt: skip

    def at_first_glance(self) -> ScanArguments:
        """A copy for a few rows: columns are looked for in a sample, unless somebody said how they are found."""
        given = {name.replace("_", "").lower() for name in self._said()[1]}
        if self.schema is not None or finds_dialect(self.format) or not given.isdisjoint(_HOW_COLUMNS_ARE_FOUND):
            return self
        return replace(self, options=[*(self.options or ()), "sampleBytes=1 MiB"])

    @property
    def leaves_dialect_open(self) -> bool:
        """True if a look at the files is to find what of the dialect nobody gives: unless a preset has it all."""
        format, options = self._said()
        given = {name.lower(): str(value).strip().lower() for name, value in options.items()}
        return finds_dialect(format) and given.get("dialect", DialectChoice.AUTO.value) == DialectChoice.AUTO.value

    def check_layout(self, scan: Scan) -> None:
        """Before all of a scan is read, check against all of it what samples decided on how records are written.

        Raises:
            UsageError: ``[dialect-contradicted]`` with both counts.
        """
        given = {name.replace("_", "").lower() for name in self._said()[1]}
        if scan.options.reading.limit is None and LAYOUT_OPTIONS.isdisjoint(given):
            scan.planner.check_layout()

    def find_dialect(self) -> dict[str, str] | None:
        """The options that pin the dialect that the files show, ``None`` while no file has a record."""
        given = self._given()
        try:
            _, pinned, found = self._look()
        except SourceMissingError as error:
            if error.reason_code != "no-files":
                raise
            return None
        if found is None or not found.columns:
            return None
        return {name: spelled(value) for name, value in pinned.items() if name not in given}

    def with_dialect(self, found: Mapping[str, str]) -> ScanArguments:
        """A copy with the options of a dialect that was found, in place of ``dialect=auto``; what is given stays."""
        said = {name: value for name, value in self.named_options().items() if name.lower() != "dialect"}
        given = {name.replace("_", "").lower() for name in self._given()}
        found = found or {"dialect": DialectChoice.SPARK.value}
        pinned = {name: value for name, value in found.items() if name.lower() not in given - {"dialect"}}
        return replace(self, options=[f"{name}={value}" for name, value in {**said, **pinned}.items()])

    def _look(self) -> tuple[str, dict[str, Any], Dialect | None]:
        """The record format, all options, and the dialect if the files were asked for it."""
        format, options = self._said()
        if self.types is not None and (self.schema is not None or not finds_dialect(format)):
            raise UsageError(
                "--types is about columns of CSV for which there is no schema",
                seen=f"--types {self.types} beside {'--schema' if finds_dialect(format) else f'--format {format}'}",
                fix="leave it out", code="bad-option",
            )  # fmt: skip
        if not finds_dialect(format):
            needed = needed_options(self.paths(), format, options)
            if needed:
                write_note(f"read with {pasted(needed)} (found in samples); give it to pin it")
            return format, {**options, **needed}, None
        if self.leaves_dialect_open:  # the search knows the names of files, and takes them as a hint
            options = {"dialect": DialectChoice.AUTO.value, **self._given()}
        pinned, found = pin_dialect(self.paths(), format, options)
        note = note_of(found) if found is not None and found.columns else None
        if note is not None:
            write_note(note)
        return format, pinned, found

    def paths(self) -> NamedPaths:
        """The sources, ``~`` resolved."""
        return as_paths(self.sources)

    def listed_anew(self) -> ScanArguments:
        """A copy that sees which files there are now, and not those that were there when one first looked."""
        return replace(self, sources=NamedPaths(self.sources))

    def _said(self) -> tuple[str, dict[str, Any]]:
        """The record format, and the options with those of the flags and of the names of files."""
        return find_format(self.paths(), self.format, self._given())

    def with_format(self) -> ScanArguments:
        """A copy with the record format that names of files and first bytes say now, unless one was given."""
        return replace(self, format=self._said()[0])

    def _given(self) -> dict[str, Any]:
        """The options with those of the flags."""
        options: dict[str, Any] = self.named_options()
        flags = {
            "columns": self.columns, "blockSize": self.block_size, "limit": self.limit, "where": self.where,
            "sep": self.sep, "quote": self.quote, "header": self.header,
            "inferSchema": None if self.types is None else self.types is TypesOfColumns.FOUND,
        }  # fmt: skip
        for name, value in flags.items():
            if value is None:
                continue
            if name in options:
                raise UsageError(
                    f"{name} is given as a flag and as --option", seen=show_values(name, value, options[name]),
                    fix="give one of them", code="bad-option",
                )  # fmt: skip
            options[name] = value
        return options
