"""What a scan would do on Spark, told before it does it."""

from __future__ import annotations

from pathlib import Path

import splitscan as ss
from splitscan.rebalance.planning import explain_plan


def two_files(tmp_path: Path) -> ss.Scan:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("x\n" * 50)
    return ss.scan_text(str(tmp_path), openCostInBytes=0)


def test_a_rebalanced_scan_shows_what_each_task_begins_with(tmp_path: Path) -> None:
    told = explain_plan(two_files(tmp_path), 3, rebalance=True)
    assert str(told).splitlines() == [
        "lines, 2 files, 200 B: 3 tasks on 3 slots",
        "first records: a bounded look around the start of the block; "
        "a task that has nothing left takes over what another one has not claimed",
        "  task 0: 66 B, a.txt [0, 66)",
        "  task 1: 67 B, a.txt [66, 100) to b.txt [0, 33), 2 ranges",
        "  task 2: 67 B, b.txt [33, 100)",
    ]


def test_a_scan_with_fixed_ranges_shows_its_tasks(tmp_path: Path) -> None:
    told = two_files(tmp_path).explain()
    assert not told.rebalanced
    assert "each task reads what is planned for it" in str(told)
    assert sum(task.size_bytes for task in told.tasks) == 200


def test_the_option_is_the_default_and_long_plans_are_cut(tmp_path: Path) -> None:
    scan = ss.scan_text(str(tmp_path / "a.txt"), rebalance=True, minPartitionNum=25)
    two_files(tmp_path)
    told = scan.explain()
    assert told.rebalanced
    assert len(told.tasks) == 25
    assert str(told).splitlines()[-1] == "  and 5 more"
    assert len(explain_plan(two_files(tmp_path), 20, rebalance=True).tasks) == 20
    assert "more" not in str(explain_plan(two_files(tmp_path), 20, rebalance=True)).splitlines()[-1]


def test_one_slot_has_one_task(tmp_path: Path) -> None:
    assert len(explain_plan(two_files(tmp_path), 1, rebalance=True).tasks) == 1


def test_nothing_to_read_is_no_task(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert ss.scan_text(str(tmp_path)).explain(rebalance=True).tasks == ()


class WholeBytes:
    """A reader of whole files."""

    def open(self, negotiator: object) -> bool:
        return False

    def next(self, loader: object) -> bool:
        return False

    def close(self) -> None:
        pass


def test_a_task_may_begin_with_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abcd")
    told = explain_plan(ss.scan(str(tmp_path), WholeBytes(), "size long"), 2, rebalance=True)
    assert str(told).splitlines()[-2:] == ["  task 0: nothing to begin with", "  task 1: 4 B, a [0, 4)"]
