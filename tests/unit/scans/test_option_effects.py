"""Options that are easily accepted and then forgotten: each does what its line in docs/options.md says."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.blocks import Reject
from splitscan.errors import SourceError, UsageError


@pytest.mark.parametrize("zone", ["GMT+1", "UTC+01:00", "+1", "+0100", "GMT", "z", "utc"])
def test_every_time_zone_that_is_accepted_places_times(tmp_path: Path, zone: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text("2020-01-01 12:00:00\n")
    found = ss.scan_csv(str(file), "at timestamp", timeZone=zone).to_arrow()["at"][0].as_py()
    hour = 11 if "1" in zone else 12
    assert found == datetime.datetime(2020, 1, 1, hour, tzinfo=datetime.UTC)


def test_a_file_that_is_gone_or_became_shorter_is_not_a_corrupt_one(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("1\n2\n3\n")
    gone, shorter = (ss.scan_csv(str(file), "a int", ignoreCorruptFiles=True, onFileChange="ignore") for _ in range(2))
    gone.files(), shorter.files()
    file.write_text("1\n")
    with pytest.raises(SourceError, match="source-truncated"):
        shorter.to_arrow()
    file.unlink()
    with pytest.raises(SourceError, match="file-missing"):
        gone.to_arrow()


@pytest.mark.parametrize(("option", "most"), [("maxRecordBytes", "512 MiB"), ("readBytes", "128 MiB")])
def test_no_portion_can_grow_beyond_what_an_arrow_array_holds(option: str, most: str) -> None:
    ss.scan_text("a.txt", **{option: most})
    with pytest.raises(UsageError, match=rf"takes a size such as 64 MiB, up to {most} \[bad-option\]"):
        ss.scan_text("a.txt", **{option: "2 GiB"})


def test_no_record_can_have_more_fields_than_columns_are_allowed(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("1,2\n1,2,3\n")
    two = ss.scan_csv(str(file), "a int, b int", maxColumns=2, mode="DROPMALFORMED")
    assert two.to_arrow().to_pylist() == [{"a": 1, "b": 2}]
    with pytest.raises(UsageError, match=r"maxColumns=1 allows fewer columns than the schema has \[bad-option\]"):
        _ = ss.scan_csv(str(file), "a int, b int", maxColumns=1).schema


def test_files_are_cut_finer_where_tasks_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"x\n" * 500)
    scan = ss.scan_text(str(file), minPartitionNum=10, openCostInBytes=0)
    assert [block.length_bytes for block in scan.blocks()] == [100] * 10
    assert len(scan.tasks(scan.blocks())) == 10
    assert len(list(scan.plan_tasks(1))) == len(list(ss.scan_text(str(file), openCostInBytes=0).plan_tasks(10))) == 10


def test_a_count_with_a_limit_opens_no_file_behind_it(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"x\n" * 5)
    scan = ss.scan_text(str(tmp_path), limit=3)
    assert len(scan.files()) == 2
    (tmp_path / "b.txt").unlink()
    assert scan.count() == 3


@pytest.mark.parametrize(("prefer", "expected"), [(True, "date32[day]"), (False, "timestamp[us, tz=UTC]")])
def test_dates_are_timestamps_where_dates_are_not_preferred(tmp_path: Path, prefer: bool, expected: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text("2020-01-01\n2021-02-03\n")
    scan = ss.scan_csv(str(file), inferSchema=True, preferDate=prefer)
    assert str(scan.schema.field(0).type) == expected


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_a_file_may_vanish_in_every_mode_if_it_may_vanish(tmp_path: Path, mode: str) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("1\n")
    scan = ss.scan_csv(str(tmp_path), "n int", mode=mode, ignoreMissingFiles=True)
    assert len(scan.files()) == 2
    (tmp_path / "a.csv").unlink()
    rejects: list[Reject] = []
    assert sum(batch.num_rows for batch in scan.to_batches(rejects.append)) == 1 == scan.count()
    assert [(reject.code, reject.delivered) for reject in rejects] == [("file-missing", False)]
