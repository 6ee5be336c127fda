"""What the measurements say is what happened."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from bench.chart import draw
from bench.measure import Samples, Timed, interleave
from bench.processes import Usage
from bench.report import Outcome, as_json, markdown

BUSY = "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ninput()"
MEASURED = """
import json, subprocess, sys
from bench.processes import Watch, descendants
with Watch() as watch:
    child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=-1, stdout=-1, text=True)
    assert child.stdout.readline() == "done\\n"
    assert child.pid in descendants()
child.communicate("\\n")
print(json.dumps([watch.usage.cpu_seconds, watch.usage.peak_mb]))
"""
ROOT = Path(__file__).parents[3]


def report(**seconds: float) -> dict[str, Any]:
    usage = Usage({"driver": 1.0}, {"driver": 50.0, "worker": 20.0})
    samples = {name: Samples([value], [usage], [1]) for name, value in seconds.items()}
    return as_json([Outcome("csv", "plain <CSV>", 8, {"count": samples})], 1, 0.5, recommended=False)


def test_contenders_take_turns_and_the_first_round_does_not_count() -> None:
    turns: list[str] = []
    works = {name: lambda name=name: turns.append(name) for name in "ab"}
    samples = interleave(works, 2)
    assert turns == ["a", "b"] * 3
    assert [len(sample.seconds) for sample in samples.values()] == [2, 2]


def test_an_answer_may_be_found_afterwards() -> None:
    samples = interleave({"a": lambda: lambda: 7, "b": lambda: 7}, 1)
    assert samples["a"].answers == [7, 7]


def test_a_contender_may_take_the_time_of_a_part_itself() -> None:
    samples = interleave({"a": lambda: Timed(7, 0.25), "b": lambda: 7}, 2)
    assert samples["a"].answers == [7] * 3
    assert samples["a"].seconds == [0.25] * 2


def test_contenders_that_disagree_are_no_measurement() -> None:
    with pytest.raises(ValueError, match=r"the contenders disagree.*'a': {'1'}.*'b': {'2'}"):
        interleave({"a": lambda: 1, "b": lambda: 2}, 1)


@pytest.mark.slow
def test_what_a_child_process_uses_is_counted_while_it_runs() -> None:
    """In a process of its own: this one may have children of other tests, which come and go."""
    command = [sys.executable, "-c", MEASURED, BUSY]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cpu_seconds, peak_mb = json.loads(done.stdout)
    assert cpu_seconds["worker"] >= 0.2
    assert peak_mb["driver"] > 0
    assert "jvm" not in cpu_seconds


def test_the_tables_say_how_many_times_as_long_as_ours_others_take() -> None:
    lines = list(markdown(report(splitscan=2.0, spark=9.0)))
    assert "| count | splitscan | 2.00 |  | 0.0, 0.0, 1.0 | 20, 50 |" in lines
    assert "| count | spark | 9.00 | 4.50 | 0.0, 0.0, 1.0 | 20, 50 |" in lines


def test_the_chart_has_a_dot_for_every_peer_left_and_right_of_one() -> None:
    picture = ET.fromstring(draw(report(splitscan=2.0, spark=9.0, duckdb=1.0, other=400.0)))
    space = "{http://www.w3.org/2000/svg}"
    dots = [dot for dot in picture.iter(f"{space}circle") if dot.find(f"{space}title") is not None]
    places = {dot.findtext(f"{space}title"): float(dot.attrib["cx"]) for dot in dots}
    one = next(float(line.attrib["x1"]) for line in picture.iter(f"{space}line") if line.attrib["stroke-width"] == "2")
    assert places["duckdb: 0.50"] < one < places["spark: 4.50"] < places["other: 200.00"] <= 920
    heights = {dot.findtext(f"{space}title"): dot.attrib["cy"] for dot in dots}
    assert heights["duckdb: 0.50"] == heights["spark: 4.50"] != heights["other: 200.00"]
    assert "count: other" in [text.text for text in picture.iter(f"{space}text")]


def test_works_of_nobody_else_are_in_the_tables_and_not_in_the_chart() -> None:
    alone = report(splitscan=2.0)
    assert any("| count | splitscan |" in line for line in markdown(alone))
    assert "count" not in draw(alone)
