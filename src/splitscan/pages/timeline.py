"""Timelines drawn as elements of SVG: names, bars, arrows and their places. Pure."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
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
