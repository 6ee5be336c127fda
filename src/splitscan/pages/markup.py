"""Timelines as SVG, and pages of HTML with tables, figures and pictures, in the same colours, on light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from splitscan.pages.timeline import CLASSES, WIDTH, Timeline, draw, lay_out

_FONT = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif'
_NAMES = ("ground", "ink", "dim", "line", "track", "move", "ideal", *(f"c{number}" for number in range(CLASSES)))
_LIGHT = dict(zip(_NAMES, (
    "#ffffff", "#1b1f24", "#5d6670", "#dde1e6", "#e8ebef", "#c2410c", "#15803d",
    "#cfe0f1", "#a9c9e6", "#7aacd8", "#4b8dc5", "#2b6cab", "#154d8a", "#08306b",
), strict=True))  # fmt: skip
_DARK = dict(zip(_NAMES, (
    "#14181c", "#e6e9ec", "#9aa4ae", "#343b43", "#20262c", "#ff9248", "#5fd38d",
    "#173a5e", "#1f5183", "#2c6ba8", "#4487c4", "#6ba6da", "#9cc8ec", "#d3e8fa",
), strict=True))  # fmt: skip

_FILLS = {
    ".ground": "ground", "text": "ink", ".dim": "dim", ".track": "track", "text.ideal-name": "ideal", ".tip": "move",
    **{f".c{number}": f"c{number}" for number in range(CLASSES)},
}  # fmt: skip
_STROKES = {".grid": "line", ".ideal": "ideal", ".ended": "ink", ".arrow": "move", ".open": "dim"}


def _rules(colours: Mapping[str, str]) -> str:
    """Rules that need no variables, which programs other than browsers do not know."""
    fills = [f".tl {name} {{ fill: {colours[colour]} }}" for name, colour in _FILLS.items()]
    return "\n".join(fills + [f".tl {name} {{ stroke: {colours[colour]} }}" for name, colour in _STROKES.items()])


def _variables(colours: Mapping[str, str]) -> str:
    return "; ".join(f"--{name}: {colours[name]}" for name in ("ground", "ink", "dim", "line"))


_SVG_STYLE = f"""
.tl text {{ font: 12px {_FONT} }}
.tl .title {{ font-size: 15px; font-weight: 600 }}
.tl text.ideal-name {{ font-weight: 600 }}
.tl .grid {{ stroke-width: 1 }}
.tl .ideal {{ stroke-width: 1.5; stroke-dasharray: 5 3 }}
.tl .ended {{ stroke-width: 1.5 }}
.tl .arrow {{ fill: none; stroke-width: 1.4 }}
.tl .faint {{ opacity: 0.5 }}
.tl .open {{ fill: none; stroke-dasharray: 2 2 }}
{_rules(_LIGHT)}
@media (prefers-color-scheme: dark) {{
{_rules(_DARK)}
}}"""

_PAGE_STYLE = f"""
:root {{ color-scheme: light dark; {_variables(_LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(_DARK)} }} }}
body {{ margin: 0 auto; padding: 28px 24px 40px; max-width: 1040px; background: var(--ground); color: var(--ink);
  font: 14px/1.45 {_FONT} }}
h1 {{ font-size: 20px; margin: 0 0 4px }} h2 {{ font-size: 15px; margin: 28px 0 6px }}
p {{ color: var(--dim); margin: 0 0 18px; overflow-wrap: anywhere }}
dl {{ display: flex; flex-wrap: wrap; gap: 10px 34px; margin: 0 0 22px }} dl div {{ min-width: 90px }}
dt {{ color: var(--dim); font-size: 12px }} dd {{ margin: 0; font-size: 20px; font-weight: 600 }}
.wide {{ overflow-x: auto }}
.wide svg {{ display: block; width: 100%; min-width: 800px; height: auto }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
summary {{ margin-top: 24px; font-weight: 600 }}
th, td {{ text-align: left; padding: 3px 12px; border-bottom: 1px solid var(--line); white-space: pre }}
td {{ vertical-align: top }}
td.number, th.number {{ text-align: right }}
td.long {{ white-space: pre-wrap; overflow-wrap: anywhere; min-width: 17em }}
th {{ color: var(--dim); font-weight: 500; font-size: 12px }}
@media (max-width: 600px) {{
  body {{ padding: 16px 12px 28px }} th, td {{ padding: 3px 6px }}
  td:not(.number) {{ white-space: pre-wrap; overflow-wrap: anywhere; min-width: 6.5em }} td.long {{ min-width: 10em }}
}}
"""
_LONG_CHARS = 40


def draw_timelines(timelines: Sequence[Timeline]) -> str:
    """An SVG document with these timelines, on a ground of its own, light or dark as the reader prefers."""
    shapes, height = lay_out(timelines)
    spoken = "; ".join(f"{timeline.title}: {timeline.subtitle}" for timeline in timelines)
    ground = draw("rect", "ground", x=0, y=0, width=WIDTH, height=height)
    drawn = "\n".join((ground, *shapes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tl" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" role="img" aria-label="{escape(spoken)}">\n'
        f"<style>{_SVG_STYLE}</style>\n{drawn}\n</svg>\n"
    )


def render_page(title: str, body: Iterable[str]) -> str:
    """A page of HTML; *body* is markup, *title* is text."""
    name = escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title><style>{_PAGE_STYLE}</style></head><body>\n<h1>{name}</h1>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def render_figures(figures: Mapping[str, str]) -> str:
    """A few figures in large letters, each with its name; those without a value are left out."""
    shown = (f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in figures.items() if value)
    return f"<dl>{''.join(shown)}</dl>"


def render_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A heading and a table; numbers stand to the right, and long texts go on in the next line."""
    cells = [list(row) for row in rows]
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in cells)
    kinds = [_kind(value) for value in cells[0]] if cells else [""] * len(headings)
    named = zip(kinds, headings, strict=True) if any(headings) else ()
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in named)
    above = f"<h2>{escape(title)}</h2>\n" if title else "<p></p>"
    return f'{above}<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _cell(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return f"<td{_kind(value)}>{escape(text)}</td>"


def _kind(value: object) -> str:
    if isinstance(value, int) or str(value).endswith("%"):
        return ' class="number"'
    return ' class="long"' if len(str(value)) > _LONG_CHARS else ""
