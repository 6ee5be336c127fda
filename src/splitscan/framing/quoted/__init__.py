"""CSV: records whose quoted fields may contain anything, line terminators included."""

from splitscan.framing.quoted.dialect import Dialect
from splitscan.framing.quoted.exact import UNCLOSED_QUOTE, split_fields
from splitscan.framing.quoted.format import QuotedFormat

__all__ = ["UNCLOSED_QUOTE", "Dialect", "QuotedFormat", "split_fields"]
