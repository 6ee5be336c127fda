"""Compare the fast engine of each format with its reference for as many random cases as wanted.

``python -m tests.kernel.fuzz --cases 5000000 --seed 1`` deals the cases to all checks, so that each works for a while;
``--only csv`` takes those of one format. A difference is printed with its seed, of which its case is made again. A
case of values has 200 of them.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.kernel import (
    charset_cases,
    csv_framing,
    csv_parsing,
    fixed_width_cases,
    json_framing,
    json_parsing,
    lines_cases,
    value_laws,
    xml_framing,
    xml_parsing,
)

_SHOWN = 20  # differences that are printed


class Check(NamedTuple):
    """What compares a case, and how many of 1,000 cases it gets: fewer if they take long."""

    share: int
    compare: Callable[[int], object]


def check_lines(differences: Callable[[lines_cases.Case], Iterator[str]]) -> Callable[[int], None]:
    """Compare text, or records of a fixed length."""

    def compare(seed: int) -> None:
        case = lines_cases.random_case(random.Random(seed))
        found = list(differences(case))
        assert not found, (found, case)

    return compare


CHECKS = {
    "text": Check(375, check_lines(lines_cases.differences_of_text)),
    "text, whole": Check(375, check_lines(lines_cases.differences_of_whole)),
    "width": Check(10, fixed_width_cases.check_case),
    "csv framing": Check(30, csv_framing.check_case),
    "csv parsing": Check(30, csv_parsing.check_case),
    "csv charsets": Check(20, charset_cases.check_case),
    "json framing": Check(45, json_framing.check_case),
    "json parsing": Check(45, json_parsing.check_case),
    "xml framing": Check(34, xml_framing.check_case),
    "xml parsing": Check(34, xml_parsing.check_case),
    "values of texts": Check(1, value_laws.check_text_case),
    "values of json": Check(1, value_laws.check_json_case),
}


def main() -> int:
    """Run the cases; the number of differences decides the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the next has the next one")
    parser.add_argument("--only", help="the checks whose names begin so")
    chosen = parser.parse_args()
    checks = {name: check for name, check in CHECKS.items() if name.startswith(chosen.only or "")}
    if not checks:
        parser.error(f"--only {chosen.only}: no check begins so; there are {', '.join(CHECKS)}")
    done: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    told = time.monotonic()
    while (left := chosen.cases - done.total()) > 0:
        for name, (share, compare) in checks.items():
            for _ in range(min(share, left)):
                seed = chosen.seed + done[name]
                try:
                    compare(seed)
                except Exception as error:
                    failed[name] += 1
                    if failed.total() <= _SHOWN:
                        _say(f"{name}, seed {seed}: {type(error).__name__}: {error}")
                done[name] += 1
            left = chosen.cases - done.total()
        if time.monotonic() - told > 60:
            told = time.monotonic()
            _say(f"{done.total():,} cases, {failed.total()} differences")
    for name in checks:
        _say(f"{name}: {done[name]:,} cases, {failed[name]} differences")
    _say(f"together: {done.total():,} cases, {failed.total()} differences")
    return min(failed.total(), 1)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
