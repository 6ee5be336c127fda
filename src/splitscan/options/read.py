"""Everything that a user may say about one scan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from splitscan.options.files import FileOptions
from splitscan.options.reading import ReadingOptions
from splitscan.options.record import RecordOptions
from splitscan.options.schema import SchemaOptions
from splitscan.options.zones import parse_zone


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Everything a user may say about one scan, validated.

    Attributes:
        record_format: Name of the record format, lower case.
        files: Which files, and how they are cut.
        reading: What is delivered, in which portions.
        format: The record format's own options.
        schema: Which columns there are; with its defaults for record formats without named columns.
        given: Names of the options that the user gave, in Spark's spelling. They make no other scan of the same values.

    Pickling: yes.
    """

    record_format: str
    files: FileOptions
    reading: ReadingOptions
    format: RecordOptions
    schema: SchemaOptions = field(default_factory=SchemaOptions)
    given: frozenset[str] = field(default=frozenset(), compare=False)

    def in_zone(self, zone: str) -> ReadOptions:
        """The same, with another zone of times that name none, unless the user gave one.

        Args:
            zone: A region, an offset, or ``UTC``.

        Raises:
            ValueRefusedError: If it is none of them.
        """
        if "timeZone" in self.given or "time_zone" not in self.format.rules:
            return self
        return replace(self, format=replace(self.format, time_zone=parse_zone(zone)))  # type: ignore[call-arg]
