"""The native engine reads CSV as the reference does, whatever the dialect, the bytes and the cuts."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("splitscan_kernel")

from tests.kernel import csv_framing
from tests.kernel.csv_cases import native

from splitscan.framing.encodings import resolve_encoding
from splitscan.framing.quoted import Dialect

CASES = 1500


def test_framing_gives_what_the_reference_gives() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(csv_framing.check_case(seed))
    assert all(met[situation] for situation in ("told", "open", "malformed", "unfinished", "comment", "wide")), met


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"sep": '"'}, "of their own"),
        ({"quote": "\n"}, "of their own"),
        ({"comment": '"'}, "of their own"),
        ({"sep": ",", "line_sep": ",\n"}, "neither"),
        ({"sep": "a\n"}, "no line ends"),
    ],
)
def test_settings_that_contradict_each_other_are_not_supported(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        native(Dialect(resolve_encoding("UTF-8"), **settings))
