"""The time zone of a task to which Spark hands none over: that of the machine that planned."""

import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.spark.session import in_task_zone, machine_zone


@pytest.mark.parametrize(
    ("variable", "link", "expected"),
    [
        ("Europe/Berlin", "UTC", "Europe/Berlin"),
        (":/usr/share/zoneinfo/Europe/Rome", "UTC", "Europe/Rome"),
        ("", "Asia/Tokyo", "Asia/Tokyo"),
        ("CET-1CEST,M3.5.0", "Asia/Tokyo", "Asia/Tokyo"),  # a rule, and no name
        ("", None, "UTC"),
    ],
)
def test_the_zone_of_a_machine_is_where_java_looks_for_it(variable, link, expected, tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", variable)
    if link is not None:
        target = tmp_path / "zoneinfo" / link
        target.parent.mkdir(parents=True)
        target.touch()
        (tmp_path / "localtime").symlink_to(target)
    assert machine_zone(tmp_path / "localtime") == expected


def test_a_task_that_is_told_no_zone_takes_the_planner_s_where_the_user_gave_none(tmp_path):
    (tmp_path / "a.csv").write_text("2024-07-01 12:00:00\n")
    scan = ss.scan_csv(tmp_path, schema="at timestamp")
    assert in_task_zone(scan.spec, "Asia/Tokyo").options.format.time_zone == "Asia/Tokyo"
    given = ss.scan_csv(tmp_path, schema="at timestamp", time_zone="UTC")
    assert in_task_zone(given.spec, "Asia/Tokyo").options.format.time_zone == "UTC"
    lines = ss.scan_text(tmp_path)
    assert in_task_zone(lines.spec, "Asia/Tokyo") == lines.spec
    with pytest.raises(UsageError, match="timeZone=PST"):
        in_task_zone(scan.spec, "PST")
