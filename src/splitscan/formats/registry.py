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


class _Known(NamedTuple):
    folder: str
    class_name: str
    endings: Mapping[str, Mapping[str, str]] = {}


_KNOWN = {
    "csv": _Known("csv", "Csv", {"csv": {}, "tsv": {"sep": "\t"}, "tab": {"sep": "\t"}, "psv": {"sep": "|"}}),
    "text": _Known("text", "Text", {"log": {}}),
    "fixed": _Known("fixed", "Fixed"),
    "fixed_width": _Known("fixed_width", "FixedWidth"),
    "slices": _Known("fixed", "Slices"),
    "json": _Known("json", "Json", {"json": {}, "jsonl": {}, "ndjson": {}}),
    "xml": _Known("xml", "Xml"),
}
"""The folder of each format, its class there, and the endings of names of files, with the options that follow."""


class _Formats(Mapping[str, Format[Any]]):
    """Imports a format when it is asked for: reading CSV does not wait for XML."""

    def __getitem__(self, name: str) -> Format[Any]:
        return _load(*_KNOWN[name][:2])

    def __iter__(self) -> Iterator[str]:
        return iter(_KNOWN)

    def __len__(self) -> int:
        return len(_KNOWN)

    def __contains__(self, name: object) -> bool:
        return name in _KNOWN


FORMATS: Mapping[str, Format[Any]] = _Formats()


@functools.cache
def _load(folder: str, class_name: str) -> Format[Any]:
    module = import_module(f"splitscan.formats.{folder}.format")
    found: Format[Any] = getattr(module, class_name)()
    return found


def endings() -> dict[str, tuple[str, Mapping[str, str]]]:
    """By the ending of a name: the format of such files, and its options that follow from the name."""
    return {ending: (name, given) for name, known in _KNOWN.items() for ending, given in known.endings.items()}


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
