from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import settings

from splitscan.formats.framing.encodings import SINGLE_BYTE_CODECS, resolve_encoding

pytest.importorskip("splitscan_kernel")

from tests.kernel import charset_cases
from tests.kernel.lines_cases import charset_of, pairs

UNICODE = ("UTF-8", "US-ASCII", "UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE")
HARD = {  # bytes of which sequences are made that are nearly text
    1: b"\x00a\x7f\x80\xbf\xc0\xc2\xe0\xa0\x9f\xed\xf0\x90\x8f\xf4\xf8\xff",
    2: b"\x00a\xd8\xdb\xdc\xdf\xff",
    4: b"\x00\x00\x00a\x01\x10\x11\xd8\xdf\xff",
}


def positions(values):
    return np.array(values, dtype="<i8").tobytes()


@pytest.mark.parametrize("name", [*UNICODE, *sorted(SINGLE_BYTE_CODECS)])
def test_bytes_become_the_text_that_pythons_codec_makes_of_them(name):
    encoding = resolve_encoding(name)
    chance = random.Random(name)
    alphabets = (HARD[encoding.unit_bytes], bytes(range(256)), b"ab \n")
    records = [bytes(chance.choices(chance.choice(alphabets), k=chance.randrange(12))) for _ in range(3000)]
    stops = np.cumsum([len(record) for record in records])
    starts = stops - [len(record) for record in records]
    utf8, *spans = charset_of(encoding).transcode(b"".join(records), positions(starts), positions(stops))
    found = [utf8[slice(*span)].decode() for span in pairs(*spans)]
    assert found == [record.decode(encoding.codec, "replace") for record in records]


def test_csv_that_is_read_in_one_go_is_what_the_reference_reads():
    met = Counter()
    for seed in range(5 * settings().max_examples):
        met.update(charset_cases.check_case(seed))
    assert all(met[situation] for situation in ("none", "parsed", "fault", "wide", "not ascii")), met
