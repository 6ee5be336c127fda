"""CSV: records whose quoted fields may contain anything, line terminators included."""

from splitscan.framing.quoted.dialect import Dialect
from splitscan.framing.quoted.fields import split_fields
from splitscan.framing.quoted.format import QuotedFormat
from splitscan.framing.quoted.reference import UNCLOSED_QUOTE

__all__ = ["UNCLOSED_QUOTE", "Dialect", "QuotedFormat", "split_fields"]
