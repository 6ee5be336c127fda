"""Print the page that documents every option: ``python -m splitscan.options > docs/options.md``."""

from __future__ import annotations

import sys

from splitscan.options.documentation import options_page

if __name__ == "__main__":
    sys.stdout.write(options_page())
