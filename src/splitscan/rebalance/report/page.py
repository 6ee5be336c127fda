"""An HTML page around timelines: the result in figures, the picture, a table. One file that needs no other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --dim: #5d6670; --line: #dde1e6 }
@media (prefers-color-scheme: dark) { :root { --ground: #14181c; --ink: #e6e9ec; --dim: #9aa4ae; --line: #343b43 } }
body { margin: 0 auto; padding: 28px 24px 40px; max-width: 1040px; background: var(--ground); color: var(--ink);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
h1 { font-size: 20px; margin: 0 0 4px } h2 { font-size: 15px; margin: 28px 0 6px }
p { color: var(--dim); margin: 0 0 18px }
dl { display: flex; flex-wrap: wrap; gap: 10px 34px; margin: 0 0 22px } dl div { min-width: 90px }
dt { color: var(--dim); font-size: 12px } dd { margin: 0; font-size: 20px; font-weight: 600 }
.wide { overflow-x: auto }
.wide svg { display: block; width: 100%; min-width: 800px; height: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: 3px 12px; border-bottom: 1px solid var(--line); white-space: nowrap }
th { color: var(--dim); font-weight: 500; font-size: 12px }
"""

_TABLE = (
    "Seconds that a reader was busy with its chunks, waited between them, and was idle before the first and behind the "
    "last one; ranges that it took from others, and gave to them."
)


def render_page(
    title: str,
    text: str,
    figures: Iterable[tuple[str, str]],
    svg: str,
    table: tuple[Sequence[str], Iterable[Sequence[str]]],
) -> str:
    """Render a page.

    Args:
        title: Heading of the page.
        text: A sentence below it.
        figures: Names and values that are shown large.
        svg: The picture.
        table: Headings, and rows of texts.
    """
    facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in figures)
    headings, rows = table
    head = "".join(f"<th>{escape(name)}</th>" for name in headings)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{escape(title)}</h1>
<p>{escape(text)}</p>
<dl>{facts}</dl>
<div class="wide">{svg}</div>
<h2>Readers</h2>
<p>{escape(_TABLE)}</p>
<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>
{body}
</tbody></table></div>
</body></html>
"""
