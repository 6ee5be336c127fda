"""Records whose columns are parts of their text, each found and then converted, by the reference."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.decoding.contract import BAD_VALUE, Decoded, Fault, Faults, bad_value
from splitscan.formats.decoding.conversions import Rules, convert
from splitscan.formats.decoding.rescue import Rescue, json_texts, rescued_column
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames

SPACE = bytes(range(0x21)).decode("ascii")
"""Blanks: this character and those below it."""


@dataclass(frozen=True, kw_only=True)
class PartsDecoder(ABC):
    """Decodes records whose columns are parts of their text.

    Args:
        encoding: Of the file.
        fields: Columns to deliver, in order.
        null_value: Text of a null, beside blank ones.
        rules: How times are written.
        own_rules: The same for columns that have a pattern of their own, by name.
        rescue: Where given, values that do not fit are kept, and are no faults.
    """

    encoding: Encoding
    fields: tuple[pa.Field, ...]
    null_value: str
    rules: Rules = field(default_factory=Rules)
    own_rules: Mapping[str, Rules] = field(default_factory=dict)
    rescue: Rescue | None = None

    @abstractmethod
    def parts(self, data: memoryview, frames: Frames) -> tuple[list[pa.Array], dict[int, Fault]]:
        """The text of each column, null where it is one; and the records that are broken in any case, by index."""

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        texts, faults = self.parts(data, frames)
        columns, unfit = [], {}
        for column, text in zip(self.fields, texts, strict=True):
            values, bad = (text, None) if text.type == column.type else convert(text, column.type, self._rules(column))
            columns.append(values)
            if bad is not None and self.rescue is not None:
                unfit[column.name] = json_texts(pc.if_else(pa.array(bad), text, None))
            elif bad is not None:
                self._report(text, bad, column, faults)
        rescued = None
        if self.rescue is not None and self.rescue.wanted:
            rescued = rescued_column(unfit, {}, len(frames), self.rescue.path)
        return Decoded(columns, len(frames), Faults(faults.values()), rescued)

    def written(self, column: pa.Field) -> str:
        """Notation of a column's values, for faults."""
        return self._rules(column).written(column.type, own=column.name in self.own_rules)

    def without_nulls(self, text: pa.Array, shown: pa.Array) -> pa.Array:
        """Shown texts of a column: null where its text is blank, or is that of a null."""
        blank = pc.equal(pc.utf8_trim(text, SPACE), "")
        return pc.if_else(pc.or_(blank, pc.equal(shown, self.null_value)), None, shown)

    def _rules(self, column: pa.Field) -> Rules:
        return self.own_rules.get(column.name, self.rules)

    def _report(self, text: pa.Array, bad: npt.NDArray[np.bool_], column: pa.Field, faults: dict[int, Fault]) -> None:
        written = self.written(column)
        for record in np.flatnonzero(bad).tolist():
            reason = bad_value(column.name, text[record].as_py(), column.type) + written
            faults.setdefault(record, Fault(record, BAD_VALUE, reason, False))
