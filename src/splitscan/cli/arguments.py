"""The input as flags describe it, the scan that follows, and options as the command line takes them."""

from __future__ import annotations

import enum
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Self

from splitscan.api.files import Scan, scan
from splitscan.cli.terminal import show_name, show_values, write_note
from splitscan.errors import SourceMissingError, bad_option
from splitscan.formats.csv.options import DialectChoice
from splitscan.formats.csv.sniffing.found import Confidence, Dialect
from splitscan.formats.registry import FORMATS, finds_dialect, named_format, options_of
from splitscan.options.table import declared_options, plain_name
from splitscan.scans.dialects import needed_options, pin_dialect
from splitscan.scans.files import NamedPaths, as_paths
from splitscan.scans.finding_format import about_names, find_format

_CONTROL = re.compile(r"[\x00-\x1f]")


def pasted(options: Mapping[str, Any]) -> str:
    r"""Options as they are pasted into any command.

    Example:
        >>> pasted({"sep": ";", "header": True})
        "-o 'sep=;' -o header=true"
    """
    return " ".join(f"-o {shlex.quote(f'{name}={spelled(value)}')}" for name, value in options.items())


def _flags(options: Mapping[str, Any]) -> str:
    r"""Options as the commands take them that look for a dialect: by a flag where there is one.

    Example:
        >>> _flags({"sep": ";", "header": True, "multiLine": True})
        "--sep ';' --header -o multiLine=true"
    """
    return " ".join(_flag(name, spelled(value)) or pasted({name: value}) for name, value in options.items())


def _flag(name: str, value: str) -> str | None:
    if name == "header":
        return "--header"  # false is the default, and is never pinned
    return f"--{name} {shlex.quote(value)}" if name in {"sep", "quote"} else None


def spelled(value: object) -> str:
    r"""The value of an option as the command line takes it.

    Example:
        >>> spelled(True), spelled(";"), spelled(chr(31))
        ('true', ';', '\\u001f')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return r"\t" if value == "\t" else _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", str(value))


def note_of(found: Dialect, *, has_schema: bool) -> str | None:
    """Findings, assumptions and guesses in one line, and how to pin it.

    ``None`` where the user gave all that the samples tell.
    """
    given = {name for name, each in found.settings.items() if each.confidence is Confidence.GIVEN}
    options = {name: each for name, each in found.options().items() if name not in given}
    assumed = {name: each for name, each in options.items() if found.settings[name].confidence is Confidence.ASSUMED}
    seen = {name: each for name, each in options.items() if name not in assumed}
    parts = [f"{_flags(each)} ({how})" for each, how in ((seen, "found in samples"), (assumed, "assumed")) if each]
    notes = [*map(spell_hint, found.guesses(has_schema=has_schema).values())]
    if given - {"encoding"} and not seen and not notes:
        return None
    others = "the options given" if given - {"encoding"} else "the defaults (no sample speaks against them)"
    read = f"read with {' and '.join(parts) or others}"
    return "; ".join([read, *(["give all of these to pin them"] if options else []), *notes])


_IN_PYTHON = re.compile(
    r"\b(max_rejects|max_reject_ratio|on_changed|replace_changed|partition_by|schema_evolution_mode)\b"
    r"(?:(?:=|: (?=addNew))'?([\w.]+)'?)?"
    r"|\b(layout|table|compression)='(\w+)'"
)
_OPTION = re.compile(r"(?:-o )?(?<![-\w.'\"?&])([a-z]\w*)=('[^']*'|\"[^\"]*\"|[^\s,;)'\"]*[^\s,;:.)'\"]|[:.])")
_BESIDE_PYTHON = re.compile(r" \(on the command line [^()]*\)")  # here it is the only spelling
_REJECTS_IN_PYTHON = "scan.rejects() lists them"
_REJECTS = "'splitscan check' shows the first of each rule"
_FLAGS = {
    "blocksize": "--block-size",
    "columns": "--columns",
    "where": "--where",
    "recordformat": "--format",
    "schema": "--schema",
}


def spell_hint(text: str) -> str:
    r"""Hint of an error, with settings and options as the command line takes them.

    Example:
        >>> spell_hint("set schema_evolution_mode: addNewColumns adds it, or raise max_rejects")
        'set --schema-evolution-mode addNewColumns adds it, or raise --max-rejects'
        >>> spell_hint("pass replace_changed=True, or on_changed='skip'")
        'pass --replace-changed, or --on-changed skip'
        >>> spell_hint("set header=true and headerMapping=byName, or escape='\"'; did you mean recordFormat?")
        'set --header and -o headerMapping=byName, or -o \'escape="\'; did you mean --format?'
        >>> spell_hint(r"give sep=., or sep=\u001f. Else give header=true.")
        "give --sep ., or --sep '\\u001f'. Else give --header."
    """
    text = re.sub(r"\brecordFormat\b(?!=)", _FLAGS["recordformat"], spell_settings(text))
    text = _BESIDE_PYTHON.sub("", text.replace(_REJECTS_IN_PYTHON, _REJECTS))
    return _OPTION.sub(_as_option, text)


def spell_settings(text: str) -> str:
    """A text with the settings of an ingest as flags.

    Example:
        >>> spell_settings("more records broke a rule than max_rejects=3 allows")
        'more records broke a rule than --max-rejects 3 allows'
    """
    return _IN_PYTHON.sub(_as_flag, text)


@cache
def _known_options() -> frozenset[str]:
    from splitscan.options.stream import StreamOptions  # noqa: PLC0415 -- few commands have a stream

    names = (option.name for name in FORMATS for option in options_of(name))
    return frozenset(name.lower() for name in (*names, *(option.name for option in declared_options(StreamOptions))))


def _as_flag(found: re.Match[str]) -> str:
    name, value = (found[1], found[2]) if found[1] else (found[3], found[4])
    return f"--{name.replace('_', '-')}{f' {value}' if value and value != 'True' else ''}"


def _as_option(found: re.Match[str]) -> str:
    name = found[1]
    value = found[2][1:-1] if found[2][0] in "'\"" else found[2]
    if name.lower() not in _known_options() | {"schema", "recordformat"}:
        return found[0]
    if name == "header" and value in {"true", "false"}:
        return "--header" if value == "true" else "--no-header"
    flag = _FLAGS.get(name.lower())
    return f"{flag} {shlex.quote(value)}" if flag else _flag(name, value) or pasted({name: value})


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


class TypesOfColumns(enum.StrEnum):
    """Which types columns have for which there is no schema, where values are texts."""

    FOUND = "found"
    TEXT = "text"


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
    block_size: str | int | None = None
    limit: int | None = None
    where: str | None = None
    sep: str | None = None
    quote: str | None = None
    header: bool | None = None
    types: TypesOfColumns | None = None

    @classmethod
    def of(cls, sources: Sequence[str], *, option: Sequence[str] | None = None, **flags: Any) -> Self:
        """Choose from the flags of a command, by name, those that are about the input."""
        known = {each.name for each in fields(cls)}
        return cls(sources, options=option, **{name: value for name, value in flags.items() if name in known})

    def __post_init__(self) -> None:
        if not isinstance(self.sources, NamedPaths):  # else they are another's, who has perhaps listed them
            expanded = [os.path.expanduser(source) for source in self.sources]  # noqa: PTH111 -- URIs, globs
            object.__setattr__(self, "sources", as_paths(expanded))
        if self.options:
            named = self.named_options()
            format, others = named_format(self.format, named)
            if len(others) < len(named):
                object.__setattr__(self, "format", format)
                object.__setattr__(self, "options", [f"{name}={value}" for name, value in others.items()])

    @property
    def has_block_size(self) -> bool:
        """True if the block size was given, in whatever way."""
        names = {"blocksize", "blockbytes", "maxpartitionbytes"}
        given = map(plain_name, self.named_options())
        return self.block_size is not None or not names.isdisjoint(given)

    def named_options(self) -> dict[str, str]:
        """The repeated ``--option name=value`` by name."""
        named: dict[str, str] = {}
        for text in self.options or ():
            name, equals, value = text.partition("=")
            name = name.strip()
            if not (name and equals):
                raise bad_option("--option takes a name and a value", show_name(text), "write --option header=true")
            if named.setdefault(name, value) != value:
                raise bad_option(
                    f"--option {name} is given twice with two values",
                    show_values(name, named[name], value),
                    "give one of them",
                )
        return named

    def build_scan(self) -> Scan:
        """The scan. Nothing is read or listed yet, unless an option wants a look at the files."""
        format, options = self._said()
        return scan(self.paths(), format, self.schema, **options)

    def build_typed_scan(self) -> Scan:
        """A copy with types that are found in the data, unless a schema, ``--types`` or ``inferSchema`` says them."""
        return self.build_scan().typed()

    def looked_at(self) -> ScanArguments:
        """A copy with everything settled that a look at the files decides: what of CSV's dialect nobody named.

        What was found goes to standard error, in one line that says how to pin it.

        Raises:
            SchemaError: ``[dialect-unclear]`` if samples of the files leave the dialect open.
        """
        format, pinned, _ = self._look()
        said = {name for name, value in self.given_options().items() if isinstance(value, str)}  # as it must be spelled
        texts = [f"{name}={value if name in said else spelled(value)}" for name, value in pinned.items()]
        return replace(
            self, format=format, options=texts, columns=None, block_size=None, limit=None, where=None, sep=None,
            quote=None, header=None, types=None,
        )  # fmt: skip

    def at_first_glance(self) -> ScanArguments:
        """A copy for a few rows: columns are looked for in a sample, unless somebody said how they are found."""
        given = set(map(plain_name, self._said()[1]))
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
        given = set(map(plain_name, self._said()[1]))
        if scan.options.reading.limit is None and LAYOUT_OPTIONS.isdisjoint(given):
            scan.check_layout()

    def find_dialect(self) -> dict[str, str] | None:
        """The options that pin the dialect that the files show, ``None`` while no file has a record."""
        given = self.given_options()
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
        given = set(map(plain_name, self.given_options()))
        found = found or {"dialect": DialectChoice.SPARK.value}
        pinned = {name: value for name, value in found.items() if name.lower() not in given - {"dialect"}}
        return replace(self, options=[f"{name}={value}" for name, value in {**said, **pinned}.items()])

    def _look(self) -> tuple[str, dict[str, Any], Dialect | None]:
        """The record format, all options, and the dialect if the files were asked for it."""
        format, options = self._said()
        note = about_names(self.paths(), format, options) if self.format is None else None
        if note is not None:
            write_note(spell_hint(note))
        if self.types is not None and (self.schema is not None or not self._takes_types(format, options)):
            raise bad_option(
                "--types is about columns of CSV, and groups of recordPattern, for which there is no schema",
                f"--types {self.types} beside {f'--format {format}' if self.schema is None else '--schema'}",
                "leave it out",
            )
        if not finds_dialect(format):
            needed = needed_options(self.paths(), format, options)
            if needed:
                write_note(f"read with {pasted(needed)} (found in samples); give it to pin it")
            return format, {**options, **needed}, None
        if self.leaves_dialect_open:  # the search knows the names of files, and takes them as a hint
            options = {"dialect": DialectChoice.AUTO.value, **self.given_options()}
        pinned, found = pin_dialect(self.paths(), format, options)
        has_schema = self.schema is not None
        note = note_of(found, has_schema=has_schema) if found is not None and found.columns else None
        if note is not None:
            write_note(note)
        return format, pinned, found

    def _takes_types(self, format: str, options: Mapping[str, Any]) -> bool:
        """True if columns without a schema are texts unless their types are asked for."""
        return finds_dialect(format) or scan(self.paths(), format, **options).options.format.types_if_asked

    def paths(self) -> NamedPaths:
        """The sources, ``~`` resolved."""
        return as_paths(self.sources)

    def listed_anew(self) -> ScanArguments:
        """A copy that sees which files there are now, and not those that were there when one first looked."""
        return replace(self, sources=NamedPaths(self.sources))

    def _said(self) -> tuple[str, dict[str, Any]]:
        """The record format, and the options with those of the flags and of the names of files."""
        return find_format(self.paths(), self.format, self.given_options())

    def with_format(self) -> ScanArguments:
        """A copy with the record format that names of files and first bytes say now, unless one was given."""
        return replace(self, format=self._said()[0])

    def given_options(self) -> dict[str, Any]:
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
                raise bad_option(
                    f"{name} is given as a flag and as --option",
                    show_values(name, value, options[name]),
                    "give one of them",
                )
            options[name] = value
        return options
