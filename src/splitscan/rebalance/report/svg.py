"""Draw timelines as one SVG picture that needs nothing else: no script, no font, no file beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from splitscan.rebalance.report.timeline import (
    Arrow,
    Bar,
    CostScale,
    Timeline,
    show_cost,
    show_seconds,
    tick_step,
    ticks,
)

WIDTH = 1000
_LEFT = 96  # names of lanes
_RIGHT = 104  # their notes, and when it ended
_PLOT = WIDTH - _LEFT - _RIGHT
_HEAD = 60  # title, subtitle, names of lines
_AXIS = 30
_BETWEEN = 26  # two timelines
_LEGEND = 40
_IDEAL_NAME = 120  # room for it to the left of its line, away from the name of the end
_MOST_LANES_HEIGHT = 900  # hundreds of lanes get thin ones
_LANE, _THINNEST_LANE = 26, 3
_NAMED_LANE = 11  # thinner lanes have no name of their own
_MANY_ARROWS = 40  # more of them are drawn fainter, so that the bars can be seen
_LEAST_BAR = 0.6  # a chunk of a moment still shows

_LIGHT = ("#cfe0f1", "#a9c9e6", "#7aacd8", "#4b8dc5", "#2b6cab", "#154d8a", "#08306b")
_DARK = ("#173a5e", "#1f5183", "#2c6ba8", "#4487c4", "#6ba6da", "#9cc8ec", "#d3e8fa")
CLASSES = len(_LIGHT)


def _colours(
    ground: str, ink: str, dim: str, line: str, track: str, arrow: str, ideal: str, costs: Sequence[str]
) -> str:
    """Rules that need no variables, which programs other than browsers do not know."""
    fills = {".ground": ground, "text": ink, ".dim": dim, ".track": track, "text.ideal-name": ideal, ".tip": arrow}
    fills |= {f".c{number}": colour for number, colour in enumerate(costs)}
    strokes = {".grid": line, ".ideal": ideal, ".ended": ink, ".arrow": arrow, ".open": dim}
    rules = [f".tl {name} {{ fill: {colour} }}" for name, colour in fills.items()]
    rules += [f".tl {name} {{ stroke: {colour} }}" for name, colour in strokes.items()]
    return "\n".join(rules)


_STYLE = f"""
.tl text {{ font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }}
.tl .title {{ font-size: 15px; font-weight: 600 }}
.tl text.ideal-name {{ font-weight: 600 }}
.tl .grid {{ stroke-width: 1 }}
.tl .ideal {{ stroke-width: 1.5; stroke-dasharray: 5 3 }}
.tl .ended {{ stroke-width: 1.5 }}
.tl .arrow {{ fill: none; stroke-width: 1.4 }}
.tl .faint {{ opacity: 0.5 }}
.tl .open {{ fill: none; stroke-dasharray: 2 2 }}
{_colours("#ffffff", "#1b1f24", "#5d6670", "#dde1e6", "#e8ebef", "#c2410c", "#15803d", _LIGHT)}
@media (prefers-color-scheme: dark) {{
{_colours("#14181c", "#e6e9ec", "#9aa4ae", "#343b43", "#20262c", "#ff9248", "#5fd38d", _DARK)}
}}"""


def draw_timelines(timelines: Sequence[Timeline]) -> str:
    """Draw timelines one below the other, with the same seconds and the same colours.

    Args:
        timelines: At least one.

    Returns:
        An SVG document on a ground of its own, light or dark as the reader prefers.
    """
    seconds = max((timeline.seconds for timeline in timelines), default=0.0) or 1.0
    scale = CostScale.of((bar.cost for timeline in timelines for bar in timeline.bars), CLASSES)
    parts: list[str] = []
    top = 8.0
    for timeline in timelines:
        drawing = _Drawing(timeline, seconds, scale, top)
        parts += drawing.parts()
        top = drawing.bottom + _BETWEEN
    moved = any(timeline.arrows for timeline in timelines)
    parts += _legend(scale, top - _BETWEEN + 20, moved=moved)
    height = top - _BETWEEN + 20 + _LEGEND
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tl" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" role="img" aria-label="{escape(_spoken(timelines))}">\n'
        f'<style>{_STYLE}</style>\n<rect class="ground" x="0" y="0" width="{WIDTH}" height="{height:.0f}"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _spoken(timelines: Sequence[Timeline]) -> str:
    return "; ".join(f"{timeline.title}: {timeline.subtitle}" for timeline in timelines)


class _Drawing:
    """One timeline, somewhere in the picture."""

    def __init__(self, timeline: Timeline, seconds: float, scale: CostScale, top: float) -> None:
        self._timeline, self._scale, self._top = timeline, scale, top
        self._per_second = _PLOT / seconds
        self._lane = max(_THINNEST_LANE, min(_LANE, _MOST_LANES_HEIGHT / max(1, len(timeline.lanes))))
        self._lanes_top = top + _HEAD
        self._lanes_bottom = self._lanes_top + self._lane * len(timeline.lanes)
        self.bottom = self._lanes_bottom + _AXIS

    def parts(self) -> Iterator[str]:
        yield _text(_LEFT, self._top + 14, self._timeline.title, "title")
        yield _text(_LEFT, self._top + 31, self._timeline.subtitle, "dim")
        yield from self._axis()
        yield from self._lanes()
        for bar in self._timeline.bars:
            yield self._bar(bar)
        yield '<g class="faint">' if len(self._timeline.arrows) > _MANY_ARROWS else "<g>"
        for arrow in self._timeline.arrows:
            yield from self._arrow(arrow)
        yield "</g>"
        yield from self._ends()

    def _x(self, seconds: float) -> float:
        return _LEFT + seconds * self._per_second

    def _y(self, lane: int) -> float:
        return self._lanes_top + lane * self._lane

    def _axis(self) -> Iterator[str]:
        extent = _PLOT / self._per_second
        digits = 0 if tick_step(extent, 8) >= 1 else 2 if tick_step(extent, 8) < 0.1 else 1
        for moment in ticks(extent):
            x = self._x(moment)
            yield (
                f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{self._lanes_top:.1f}" '
                f'y2="{self._lanes_bottom + 5:.1f}"/>'
            )
            label = f"{moment:.{digits}f}" + (" s" if moment == 0 else "")
            yield _text(x, self._lanes_bottom + 19, label, "dim", "middle")

    def _lanes(self) -> Iterator[str]:
        every = max(1, round(_NAMED_LANE / self._lane + 0.49))
        for number, lane in enumerate(self._timeline.lanes):
            y, height = self._y(number) + self._gap, self._lane - 2 * self._gap
            yield (
                f'<rect class="track" x="{_LEFT}" y="{y:.1f}" width="{self._timeline.seconds * self._per_second:.1f}"'
                f' height="{height:.1f}"/>'
            )
            if number % every == 0:
                middle = self._y(number) + self._lane / 2 + 4
                yield _text(_LEFT - 8, middle, lane.name, "", "end")
                yield _text(WIDTH - _RIGHT + 8, middle, lane.note, "dim")

    @property
    def _gap(self) -> float:
        return min(3.0, self._lane / 8)

    def _bar(self, bar: Bar) -> str:
        x, width = self._x(bar.start), (bar.stop - bar.start) * self._per_second
        shown = max(_LEAST_BAR, width - (0.7 if width > 2.5 else 0.0))  # a hairline between neighbours
        y, height = self._y(bar.lane) + self._gap, self._lane - 2 * self._gap
        kind = "open" if bar.cost is None else f"c{self._scale.class_of(bar.cost)}"
        box = f'<rect class="{kind}" x="{x:.2f}" y="{y:.1f}" width="{shown:.2f}" height="{height:.1f}"'
        return f"{box}>{_title(bar.title)}</rect>" if bar.title else f"{box}/>"

    def _arrow(self, arrow: Arrow) -> Iterator[str]:
        x = self._x(arrow.seconds)
        source, target = (self._y(lane) + self._lane / 2 for lane in (arrow.source, arrow.target))
        bend = min(18.0, 6 + abs(target - source) / 12)
        down = 1 if target > source else -1
        tip = target - down * 1.0
        yield (
            f'<g>{_title(arrow.title)}<path class="arrow" d="M{x:.1f} {source:.1f} '
            f'C{x - bend:.1f} {source + down * 8:.1f} {x - bend:.1f} {tip - down * 12:.1f} {x:.1f} {tip:.1f}"/>'
            f'<circle class="tip" cx="{x:.1f}" cy="{source:.1f}" r="2.2"/>'
            f'<path class="tip" d="M{x + 1.5:.1f} {tip:.1f} l-7.5 {-down * 2.6:.1f} l3.6 {-down * 6.4:.1f} z"/></g>'
        )

    def _ends(self) -> Iterator[str]:
        top, bottom = self._lanes_top - 4, self._lanes_bottom + 5
        timeline = self._timeline
        if timeline.ideal is not None:
            x = self._x(timeline.ideal)
            yield f'<line class="ideal" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
            anchor = "end" if x > _IDEAL_NAME else "start"
            yield _text(x + (3 if anchor == "end" else -3), top - 3, f"ideal {show_seconds(timeline.ideal)}",
                        "ideal-name", anchor)  # fmt: skip
        if timeline.seconds:
            x = self._x(timeline.seconds)
            yield f'<line class="ended" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
            yield _text(x + 6, top - 3, f"ended {show_seconds(timeline.seconds)}", "", "start")


def _legend(scale: CostScale, y: float, *, moved: bool) -> Iterator[str]:
    box = 20
    x = float(_LEFT)
    if scale.is_even:
        yield f'<rect class="c{CLASSES // 2}" x="{x}" y="{y:.1f}" width="{box}" height="11"/>'
        yield _text(x + box + 8, y + 10, f"reading, {show_cost(scale.most)} everywhere", "dim")
        x += box + 230
    else:
        yield _text(x, y + 10, f"reading: {show_cost(scale.least)}", "dim")
        x += 150
        for number in range(CLASSES):
            yield f'<rect class="c{number}" x="{x + number * box}" y="{y:.1f}" width="{box}" height="11"/>'
        x += CLASSES * box + 8
        yield _text(x, y + 10, show_cost(scale.most), "dim")
        x += 110
    yield f'<rect class="track" x="{x}" y="{y:.1f}" width="{box}" height="11"/>'
    yield _text(x + box + 8, y + 10, "nothing to do", "dim")
    x += box + 110
    yield f'<line class="ideal" x1="{x + 8}" x2="{x + 8}" y1="{y - 3:.1f}" y2="{y + 14:.1f}"/>'
    yield _text(x + 18, y + 10, "all work shared evenly", "dim")
    x += 180
    if moved:
        yield f'<circle class="tip" cx="{x:.1f}" cy="{y + 5.5:.1f}" r="2.2"/>'
        yield f'<path class="arrow" d="M{x:.1f} {y + 5.5:.1f} h16"/>'
        yield f'<path class="tip" d="M{x + 22:.1f} {y + 5.5:.1f} l-7 -3.2 v6.4 z"/>'
        yield _text(x + 30, y + 10, "a range that moved", "dim")


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    if not text:
        return ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""
