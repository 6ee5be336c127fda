"""The search: every plausible separator and quote is tried with the format's own grammar, and the best explained."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from splitscan.formats.csv.sniffing.blanks import with_fields_in_lines
from splitscan.formats.csv.sniffing.charsets import NOT_READ, likely_encodings
from splitscan.formats.csv.sniffing.comments import names_in_comments, with_comments
from splitscan.formats.csv.sniffing.doubts import about_signature, doubts_of, may_be_one_column, objections_of
from splitscan.formats.csv.sniffing.evidence import settings_of
from splitscan.formats.csv.sniffing.found import (
    Candidate,
    Confidence,
    Dialect,
    RawSample,
    Setting,
    find_encoding,
)
from splitscan.formats.csv.sniffing.reading import Reading, Sample, after_lines, quotes_in_quotes
from splitscan.formats.csv.sniffing.separators import (
    BETWEEN_TABS,
    DOUBLED,
    has_pipes_between_tabs,
    in_one_column,
    is_constant,
    is_separator,
    makes_table,
    with_doubt_of_line_ends,
    with_doubt_of_quotes,
    with_doubt_of_separator,
    without_apostrophes,
    without_parts_of_values,
)
from splitscan.formats.framing.encodings import detect_bom, resolve_encoding

_SEP_LINE = re.compile(rb"\Asep=([^\r\n]{1,4})\r?(?:\n|\Z)")  # as Excel writes it
_SEPARATORS = (",", ";", "\t", "|", "^", "~", "\x01", "\x1f")  # the last two: Hive's, and ASCII's own
_QUOTES = ('"', "'", "|")
_END_MARK = "\x1a"  # of DOS
_TRIED_BYTES = 16 * 1024  # that every candidate reads; the best ones read all
_FINALISTS = 4
_SHOWN = 3  # candidates
_SHOWN_SETS = 4  # of characters
_CONVERTED = f" (which no option reads: iconv -f {NOT_READ} -t UTF-8 makes it UTF-8)"


def find_dialect(samples: Sequence[RawSample], given: Mapping[str, Any], named: str | None = None) -> Dialect:
    """Find the dialect of one file.

    Args:
        samples: Parts of it; the first one is its beginning.
        given: What the user said, by Spark's names: it is taken as it is, and narrows the search. Of options that make
            no dialect, ``lineSep`` says what ends lines; ``columnsArray``, ``enforceSchema`` and ``rescuedDataColumn``
            keep fields without names.
        named: The separator that the name of the file says: it is taken where it makes a table.
    """
    encoding = Setting(given["encoding"], Confidence.GIVEN, "given") if "encoding" in given else find_encoding(samples)
    if encoding is None:
        return _without_encoding(samples)
    codec = _codec_of(encoding.value, samples)
    parts = [_in_utf8(sample, codec, given.get("lineSep")) for sample in samples]
    line = _SEP_LINE.match(parts[0].text)
    if not given.keys().isdisjoint(("sep", "skipRows")):
        line = None
    if line is not None:
        given = {**given, "sep": line[1].decode(), "skipRows": 1}
    whole = after_lines(parts[0], int(given.get("skipRows", 0)))
    parts = [whole, *parts[1:]]
    best = _best(_readings(parts, given), whole, named)
    if "ignoreLeadingWhiteSpace" not in given:  # blanks are taken off for quotes only
        best = [each for each in best if not each.trims or each.quoted_after_blanks] or best
    best = best if "sep" in given else _with_one_column(best, named)
    chosen = best[0] if "sep" in given else with_fields_in_lines(best[0], given)
    chosen = chosen if "quote" in given else with_doubt_of_quotes(chosen)
    chosen = chosen if "sep" in given else with_doubt_of_separator(with_doubt_of_line_ends(chosen))
    if "comment" not in given and chosen.comment is None and _ends_with_mark(parts[-1]):
        chosen = chosen.but(comment=_END_MARK)
    found = _explain([chosen, *best[1:]], parts, encoding, given, named)
    return found if line is None else _as_line_says(found)


def _ends_with_mark(part: Sample) -> bool:
    """True if the mark that ends a file of DOS stands alone in the last line."""
    last = re.split(rb"[\r\n]", part.text.rstrip(b"\r\n"))[-1]
    return part.is_end and last == _END_MARK.encode()


def _readings(parts: Sequence[Sample], given: Mapping[str, Any]) -> list[Reading]:
    """The first bytes of a file, read with every candidate."""
    head, begins = _first_part(parts[0]), not given.keys().isdisjoint(("skipRows", "columnsArray"))
    return [
        Reading(head, sep, quote, _escape_for(parts, sep, quote, trims, given), given.get("comment"),
                skipped=int(given.get("skipRows", 0)), trims=trims, finds_table=not begins,
                marks="comment" not in given)
        for sep, quote, trims in _candidates(parts[0].text, given)
    ]  # fmt: skip


def _best(tried: Sequence[Reading], whole: Sample, named: str | None) -> list[Reading]:
    """The readings that come closest, the best one first; of as much of the file as there is."""
    ranked = _ranked(map(with_comments, tried), named)
    if tried[0].sample is whole:
        return ranked[:_FINALISTS]
    unread = [each for each in ranked[_FINALISTS:] if each.is_cut and not each.records]  # by the part that was tried
    best = {(each.sep, each.quote, each.trims) for each in (*ranked[:_FINALISTS], *unread)}
    again = (each.but(sample=whole) for each in tried if (each.sep, each.quote, each.trims) in best)
    return _ranked(map(with_comments, again), named)


def _ranked(readings: Iterable[Reading], named: str | None) -> list[Reading]:
    def rank(reading: Reading) -> tuple[bool, bool, float]:
        return makes_table(reading, named), is_constant(reading), reading.score

    return without_parts_of_values(without_apostrophes(sorted(readings, key=rank, reverse=True)))


def _with_one_column(best: list[Reading], named: str | None) -> list[Reading]:
    """The readings, with the one first that takes lines for single values, or beside the best where it may do so."""
    found = in_one_column(best[0])
    if found is None:
        return best
    one, is_sure = found
    if is_sure or named not in (None, best[0].sep):
        return [one]
    return [best[0].in_doubt(may_be_one_column(best[0])), one, *best[1:]]


def _as_line_says(found: Dialect) -> Dialect:
    said = {
        name: replace(found.settings[name], confidence=Confidence.CERTAIN, evidence="the first line says so")
        for name in ("sep", "skipRows")
    }
    return replace(found, settings={**found.settings, **said})


def sep_line(head: RawSample) -> str | None:
    """The separator that the first line of a file names, as in ``sep=;``."""
    encoding = find_encoding([head])
    line = _SEP_LINE.match(_in_utf8(head, _codec_of("UTF-8" if encoding is None else encoding.value, [head])).text)
    return None if line is None else line[1].decode()


def _codec_of(encoding: str, samples: Sequence[RawSample]) -> str:
    """Python's name of a character set, in the byte order that the mark of a file says, if it has one."""
    head = samples[0].data if samples else b""
    return detect_bom(head, resolve_encoding(encoding))[0].codec


def _in_utf8(sample: RawSample, codec: str, line_sep: str | None = None) -> Sample:
    """The text of a sample, with the usual line ends; one from the middle begins after its first line end."""
    text = sample.data.decode(codec, "ignore").removeprefix("\ufeff").encode()
    if line_sep is not None:
        lines = text.split(line_sep.encode())
        text = b"\n".join(line.replace(b"\n", b" ").replace(b"\r", b" ") for line in lines)
    if sample.offset:
        text = text[text.find(b"\n") + 1 :]
    return Sample(text, is_start=not sample.offset, is_end=sample.is_end)


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
    """True if a quote stands after a separator and blanks somewhere."""
    return re.search(re.escape(sep.encode()) + rb"[ \t]+" + re.escape(quote.encode()), text) is not None


def _pairs(text: bytes, given: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    separators = [given["sep"]] if "sep" in given else [sep for sep in _SEPARATORS if sep.encode() in text] or [","]
    if "sep" not in given and has_pipes_between_tabs(text):
        separators = [*(sep for sep in separators if sep not in BETWEEN_TABS), BETWEEN_TABS]
    if "sep" not in given:
        separators += [mark for mark in DOUBLED if _divides_alike(text, mark.encode())]
    candidates: list[tuple[str, str | None]] = []
    for sep in separators:
        if "quote" in given:
            candidates.append((sep, given["quote"] or None))
            continue
        candidates.append((sep, '"'))
        others = (quote for quote in _QUOTES[1:] if quote not in sep and not is_separator(text, sep, quote))
        candidates += [(sep, quote) for quote in others if _stands_at_edges(text, sep, quote)]
        if _stands_at_edges(text, sep, '"'):
            candidates.append((sep, None))
    return candidates


def _divides_alike(text: bytes, mark: bytes) -> bool:
    """True if a doubled mark stands in all lines alike: colons twice or more, for once they stand in names as well."""
    lines = [line for line in text[: text.rfind(b"\n")].splitlines() if line]
    counts = {line.count(mark) for line in lines}
    return (
        len(lines) > 1
        and len(counts) == 1
        and (counts.pop() > 1 or (mark == b"||" and text.count(mark) * 2 == text.count(b"|") > 0))
    )


def _stands_at_edges(text: bytes, sep: str, quote: str) -> bool:
    """True if a quote begins a field somewhere."""
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


def _explain(
    best: Sequence[Reading], parts: Sequence[Sample], encoding: Setting, given: Mapping[str, Any], named: str | None
) -> Dialect:
    chosen = best[0]
    signed = [] if "sep" in given else about_signature(parts[0].text)
    settings = settings_of(best, parts, encoding, given, names_in_comments(chosen))
    return Dialect(
        **Dialect.attributes(settings),
        line_ends=_line_ends(parts[0].text),
        columns=chosen.columns,
        score=chosen.score,
        settings=settings,
        first_record=tuple(value.decode() for value, _ in (chosen.records or [[]])[0]),
        candidates=tuple(Candidate(each.sep, each.quote, each.score, each.columns) for each in best[:_SHOWN]),
        doubts=tuple(signed or doubts_of(best, settings, given, parts, named)),
        objections=tuple(objections_of(best, settings, given, parts)),
        is_cut=any(each.is_cut for each in best),
    )


_ASCII = (string.ascii_letters + string.digits + " ").encode()
_EBCDIC = (string.ascii_letters + string.digits + " ").encode("cp037")


def _line_ends(text: bytes) -> str:
    pairs = text.count(b"\r\n")
    counts = {"CRLF": pairs, "LF": text.count(b"\n") - pairs, "CR": text.count(b"\r") - pairs}
    return ", ".join(end for end, count in counts.items() if count) or "none"


def _without_encoding(samples: Sequence[RawSample]) -> Dialect:
    likely = [
        f"{'' if name == NOT_READ else 'encoding='}{name} reads {word!r}{_CONVERTED * (name == NOT_READ)}"
        for name, word in likely_encodings(samples)[:_SHOWN_SETS]
    ]
    seen = ", ".join(likely) or "no character set that is known reads words"
    doubt = (
        f"The text is no UTF-8, UTF-16 or UTF-32, and has no mark, and only who wrote it knows: {seen}. Give encoding."
    )
    zeros = samples[0].data.count(0)
    if zeros:
        doubt = (
            f"{zeros:,} of the first {len(samples[0].data):,} bytes are zero: they may be no text, but records of "
            f"bytes, which recordFormat=fixed reads. {doubt}"
        )
    if _is_ebcdic(samples[0].data):
        doubt = (
            "The bytes are like those of a mainframe: with the copybook of the file, recordFormat=cobol reads it, on "
            f"the command line -f cobol -o copybook=PATH. {doubt}"
        )
    return Dialect(",", '"', '"', header=False, skip_rows=0, comment=None, multi_line=True, encoding="", line_ends="",
                   columns=0, score=0.0, doubts=(doubt,))  # fmt: skip


def _is_ebcdic(data: bytes) -> bool:
    """True if most bytes are letters, digits and blanks of EBCDIC, and few are those of ASCII."""
    held = data.replace(b"\0", b"")
    words, others = (len(held) - len(held.translate(None, each)) for each in (_EBCDIC, _ASCII))
    return words * 2 > len(held) and others * 4 < words
