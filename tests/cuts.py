"""Some of many cuts of a file: `make check` takes a few, others each day, and `make test` all."""

import os
import random
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TypeVar

from hypothesis import settings

from splitscan.api.files import Scan
from splitscan.testing import scan_laws

T = TypeVar("T")

_FEW = 5


def some(cases: Iterable[T], most: int = _FEW) -> list[T]:
    """A few of *cases*, in their order; all of them unless tests are to be quick."""
    found, drawn_by = list(cases), os.environ["SPLITSCAN_TESTS_DRAW"]
    if settings.get_current_profile_name() != "quick" or drawn_by == "all" or len(found) <= most:
        return found
    draw = random.Random(drawn_by + os.environ.get("PYTEST_CURRENT_TEST", ""))
    return [found[number] for number in sorted(draw.sample(range(len(found)), most))]


def few_blocks(law: Callable[[Scan, Iterable[int]], int]) -> Callable[[Scan, Iterable[int]], int]:
    """The block law at some of the sizes that a test names."""
    return wraps(law)(lambda scan, block_sizes: law(scan, some(block_sizes)))


scan_laws.check_block_law = few_blocks(scan_laws.check_block_law)
