"""``python -m splitscan`` is ``splitscan``."""

from __future__ import annotations

import sys

from splitscan.cli.program import main

if __name__ == "__main__":
    sys.exit(main())
