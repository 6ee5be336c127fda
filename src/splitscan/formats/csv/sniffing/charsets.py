"""Character sets that are not Unicode's: which ones the bytes of a file may be in, the likely ones first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from splitscan.formats.csv.sniffing.found import RawSample, decodes

_SETS = {
    "windows-1252": "cp1252", "windows-1251": "cp1251", "EUC-KR": "euc_kr", "GB18030": "gb18030",
    "Shift_JIS": "shift_jis", "Big5": "big5", "windows-1255": "cp1255", "windows-1253": "cp1253",
    "windows-1250": "cp1250", "KOI8-R": "koi8-r", "windows-1256": "cp1256", "IBM850": "cp850", "IBM866": "cp866",
    "macintosh": "mac-roman", "ISO-8859-1": "latin-1",
}  # fmt: skip
_COMMON = {  # first bytes of characters that are used often
    "GB18030": (0xB0, 0xD7), "Shift_JIS": (0x82, 0x97), "EUC-KR": (0xB0, 0xC8), "Big5": (0xA4, 0xC6),
}  # fmt: skip
_KANA = re.compile("[\u3040-\u30ff\uff61-\uff9f]")
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_TOKEN = re.compile("[^\\s,;|\"'()]*[^\x00-\x7f\\s][^\\s,;|\"'()]*")
_MOST_TOKENS = 400
_LEAST_SHARE = 0.6  # of words that are written as words are
_MOST_ACCENTS = 0.75  # share of the letters of a word, of Latin ones
_LEAST_LETTERS = 3  # of a word, for a share of them
_COMMON_SHARE = 0.9
_SHOWN_CHARACTERS = 20
_QUOTES = "\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a"
_NO_BEGINNING = "\u044a\u044b\u044c"  # of a word in Cyrillic


def likely_encodings(samples: Sequence[RawSample]) -> list[tuple[str, str]]:
    """Character sets that all samples could be in, the most likely first, each with the word that it reads first.

    Those in which most words mix letters of several scripts, or large ones among small ones, are left out. Which set it
    is, the bytes do not tell: only who wrote them knows.

    Args:
        samples: Parts of a file, in no character set of Unicode.
    """
    found = []
    for place, (name, codec) in enumerate(_SETS.items()):
        if not all(decodes(part, codec) for part in samples):
            continue
        text = "\n".join(part.data.decode(codec, "ignore") for part in samples)
        tokens = [each[0] for each, _ in zip(_TOKEN.finditer(text), range(_MOST_TOKENS), strict=False)]
        share = sum(_is_word(token, name, codec) for token in tokens) / max(len(tokens), 1)
        if share >= _LEAST_SHARE:
            found.append((-round(share, 1), place, name, tokens[0][:_SHOWN_CHARACTERS]))
    return [(name, word) for _, _, name, word in sorted(found)]


def _is_word(token: str, name: str, codec: str) -> bool:
    """True if a token is written as words are."""
    token = token.strip(_QUOTES)
    letters = [each for each in token if each.isalpha()]
    others = [each for each in token if not each.isascii() and not each.isalpha()]
    if not letters or any(each != "\u2019" and unicodedata.category(each) not in ("Pd", "Mn") for each in others):
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
    if _HALF_WIDTH.search(token) or (name != "Shift_JIS" and _KANA.search(token)):
        return False
    first, last = _COMMON[name]
    leads = [each.encode(codec)[0] for each in token if not each.isascii()]
    is_apart = not any(each.isascii() and each.isalpha() for each in token)  # from Latin letters
    return is_apart and sum(first <= lead <= last for lead in leads) >= _COMMON_SHARE * len(leads)
