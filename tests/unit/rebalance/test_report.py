"""The report of a rebalanced scan: its figures, its text, its picture."""

import heapq
import itertools
import json
import xml.etree.ElementTree as ET

import pytest

from splitscan.pages import Arrow, Bar, CostScale, Lane, Timeline, draw_timelines, ticks
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.rebalance.claim_values import (
    ChunkRecord,
    ChunkStats,
    PartitionRecord,
    ScanRecord,
    Segment,
    StealRecord,
)
from splitscan.rebalance.claims import ClaimLog
from splitscan.rebalance.report import ReaderSummary, RebalanceReport
from splitscan.sizes import MIB

SVG = "{http://www.w3.org/2000/svg}"


def simulate(readers, total=8 * MIB, cost=lambda _: 1e-7, until=float("inf"), late=0.0):
    """Readers that take ``cost(position)`` seconds per byte, on the real claim log, each *late* after another."""
    log = ClaimLog()
    ranges = PositionSpace([Segment(total, "f")]).even_ranges(readers)
    log.create("s", [Segment(total, "f")], ranges)
    events = [(late * number, number, 0, None) for number in range(readers)]
    while events:
        now, reader, index, stats = heapq.heappop(events)
        chunk = log.next("s", reader, index, stats, now)
        if chunk is not None and now < until:
            size = chunk.stop - chunk.start
            seconds = size * cost(chunk.start)
            heapq.heappush(events, (now + seconds, reader, index + 1, ChunkStats(seconds, size // 100, size)))
    return RebalanceReport(log.record("s"))


@pytest.fixture(scope="module")
def skewed():
    """The last quarter of the file costs twenty times as much."""
    return simulate(4, cost=lambda position: 2e-6 if position >= 6 * MIB else 1e-7)


def record(*partitions, chunks=(), total=100):
    return ScanRecord("s", 0.0, total, partitions, tuple(chunks), ())


@pytest.fixture
def two():
    """Two of three partitions were read; the second took a range from the first. The first claim comes after 10 s."""
    partitions = (
        PartitionRecord((0, 4 * MIB), 3, 4 * MIB, 40, seconds=3.0, started=10.0, ended=14.0),
        PartitionRecord((4 * MIB, 6 * MIB), 1, 2 * MIB, 15, seconds=1.0, started=11.0, ended=12.0, steals=1),
        PartitionRecord((6 * MIB, 8 * MIB)),
    )
    chunks = (
        ChunkRecord(0, 0, 0, 2 * MIB, 10.0, 1.0, 20, 2 * MIB, 0.0),
        ChunkRecord(1, 0, 4 * MIB, 6 * MIB, 11.0, 1.5, 1, 2 * MIB, 0.0),
        ChunkRecord(0, 1, 2 * MIB, 3 * MIB, 11.25, 2.0, 1234, MIB, 0.0),
        ChunkRecord(0, 2, 3 * MIB, 4 * MIB, 13.5, None, 0, 0, 0.0),
    )
    steals = (StealRecord(10.75, 0, 1, 5 * MIB, 6 * MIB), StealRecord(10.8, 2, 1, 0, 1))
    return RebalanceReport(ScanRecord("s", 0.0, 8 * MIB, partitions, chunks, steals))


class TestFigures:
    def test_times_are_seconds_since_the_first_claim(self, two):
        assert two.readers == (
            ReaderSummary(0, 3, 4 * MIB, 40, 0.0, 4.0, busy=3.0, waiting=1.0, idle=0.0, given=1, taken=0),
            ReaderSummary(1, 1, 2 * MIB, 15, 1.0, 2.5, busy=1.0, waiting=0.5, idle=2.5, given=0, taken=1),
        )
        assert (two.first_claim, two.seconds, two.slots, two.busy_seconds) == (10.0, 4.0, 2, 4.0)
        assert (two.waiting_seconds, two.idle_seconds, two.ideal_seconds, two.ratio) == (1.5, 2.5, 2.0, 2.0)

    def test_a_reader_that_was_not_told_the_end_stopped_after_its_last_chunk(self):
        chunks = [ChunkRecord(0, n, n, n + 1, claimed, 1.0, 0, 1, 0.0) for n, claimed in enumerate((3.0, 4.5, 5.0))]
        cut = PartitionRecord((0, 9), 3, 3, seconds=3.0, started=3.0)
        assert [each.stopped for each in RebalanceReport(record(cut, chunks=chunks)).readers] == [3.0]
        late = PartitionRecord((0, 9), 3, 3, seconds=3.0, started=3.0, ended=7.0)
        assert [each.stopped for each in RebalanceReport(record(late, chunks=chunks)).readers] == [4.0]
        unknown = PartitionRecord((0, 9), 3, 3, started=3.0)
        assert [each.stopped for each in RebalanceReport(record(unknown)).readers] == [0.0]

    def test_the_work_of_all_readers_is_the_work_of_all_chunks(self, skewed):
        assert skewed.finished
        assert skewed.claimed_bytes == skewed.total_bytes == 8 * MIB
        assert skewed.busy_seconds == pytest.approx(sum(chunk.seconds for chunk in skewed.chunks))
        assert sum(reader.taken for reader in skewed.readers) == len(skewed.steals) > 0
        assert sum(reader.given for reader in skewed.readers) == len(skewed.steals)

    def test_busy_waiting_and_idle_are_all_the_time_there_is(self, skewed):
        for reader in skewed.readers:
            assert reader.busy + reader.waiting + reader.idle == pytest.approx(skewed.seconds)
        spent = skewed.busy_seconds + skewed.waiting_seconds + skewed.idle_seconds
        assert spent == pytest.approx(skewed.slots * skewed.seconds)

    def test_the_ideal_is_the_work_over_the_slots(self):
        own = PartitionRecord((0, 50), 1, 50, seconds=3.0, started=7.0, ended=10.0)
        other = PartitionRecord((50, 100), 1, 50, seconds=1.0, started=7.0, ended=8.0)
        chunks = [ChunkRecord(0, 0, 0, 50, 7.0, 3.0, 0, 50, 0.0), ChunkRecord(1, 0, 50, 100, 7.0, 1.0, 0, 50, 0.0)]
        report = RebalanceReport(record(own, other, chunks=chunks))
        assert (report.seconds, report.slots, report.ideal_seconds, report.ratio) == (3.0, 2, 2.0, 1.5)
        assert report.idle_seconds == 2.0

    def test_partitions_that_follow_each_other_share_a_slot(self):
        first = PartitionRecord((0, 50), 1, 50, seconds=2.0, started=0.0, ended=2.0)
        second = PartitionRecord((50, 100), 1, 50, seconds=2.0, started=2.0, ended=4.0)
        report = RebalanceReport(record(first, second))
        assert (report.slots, report.seconds, report.ratio) == (1, 4.0, 1.0)

    def test_a_scan_that_nobody_read(self):
        report = RebalanceReport(record(PartitionRecord((0, 100))))
        assert (report.seconds, report.ratio, report.readers, report.finished) == (0.0, 1.0, (), False)
        assert report.slots == 1
        assert "not read to its end" in str(report)
        assert ET.fromstring(report.to_svg()).tag == f"{SVG}svg"

    def test_a_chunk_that_nobody_reported_has_no_cost(self):
        report = simulate(2, until=0.1)
        assert not report.finished
        assert any(chunk.seconds is None for chunk in report.chunks)
        assert "open" in report.to_svg()
        assert "never told how long it took" in report.to_svg()

    def test_sums_count_what_events_were_dropped(self, skewed):
        dropped = RebalanceReport(
            ScanRecord("s", 0.0, skewed.total_bytes, skewed.record.partitions, (), (), len(skewed.chunks), 3)
        )
        assert dropped.busy_seconds == skewed.busy_seconds
        assert dropped.ideal_seconds == pytest.approx(skewed.ideal_seconds, rel=0.01)
        assert dropped.to_json()["chunks_dropped"] == len(skewed.chunks)


class TestText:
    def test_rows_and_lanes(self, two):
        assert str(two) == (
            "6.0 MiB in 4 chunks by 2 readers, 1 range moved; 4.00 s, 2.00 times the ideal 2.00 s, not read to its end"
            "\n\n"
            "reader  chunks   MiB  records  busy s  wait s  idle s  took  gave  0 "
            "─────────────────────────────── 4.00 s\n"
            "     0       3  4.00       40    3.00    1.00    0.00     0     1  ██████████  ▌███████████████████▌\n"
            "     1       1  2.00       15    1.00    0.50    2.50     1     0            ███████████████"
        )

    def test_where_nothing_took_any_time_no_lane_is_drawn(self):
        alone = PartitionRecord((0, 9), 1, 9, started=3.0, ended=3.0)
        report = RebalanceReport(record(alone))
        assert str(report).splitlines()[-1].split() == ["0", "1", "0.00", "0", "0.00", "0.00", "0.00", "0", "0"]
        assert report.timeline().lanes == [Lane("reader 0", "0% busy")]

    def test_it_says_what_happened_in_one_line(self, skewed):
        first, _, table = str(skewed).partition("\n")
        assert first == skewed.headline
        assert "8.0 MiB in" in first
        assert "by 4 readers" in first
        assert f"{skewed.ratio:.2f} times the ideal" in first
        assert len(table.strip().splitlines()) == 1 + 4

    def test_a_lane_shows_when_a_reader_was_busy(self):
        late = simulate(2, total=4 * MIB, late=0.1)
        lanes = [line.rpartition("  ")[2] for line in str(late).splitlines()[-2:]]
        assert lanes[0].startswith("█")
        assert "█" in lanes[1]


class TestPicture:
    def test_every_chunk_is_a_bar_and_every_move_between_readers_an_arrow(self, two):
        timeline = two.timeline("t")
        assert timeline.lanes == [Lane("reader 0", "75% busy"), Lane("reader 1", "25% busy")]
        assert timeline.bars == [
            Bar(0, 0.0, 1.0, 0.5, "reader 0, chunk 0: 1.00 s, 500 ms/MiB\n2.0 MiB at 0, 20 records\nclaimed at 0 ms"),
            Bar(1, 1.0, 2.5, 0.75,
                "reader 1, chunk 0: 1.50 s, 750 ms/MiB\n2.0 MiB at 4,194,304, 1 record\nclaimed at 1.00 s"),
            Bar(0, 1.25, 3.25, 2.0,
                "reader 0, chunk 1: 2.00 s, 2 s/MiB\n1.0 MiB at 2,097,152, 1,234 records\nclaimed at 1.25 s"),
            Bar(0, 3.5, 3.5, None,
                "reader 0, chunk 2: never told how long it took\n1.0 MiB at 3,145,728, 0 records\nclaimed at 3.50 s"),
        ]  # fmt: skip
        assert timeline.arrows == [Arrow(0.75, 0, 1, "reader 1 took 1.0 MiB from reader 0 at 0.75 s")]
        assert (timeline.title, timeline.seconds, timeline.ideal) == ("t", 4.0, 2.0)
        assert timeline.subtitle == "4.00 s, 2.00 times the ideal; 4 chunks, 1 range moved"

    def test_its_colours_need_no_browser(self, skewed):
        """Many programs that show SVG know no variables, and pass over what is said of dark ground."""
        style = ET.fromstring(skewed.to_svg()).find(f"{SVG}style").text
        light, _, dark = style.partition("@media")
        assert "var(" not in style
        for name in (".tl .ground {", ".tl text {", ".tl .c0 {", ".tl .track {", ".tl .arrow {", ".tl .ideal {"):
            assert name in light
            assert name in dark

    def test_it_has_a_bar_for_each_chunk_and_an_arrow_for_each_move(self, skewed):
        root = ET.fromstring(skewed.to_svg())
        titles = [title.text for title in root.iter(f"{SVG}title")]
        bars = {title.partition(":")[0] for title in titles if " chunk " in title}
        assert bars == {f"reader {chunk.partition}, chunk {chunk.number}" for chunk in skewed.chunks}
        assert sum(" took " in title and " from reader " in title for title in titles) == len(skewed.steals)
        texts = [text.text for text in root.iter(f"{SVG}text")]
        assert {"reader 0", "reader 3", f"ideal {skewed.ideal_seconds * 1:.2f} s"} <= set(texts)

    def test_dear_chunks_have_another_colour_than_cheap_ones(self, skewed):
        kinds = [box.get("class") for box in ET.fromstring(skewed.to_svg()).iter(f"{SVG}rect")]
        assert {"c0", "c6"} <= set(kinds)

    def test_every_bar_lies_in_the_picture(self, skewed):
        root = ET.fromstring(skewed.to_svg())
        width, height = float(root.get("width")), float(root.get("height"))
        for box in root.iter(f"{SVG}rect"):
            assert 0 <= float(box.get("x")) <= float(box.get("x")) + float(box.get("width")) <= width
            assert 0 <= float(box.get("y")) <= float(box.get("y")) + float(box.get("height")) <= height

    def test_names_stand_beside_the_lanes(self, skewed):
        root = ET.fromstring(skewed.to_svg())
        left = min(float(box.get("x")) for box in root.iter(f"{SVG}rect") if box.get("class") == "track")
        names = [text for text in root.iter(f"{SVG}text") if text.text.startswith("reader ")]
        assert [text.get("text-anchor") for text in names] == ["end"] * 4
        assert all(5.0 * len(text.text) < float(text.get("x")) < left for text in names)

    def test_every_bar_lies_in_a_lane(self, skewed):
        boxes = list(ET.fromstring(skewed.to_svg()).iter(f"{SVG}rect"))
        lanes = {(box.get("y"), box.get("height")) for box in boxes if box.get("class") == "track"}
        bars = {(box.get("y"), box.get("height")) for box in boxes if box.find(f"{SVG}title") is not None}
        assert len(bars) == 4
        assert bars < lanes

    def test_of_two_readers_every_move_has_its_arrow_and_moments_stand_below_them(self):
        report = simulate(2, total=4 * MIB, cost=lambda position: 1e-6 if position > 2 * MIB else 1e-7)
        root = ET.fromstring(report.to_svg())
        arrows = [path for path in root.iter(f"{SVG}path") if path.get("class") == "arrow"]
        assert len(arrows) == len(report.steals) + 1 > 1  # and one that explains them
        boxes = [box for box in root.iter(f"{SVG}rect") if box.get("class") == "track" and box.get("height") != "11"]
        bottom = max(float(box.get("y")) + float(box.get("height")) for box in boxes)
        moments = {text.get("y") for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "middle"}
        assert [float(y) > bottom for y in moments] == [True]

    @pytest.mark.parametrize("is_even", [False, True])
    def test_what_explains_the_colours_does_not_overlap(self, skewed, is_even):
        root = ET.fromstring((simulate(2) if is_even else skewed).to_svg())
        boxes = [box for box in root.iter(f"{SVG}rect") if box.get("height") == "11"]
        line = float(boxes[0].get("y")) + 10
        shown = [(float(box.get("x")), 19.0) for box in boxes]
        shown += [
            (float(text.get("x")), 5.0 * len(text.text))
            for text in root.iter(f"{SVG}text")
            if float(text.get("y")) == line
        ]
        assert len(shown) > 3
        assert all(x + width <= after for (x, width), (after, _) in itertools.pairwise(sorted(shown)))

    @pytest.mark.parametrize(
        ("seconds", "labels"),
        [
            (9.0, ["0 s", "2", "4", "6", "8"]),
            (0.41, ["0.0 s", "0.1", "0.2", "0.3", "0.4"]),
            (0.0401, ["0.00 s", "0.01", "0.02", "0.03", "0.04"]),
        ],
    )
    def test_moments_have_as_many_digits_as_tell_them_apart(self, seconds, labels):
        texts = ET.fromstring(draw_timelines([Timeline("t", [], [], seconds=seconds)])).iter(f"{SVG}text")
        assert [text.text for text in texts if text.get("text-anchor") == "middle"] == labels

    def test_the_names_of_two_lines_that_are_near_each_other_stand_apart(self, skewed):
        short, long = skewed.timeline(), Timeline("long", [], [], seconds=10 * skewed.seconds)
        texts = ET.fromstring(draw_timelines([short, long])).iter(f"{SVG}text")
        places = {text.text.split()[0]: text.get("text-anchor") for text in texts if text.get("class") != "dim"}
        assert (places["ideal"], places["ended"]) == ("end", "start")

    def test_hundreds_of_readers_fit(self):
        root = ET.fromstring(simulate(300).to_svg())
        assert float(root.get("height")) < 1200

    def test_nothing_is_loaded_from_elsewhere(self, skewed):
        text = skewed.to_svg()
        assert "<script" not in text
        assert "href" not in text
        assert "url(" not in text

    def test_names_are_escaped(self, skewed):
        picture = draw_timelines([skewed.timeline("<b>&")])
        assert "&lt;b&gt;&amp;" in picture
        ET.fromstring(picture)


def test_json_holds_everything(skewed):
    raw = json.loads(json.dumps(skewed.to_json()))
    assert raw["ratio"] == skewed.ratio
    assert len(raw["chunks"]) == len(skewed.chunks)
    assert (raw["chunks_dropped"], raw["steals_dropped"]) == (0, 0)
    assert raw["readers"][2]["busy"] == skewed.readers[2].busy


class TestScales:
    def test_one_pause_is_no_class_of_its_own(self):
        scale = CostScale.of([0.1] * 300 + [0.2] * 300 + [50.0])
        assert scale.most == 0.2

    def test_alike_costs_have_one_colour(self):
        scale = CostScale.of([1.0, 1.1, 1.2])
        assert scale.is_even
        assert {scale.class_of(cost) for cost in (0.5, 1.0, 1.2)} == {3}

    @pytest.mark.parametrize("seconds", [0.003, 0.9, 7.0, 11.9, 1234.5])
    def test_there_are_some_ticks_and_not_many(self, seconds):
        found = [moment for moment, _ in ticks(seconds)]
        assert 3 <= len(found) <= 10
        assert found[0] == 0.0
        assert found[-1] <= seconds
