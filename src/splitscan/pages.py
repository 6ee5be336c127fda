"""Pages of HTML without another file: timelines of readers, as pictures; figures, tables, and the page around them."""

# Over 400 lines: all that is drawn, with its styles.

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from splitscan.sizes import show_cost, show_seconds

WIDTH = 1000
CLASSES = 7  # of colours, from the cheapest to the dearest
_LEFT = 96  # names of lanes
_RIGHT = 104  # their notes, and when it ended
_PLOT = WIDTH - _LEFT - _RIGHT
_ABOVE, _BELOW = 60, 30  # the lanes: title, subtitle, names of lines; moments
_BETWEEN = 26  # two timelines
_LEGEND, _BOX, _BOX_HEIGHT = 40, 20, 11
_IDEAL_NAME = 120  # room for it to the left of its line, away from the name of the end
_MOST_LANES_HEIGHT = 900  # hundreds of lanes get thin ones
_LANE, _THINNEST_LANE = 26, 3
_NAMED_LANE = 11  # thinner lanes have no name of their own
_MANY_ARROWS = 40  # more of them are drawn fainter, so that the bars can be seen
_LEAST_BAR = 0.6  # a chunk of a moment still shows
_HAIRLINE = 0.7  # between neighbours
_MOMENTS = 8
_ALIKE = 1.3  # colours of costs that are nearer to each other would only show noise


class Lane(NamedTuple):
    """One reader: its name, to the left of its bars, and what there is to say of it, to the right."""

    name: str
    note: str = ""


class Bar(NamedTuple):
    """Something that the reader of a lane did from one second to another.

    ``cost`` is in seconds per MiB and chooses the colour; ``None`` where nobody knows. ``title`` is shown on demand.
    """

    lane: int
    start: float
    stop: float
    cost: float | None = None
    title: str = ""


class Arrow(NamedTuple):
    """Something that moved from the lane *source* to the lane *target*. ``title`` is shown on demand."""

    seconds: float
    source: int
    target: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lanes of work over time, from the top to the bottom, with bars and arrows in any order.

    Attributes:
        seconds: When the last bar ends.
        ideal: When it would have ended if nobody had ever been idle; ``None`` where nobody knows.
        subtitle: The result in one line.
    """

    title: str
    lanes: Sequence[Lane]
    bars: Sequence[Bar]
    arrows: Sequence[Arrow] = ()
    seconds: float = 0.0
    ideal: float | None = None
    subtitle: str = ""


def assign_lanes(spans: Iterable[tuple[float, float]]) -> list[int]:
    """The lane of each span: the one that has been free for longest when it starts, or a new one.

    Args:
        spans: Start and stop of each, in the order of their starts.

    Example:
        >>> assign_lanes([(0.0, 1.0), (0.5, 2.0), (1.0, 2.0)])
        [0, 1, 0]
    """
    free: list[tuple[float, int]] = []  # when a lane becomes free, and its number
    lanes: list[int] = []
    for start, stop in spans:
        lane = heapq.heappop(free)[1] if free and free[0][0] <= start else len(free)
        heapq.heappush(free, (stop, lane))
        lanes.append(lane)
    return lanes


class CostScale(NamedTuple):
    """Sorts costs into classes of equal ratio, from the cheapest to the dearest.

    Example:
        >>> scale = CostScale(0.1, 10.0)
        >>> scale.class_of(0.1), scale.class_of(0.5), scale.class_of(10.0), scale.class_of(99.0)
        (0, 2, 6, 6)
    """

    least: float
    most: float

    @classmethod
    def of(cls, costs: Iterable[float | None]) -> CostScale:
        """The scale for these costs. The most extreme hundredth at both ends is left out: one pause is no region."""
        known = sorted(cost for cost in costs if cost is not None and cost > 0) or [1.0]
        spare = len(known) // 100
        return cls(known[spare], known[-1 - spare])

    @property
    def is_even(self) -> bool:
        """True if all costs are so much alike that colours would only show noise."""
        return self.most < self.least * _ALIKE

    def class_of(self, cost: float) -> int:
        """Number of the class of a cost, from 0."""
        if self.is_even:
            return CLASSES // 2
        if cost <= self.least:
            return 0
        share = math.log(cost / self.least) / math.log(self.most / self.least)
        return min(CLASSES - 1, int(share * CLASSES))


def ticks(seconds: float) -> list[tuple[float, str]]:
    """Round moments from 0 on, a few, each with its name: 1, 2 or 5 times a power of ten apart.

    Example:
        >>> ticks(0.9)
        [(0.0, '0.0 s'), (0.2, '0.2'), (0.4, '0.4'), (0.6, '0.6'), (0.8, '0.8')]
    """
    rough = seconds / _MOMENTS
    exponent = math.floor(math.log10(rough))
    power = 10.0**exponent
    factor = next((factor for factor in (1, 2, 5) if factor * power >= rough * 0.999), 10)
    digits = max(0, -exponent - (factor == 10))
    moments = [round(number * factor * power, digits) for number in range(int(seconds / (factor * power) + 1e-9) + 1)]
    return [(moment, f"{moment:.{digits}f}" + ("" if moment else " s")) for moment in moments]


# --------------------------------------------------------------------- SVG


class Plot(NamedTuple):
    """Geometry of one timeline: the first lane's top, the height of one, their number."""

    top: float
    lane: float
    lanes: int
    per_second: float

    @classmethod
    def of(cls, lanes: int, top: float, seconds: float) -> Plot:
        """The plot of a timeline that begins at *top*, where *seconds* take the whole width."""
        height = max(_THINNEST_LANE, min(_LANE, _MOST_LANES_HEIGHT / max(1, lanes)))
        return cls(top + _ABOVE, height, lanes, _PLOT / seconds)

    @property
    def bottom(self) -> float:
        """Bottom of the last lane."""
        return self.top + self.lane * self.lanes

    def x(self, seconds: float) -> float:
        """Position of a moment."""
        return _LEFT + seconds * self.per_second

    def middle(self, lane: int) -> float:
        """The middle of a lane."""
        return self.top + (lane + 0.5) * self.lane

    def box(self, kind: str, lane: int, x: float, width: float, title: str = "") -> str:
        """A box as high as the bars of a lane."""
        height = self.lane - 2 * min(3.0, self.lane / 8)
        return _box(kind, x, self.middle(lane) - height / 2, width, height, title)


def lay_out(timelines: Sequence[Timeline]) -> tuple[list[str], float]:
    """Lay out timelines one below the other, with the same seconds and the same colours.

    Returns the shapes, in the order in which they are drawn, and how high the picture is.
    """
    seconds = max((timeline.seconds for timeline in timelines), default=0.0) or 1.0
    scale = CostScale.of(bar.cost for timeline in timelines for bar in timeline.bars)
    shapes: list[str] = []
    top = 8.0
    for timeline in timelines:
        plot = Plot.of(len(timeline.lanes), top, seconds)
        shapes += [_text(_LEFT, top + 14, timeline.title, "title"), _text(_LEFT, top + 31, timeline.subtitle)]
        shapes += axis(plot, seconds)
        shapes += tracks(timeline, plot)
        shapes += [draw_bar(bar, plot, scale) for bar in timeline.bars]
        arrows = [draw_arrow(arrow, plot) for arrow in timeline.arrows]
        shapes.append(draw("g", "faint" if len(arrows) > _MANY_ARROWS else "", inside="".join(arrows)))
        shapes += ends(timeline, plot)
        top = plot.bottom + _BELOW + _BETWEEN
    legend_top = top - _BETWEEN + 20
    shapes += legend(scale, legend_top, moved=any(timeline.arrows for timeline in timelines))
    return shapes, legend_top + _LEGEND


def axis(plot: Plot, seconds: float) -> Iterator[str]:
    """Moments, as lines over all lanes with their names below."""
    for moment, name in ticks(seconds):
        yield _upright("grid", plot.x(moment), plot.top, plot.bottom + 5)
        yield _text(plot.x(moment), plot.bottom + 19, name, anchor="middle")


def tracks(timeline: Timeline, plot: Plot) -> Iterator[str]:
    """The ground of every lane, with its name and its note; where lanes are thin, only some have them."""
    named = math.ceil(_NAMED_LANE / plot.lane)
    for number, lane in enumerate(timeline.lanes):
        yield plot.box("track", number, _LEFT, timeline.seconds * plot.per_second)
        if number % named == 0:
            yield _text(_LEFT - 8, plot.middle(number) + 4, lane.name, "", "end")
            yield _text(WIDTH - _RIGHT + 8, plot.middle(number) + 4, lane.note)


def draw_bar(bar: Bar, plot: Plot, scale: CostScale) -> str:
    """A bar, as long as what it stands for, in the colour of its cost."""
    width = (bar.stop - bar.start) * plot.per_second
    shown = max(_LEAST_BAR, width - (_HAIRLINE if width > 2.5 else 0.0))
    kind = "open" if bar.cost is None else f"c{scale.class_of(bar.cost)}"
    return plot.box(kind, bar.lane, plot.x(bar.start), shown, bar.title)


def draw_arrow(arrow: Arrow, plot: Plot) -> str:
    """A bent line from a point in the middle of one lane to the middle of another."""
    x, source, target = plot.x(arrow.seconds), plot.middle(arrow.source), plot.middle(arrow.target)
    down = 1 if target > source else -1
    bent, tip = x - min(18.0, 6 + abs(target - source) / 12), target - down
    bend = f"C{bent:.1f} {source + down * 8:.1f} {bent:.1f} {tip - down * 12:.1f} {x:.1f} {tip:.1f}"
    line = f"M{x:.1f} {source:.1f} {bend}"
    head = f"M{x + 1.5:.1f} {tip:.1f} l-7.5 {-down * 2.6:.1f} l3.6 {-down * 6.4:.1f} z"
    inside = draw("path", "arrow", d=line) + draw("circle", "tip", cx=x, cy=source, r=2.2) + draw("path", "tip", d=head)
    return draw("g", title=arrow.title, inside=inside)


def ends(timeline: Timeline, plot: Plot) -> Iterator[str]:
    """Lines where it ended, and where evenly shared work would have ended."""
    top, bottom = plot.top - 4, plot.bottom + 5
    if timeline.ideal is not None:
        x = plot.x(timeline.ideal)
        yield _upright("ideal", x, top, bottom)
        name = f"ideal {show_seconds(timeline.ideal)}"
        yield (
            _text(x + 3, top - 3, name, "ideal-name", "end")
            if x > _IDEAL_NAME
            else _text(x - 3, top - 3, name, "ideal-name")
        )
    if timeline.seconds:
        x = plot.x(timeline.seconds)
        yield _upright("ended", x, top, bottom)
        yield _text(x + 6, top - 3, f"ended {show_seconds(timeline.seconds)}", "")


def legend(scale: CostScale, y: float, *, moved: bool) -> Iterator[str]:
    """Legend of the colours and lines, in one line."""
    x, base = float(_LEFT), y + 10
    if scale.is_even:
        yield _box(f"c{CLASSES // 2}", x, y, _BOX, _BOX_HEIGHT)
        yield _text(x + 28, base, f"reading, {show_cost(scale.most)} everywhere")
        x += 250
    else:
        yield _text(x, base, f"reading: {show_cost(scale.least)}")
        x += 150
        for number in range(CLASSES):
            yield _box(f"c{number}", x + number * _BOX, y, _BOX, _BOX_HEIGHT)
        x += CLASSES * _BOX + 8
        yield _text(x, base, show_cost(scale.most))
        x += 110
    yield _box("track", x, y, _BOX, _BOX_HEIGHT)
    yield _text(x + 28, base, "nothing to do")
    x += 130
    yield _upright("ideal", x + 8, y - 3, y + 14)
    yield _text(x + 18, base, "all work shared evenly")
    x += 180
    if moved:
        middle = y + _BOX_HEIGHT / 2
        yield draw("circle", "tip", cx=x, cy=middle, r=2.2)
        yield draw("path", "arrow", d=f"M{x:.1f} {middle:.1f} h16")
        yield draw("path", "tip", d=f"M{x + 22:.1f} {middle:.1f} l-7 -3.2 v6.4 z")
        yield _text(x + 30, base, "a range that moved")


def draw(tag: str, kind: str = "", text: str = "", *, title: str = "", inside: str = "", **place: float | str) -> str:
    """Spell an element: its class, where it is, what is shown of it on demand, what it says and what is in it.

    Example:
        >>> draw("text", "dim", "a < b", x=96, y=1 / 3, text_anchor="end")
        '<text class="dim" x="96" y="0.33" text-anchor="end">a &lt; b</text>'
    """
    said = {"class": kind, **{name.replace("_", "-"): each if isinstance(each, str) else f"{round(each, 2):g}"
                              for name, each in place.items()}}  # fmt: skip
    start = "".join(f' {name}="{value}"' for name, value in said.items() if value)
    return f"<{tag}{start}>{f'<title>{escape(title)}</title>' if title else ''}{escape(text)}{inside}</{tag}>"


def _text(x: float, y: float, text: str, kind: str = "dim", anchor: str = "start") -> str:
    return draw("text", kind, text, x=x, y=y, text_anchor=anchor)


def _box(kind: str, x: float, y: float, width: float, height: float, title: str = "") -> str:
    return draw("rect", kind, title=title, x=x, y=y, width=width, height=height)


def _upright(kind: str, x: float, top: float, bottom: float) -> str:
    return draw("line", kind, x1=x, x2=x, y1=top, y2=bottom)


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
