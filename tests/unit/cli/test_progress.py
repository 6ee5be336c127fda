import io
import logging
import re
import sys

import pytest

from splitscan.cli.terminal import Pace, ProgressBar, ProgressLines, ShowsProgress, choose_progress, format_seconds
from splitscan.jobs.reports import IngestProgress, Phase


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def reading(bytes_done, rows=0, rejects=0, total=100_000_000):
    return IngestProgress(Phase.READ, bytes_done, total, rows, rejects)


def test_speed_is_what_was_read_since_reading_began():
    clock = Clock()
    pace = Pace(clock)
    pace.update(0, 100_000_000)
    assert pace.speed is None
    assert pace.seconds_left is None
    clock.now += 2
    pace.update(50_000_000, 100_000_000)
    assert pace.speed == 25_000_000
    assert pace.seconds_left == 2


def test_what_an_earlier_run_had_read_is_no_speed():
    clock = Clock()
    pace = Pace(clock)
    pace.update(80_000_000, 100_000_000)
    clock.now += 5
    pace.update(90_000_000, 100_000_000)
    assert pace.speed == 2_000_000
    assert pace.seconds_left == 5


def test_a_clock_that_stands_still_divides_nothing_by_zero():
    pace = Pace(Clock())
    pace.update(0, 10)
    pace.update(5, 10)
    assert pace.speed is None


def test_lines_come_with_each_phase_and_then_now_and_then():
    clock, stream = Clock(), io.StringIO()
    lines = ProgressLines(stream, every_seconds=5, clock=clock)
    with lines:
        lines.show(IngestProgress(Phase.PLAN))
        lines.show(IngestProgress(Phase.PLAN))
        lines.show(reading(0))  # Spark has not started
        lines.announce("starting Spark")
        lines.show(reading(0))
        clock.now += 4
        lines.show(reading(40_000_000, 10))
        clock.now += 1
        lines.show(reading(50_000_000, 1_234_567, 2))
        lines.show(reading(60_000_000))
        lines.show(IngestProgress(Phase.CHECK))
        lines.show(IngestProgress(Phase.PUBLISH))
        lines.show(IngestProgress(Phase.DONE))
    assert stream.getvalue().splitlines() == [
        "splitscan: planning",
        "splitscan: starting Spark",
        "splitscan: reading: 0.0 of 100.0 MB, 0 records",
        "splitscan: reading: 50.0 of 100.0 MB, 1,234,567 records, 2 rejects, 10.0 MB/s, 5 s left",
        "splitscan: checking",
        "splitscan: publishing",
    ]


def test_of_small_windows_only_what_takes_long_has_a_line():
    clock, stream = Clock(), io.StringIO()
    lines = ProgressLines(stream, every_seconds=5, clock=clock, windows=True)
    for seconds in (1, 1, 10):
        for phase in (Phase.PLAN, Phase.INDEX):
            lines.show(IngestProgress(phase))
        lines.show(reading(0))
        clock.now += seconds
        lines.show(reading(50_000_000))
        for phase in (Phase.CHECK, Phase.PUBLISH, Phase.DONE):
            lines.show(IngestProgress(phase))
        lines.rest("waiting")
    assert stream.getvalue().splitlines() == ["splitscan: reading: 50.0 of 100.0 MB, 0 records, 5.0 MB/s, 10 s left"]


def test_the_time_that_spark_needs_to_start_is_not_counted_as_reading():
    clock, stream = Clock(), io.StringIO()
    lines = ProgressLines(stream, every_seconds=0, clock=clock)
    lines.show(reading(10_000_000))
    clock.now += 60
    lines.announce("starting Spark")
    lines.show(reading(10_000_000))
    clock.now += 1
    lines.show(reading(30_000_000))
    assert "20.0 MB/s" in stream.getvalue().splitlines()[-1]


def test_lines_hold_no_control_characters():
    stream = io.StringIO()
    lines = ProgressLines(stream)
    lines.announce("starting Spark")
    lines.show(reading(1))
    assert re.fullmatch(r"[\x20-\x7e\n]+", stream.getvalue())


def test_a_bar_shows_how_far_it_is_and_is_gone_behind_it():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    with ProgressBar(terminal) as bar:
        bar.announce("starting Spark")
        bar.show(IngestProgress(Phase.INDEX))
        bar.show(reading(0))
        bar.show(reading(50_000_000, 1234))
    shown = terminal.getvalue()
    assert "50.0 of 100.0 MB, 1,234 records" in shown
    assert shown.endswith("\x1b[1A\x1b[2K")  # up, and the line is cleared


def test_quiet_shows_nothing(capfd):
    with choose_progress(quiet=True) as progress:
        progress.announce("starting Spark")
        progress.show(reading(1))
    assert isinstance(progress, ShowsProgress)
    assert capfd.readouterr() == ("", "")


def test_a_file_gets_lines(capfd):
    with choose_progress(quiet=False) as progress:
        progress.announce("starting Spark")
    assert capfd.readouterr() == ("", "splitscan: starting Spark\n")


def test_standard_error_need_not_be_a_file(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with choose_progress(quiet=False) as progress:
        progress.announce("starting Spark")
    assert stream.getvalue() == "splitscan: starting Spark\n"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.4, "59 s"), (59.6, "1:00 min"), (3599, "59:59 min"), (3661, "1:01 h")]
)
def test_durations_read_well(seconds, text):
    assert format_seconds(seconds) == text


def test_what_the_library_logs_is_a_line_like_the_others(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with choose_progress(quiet=False):
        logging.getLogger("splitscan").warning("this looks odd")
    logging.getLogger("splitscan").debug("nobody hears this")
    assert stream.getvalue() == "splitscan: this looks odd\n"


def test_where_quiet_is_asked_for_what_the_library_logs_is_not_shown(capsys):
    with choose_progress(quiet=True):
        logging.getLogger("splitscan").warning("this looks odd")
    assert capsys.readouterr().err == ""


def test_advice_stands_above_the_bar():
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        bar.advise("this looks odd")
    assert "splitscan: this looks odd" in stream.getvalue()
