"""One chart of a report: how many times as long as splitscan every peer takes, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import Any

from bench.report import OURS

_COLOURS = {"spark": "#d1570c", "duckdb": "#a08000", "polars": "#2b6cab", "pyarrow": "#15803d"}
_OTHER = "#7b3fa0"
_WIDTH, _LEFT, _RIGHT = 960, 300, 40
_ROW, _GAP, _HEAD = 18, 26, 76
_LEAST, _MOST = 1 / 8, 32.0
_TICKS = (0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32)


def draw(report: dict[str, Any]) -> str:
    """An SVG picture of all works that a peer did too.

    Args:
        report: What :func:`bench.report.as_json` made.
    """
    rows = list(_rows(report))
    height = _HEAD + sum(_GAP if work is None else _ROW for _, work, _ in rows) + 34
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="16" y="24" font-size="16" font-weight="bold">Times as long as splitscan takes</text>',
        f'<text x="16" y="42" fill="#5d6670">right of 1: splitscan is faster. {report["date"][:10]}, '
        f'{report["machine"]["cores"]} cores, medians of {report["runs"]} runs in turn</text>',
        *_legend(),
        *_axis(height),
        *_marks(rows),
        "</svg>",
        "",
    ])  # fmt: skip


def _rows(report: dict[str, Any]) -> Iterator[tuple[str, str | None, dict[str, float]]]:
    """Titles (without a work), and works with the ratios of the peers; contenders of a name of their own have rows."""
    for suite in report["suites"]:
        works = {
            work: _ratios(contenders)
            for work, contenders in suite["works"].items()
            if OURS in contenders and len(contenders) > 1
        }
        if works:
            yield f"{suite['title']}, {suite['size_mb']} MB", None, {}
            for work, ratios in works.items():
                if peers := {name: ratio for name, ratio in ratios.items() if name in _COLOURS}:
                    yield suite["name"], work, peers
                for name in sorted(ratios.keys() - peers.keys()):
                    yield suite["name"], f"{work}: {name}", {name: ratios[name]}


def _ratios(contenders: dict[str, Any]) -> dict[str, float]:
    ours = contenders[OURS]["median"]
    return {name: found["median"] / ours for name, found in contenders.items() if name != OURS}


def _x(ratio: float) -> float:
    share = math.log(min(max(ratio, _LEAST), _MOST) / _LEAST) / math.log(_MOST / _LEAST)
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _legend() -> Iterator[str]:
    for number, (name, colour) in enumerate([*_COLOURS.items(), ("named in its row", _OTHER)]):
        x = _LEFT + number * 100
        yield f'<circle cx="{x}" cy="60" r="5" fill="{colour}"/><text x="{x + 9}" y="64">{name}</text>'


def _axis(height: int) -> Iterator[str]:
    for tick in _TICKS:
        x, colour, width = _x(tick), "#1b1f24" if tick == 1 else "#dde1e6", 2 if tick == 1 else 1
        ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{_HEAD}" y2="{height - 26}"'
        yield f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'
        yield f'<text x="{x:.1f}" y="{height - 10}" text-anchor="middle" fill="#5d6670">{tick:g}</text>'


def _marks(rows: list[tuple[str, str | None, dict[str, float]]]) -> Iterator[str]:
    y = float(_HEAD)
    for title, work, ratios in rows:
        if work is None:
            y += _GAP
            yield f'<text x="16" y="{y - 6:.0f}" font-weight="bold">{escape(title)}</text>'
            continue
        y += _ROW
        yield f'<text x="{_LEFT - 16}" y="{y - 4:.0f}" text-anchor="end">{escape(work)}</text>'
        for name, ratio in ratios.items():
            colour = _COLOURS.get(name, _OTHER)
            place = f'cx="{_x(ratio):.1f}" cy="{y - 8:.0f}"'
            hint = f"<title>{escape(name)}: {ratio:.2f}</title>"
            yield f'<circle {place} r="5" fill="{colour}">{hint}</circle>'
