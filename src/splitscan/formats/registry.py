"""Every record format by its name. A new one is a folder beside this file, and a line in it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from splitscan.formats.contract import Format
from splitscan.formats.framing.contract import RecordFormat
from splitscan.options import ReadOptions

DEFAULT_FORMAT = "csv"
"""The format of files whose names say nothing."""


class Known(NamedTuple):
    """Where a format is, and which names of files say that they are of it.

    Attributes:
        module: Its module.
        name: Its class there.
        endings: Endings of names, in lower case, with the options that follow from each.
    """

    module: str
    name: str
    endings: Mapping[str, Mapping[str, str]] = {}


KNOWN = {
    "csv": Known(
        "splitscan.formats.csv.format",
        "Csv",
        {"csv": {}, "tsv": {"sep": "\t"}, "tab": {"sep": "\t"}, "psv": {"sep": "|"}},
    ),
    "text": Known("splitscan.formats.text.format", "Text", {"log": {}}),
    "fixed": Known("splitscan.formats.fixed.format", "Fixed"),
    "fixed_width": Known("splitscan.formats.fixed_width.format", "FixedWidth"),
    "slices": Known("splitscan.formats.fixed.format", "Slices"),
    "json": Known("splitscan.formats.json.format", "Json", {"json": {}, "jsonl": {}, "ndjson": {}}),
    "xml": Known("splitscan.formats.xml.format", "Xml"),
}
"""Every format by its name."""


class _Formats(Mapping[str, Format[Any]]):
    """Imports a format when it is asked for: reading CSV does not wait for XML."""

    def __getitem__(self, name: str) -> Format[Any]:
        return _load(*KNOWN[name][:2])

    def __iter__(self) -> Iterator[str]:
        return iter(KNOWN)

    def __len__(self) -> int:
        return len(KNOWN)

    def __contains__(self, name: object) -> bool:
        return name in KNOWN


FORMATS: Mapping[str, Format[Any]] = _Formats()


@functools.cache
def _load(module: str, name: str) -> Format[Any]:
    found: Format[Any] = getattr(import_module(module), name)()
    return found


def endings() -> dict[str, tuple[str, Mapping[str, str]]]:
    """By the ending of a name: the format of such files, and its options that follow from the name."""
    return {ending: (name, given) for name, known in KNOWN.items() for ending, given in known.endings.items()}


def format_of(options: ReadOptions) -> Format[Any]:
    """The format that *options* name."""
    return FORMATS[options.record_format]


def record_format(options: ReadOptions) -> RecordFormat:
    """The way to find records that *options* describe."""
    return format_of(options).framing(options.format)


def formats_of_messages() -> dict[str, str]:
    """The record formats that the values of messages may have, by what they are called there."""
    called = {each.options_class.in_messages: name for name, each in FORMATS.items()}
    return {name: called[name] for name in sorted(filter(None, called))}
