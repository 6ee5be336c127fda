"""Options of the record formats that are cut by length alone: ``fixed`` and ``slices``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from splitscan.options.kinds import size, whole
from splitscan.options.record import RecordOptions
from splitscan.options.table import Option
from splitscan.sizes import MIB

_SLICE_BYTES = 1 * MIB


@dataclass(frozen=True, slots=True)
class FixedOptions(RecordOptions):
    """How a file of equally long records is cut.

    Attributes:
        record_length: Bytes in each record.

    Pickling: plain values only.
    """

    record_length: Annotated[int, Option("recordLength", whole(1), "Bytes in each record.")]

    @property
    def fixed_length(self) -> tuple[str, int]:
        """Of a record."""
        return "recordLength", self.record_length


@dataclass(frozen=True, slots=True)
class SlicesOptions(RecordOptions):
    """How a file is cut into slices of bytes that have no meaning as records.

    Attributes:
        slice_bytes: Bytes in each slice; the last one of a file may be shorter.

    Pickling: plain values only.
    """

    slice_bytes: Annotated[int, Option("sliceSize", size(), "Bytes in each slice.", ("sliceBytes",))] = _SLICE_BYTES

    @property
    def fixed_length(self) -> tuple[str, int]:
        """Of a slice."""
        return "sliceSize", self.slice_bytes

    @property
    def about_files(self) -> str | None:
        """A slice is cut out of a file; what comes as a value of its own is not cut."""
        return None if self.slice_bytes == _SLICE_BYTES else "sliceSize"
