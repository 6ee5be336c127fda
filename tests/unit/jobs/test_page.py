"""The page about an ingest: what it says is what the ledger and the reject tables hold."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest

from splitscan.api.ingest_page import check_page_file, task_timeline, write_page
from splitscan.errors import IngestError, UsageError
from splitscan.jobs.reports import TaskTimes

ALONE = {"meta", "rect", "line", "path", "circle"}


def tables(page):
    """The rows of every table, by the heading above it."""
    found = {}
    pattern = r'<h2>([^<]*)</h2>\n<div class="wide"><table>(.*?)</table>'
    for heading, table in re.findall(pattern, page, re.DOTALL):
        rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]
        found[heading] = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    return found


@pytest.fixture
def written(tmp_path, make_scan, run):
    """An ingest of two files with broken records, its report, and its page."""
    report = run(make_scan(bad=4), tmp_path / "out", max_reject_ratio=1.0)
    write_page(tmp_path / "r.html", report, spark_seconds=0.0)
    return report, (tmp_path / "r.html").read_text()


def test_it_says_what_was_read_and_where_it_went(written, tmp_path):
    report, page = written
    job = dict(tables(page)["Job"])
    assert job["source"] == str(tmp_path / "in")
    assert (job["destination"], job["ledger"]) == (report.destination, report.ledger)
    assert job["job"].startswith(report.job_id)
    assert job["proof"] == "every byte accounted for"
    assert job.keys().isdisjoint({"layout", "missing", "damaged"})
    assert f"<dt>records</dt><dd>{report.rows:,}</dd>" in page
    assert f"<dt>took</dt><dd>{report.seconds:.1f} s</dd>" in page


def test_files_columns_and_options_are_those_of_the_ledger(written, tmp_path):
    report, page = written
    found = tables(page)
    assert [row[0] for row in found["Files"]] == [str(tmp_path / "in/a.csv"), str(tmp_path / "in/b.csv")]
    assert sum(int(row[2]) for row in found["Files"]) == report.blocks
    assert {row[5] for row in found["Files"]} == {""}
    assert sum(int(row[3]) for row in found["Files"]) == report.rows
    assert [row[:2] for row in found["Columns"]] == [["id", "int64"], ["text", "string"]]
    assert "<td>multi_line</td><td>True</td>" in page


def test_rejects_are_counted_by_code_with_the_first_of_each(written):
    report, page = written
    assert tables(page)["Rejects"] == [["field-count", "8", "100.0%"]]
    assert report.rejects == 8
    assert page.count("<td>oops</td>") == 3


def test_a_reject_is_shown_as_text_on_one_line_and_long_ones_are_cut(tmp_path, make_scan, run):
    (tmp_path / "in").mkdir()
    records = (b'1,"Z\xc3\xbcrich\n",\t', b"2,\xff,", b"3,a", b"4,b," + b"x" * 99)
    (tmp_path / "in/a.csv").write_bytes(b"id,text\n" + b"\n".join(records))
    report = run(make_scan(names=()), tmp_path / "out", max_reject_ratio=1.0)
    write_page(tmp_path / "r.html", report)
    shown = re.findall(r"<td[^>]*>([^<]*)</td></tr>", (tmp_path / "r.html").read_text())
    assert report.rejects == 3
    assert set(shown) >= {"1,&quot;Zürich\\n&quot;,\\t", "2,\\xff,", "4,b," + "x" * 76 + "…"}


def test_no_secret_of_an_address_is_shown_of_a_reject(tmp_path, make_scan, run):
    (tmp_path / "in").mkdir()
    address = "https://me:hunter22@host/" + "a" * 60 + "?sig=s3cr3t-of-it"
    (tmp_path / "in/a.csv").write_text(f"id,text\n{address},x\n1,a\n2,b,{'x' * 60}{address}\n3,c\n")
    report = run(make_scan(names=()), tmp_path / "out", max_reject_ratio=1.0)
    write_page(tmp_path / "r.html", report)
    page = (tmp_path / "r.html").read_text()
    told = page + " ".join(report.first_rejects)
    assert told.count("https://***@host/") >= 2
    assert "hunter" not in told
    assert "s3cr3t" not in told


def test_every_task_of_this_run_is_a_bar(written):
    report, page = written
    assert len(report.tasks) == page.count("<title>") - 1  # of the page itself
    assert sum(task.rows for task in report.tasks) == report.rows
    assert sum(task.size_bytes for task in report.tasks) == report.source_bytes
    assert all(task.began <= task.ended for task in report.tasks)


def test_what_an_earlier_run_had_finished_is_no_bar(tmp_path, make_scan, run, runner):
    with pytest.raises(IngestError):
        run(make_scan(), tmp_path / "out", runner(stop_after=5))
    report = run(make_scan(), tmp_path / "out")
    assert report.blocks_resumed > 0
    assert sum(task.rows for task in report.tasks) < report.rows
    write_page(tmp_path / "r.html", report)
    assert f"{report.blocks:,}, {report.blocks_resumed} of them by an earlier run" in (tmp_path / "r.html").read_text()


def test_the_page_is_well_formed_and_what_data_says_is_text(tmp_path, make_scan, run):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/<b>.csv").write_text("id,text\n<script>alert(1)</script>\n1,a\n2,b\n")
    report = run(make_scan(names=()), tmp_path / "out")
    write_page(tmp_path / "r.html", report)
    open_tags = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attributes):
            assert tag not in {"script", "b", "a", "link", "img"}
            if tag not in ALONE:
                open_tags.append(tag)

        def handle_endtag(self, tag):
            if tag not in ALONE:
                assert open_tags.pop() == tag

    page = (tmp_path / "r.html").read_text()
    Tags().feed(page)
    assert open_tags == []
    assert "&lt;script&gt;" in page
    assert "url(" not in page


def test_a_run_with_nothing_to_do_says_so(tmp_path, make_scan, run):
    run(make_scan(), tmp_path / "out")
    report = run(make_scan(), tmp_path / "out")
    write_page(tmp_path / "r.html", dataclasses.replace(report, files_changed=1))
    assert "Nothing to do: 3 files ingested before." in (tmp_path / "r.html").read_text()


def test_files_that_were_missing_or_damaged_are_counted(written, tmp_path):
    report, _ = written
    write_page(tmp_path / "s.html", dataclasses.replace(report, files_missing=1, files_damaged=2))
    job = dict(tables((tmp_path / "s.html").read_text())["Job"])
    assert (job["missing"], job["damaged"]) == ("1 file", "2 files")


def test_what_spark_took_to_start_is_no_reading(written, tmp_path):
    report, _ = written
    write_page(tmp_path / "s.html", dataclasses.replace(report, seconds=30.0), spark_seconds=20.0)
    page = (tmp_path / "s.html").read_text()
    assert "<dt>took</dt><dd>10.0 s</dd>" in page
    assert "<dt>starting Spark</dt><dd>20.0 s</dd>" in page


def test_a_lane_says_how_long_it_was_busy_and_a_bar_what_it_cost():
    tasks = [TaskTimes(5.0, 6.0, 2 << 20, 9), TaskTimes(5.5, 7.0, 1, 1), TaskTimes(6.0, 7.0, 1, 1)]
    timeline = task_timeline(tasks)
    assert [(lane.name, lane.note) for lane in timeline.lanes] == [("slot 0", "100% busy"), ("slot 1", "75% busy")]
    assert (timeline.bars[0].cost, timeline.ideal) == (0.5, 1.75)


def test_a_task_that_took_no_time_is_drawn_all_the_same():
    timeline = task_timeline([TaskTimes(1.0, 1.0, 0, 0)])
    assert (timeline.seconds, len(timeline.bars), timeline.lanes[0].note) == (0.0, 1, "")


@pytest.mark.parametrize("name", ["r.txt", "r", "none/r.html"])
def test_a_page_that_cannot_be_written_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="bad-report-file"):
        check_page_file(tmp_path / name)
