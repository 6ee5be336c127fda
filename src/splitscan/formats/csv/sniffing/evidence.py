"""The settings of a dialect, each with how sure it is and what in the samples says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from splitscan.formats.csv.options import BLANK_RUNS
from splitscan.formats.csv.sniffing.found import COMMENTS_ONLY, NOWHERE, ONE_COLUMN, Confidence, Setting, shown
from splitscan.formats.csv.sniffing.reading import Reading, Sample, quotes_in_quotes

LEAST_LEAD = 0.05
"""By how much of its score the best candidate must be better than the next one."""

_SHOWN_LINES = 2
_SHOWN_CHARACTERS = 40


def settings_of(
    best: Sequence[Reading], parts: Sequence[Sample], encoding: Setting, given: Mapping[str, Any], names: str | None
) -> dict[str, Setting]:
    """Every setting by Spark's name."""
    chosen = best[0]
    settings = {
        "sep": _about_sep(best),
        "quote": _about_quote(chosen),
        "escape": _about_escape(chosen, parts),
        "header": _about_header(chosen),
        "skipRows": _about_preamble(chosen),
        "comment": _about_comments(chosen, names),
        "multiLine": _about_lines(chosen),
        "encoding": encoding,
    }
    if "ignoreLeadingWhiteSpace" in given or chosen.trims:
        settings["ignoreLeadingWhiteSpace"] = _about_blanks(chosen)
    said = {name: Setting(given[name], Confidence.GIVEN, "given") for name in settings if name in given}
    if (
        "sep" in said
        and given["sep"] not in (ONE_COLUMN, BLANK_RUNS)
        and {len(record) for record in chosen.records} == {1}
    ):
        said["sep"] = Setting(given["sep"], Confidence.GIVEN, NOWHERE)
    return {**settings, **said}


def rival_of(best: Sequence[Reading]) -> Reading | None:
    """The best candidate that reads other fields than the chosen one, and no quotes as data that are in order."""
    chosen = best[0]
    in_order = chosen.quoted_values > 0 and not chosen.damaged
    others = (each for each in best[1:] if not (in_order and each.sep == chosen.sep and _sees_less(each, chosen)))
    return next((each for each in others if each.records != chosen.records), None)


def _sees_less(reading: Reading, chosen: Reading) -> bool:
    """True if a reading takes for data what the chosen one takes for quotes."""
    return reading.quote is None or (reading.quote == chosen.quote and chosen.trims and not reading.trims)


def _about_sep(best: Sequence[Reading]) -> Setting:
    chosen, rival = best[0], rival_of(best)
    whole = sum(len(record) == chosen.columns for record in chosen.records)
    evidence = f"{chosen.columns} field{'s' * (chosen.columns != 1)} in {whole:,} of {len(chosen.records):,} records"
    if rival is not None:
        evidence += f"; next best {shown(rival.sep)}, quote {shown(rival.quote)}"
    is_even = chosen.columns > 1 and chosen.consistency == 1 and len(chosen.records) > 1
    is_sure = is_even and chosen.doubt is None and (rival is None or rival.score < chosen.score / 2)
    return Setting(chosen.sep, Confidence.CERTAIN if is_sure else Confidence.LIKELY, evidence)


def _about_quote(chosen: Reading) -> Setting:
    if chosen.quote is None:
        return Setting(None, Confidence.LIKELY, "quotes in the text begin fields that none ends")
    if chosen.quoted_values:
        confidence = Confidence.LIKELY if chosen.damaged else Confidence.CERTAIN
        evidence = f"{chosen.quoted_values:,} quoted values, {chosen.damaged:,} damaged ones"
        return Setting(chosen.quote, confidence, evidence)
    return Setting(chosen.quote, Confidence.ASSUMED, "no value is quoted")


def _about_escape(chosen: Reading, parts: Sequence[Sample]) -> Setting:
    if chosen.quote is None:
        return Setting(None, Confidence.ASSUMED, "there is no quote to escape")
    doubled, escaped = quotes_in_quotes(parts, chosen.sep, chosen.quote, trims=chosen.trims)
    evidence = f"{doubled:,} doubled quotes, {escaped:,} after a backslash"
    if not doubled and not escaped:
        return Setting(chosen.escape, Confidence.ASSUMED, "no quote stands in quotes")
    if not (doubled and escaped):
        return Setting(chosen.escape, Confidence.CERTAIN, evidence)
    rival = chosen.but(escape="\\" if chosen.escape == chosen.quote else chosen.quote)
    is_close = rival.score > chosen.score * (1 - LEAST_LEAD)
    return Setting(chosen.escape, Confidence.UNSURE if is_close else Confidence.LIKELY, evidence)


def _about_header(chosen: Reading) -> Setting:
    """Evidence about the first record; a header of another width than the records is never certain."""
    header = chosen.header
    if chosen.doubt is not None and chosen.comment is not None and header.confidence is Confidence.CERTAIN:
        return replace(header, confidence=Confidence.LIKELY, evidence=f"{header.evidence}; lines above may name them")
    if not header.value or len(chosen.records[0]) == chosen.columns:
        return header
    seen = (
        f"{header.evidence}, but it has {len(chosen.records[0])} names where the records have {chosen.columns} fields"
    )
    return replace(header, confidence=Confidence.LIKELY, evidence=seen)


def _about_blanks(chosen: Reading) -> Setting:
    count = chosen.quoted_after_blanks
    seen = "1 quoted value begins" if count == 1 else f"{count:,} quoted values begin"
    return Setting(True, Confidence.CERTAIN, f"{seen} after blanks")


def _about_preamble(chosen: Reading) -> Setting:
    if not chosen.skip_rows:
        return Setting(0, Confidence.LIKELY, "the table begins with the file")
    if not chosen.preamble:
        return Setting(chosen.skip_rows, Confidence.LIKELY, "the lines before the names begin like comments")
    lines = [quoted(line) for line in chosen.preamble if line.strip()]
    seen = f"the lines before have no {chosen.columns} values"
    if lines:
        seen += f": {', '.join(lines[:_SHOWN_LINES])}{', ...' * (len(lines) > _SHOWN_LINES)}"
    return Setting(chosen.skip_rows, Confidence.LIKELY, seen)


def quoted(line: bytes) -> str:
    """The beginning of a line, for a sentence."""
    text = line.decode(errors="replace")
    return repr(text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}...")


def _about_comments(chosen: Reading, names: str | None) -> Setting:
    if chosen.comment is None and any(content.startswith(b"#") for content in chosen.contents):
        return Setting(None, Confidence.LIKELY, "lines that begin with # are records of the table")
    if chosen.comment is None:
        return Setting(None, Confidence.ASSUMED, "no line begins like a comment")
    return Setting(chosen.comment, Confidence.LIKELY, COMMENTS_ONLY if names is None else names)


def _about_lines(chosen: Reading) -> Setting:
    if chosen.quote is None:
        return Setting(False, Confidence.CERTAIN, "there is no quote to hide a line end")
    if chosen.values_over_lines:
        over = chosen.values_over_lines
        seen = "1 quoted value holds a line end" if over == 1 else f"{over:,} quoted values hold line ends"
        return Setting(True, Confidence.CERTAIN, seen)
    return Setting(True, Confidence.ASSUMED, "a quoted value may hold one")
