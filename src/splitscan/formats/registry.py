"""Every record format by its name. A new one is a folder beside this file, and a line in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from splitscan.formats.contract import Format
from splitscan.formats.csv.format import Csv
from splitscan.formats.fixed.format import Fixed, Slices
from splitscan.formats.fixed_width.format import FixedWidth
from splitscan.formats.framing.contract import RecordFormat
from splitscan.formats.json.format import Json
from splitscan.formats.text.format import Text
from splitscan.formats.xml.format import Xml
from splitscan.options import ReadOptions

DEFAULT_FORMAT = "csv"
"""The format of files whose names say nothing."""

FORMATS: Mapping[str, Format[Any]] = {
    "csv": Csv(),
    "text": Text(),
    "fixed": Fixed(),
    "fixed_width": FixedWidth(),
    "slices": Slices(),
    "json": Json(),
    "xml": Xml(),
}


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
