"""The native engine reads XML as the reference does, whatever the bytes and the cuts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings

pytest.importorskip("splitscan_kernel")

import splitscan_kernel
from tests.counting import at_most_cpu_seconds
from tests.kernel import xml_framing

CASES = 15 * settings().max_examples  # fewer in make check


def test_framing_gives_what_the_reference_gives() -> None:
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met.update(xml_framing.check_case(seed))
    assert all(met[situation] for situation in ("records", "unfinished", "nested", "told", "wide")), met


def test_a_row_tag_has_a_name_and_few_letters() -> None:
    letters = "".join(map(chr, range(0x100, 0x100 + 128))).encode("utf-16-le")
    for name, width in ((b"", 1), (b"r", 3), (letters, 2)):
        with pytest.raises(splitscan_kernel.Unsupported, match="row tag"):
            splitscan_kernel.Xml(name, width, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [b"<r>", b"</r>", b"<r", b"<r a='", b'<r a="<r>', b"<!--", b"<![CDATA[", b"<?", b"<a '", b"</r ", b"<", b" "],
)
def test_hostile_bytes_are_framed_in_linear_time(unit: bytes) -> None:
    """In seconds; in quadratic time it would be hours."""
    data = unit * (4_000_000 // len(unit))
    xml = splitscan_kernel.Xml(b"r")
    with at_most_cpu_seconds(10):
        for at_end in (True, False):
            xml.frame(data, 0, len(data), at_end)
        xml.count(data, 0, len(data), True)
        xml.open_starts(data, 0, len(data))
        xml.summarise(data, 0, len(data), b"x", b"", 0)
