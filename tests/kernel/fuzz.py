"""Compare the kernel with the reference for as many random cases as wanted: how records are found, and whole files.

``python -m tests.kernel.fuzz --cases 5000000 --seed 1`` deals the cases to all checks, so that each works for a while;
``--only csv`` takes those of one format. A difference is printed with its seed, of which its case is made again. A
case of values has 200 of them.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tests.kernel import csv_framing, json_framing, lines_cases, reading_cases, xml_framing

_SHOWN = 20  # differences that are printed


class Check(NamedTuple):
    """What compares a case, and how many of 1,000 cases it gets: fewer if they take long."""

    share: int
    compare: Callable[[int], object]


def check_lines(seed: int) -> None:
    """Find lines."""
    case = lines_cases.random_case(random.Random(seed))
    found = list(lines_cases.differences_of_text(case))
    assert not found, (found, case)


CHECKS = {
    "text framing": Check(686, check_lines),
    "csv framing": Check(80, csv_framing.check_case),
    "json framing": Check(90, json_framing.check_case),
    "xml framing": Check(70, xml_framing.check_case),
    "csv reading": Check(16, reading_cases.check_csv),
    "json reading": Check(10, reading_cases.check_json),
    "json below a path": Check(12, reading_cases.check_json_below),
    "xml reading": Check(14, reading_cases.check_xml),
    "width reading": Check(7, reading_cases.check_width),
    "text reading": Check(7, reading_cases.check_text),
    "cobol reading": Check(6, reading_cases.check_cobol),
    "values of csv": Check(1, reading_cases.check_csv_values),
    "values of json": Check(1, reading_cases.check_json_values),
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
    logging.getLogger("splitscan").addHandler(logging.NullHandler())  # advice on random files
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
