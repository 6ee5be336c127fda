"""Compare the native engine's JSON with the reference for as many cases as wanted.

``python -m tests.kernel.fuzz_json --cases 1000000 --seed 0``
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable

from tests.kernel import json_framing, json_parsing

CHECKS: dict[str, Callable[[int], Counter[str]]] = {
    "framing": json_framing.check_case,
    "parsing": json_parsing.check_case,
}
_SHOWN = 3  # differences that are printed


def main() -> int:
    """Run the cases; the number of differences decides the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=sorted(CHECKS), action="append")
    chosen = parser.parse_args()
    different = 0
    for name in chosen.only or CHECKS:
        met: Counter[str] = Counter()
        failed = 0
        for seed in range(chosen.seed, chosen.seed + chosen.cases):
            try:
                met.update(CHECKS[name](seed))
            except Exception as error:
                failed += 1
                if failed <= _SHOWN:
                    sys.stdout.write(f"{name}, seed {seed}: {type(error).__name__}: {error}\n")
        sys.stdout.write(f"{name}: {chosen.cases} cases, {failed} differences; met {dict(met)}\n")
        different += failed
    return min(different, 1)


if __name__ == "__main__":
    sys.exit(main())
