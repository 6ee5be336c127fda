"""What interrupted jobs leave in staging: kept while somebody could continue it."""

import json
import os
import time

import pytest

from splitscan.errors import IngestError
from splitscan.jobs.workplace import KEEP_DAYS


@pytest.fixture
def staging(tmp_path):
    return tmp_path / ".out.splitscan"


@pytest.fixture
def interrupted(tmp_path, make_scan, run, runner, staging):
    """Break off an ingest of some files; tells its staging folder."""

    def interrupt(names, **options):
        before = set(staging.iterdir()) if staging.exists() else set()
        with pytest.raises(IngestError, match="the power failed"):
            run(make_scan(names, **options), tmp_path / "out", runner(stop_after=2))
        (folder,) = (path for path in set(staging.iterdir()) - before if path.is_dir())
        return folder

    return interrupt


@pytest.fixture
def scan_of(tmp_path, make_scan):
    """Scan only some of the files that are there."""
    return lambda name: make_scan(["a", "b"], pathGlobFilter=f"{name}.csv")


def test_a_job_that_can_still_be_continued_is_left_alone(tmp_path, scan_of, make_scan, run, interrupted, staging):
    make_scan(["a", "b"])
    left = interrupted(["a", "b"], pathGlobFilter="a.csv")
    report = run(scan_of("b"), tmp_path / "out")
    assert report.removed == ()
    assert left.exists()
    assert run(scan_of("a"), tmp_path / "out").blocks_resumed > 0
    assert not staging.exists()


def test_a_job_of_which_another_has_ingested_a_file_can_never_be_continued_and_goes(
    tmp_path, scan_of, make_scan, run, interrupted, caplog
):
    make_scan(["a", "b"])
    left = interrupted(["a", "b"])
    with caplog.at_level("INFO", "splitscan"):
        report = run(scan_of("b"), tmp_path / "out")
    assert report.removed == (str(left),)
    assert not left.exists()
    assert f"{left}: another job has ingested files of it" in caplog.text


@pytest.mark.parametrize(("days", "stays"), [(KEEP_DAYS - 0.1, True), (KEEP_DAYS + 0.1, False)])
@pytest.mark.parametrize("owned", [True, False])
def test_a_job_that_nobody_continued_for_days_goes(tmp_path, scan_of, run, interrupted, days, stays, owned, caplog):
    scan_of("a")
    left = interrupted(["a", "b"], pathGlobFilter="a.csv")
    then = time.time() - days * 24 * 60 * 60
    if owned:
        owner = json.loads((left / "job.json").read_text())
        (left / "job.json").write_text(json.dumps({**owner, "started": int(then)}))
    else:  # by a splitscan that did not say so
        (left / "job.json").unlink()
        os.utime(left, (then, then))
    with caplog.at_level("INFO", "splitscan"):
        report = run(scan_of("b"), tmp_path / "out")
    assert left.exists() == stays
    assert report.removed == (() if stays else (str(left),))
    assert ("nobody continued it for 7 days" in caplog.text) == (not stays)


def test_who_reads_what_is_said_without_paths(interrupted, make_scan):
    left = interrupted(["a", "b"])
    owner = json.loads((left / "job.json").read_text())
    assert len(owner["files"]) == 2
    assert "csv" not in str(owner)
