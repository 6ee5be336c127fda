"""Called by hatchling: the address of the repository, and a README whose links work on an index page.

The repository does not write its own address down: forks and mirrors are built as they are. Who releases names it in
``SPLITSCAN_URL``, as the release workflow does. Without it relative links become plain text, so that none is broken.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:|#)([^)\s]+)\)")


def index_page(readme: str, url: str | None) -> str:
    """The README with absolute links into *url*, or without relative links where there is no address.

    Example:
        >>> index_page("[a](docs/a.md#b) [c](https://x.y)", "https://h/p")
        '[a](https://h/p/blob/HEAD/docs/a.md#b) [c](https://x.y)'
        >>> index_page("[a](docs/a.md)", None)
        'a'
    """
    return _RELATIVE_LINK.sub(r"\1" if url is None else rf"[\1]({url}/blob/HEAD/\2)", readme)


def project_urls(url: str | None) -> dict[str, str]:
    """The links of the project's page."""
    if url is None:
        return {}
    return {
        "Repository": url,
        "Documentation": f"{url}/blob/HEAD/docs/index.md",
        "Changelog": f"{url}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{url}/issues",
    }


class IndexPage(MetadataHookInterface):
    """Fills in what ``pyproject.toml`` calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the page and the links."""
        url = (os.environ.get("SPLITSCAN_URL") or "").rstrip("/") or None
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": index_page(readme, url)}
        metadata["urls"] = project_urls(url)
