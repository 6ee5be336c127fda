"""Called by mkdocs: the site loads nothing from other hosts, and a build that would is an error."""

import re
from pathlib import Path

FOREIGN = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*(?:src|href)=["']?(?:https?:)?//[^>]*>""")
CDN = re.compile(r"https://unpkg\.com/")  # the theme's script would load polyfills and diagrams, which no page uses


def on_post_page(output: str, page, **_) -> str:
    """Refuses a page that loads from another host."""
    if found := FOREIGN.search(output):
        raise SystemExit(f"{page.file.src_path} loads from another host: {found[0]}")
    return output


def on_post_build(config, **_) -> None:
    """Takes the hosts out of the theme's own scripts."""
    for script in Path(config.site_dir, "assets", "javascripts").glob("*.js"):
        text = script.read_text(encoding="utf-8")
        script.write_text(CDN.sub("assets/", text), encoding="utf-8")
