"""The search: every plausible separator and quote is tried with the format's own grammar, and the best explained."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from splitscan.formats.csv.sniffing.found import (
    Candidate,
    Confidence,
    Dialect,
    RawSample,
    Setting,
    encodings_that_decode,
    find_encoding,
    shown,
)
from splitscan.formats.csv.sniffing.reading import Reading, Sample, find_header, quotes_in_quotes

_SEP_LINE = re.compile(rb"\Asep=([^\r\n]{1,4})\r?(?:\n|\Z)")  # as Excel writes it
_LINE_END = re.compile(rb"\r\n|\n|\r")
_OTHER_TEXTS = (
    (re.compile(rb"\s*(?:\[\s*)?\{\s*(?:\"|\})"), "It begins like JSON: name the format, -f json or format='json'."),
    (
        re.compile(rb"\s*<(?:!doctype html|html)\b", re.IGNORECASE),
        "It begins like a page of HTML, and not like records.",
    ),
    (re.compile(rb"\s*<\?xml\b"), "It begins like XML: name the format, -f xml or format='xml'."),
)
_SEPARATORS = (",", ";", "\t", "|", "^", "~", "\x01", "\x1f")  # the last two: Hive's, and ASCII's own
_QUOTES = ('"', "'")
_LEAST_SCORE = 0.2
_LEAST_LEAD = 0.05
_LEAST_CONSISTENCY = 0.8
_TRIED_BYTES = 16 * 1024  # that every candidate reads; the best ones read all
_FINALISTS = 4
_SHOWN = 3  # candidates


def find_dialect(samples: Sequence[RawSample], given: Mapping[str, Any]) -> Dialect:
    """Find the dialect of one file.

    Args:
        samples: Parts of it; the first one is its beginning.
        given: What the user said, by Spark's names: it is taken as it is, and narrows the search.
    """
    encoding = _given(given, "encoding") or find_encoding(samples)
    if encoding is None:
        return _without_encoding(samples)
    parts = [_in_utf8(sample, encoding.value) for sample in samples]
    line = _SEP_LINE.match(parts[0].text)
    if not given.keys().isdisjoint(("sep", "skipRows")):
        line = None
    if line is not None:
        given = {**given, "sep": line[1].decode(), "skipRows": 1}
    whole = _after_lines(parts[0], int(given.get("skipRows", 0)))
    head = _first_part(whole)
    candidates = _candidates(whole.text, given)
    parts, comment = [whole, *parts[1:]], given.get("comment")
    tried = [
        Reading(head, sep, quote, _escape_for(parts, sep, quote, trims, given), comment, trims=trims)
        for sep, quote, trims in candidates
    ]
    best = sorted(tried, key=lambda reading: reading.score, reverse=True)[:_FINALISTS]
    if whole is not head:
        best = [each.of(whole) for each in best]
        best.sort(key=lambda reading: reading.score, reverse=True)
    if "ignoreLeadingWhiteSpace" not in given:  # blanks are taken off for quotes only
        best = [each for each in best if not each.trims or each.quoted_after_blanks] or best
    found = _explain(best, parts, encoding, given)
    return found if line is None else _as_line_says(found)


def _as_line_says(found: Dialect) -> Dialect:
    said = {
        name: replace(found.settings[name], confidence=Confidence.CERTAIN, evidence="the first line says so")
        for name in ("sep", "skipRows")
    }
    return replace(found, settings={**found.settings, **said})


def sep_line(head: RawSample) -> str | None:
    """The separator that the first line of a file names, as in ``sep=;``."""
    encoding = find_encoding([head])
    line = _SEP_LINE.match(_in_utf8(head, "UTF-8" if encoding is None else encoding.value).text)
    return None if line is None else line[1].decode()


def _in_utf8(sample: RawSample, encoding: str) -> Sample:
    """The text of a sample; one from the middle begins after its first line end."""
    name = encoding.replace("UTF-16", "utf-16-le") if encoding == "UTF-16" and sample.offset else encoding
    text = sample.data.decode(name, "ignore").removeprefix("\ufeff").encode()
    if sample.offset:
        text = text[text.find(b"\n") + 1 :]
    return Sample(text, is_start=not sample.offset, is_end=sample.is_end)


def _after_lines(sample: Sample, lines: int) -> Sample:
    """A sample without its first lines."""
    ends = [match.end() for match in islice(_LINE_END.finditer(sample.text), lines)]
    return sample if not lines else Sample(sample.text[ends[-1] :] if len(ends) == lines else b"", True, sample.is_end)


def _first_part(head: Sample) -> Sample:
    if len(head.text) <= _TRIED_BYTES:
        return head
    return Sample(head.text[:_TRIED_BYTES], is_start=True, is_end=False)


def _candidates(text: bytes, given: Mapping[str, Any]) -> list[tuple[str, str | None, bool]]:
    """Separators and quotes that the text has, the usual ones where it has none; and whether blanks are trimmed."""
    pairs = _pairs(text, given)
    if "ignoreLeadingWhiteSpace" in given:
        return [(sep, quote, bool(given["ignoreLeadingWhiteSpace"])) for sep, quote in pairs]
    after_blanks = [(sep, quote, True) for sep, quote in pairs if quote is not None and _stands_off(text, sep, quote)]
    return [*((sep, quote, False) for sep, quote in pairs), *after_blanks]


def _stands_off(text: bytes, sep: str, quote: str) -> bool:
    """Whether a quote stands after a separator and blanks somewhere."""
    return re.search(re.escape(sep.encode()) + rb"[ \t]+" + re.escape(quote.encode()), text) is not None


def _pairs(text: bytes, given: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    separators = [given["sep"]] if "sep" in given else [sep for sep in _SEPARATORS if sep.encode() in text] or [","]
    if "sep" not in given and text.count(b"||") * 2 == text.count(b"|") > 0:
        separators.append("||")
    candidates: list[tuple[str, str | None]] = []
    for sep in separators:
        if "quote" in given:
            candidates.append((sep, given["quote"] or None))
            continue
        candidates.append((sep, '"'))
        candidates += [(sep, quote) for quote in _QUOTES[1:] if _stands_at_edges(text, sep, quote)]
        if _stands_at_edges(text, sep, '"'):
            candidates.append((sep, None))
    return candidates


def _stands_at_edges(text: bytes, sep: str, quote: str) -> bool:
    """Whether a quote begins a field somewhere."""
    mark = quote.encode()
    return text.startswith(mark) or any(edge + mark in text for edge in (sep.encode(), b"\n", b"\r"))


def _escape_for(
    parts: Sequence[Sample], sep: str, quote: str | None, trims: bool, given: Mapping[str, Any]
) -> str | None:
    """The escape by which the quotes of the samples are written; the quote itself where nothing tells."""
    if quote is None:
        return None
    if "escape" in given:
        return given["escape"] or None
    doubled, escaped = quotes_in_quotes(parts, sep, quote, trims=trims)
    if not escaped:
        return quote
    readings = [Reading(_first_part(parts[0]), sep, quote, escape, trims=trims) for escape in (quote, "\\")]
    if not doubled:
        return "\\" if readings[1].score >= readings[0].score else quote
    return "\\" if readings[1].score > readings[0].score else quote


def _explain(best: Sequence[Reading], parts: Sequence[Sample], encoding: Setting, given: Mapping[str, Any]) -> Dialect:
    chosen = best[0]
    header = _given(given, "header") or find_header(chosen.records)
    settings = {
        "sep": _given(given, "sep") or _about_sep(best),
        "quote": _given(given, "quote") or _about_quote(chosen),
        "escape": _given(given, "escape") or _about_escape(chosen, parts),
        "header": header,
        "skipRows": _given(given, "skipRows") or _about_preamble(chosen),
        "comment": _given(given, "comment") or _about_comments(chosen),
        "multiLine": _given(given, "multiLine") or _about_lines(chosen),
        "encoding": encoding,
    }
    if "ignoreLeadingWhiteSpace" in given or chosen.trims:
        settings["ignoreLeadingWhiteSpace"] = _given(given, "ignoreLeadingWhiteSpace") or _about_blanks(chosen)
    return Dialect(
        sep=chosen.sep,
        quote=chosen.quote,
        escape=chosen.escape,
        header=bool(header.value),
        skip_rows=int(settings["skipRows"].value),
        comment=settings["comment"].value,
        multi_line=bool(settings["multiLine"].value),
        encoding=encoding.value,
        ignore_leading_white_space=chosen.trims,
        line_ends=_line_ends(parts[0].text),
        columns=chosen.columns,
        score=chosen.score,
        settings=settings,
        first_record=tuple(value.decode() for value, _ in (chosen.records or [[]])[0]),
        candidates=tuple(Candidate(each.sep, each.quote, each.score, each.columns) for each in best[:_SHOWN]),
        doubts=(*_doubts(best, settings, given, parts[0].text), *_doubts_elsewhere(chosen, parts[1:])),
    )


def _ends_like_another_text(text: bytes) -> bool:
    """Whether the first line ends with a bracket or comma, or nowhere: after ``{"a": 1}`` a record has more values."""
    line, *others = _LINE_END.split(text.lstrip(), maxsplit=1)
    return not others or line.rstrip().endswith((b"}", b"]", b"{", b"[", b",", b">"))


def _doubts(
    best: Sequence[Reading], settings: Mapping[str, Setting], given: Mapping[str, Any], text: bytes
) -> list[str]:
    chosen = best[0]
    if not chosen.records:
        return []  # nothing can be read wrong
    doubts = []
    if "sep" not in given:
        is_no_table = chosen.score < _LEAST_SCORE
        if is_no_table:
            doubts.append(f"The best reading looks little like a table (score {chosen.score:.2f}).")
        if is_no_table or _ends_like_another_text(text):
            doubts += [said for begins, said in _OTHER_TEXTS if begins.match(text)]
    if chosen.consistency < _LEAST_CONSISTENCY:
        share = round(100 * chosen.consistency)
        doubts.append(f"Only {share} % of the records have {chosen.columns} fields.")
    rival = _rival(best)
    if rival is not None and "sep" not in given and rival.score > chosen.score * (1 - _LEAST_LEAD):
        doubts.append(f"sep {shown(rival.sep)} with quote {shown(rival.quote)} reads nearly as well.")
    doubts += [f"{setting.evidence.capitalize()}." for name, setting in settings.items()
               if setting.confidence is Confidence.UNSURE and name in ("escape",)]  # fmt: skip
    return doubts


def _doubts_elsewhere(chosen: Reading, parts: Sequence[Sample]) -> Iterator[str]:
    """What speaks against the dialect in the middle and at the end of a file."""
    for part in parts:
        shares = [share for inside in (False, True) if (share := chosen.share_elsewhere(part, inside)) is not None]
        if shares and max(shares) < _LEAST_CONSISTENCY:
            seen = f"only {round(100 * max(shares))} % of the records have {chosen.columns} fields"
            yield f"Near the {'end' if part.is_end else 'middle'} of the file {seen}."


def _rival(best: Sequence[Reading]) -> Reading | None:
    """The best candidate that reads other fields than the chosen one, and no quotes as data that are in order."""
    chosen = best[0]
    in_order = chosen.quoted_values > 0 and not chosen.damaged
    others = (each for each in best[1:] if not (in_order and each.sep == chosen.sep and _sees_less(each, chosen)))
    return next((each for each in others if each.all_records != chosen.all_records), None)


def _sees_less(reading: Reading, chosen: Reading) -> bool:
    """Whether a reading takes for data what the chosen one takes for quotes."""
    return reading.quote is None or (reading.quote == chosen.quote and chosen.trims and not reading.trims)


def _given(given: Mapping[str, Any], name: str) -> Setting | None:
    return Setting(given[name], Confidence.GIVEN, "given") if name in given else None


def _about_sep(best: Sequence[Reading]) -> Setting:
    chosen, rival = best[0], _rival(best)
    whole = sum(len(record) == chosen.columns for record in chosen.records)
    evidence = f"{chosen.columns} field{'s' * (chosen.columns != 1)} in {whole:,} of {len(chosen.records):,} records"
    if rival is not None:
        evidence += f"; next best {shown(rival.sep)}, quote {shown(rival.quote)}"
    is_sure = chosen.columns > 1 and chosen.consistency == 1 and (rival is None or rival.score < chosen.score / 2)
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
    other = "\\" if chosen.escape == chosen.quote else chosen.quote
    rival = Reading(chosen.sample, chosen.sep, chosen.quote, other, trims=chosen.trims)
    is_close = rival.score > chosen.score * (1 - _LEAST_LEAD)
    return Setting(chosen.escape, Confidence.UNSURE if is_close else Confidence.LIKELY, evidence)


def _about_blanks(chosen: Reading) -> Setting:
    count = chosen.quoted_after_blanks
    seen = "1 quoted value begins" if count == 1 else f"{count:,} quoted values begin"
    return Setting(True, Confidence.CERTAIN, f"{seen} after blanks")


def _about_preamble(chosen: Reading) -> Setting:
    if chosen.skip_rows:
        return Setting(chosen.skip_rows, Confidence.LIKELY, f"the lines before have no {chosen.columns} values")
    return Setting(0, Confidence.LIKELY, "the table begins with the file")


def _about_comments(chosen: Reading) -> Setting:
    if chosen.comment is None and any(content.startswith(b"#") for content in chosen.contents):
        return Setting(None, Confidence.LIKELY, "lines that begin with # are records of the table")
    if chosen.comment is None:
        return Setting(None, Confidence.ASSUMED, "no line begins like a comment")
    return Setting(chosen.comment, Confidence.LIKELY, "lines that begin with it are no records of the table")


def _about_lines(chosen: Reading) -> Setting:
    if chosen.quote is None:
        return Setting(False, Confidence.CERTAIN, "there is no quote to hide a line end")
    if chosen.values_over_lines:
        over = chosen.values_over_lines
        seen = "1 quoted value holds a line end" if over == 1 else f"{over:,} quoted values hold line ends"
        return Setting(True, Confidence.CERTAIN, seen)
    return Setting(True, Confidence.ASSUMED, "a quoted value may hold one")


def _line_ends(text: bytes) -> str:
    pairs = text.count(b"\r\n")
    counts = {"CRLF": pairs, "LF": text.count(b"\n") - pairs, "CR": text.count(b"\r") - pairs}
    return ", ".join(end for end, count in counts.items() if count) or "none"


def _without_encoding(samples: Sequence[RawSample]) -> Dialect:
    names = encodings_that_decode(samples)
    seen = f"the bytes are valid {' and '.join(names[:3])}" if names else "no character set that is known fits"
    doubt = f"The text is no UTF-8 and no UTF-16, and has no mark; {seen}, and only who wrote it knows: give encoding."
    return Dialect(",", '"', '"', header=False, skip_rows=0, comment=None, multi_line=True, encoding="", line_ends="",
                   columns=0, score=0.0, doubts=(doubt,))  # fmt: skip
