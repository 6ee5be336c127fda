"""JSON as a record format: lines, values one after the other, or one array, over any number of lines."""

from splitscan.framing.json.format import JsonFormat
from splitscan.framing.json.grammar import UNFINISHED_RECORD, Shape
from splitscan.framing.json.lines import JsonLinesFormat, json_lines

__all__ = ["UNFINISHED_RECORD", "JsonFormat", "JsonLinesFormat", "Shape", "json_lines"]
