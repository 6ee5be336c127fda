"""Options of the record format ``log``."""

from __future__ import annotations

from dataclasses import dataclass

from splitscan.errors import bad_option
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.log.patterns import LINE_PATTERN, RECORD_PATTERN, parse_pattern
from splitscan.formats.log_kinds import PRESETS, Preset
from splitscan.options.read import TypedOptions
from splitscan.options.table import ANY_TEXT, OptionKind, ValueRefusedError, option


def _preset_name(value: object) -> str:
    if isinstance(value, str) and value.lower() in _KINDS:
        return value.lower()
    raise ValueRefusedError


W3C = "w3c"
_KINDS = (*PRESETS, W3C)
_PRESET = OptionKind("name", f"one of {', '.join(_KINDS)}", _preset_name, choices=_KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions(TypedOptions):
    """How lines become records, and records columns."""

    log_format: str | None = option(_PRESET, "Kind of log: says how records begin and which columns they have.", None)
    record_start: str | None = option(
        LINE_PATTERN, "Pattern that begins a record; lines without it belong to the one before.", None
    )
    record_continues: str | None = option(
        LINE_PATTERN, "Pattern that begins the other lines of a record, instead.", None
    )
    record_pattern: str | None = option(RECORD_PATTERN, "Pattern of whole records; named groups are columns.", None)
    null_value: str = option(ANY_TEXT, "Text of a null, beside blank ones.", "-")

    @property
    def is_w3c(self) -> bool:
        """True if a line of the file names the columns."""
        return self.log_format == W3C

    @property
    def says_columns(self) -> bool:
        return not self.is_w3c

    @property
    def types_if_asked(self) -> bool:
        return self.record_pattern is not None  # a kind of log says the types of its columns

    @property
    def values_are_texts(self) -> bool:
        return self.types_if_asked

    @property
    def is_flat(self) -> bool:
        return self.is_w3c

    @property
    def preset(self) -> Preset | None:
        """The kind of log that was named, if it has patterns."""
        return None if self.log_format is None else PRESETS.get(self.log_format)

    @property
    def line_pattern(self) -> str | None:
        """Pattern that tells lines apart, as both engines read it."""
        said = self.record_continues or self.record_start or (self.preset.start if self.preset else None)
        return None if said is None else parse_pattern(said)[0]

    @property
    def whole_pattern(self) -> str | None:
        """Pattern of whole records, as both engines read it; ``None`` where a record is one text."""
        said = self.preset.pattern if self.preset else self.record_pattern
        return None if said is None else parse_pattern(said)[0]

    @property
    def groups(self) -> tuple[str, ...]:
        """The named groups of that."""
        said = self.preset.pattern if self.preset else self.record_pattern
        return () if said is None else parse_pattern(said)[1]

    def __post_init__(self) -> None:
        lines = [("recordStart", self.record_start), ("recordContinues", self.record_continues)]
        kind = ("logFormat", self.log_format)
        pairs = [lines, [kind, ("recordPattern", self.record_pattern)]]
        for rivals in [*pairs, *([kind, each] for each in lines if self.is_w3c)]:
            if any(value is None for _, value in rivals):
                continue
            rule = f"options contradict each other: {rivals[0][0]} and {rivals[1][0]} say the same"
            seen = ", ".join(f"{name}={value!r}" for name, value in rivals)
            raise bad_option(rule, seen, "leave out one of them")
        if resolve_encoding(self.encoding).unit_bytes > 1:
            rule = "records of logs are found in encodings that write ASCII in single bytes"
            raise bad_option(rule, self.encoding, "convert the file to UTF-8")
