"""Character sets that are not Unicode's: which ones the bytes of a file may be in, the likely ones first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from splitscan.formats.csv.sniffing.found import RawSample, decodes

NOT_READ = "EUC-JP"
"""A set that is told from others, and that no option reads."""

_SETS = {
    "windows-1252": "cp1252", "windows-1251": "cp1251", "EUC-KR": "euc_kr", NOT_READ: "euc_jp", "GB18030": "gb18030",
    "Shift_JIS": "shift_jis", "Big5": "big5", "windows-1255": "cp1255", "windows-1253": "cp1253",
    "windows-1250": "cp1250", "ISO-8859-2": "iso8859-2", "windows-1254": "cp1254", "windows-1257": "cp1257",
    "KOI8-R": "koi8-r", "KOI8-U": "koi8-u", "windows-1256": "cp1256", "IBM850": "cp850", "macintosh": "mac-roman",
    "IBM852": "cp852",    "IBM857": "cp857", "IBM866": "cp866", "ISO-8859-5": "iso8859-5",
    "ISO-8859-6": "iso8859-6", "TIS-620": "tis-620",
}  # fmt: skip
_COMMON = {  # first bytes of characters that are used often, kana aside
    "GB18030": (0xB0, 0xD7), "Shift_JIS": (0x88, 0x97), "EUC-KR": (0xB0, 0xC8), "Big5": (0xA4, 0xC6),
    NOT_READ: (0xB0, 0xCF),
}  # fmt: skip
_OF_JAPAN = ("Shift_JIS", NOT_READ)
_NO_KANJI = re.compile("[\u3000-\u30ff\uff01-\uff5e]")
_KANA = re.compile("[\u3040-\u30ff\uff61-\uff9f]")
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_EDGES = "\\s,;|\"'()\u3000-\u301f\u30fb\uff01-\uff0f\uff1a-\uff20"
_TOKEN = re.compile(f"[^{_EDGES}]*[^\x00-\x7f{_EDGES}][^{_EDGES}]*")
_AMOUNT = re.compile(
    "[\\d.,+*/%-]*(?:[\u00a3\u20ac\u00a5\u00b0\u00b1\u00bc\u00bd\u2122\u2026\u2013\u2014][\\d.,+*/%-]*)+"
)
_SIGNS = (
    "\u00a1\u00a7\u00a9-\u00ac\u00ae-\u00b3\u00b5-\u00b7\u00b9-\u00bf\u00d7"
    "\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u2122"
)
_ALONE = re.compile(f"(?<![^\x00-\x7f])(?:(?<![A-Za-z])[{_SIGNS}]|[{_SIGNS}](?![A-Za-z]))(?![^\x00-\x7f])")
"""A sign that texts in ASCII have, in no word, and no other one beside it."""

_RUN = re.compile("[^\\W\\d_\x00-\x7f]{3}")
_LEAST_RUNS = 0.2  # share of words of another script with three letters in a row
_OTHERS = re.compile(rb"[\x80-\xff]+")
_FEW = 20  # one byte in so many is no ASCII
_MOST_TOKENS = 400
_LEAST_SHARE = 0.6  # of words that are written as words are
_MOST_ACCENTS = 0.75  # share of the letters of a word, of Latin ones
_LEAST_LETTERS = 3  # of a word, for a share of them
_COMMON_SHARE = 0.9
_SHOWN_CHARACTERS = 20
_QUOTES = "\u00a1\u00bf\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a"
_NO_BEGINNING = "\u044a\u044b\u044c"  # of a word in Cyrillic


def likely_encodings(samples: Sequence[RawSample]) -> list[tuple[str, str]]:
    """Character sets that all samples could be in, the most likely first, each with the word that it reads first.

    Those in which most words mix letters of several scripts, or large ones among small ones, are left out, and those
    that read nothing else than the first. Which set it is, the bytes do not tell: only who wrote them knows.
    """
    found = []
    for place, (name, codec) in enumerate(_SETS.items()):
        if not all(decodes(part, codec) for part in samples):
            continue
        text = "\n".join(part.data.decode(codec, "ignore") for part in samples)
        tokens = [each[0] for each, _ in zip(_TOKEN.finditer(text), range(_MOST_TOKENS), strict=False)]
        share = sum(_is_word(token, name, codec) for token in tokens) / max(len(tokens), 1)
        if share >= _LEAST_SHARE and (name in _COMMON or _has_runs(tokens)):
            found.append((-round(share, 1), place, name, tokens))
    best = [(name, tokens) for _, _, name, tokens in sorted(found)] or _of_few_bytes(samples)
    others = [(name, tokens) for n, (name, tokens) in enumerate(best) if tokens not in (each for _, each in best[:n])]
    return [(name, _word_of(tokens, best[0][1])) for name, tokens in others]


def _of_few_bytes(samples: Sequence[RawSample]) -> list[tuple[str, Sequence[str]]]:
    """The set of western Europe, where few bytes are no ASCII and no set reads words: they may be damaged."""
    name, *_ = _SETS
    data = b"".join(part.data for part in samples)
    tokens = _TOKEN.findall(data.decode(_SETS[name], "ignore"))
    is_few = _FEW * sum(map(len, _OTHERS.findall(data))) <= len(data)
    return [(name, tokens)] if tokens and is_few and all(decodes(part, _SETS[name]) for part in samples) else []


def _has_runs(tokens: Sequence[str]) -> bool:
    """True if words of other scripts than Latin's have letters side by side, as all scripts write them."""
    others = [token for token in tokens if any(not _is_latin(each) for each in token if each.isalpha())]
    return sum(map(bool, map(_RUN.search, others))) >= _LEAST_RUNS * len(others)


def _is_latin(letter: str) -> bool:
    return letter in "\u00aa\u00b5\u00ba" or unicodedata.name(letter, "?").startswith("LATIN")


def _word_of(tokens: Sequence[str], first: Sequence[str]) -> str:
    """The first word that is another one in the set that comes first; the first one of that set itself."""
    others = (token for token, other in zip(tokens, first, strict=False) if token != other)
    return next(others, tokens[0])[:_SHOWN_CHARACTERS]


def _is_word(token: str, name: str, codec: str) -> bool:
    """True if a token is written as words are."""
    token = token.strip(_QUOTES)
    if _AMOUNT.fullmatch(token) or _ALONE.sub("", token).isascii():
        return True
    letters = [each for each in token if each.isalpha()]
    others = [each for each in token if not each.isascii() and not each.isalpha()]
    if not letters or any(each != "\u2019" and unicodedata.category(each) not in ("Pd", "Mn", "Nd") for each in others):
        return False
    if name in _COMMON:
        return _is_common(token, name, codec)
    word = "".join(letters)
    scripts = {unicodedata.name(each, "?").split(" ")[0] for each in letters}
    is_written = word[1:].islower() or word.isupper() or word.upper() == word.lower() or len(word) == 1
    if len(scripts) > 1 or not is_written or word[0] in _NO_BEGINNING:
        return False
    accents = sum(not each.isascii() for each in letters)
    return scripts != {"LATIN"} or len(letters) < _LEAST_LETTERS or accents <= _MOST_ACCENTS * len(letters)


def _is_common(token: str, name: str, codec: str) -> bool:
    """True if the characters of a set of two bytes are those that are used often."""
    has_kana = _KANA.search(token) is not None
    if _HALF_WIDTH.search(token) or (has_kana and name not in _OF_JAPAN):
        return False
    first, last = _COMMON[name]
    leads = [each.encode(codec)[0] for each in token if not each.isascii() and not _NO_KANJI.match(each)]
    is_apart = not any(each.isascii() and each.isalpha() for each in token)  # from Latin letters
    return is_apart and sum(first <= lead <= last for lead in leads) >= _COMMON_SHARE * len(leads)
