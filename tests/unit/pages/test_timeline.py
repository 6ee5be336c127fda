"""Where lanes, bars, arrows and names are in the picture of a timeline."""

import math
import xml.etree.ElementTree as ET
from types import MappingProxyType
from typing import NamedTuple

import pytest

from splitscan.pages import (
    WIDTH,
    Arrow,
    Bar,
    CostScale,
    Lane,
    Plot,
    Timeline,
    assign_lanes,
    axis,
    draw_arrow,
    draw_bar,
    ends,
    lay_out,
    legend,
    ticks,
    tracks,
)

TWO = Timeline("t", [Lane("a", "80% busy"), Lane("b")], [], seconds=4.0, ideal=2.0)
PLOT = Plot(top=100.0, lane=20.0, lanes=2, per_second=200.0)  # four seconds over the whole width


class Shape(NamedTuple):
    """What an element of SVG says."""

    tag: str
    kind: str = ""
    place: dict = MappingProxyType({})
    text: str = ""
    title: str = ""
    inside: tuple = ()


def shape_of(element):
    place = {name: value for name, value in element.items() if name != "class"}
    for name in place.keys() - {"d", "text-anchor"}:
        place[name] = float(place[name])
    own = [each for each in element if each.tag != "title"]
    title, kind = element.findtext("title", ""), element.get("class", "")
    return Shape(element.tag, kind, place, element.text or "", title, tuple(map(shape_of, own)))


def read(*drawn):
    """The shapes of elements."""
    return [shape_of(ET.fromstring(each)) for each in drawn]


def places(shapes, *names):
    return [tuple(shape.place[name] for name in names) for shape in shapes]


def named(shapes, tag, kind):
    return [shape for shape in shapes if (shape.tag, shape.kind) == (tag, kind)]


def text(kind, x, y, said, anchor="start"):
    return Shape("text", kind, {"x": x, "y": y, "text-anchor": anchor}, said)


class TestPlot:
    def test_the_seconds_take_the_width_between_names_and_notes(self):
        plot = Plot.of(2, 10.0, 4.0)
        assert plot == Plot(70.0, 26, 2, 200.0)
        assert (plot.x(0.0), plot.x(4.0), plot.bottom) == (96, 896, 122.0)
        assert (plot.middle(0), plot.middle(1)) == (83.0, 109.0)

    @pytest.mark.parametrize(("lanes", "height"), [(0, 26), (1, 26), (34, 26), (90, 10), (299, 900 / 299), (5000, 3)])
    def test_many_lanes_get_thin_ones(self, lanes, height):
        assert Plot.of(lanes, 0.0, 1.0).lane == height

    @pytest.mark.parametrize(("lane", "gap"), [(26.0, 3.0), (16.0, 2.0), (3.0, 0.375)])
    def test_a_box_leaves_a_gap_above_and_below(self, lane, gap):
        (box,) = read(Plot(100.0, lane, 3, 1.0).box("track", 2, 5.0, 7.0, "tip"))
        place = {"x": 5.0, "y": 100 + 2 * lane + gap, "width": 7.0, "height": lane - 2 * gap}
        assert box == Shape("rect", "track", {name: round(each, 2) for name, each in place.items()}, title="tip")


class TestAxis:
    def test_moments_are_lines_over_all_lanes_with_names_below(self):
        shapes = read(*axis(PLOT, 4.0))
        lines = named(shapes, "line", "grid")
        assert places(lines, "x1", "x2", "y1", "y2") == [(96 + 100 * n, 96 + 100 * n, 100.0, 145.0) for n in range(9)]
        assert shapes[1::2][:2] == [text("dim", 96, 159.0, "0.0 s", "middle"), text("dim", 196, 159.0, "0.5", "middle")]

    @pytest.mark.parametrize(
        ("seconds", "step", "last"),
        [
            (0.003, "0.0005", "0.0030"), (0.008, "0.001", "0.008"), (0.9, "0.2", "0.8"), (8.0, "1", "8"),
            (8.1, "2", "8"), (16.0, "2", "16"), (40.0, "5", "40"), (41.0, "10", "40"), (1234.5, "200", "1200"),
        ],
    )  # fmt: skip
    def test_moments_are_round_and_told_apart(self, seconds, step, last):
        found = ticks(seconds)
        assert (found[1][1], found[-1][1]) == (step, last)
        assert found[0] == (0.0, "0" + "." * ("." in step) + "0" * len(step.partition(".")[2]) + " s")
        assert [moment for moment, _ in found[1:]] == [float(name) for _, name in found[1:]]


class TestLanes:
    def test_a_track_ends_with_its_timeline_between_its_name_and_its_note(self):
        half = Timeline("t", TWO.lanes, [], seconds=2.0)
        assert read(*tracks(half, PLOT)) == [
            *read(PLOT.box("track", 0, 96, 400.0)),
            text("", 88, 114.0, "a", "end"), text("dim", 904, 114.0, "80% busy"),
            *read(PLOT.box("track", 1, 96, 400.0)),
            text("", 88, 134.0, "b", "end"), text("dim", 904, 134.0, ""),
        ]  # fmt: skip

    @pytest.mark.parametrize(("lane", "names"), [(11.0, 6), (10.0, 3), (5.5, 3), (5.0, 2), (3.0, 2)])
    def test_names_of_thin_lanes_do_not_overlap(self, lane, names):
        timeline = Timeline("t", [Lane(str(number)) for number in range(6)], [])
        found = named(read(*tracks(timeline, Plot(0.0, lane, 6, 1.0))), "text", "")
        assert len(found) == names == math.ceil(6 / math.ceil(11 / lane))

    @pytest.mark.parametrize(
        ("spans", "lanes"),
        [
            ([], []),
            ([(0, 1), (1, 2), (2, 3)], [0, 0, 0]),
            ([(0, 5), (1, 2), (1, 3), (2, 4), (5, 6)], [0, 1, 2, 1, 2]),
            ([(0, 0), (0, 0)], [0, 0]),
        ],
    )
    def test_a_span_takes_a_lane_that_is_free(self, spans, lanes):
        assert assign_lanes(spans) == lanes


class TestBars:
    @pytest.mark.parametrize(
        ("seconds", "width"), [(1.0, 199.3), (0.0126, 2.52 - 0.7), (0.0125, 2.5), (0.003, 0.6), (0.0, 0.6)]
    )
    def test_it_is_as_long_as_what_it_stands_for(self, seconds, width):
        bar = draw_bar(Bar(1, 1.0, 1.0 + seconds, 0.5, "tip"), PLOT, CostScale(0.1, 10.0))
        assert bar == PLOT.box("c2", 1, 296.0, width, "tip")

    def test_one_that_nobody_knows_the_cost_of_is_open(self):
        (bar,) = read(draw_bar(Bar(0, 0.0, 1.0), PLOT, CostScale(0.1, 10.0)))
        assert bar.kind == "open"

    def test_costs_have_classes_of_equal_ratio(self):
        scale = CostScale(1.0, 128.0)
        assert [scale.class_of(cost) for cost in (0.1, 1.0, 1.9, 2.1, 4.1, 63.0, 65.0, 128.0, 999.0)] == [
            0, 0, 0, 1, 2, 5, 6, 6, 6,
        ]  # fmt: skip
        assert (CostScale(1.0, 1.3).is_even, CostScale(1.0, 1.29).is_even) == (False, True)

    @pytest.mark.parametrize(
        ("costs", "scale"),
        [
            ([], (1.0, 1.0)),
            ([None, 0.0], (1.0, 1.0)),
            ([3.0, None, 0.5, 0.0], (0.5, 3.0)),
            ([float(n) for n in range(1, 100)], (1.0, 99.0)),
            ([float(n) for n in range(1, 101)], (2.0, 99.0)),
        ],
    )
    def test_the_scale_goes_from_the_cheapest_to_the_dearest_but_for_a_hundredth(self, costs, scale):
        assert CostScale.of(costs) == scale


class TestArrows:
    @pytest.mark.parametrize(
        ("source", "target", "line", "tip"),
        [
            (0, 1, "M496.0 110.0 C488.3 118.0 488.3 117.0 496.0 129.0", "M497.5 129.0 l-7.5 -2.6 l3.6 -6.4 z"),
            (1, 0, "M496.0 130.0 C488.3 122.0 488.3 123.0 496.0 111.0", "M497.5 111.0 l-7.5 2.6 l3.6 6.4 z"),
            (0, 9, "M496.0 110.0 C478.0 118.0 478.0 277.0 496.0 289.0", "M497.5 289.0 l-7.5 -2.6 l3.6 -6.4 z"),
        ],
    )
    def test_it_goes_from_the_middle_of_one_lane_to_the_middle_of_another(self, source, target, line, tip):
        (arrow,) = read(draw_arrow(Arrow(2.0, source, target, "tip"), PLOT))
        assert (arrow.tag, arrow.title) == ("g", "tip")
        assert [(shape.kind, shape.place.get("d")) for shape in arrow.inside] == [
            ("arrow", line), ("tip", None), ("tip", tip),
        ]  # fmt: skip
        assert arrow.inside[1].place == {"cx": 496.0, "cy": (110.0, 130.0)[source], "r": 2.2}

    @pytest.mark.parametrize(("count", "kind"), [(40, ""), (41, "faint")])
    def test_very_many_are_fainter(self, count, kind):
        timeline = Timeline("t", TWO.lanes, [], [Arrow(1.0, 0, 1)] * count, seconds=2.0)
        shapes = read(*lay_out([timeline])[0])
        assert [(shape.kind, len(shape.inside)) for shape in shapes if shape.tag == "g"] == [(kind, count)]


class TestEnds:
    def test_the_names_of_both_lines_stand_apart(self):
        shapes = read(*ends(TWO, PLOT))
        assert places(named(shapes, "line", "ideal"), "x1", "y1", "y2") == [(496.0, 96.0, 145.0)]
        assert places(named(shapes, "line", "ended"), "x1", "y1", "y2") == [(896.0, 96.0, 145.0)]
        assert shapes[1::2] == [
            text("ideal-name", 499.0, 93.0, "ideal 2.00 s", "end"), text("", 902.0, 93.0, "ended 4.00 s"),
        ]  # fmt: skip

    @pytest.mark.parametrize(("ideal", "x", "anchor"), [(0.12, 117.0, "start"), (0.13, 125.0, "end")])
    def test_near_the_left_edge_a_name_stands_to_the_right_of_its_line(self, ideal, x, anchor):
        name = next(each for each in read(*ends(Timeline("t", [], [], ideal=ideal), PLOT)) if each.tag == "text")
        assert (name.place["x"], name.place["text-anchor"]) == (x, anchor)

    def test_what_nobody_knows_and_what_did_not_happen_has_no_line(self):
        assert list(ends(Timeline("t", [], []), PLOT)) == []


class TestLegend:
    def test_costs_that_differ_are_shown_from_the_cheapest_to_the_dearest(self):
        shapes = read(*legend(CostScale(0.1, 10.0), 200.0, moved=True))
        boxes = [shape for shape in shapes if shape.tag == "rect"]
        assert [(box.kind, box.place["x"]) for box in boxes] == [
            *((f"c{number}", 246 + 20 * number) for number in range(7)), ("track", 504),
        ]  # fmt: skip
        assert {(box.place["y"], box.place["width"], box.place["height"]) for box in boxes} == {(200.0, 20, 11)}
        assert [shape for shape in shapes if shape.tag == "text"] == [
            text("dim", 96, 210.0, "reading: 100 ms/MiB"), text("dim", 394, 210.0, "10 s/MiB"),
            text("dim", 532, 210.0, "nothing to do"), text("dim", 652, 210.0, "all work shared evenly"),
            text("dim", 844, 210.0, "a range that moved"),
        ]  # fmt: skip
        assert places(named(shapes, "line", "ideal"), "x1", "y1", "y2") == [(642, 197.0, 214.0)]
        assert places(named(shapes, "circle", "tip"), "cx", "cy") == [(814, 205.5)]
        assert [shape.place["d"] for shape in shapes if shape.tag == "path"] == [
            "M814.0 205.5 h16", "M836.0 205.5 l-7 -3.2 v6.4 z",
        ]  # fmt: skip

    def test_even_costs_have_one_colour_and_nothing_that_did_not_move_is_explained(self):
        shapes = read(*legend(CostScale(0.1, 0.1), 200.0, moved=False))
        assert [(shape.kind, shape.place["x"]) for shape in shapes if shape.tag == "rect"] == [
            ("c3", 96),
            ("track", 346),
        ]
        assert places((s for s in shapes if s.tag == "text"), "x") == [(124,), (374,), (494,)]
        assert shapes[1].text == "reading, 100 ms/MiB everywhere"
        assert named(shapes, "path", "arrow") == []


class TestLayOut:
    def test_timelines_stand_below_each_other_with_the_same_seconds_and_the_same_colours(self):
        one = Timeline("one", TWO.lanes, [Bar(0, 0.0, 1.0, 0.1)], seconds=1.0, subtitle="first")
        two = Timeline("two", TWO.lanes, [Bar(1, 2.0, 4.0, 10.0)], seconds=4.0)
        drawn, height = lay_out([one, two])
        shapes = read(*drawn)
        bars = [shape for shape in shapes if shape.tag == "rect" and shape.kind in {"c0", "c6"}][:2]
        assert places(bars, "x", "y") == [(96, 71.0), (496.0, 265.0)]
        assert [bar.kind for bar in bars] == ["c0", "c6"]
        titles = named(shapes, "text", "title")
        assert titles == [text("title", 96, 22.0, "one"), text("title", 96, 190.0, "two")]
        assert text("dim", 96, 39.0, "first") in shapes
        assert named(shapes, "rect", "track")[-1].place["y"] == height - 40 == 8 + 2 * (60 + 52 + 30) + 26 + 20

    def test_nothing_at_all_is_a_legend(self):
        drawn, height = lay_out([])
        assert height == 8.0 - 26 + 20 + 40
        assert {shape.place.get("x", 0) <= WIDTH for shape in read(*drawn)} == {True}

    def test_a_timeline_of_no_time_has_moments_all_the_same(self):
        drawn, _ = lay_out([Timeline("t", [Lane("a")], [Bar(0, 0.0, 0.0)])])
        assert text("dim", 896, 8 + 60 + 26 + 19, "1.0", "middle") in read(*drawn)
