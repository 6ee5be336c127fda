import dataclasses
import json
import re

import pyarrow.parquet as pq
import pytest

from splitscan.cli import runs
from splitscan.cli.runs import choose_block_bytes
from splitscan.jobs.reports import IngestProgress, Phase
from splitscan.rebalance.claim_values import ChunkRecord, PartitionRecord, ScanRecord
from splitscan.rebalance.report import RebalanceReport
from splitscan.sizes import MIB

SCHEMA = ("-o", "header=true", "-o", "multiLine=true", "-s", "id long, name string")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text("id,name\n1,ada\nx,grace\n3,a,b\n4,joan\n")
    return path


def test_an_ingest_ends_with_a_summary(run, basic, out, without_spark):
    code, summary, progress = run("ingest", basic, out, *SCHEMA)
    assert code == 0
    assert pq.read_table(out).to_pydict() == {"id": [1, 2, 3], "name": ["ada", "grace\nhopper", None]}
    title, *facts = summary.splitlines()
    assert title == f"ingested 3 records into {out}"
    shown = dict(line.split(None, 1) for line in facts)
    assert shown["files"] == "1"
    assert shown["records"] == "3"
    assert shown["rejects"] == "0"
    assert shown["proof"] == "every byte accounted for"
    assert shown["ledger"] == f"{out}/_splitscan/ledger/00000001.jsonl"
    assert re.fullmatch(r"\d+ bytes in \d+\.\d s, [\d,]+ bytes/s, after 0\.0 s to start Spark", shown["read"])
    assert progress.splitlines()[:1] == ["splitscan: planning"]
    assert "splitscan: starting Spark" in progress.splitlines()


def test_run_again_there_is_nothing_to_do_and_spark_does_not_start(run, basic, out, without_spark):
    run("ingest", basic, out, *SCHEMA)
    without_spark.clear()
    code, summary, progress = run("ingest", basic, out, *SCHEMA)
    assert code == 0
    assert summary.startswith("nothing to do: 1 file ingested before\n")
    assert progress == "splitscan: planning\n"
    assert without_spark == []


def test_the_first_rejects_are_shown_with_their_place_and_reason(run, broken, out, without_spark):
    code, summary, _ = run("ingest", broken, out, *SCHEMA)
    assert code == 8
    assert "  rejects  2\n" in summary
    assert f"\nrejects:\n  {broken}, byte 14: " in summary
    assert "[bad-value]\n" in summary
    assert f"  {broken}, byte 22: " in summary
    assert "[field-count]\n" in summary


def test_of_many_rejects_only_the_first_are_shown(run, tmp_path, out, without_spark):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("x,y\n" * 4)
    code, summary, _ = run("ingest", tmp_path / "*.csv", out, "-s", "id long, name string", "--max-reject-ratio", "1")
    assert code == 8
    assert "the first of 8 rejects:\n" in summary
    assert summary.count("[bad-value]") == 5
    assert summary.count("b.csv, byte") == 1


def test_json_is_all_that_is_on_standard_output(run, broken, out, without_spark):
    code, text, progress = run("ingest", broken, out, *SCHEMA, "--json")
    report = json.loads(text)
    assert code == 8
    assert (report["rows"], report["rejects"], report["accounted"], report["nothing_to_do"]) == (4, 2, True, False)
    assert len(report["first_rejects"]) == 2
    assert report["ledger"].endswith("00000001.jsonl")
    assert "planning" in progress
    again = json.loads(run("ingest", broken, out, *SCHEMA, "--json")[1])
    assert (again["nothing_to_do"], again["files_skipped"], again["ledger"]) == (True, 1, None)


def test_quiet_means_quiet(run, basic, out, without_spark):
    assert run("ingest", basic, out, *SCHEMA, "--quiet") == (0, "", "")
    assert pq.read_table(out).num_rows == 3


def test_several_sources_go_into_one_destination(run, tmp_path, out, without_spark):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("1\n2\n")
    assert run("ingest", tmp_path / "a.csv", tmp_path / "b.csv", out, "-q")[0] == 0
    assert pq.read_table(out).num_rows == 4


def test_a_budget_of_rejects_that_is_spent_has_exit_code_5(run, broken, out, without_spark):
    code, summary, err = run("ingest", broken, out, *SCHEMA, "--max-rejects", "1")
    assert (code, summary) == (5, "")
    assert "--max-rejects 1 allows; nothing was published [reject-budget]" in err
    assert not out.exists()
    assert run("ingest", broken, out, *SCHEMA, "--max-reject-ratio", "0.1")[0] == 5
    assert run("ingest", broken, out, *SCHEMA, "--max-reject-ratio", "0.5")[0] == 8


def test_rejects_have_an_exit_code_and_a_notice_of_their_own_also_where_all_is_quiet(run, broken, out, without_spark):
    code, summary, err = run("ingest", broken, out, *SCHEMA, "--sep", ",", "-q")
    assert (code, summary) == (8, "")
    assert err == (
        f"splitscan: 4 records published with 2 rejects [rejects-published]; the first: {broken}, byte 14: "
        f"column 'id': 'x' is no bigint [bad-value]; all are in {out}/_splitscan/rejects\n"
    )
    assert len(list((out / "_splitscan/rejects").iterdir())) == 1
    assert run("ingest", broken, out, *SCHEMA, "--sep", ",", "-q") == (0, "", "")  # nothing new is published


@pytest.mark.parametrize("flags", [(), ("-q",), ("--json",)])
def test_a_watch_tells_rejects_and_ends_with_their_exit_code(run, broken, out, without_spark, flags):
    code, _, err = run("watch", broken, out, "--once", "-o", "header=true", "-s", "id long, name string", *flags)
    assert code == 8
    assert "4 records published with 2 rejects [rejects-published]; the first: " in err
    assert run("watch", broken, out, "--once", "-o", "header=true", "-s", "id long, name string", "-q") == (0, "", "")


def test_two_hundred_rejects_of_eleven_hundred_records_are_not_published_by_default(run, tmp_path, out, without_spark):
    path = tmp_path / "a.csv"
    path.write_text("id,name\n" + "1,ada\n" * 900 + "1,ada,x\n" * 200)
    code, _, err = run("ingest", path, out, *SCHEMA, "-q")
    assert code == 5
    assert "more records broke a rule than the default allows" in err
    assert not out.exists()
    assert run("ingest", path, out, *SCHEMA, "-q", "--max-reject-ratio", "0.2")[0] == 8


def test_a_changed_file_is_an_error_unless_it_is_to_be_left_alone(run, basic, out, without_spark):
    run("ingest", basic, out, *SCHEMA)
    basic.write_bytes(basic.read_bytes() + b"4,joan\n")
    code, _, err = run("ingest", basic, out, *SCHEMA)
    assert code == 3
    assert "[source-changed]" in err
    code, summary, _ = run("ingest", basic, out, *SCHEMA, "--on-changed", "skip")
    assert code == 0
    assert summary.startswith("nothing to do: 1 file ingested before\n")
    assert "1 file changed since, and left alone" in summary


@pytest.mark.parametrize(
    "flags",
    [
        ("--on-changed", "perhaps"),
        ("--compression", "zip"),
        ("--max-reject-ratio", "2"),
        ("--spark-conf", "x"),
        ("-o", "limit=3"),
    ],
)
def test_flags_without_a_meaning_are_refused_before_anything_is_done(run, basic, out, without_spark, flags):
    assert run("ingest", basic, out, *SCHEMA, *flags)[0] == 2
    assert without_spark == []
    assert not out.exists()


def test_a_dry_run_says_what_would_be_done_and_does_nothing(run, basic, tmp_path, out, without_spark):
    run("ingest", basic, out, *SCHEMA)
    without_spark.clear()
    other = tmp_path / "other.csv"
    other.write_text("id,name\n5,x\n")
    before = sorted(out.rglob("*"))
    code, text, err = run("ingest", basic, other, out, *SCHEMA, "--dry-run")
    assert (code, err, without_spark) == (0, "", [])
    assert text.startswith(f"would ingest 1 file into {out}; nothing was read or written\n")
    assert "  skipped  1 file ingested before\n" in text
    assert text.endswith(f"would be read:\n  {other}\n")
    assert sorted(out.rglob("*")) == before
    plan = json.loads(run("ingest", basic, other, out, *SCHEMA, "--dry-run", "--json", "--block-size", "5")[1])
    assert (plan["files"], plan["blocks"], plan["files_skipped"]) == (1, 3, 1)
    assert run("ingest", basic, out, *SCHEMA, "--dry-run")[1].startswith("nothing to do")


def test_interrupting_an_ingest_says_that_it_can_be_finished(run, basic, out, without_spark, monkeypatch):
    def interrupt(source, target, runner):
        target.on_progress(IngestProgress(Phase.READ, 1, 2))
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "run_ingest", interrupt)
    code, summary, err = run("ingest", basic, out, *SCHEMA)
    assert (code, summary) == (130, "")
    assert err.splitlines()[-1] == (
        "interrupted: run the same command again and it finishes the work; no finished block is read again"
    )


def test_the_layout_is_chosen_once_and_never_mixed(run, basic, out, without_spark):
    assert run("ingest", basic, out, *SCHEMA, "--layout", "jobs")[0] == 0
    assert [path.name for path in out.glob("splitscan_job=*")] == ["splitscan_job=00000001"]
    for extra in ((), ("--dry-run",)):
        code, _, error = run("ingest", basic, out, *SCHEMA, "--layout", "flat", *extra)
        assert code != 0
        assert "[destination-layout]" in error
    assert "give one of flat, jobs" in run("ingest", basic, out, *SCHEMA, "--layout", "heap")[2]
    assert run("verify", out)[0] == 0


def test_verify_agrees_with_what_was_ingested(run, broken, out, without_spark):
    run("ingest", broken, out, *SCHEMA)
    code, text, err = run("verify", out)
    assert (code, err) == (0, "")
    assert text.startswith(f"data, ledger and source agree: {out}\n")
    assert "  rejects  2\n" in text
    assert "1 of 1 block read again, same digest" in run("verify", out, "--deep")[1]
    report = json.loads(run("verify", out, "--json")[1])
    assert (report["ok"], report["rows"], report["problems"]) == (True, 4, [])


@pytest.mark.parametrize("table", ["none", "delta", "iceberg"])
def test_rejects_lists_what_was_rejected(run, tmp_path, out, without_spark, table):
    bad = {"one": "1,a\u00e9,x\n", "two": "nine,ten\n"}
    for name, line in bad.items():
        (tmp_path / f"{name}.csv").write_bytes(f"id,name\n1,ada\n{line}".encode())
    sources = [tmp_path / f"{name}.csv" for name in bad]
    assert run("ingest", *sources, out, *SCHEMA, "--table", table, "-o", "dialect=rfc4180")[0] == 8
    code, text, err = run("rejects", out, "--json")
    rows = [json.loads(line) for line in text.splitlines()]
    assert (code, err) == (0, "")
    assert [(row["path"].rpartition("/")[2], row["offset"], row["code"]) for row in rows] == [
        ("one.csv", 14, "field-count"),
        ("two.csv", 14, "bad-value"),
    ]
    assert [row["raw"] for row in rows] == ["1,a\u00e9,x", "nine,ten"]
    lines = run("rejects", out, "-n", "1")[1].splitlines()
    assert lines[0].split("\t") == ["job", "path", "offset", "length", "code", "reason", "delivered", "raw"]
    assert len(lines) == 2


def test_rejects_of_a_destination_without_any_and_of_none(run, basic, out, without_spark, tmp_path):
    run("ingest", basic, out, *SCHEMA)
    assert run("rejects", out, "--json") == (0, "", "")
    code, text, err = run("rejects", tmp_path / "elsewhere")
    assert (code, text) == (5, "")
    assert "[not-a-destination]" in err


def test_rejects_says_that_a_reject_table_is_gone(run, broken, out, without_spark):
    run("ingest", broken, out, *SCHEMA)
    for table in (out / "_splitscan" / "rejects").iterdir():
        table.unlink()
    code, text, err = run("rejects", out, "--json")
    assert (code, text) == (5, "")
    assert "[data-file-missing]" in err


def test_verify_finds_damage_and_has_exit_code_5(run, basic, out, without_spark):
    run("ingest", basic, out, *SCHEMA)
    (part,) = out.glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-1])
    code, text, _ = run("verify", out)
    assert code == 5
    assert text.startswith("1 problem: ")
    assert f"[data-file-changed]\n    where: {part}\n" in text
    code, text, _ = run("verify", out, "--json")
    assert code == 5
    assert json.loads(text)["ok"] is False


def test_verify_refuses_a_folder_that_nobody_ingested_into(run, tmp_path):
    code, text, err = run("verify", tmp_path)
    assert (code, text) == (5, "")
    assert "[not-a-destination]" in err


@pytest.mark.parametrize(
    ("total", "slots", "block"),
    [
        (0, 2, 8),
        (60 * MIB, 2, 8),
        (400 * MIB, 2, 50),
        (400 * MIB + 1, 2, 51),
        (5000 * MIB, 2, 128),
        (5000 * MIB, 16, 79),
    ],
)
def test_blocks_are_small_enough_to_keep_all_cores_busy(total, slots, block):
    assert choose_block_bytes(total, slots) == block * MIB


@pytest.mark.parametrize("flags", [("--block-size", "20"), ("-o", "blockSize=20"), ("-o", "BLOCKBYTES=20")])
def test_the_block_size_that_was_asked_for_is_taken(run, basic, out, flags):
    plan = json.loads(run("ingest", basic, out, *SCHEMA, "--dry-run", "--json", *flags)[1])
    assert plan["blocks"] == 2


def test_a_vanished_file_and_what_was_cleared_away_are_lines_of_their_own(
    run, tmp_path, out, without_spark, monkeypatch
):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("1,x\n")
    original = runs.run_ingest

    def losing(source, target, runner):
        source.scan.files()
        (tmp_path / "b.csv").unlink()
        return dataclasses.replace(original(source, target, runner), removed=("/x/1", "/x/2"))

    monkeypatch.setattr(runs, "run_ingest", losing)
    code, summary, _ = run(
        "ingest",
        tmp_path / "a.csv",
        tmp_path / "b.csv",
        out,
        "-o",
        "ignoreMissingFiles=true",
        "-s",
        "id long, t string",
    )
    shown = dict(line.split(None, 1) for line in summary.splitlines()[1:] if len(line.split(None, 1)) == 2)
    assert code == 8
    assert shown["files"] == "1"
    assert shown["missing"] == "1 file vanished before being read; the next run reads what comes back"
    assert shown["removed"] == "what 2 interrupted jobs had left and nobody can continue"
    assert (shown["records"], shown["rejects"]) == ("1", "1")


@pytest.mark.slow
def test_the_summary_of_many_files_stays_as_short_as_that_of_one(run, tmp_path, out, without_spark):
    for number in range(300):
        (tmp_path / f"{number}.csv").write_text(f"{number},x,y\n" if number % 3 else f"{number},x\n")
    code, summary, _ = run("ingest", tmp_path / "*.csv", out, "-s", "id long, t string", "--max-reject-ratio", "1")
    assert code == 8
    assert "  files    300\n" in summary
    assert re.search(r"  Parquet  [\d,]+ bytes in \d files\n|  Parquet  0\.\d MB in \d files\n", summary)
    assert "the first of 200 rejects:\n" in summary
    assert len(summary.splitlines()) < 20


class TestRebalancing:
    """What the command line adds; that tasks claim what they read is tested with the ingest."""

    @pytest.fixture
    def claimed(self, monkeypatch, without_spark, report_of_two_readers):
        """Ingests run in this process, and report what two readers did. The list holds what was asked for."""
        asked = []

        def run_ingest(source, target, runner):
            asked.append(source.wants_claims)
            done = real(dataclasses.replace(source, rebalance=False), target, runner)
            return dataclasses.replace(done, rebalance=report_of_two_readers if source.wants_claims else None)

        real = runs.run_ingest
        monkeypatch.setattr(runs, "run_ingest", run_ingest)
        return asked

    @pytest.mark.parametrize("flag", [("--rebalance",), ("-o", "rebalance=true")])
    def test_the_summary_says_how_it_went(self, run, basic, out, claimed, flag):
        code, summary, _ = run("ingest", basic, out, *SCHEMA, *flag)
        assert (code, claimed) == (0, [True])
        assert (
            "  shared   100 B in 2 chunks by 2 readers, 0 ranges moved; 3.00 s, 1.50 times the ideal 2.00 s\n"
            in summary
        )

    def test_for_programs_it_is_in_the_json(self, run, basic, out, claimed):
        _, summary, _ = run("ingest", basic, out, *SCHEMA, "--rebalance", "--json")
        told = json.loads(summary)["rebalance"]
        assert (told["ratio"], [reader["busy"] for reader in told["readers"]]) == (1.5, [3.0, 1.0])

    def test_without_rebalancing_nothing_is_said(self, run, basic, out, claimed):
        _, summary, _ = run("ingest", basic, out, *SCHEMA, "--json")
        assert json.loads(summary)["rebalance"] is None
        assert claimed == [False]

    def test_the_page_shows_who_read_what(self, run, basic, out, claimed, tmp_path):
        assert run("ingest", basic, out, *SCHEMA, "--rebalance", "--report", tmp_path / "r.html", "-q")[0] == 0
        page = (tmp_path / "r.html").read_text()
        assert "reader 1, chunk 0" in page
        assert "<h2>Readers</h2>" in page


class TestReport:
    """The page of ``--report``; what is on it is tested with the ingest."""

    @pytest.fixture
    def page(self, tmp_path):
        return tmp_path / "r.html"

    def test_every_ingest_has_one(self, run, basic, out, without_spark, page):
        assert run("ingest", basic, out, *SCHEMA, "--report", page, "-q")[:2] == (0, "")
        assert f"Ingest into {out}" in page.read_text()

    def test_it_has_the_figures_of_the_summary(self, run, basic, out, without_spark, page):
        _, summary, _ = run("ingest", basic, out, *SCHEMA, "--report", page)
        seconds = re.search(r"read     \d+ bytes in (\d+\.\d s)", summary)[1]
        assert f"<dt>took</dt><dd>{seconds}</dd>" in page.read_text()

    def test_it_goes_with_json(self, run, basic, out, without_spark, page):
        assert json.loads(run("ingest", basic, out, *SCHEMA, "--report", page, "--json")[1])["rows"] == 3
        assert page.exists()

    def test_there_is_one_where_nothing_was_to_do(self, run, basic, out, without_spark, page):
        for _ in range(2):
            assert run("ingest", basic, out, *SCHEMA, "--report", page)[0] == 0
        assert "Nothing to do: 1 file ingested before" in page.read_text()

    @pytest.mark.parametrize("place", ["nowhere/r.html", "folder.html", "r.pdf", "r.svg", "-"])
    def test_one_that_cannot_be_written_is_refused_before_anything_is_read(
        self, run, basic, out, without_spark, tmp_path, monkeypatch, place
    ):
        (tmp_path / "folder.html").mkdir()
        monkeypatch.chdir(tmp_path)
        code, _, said = run("ingest", basic, out, *SCHEMA, "--report", place)
        assert (code, without_spark, out.exists()) == (2, [], False)
        assert "bad-report-file" in said

    def test_one_that_fails_at_the_end_does_not_spoil_what_was_ingested(
        self, run, basic, out, without_spark, page, monkeypatch
    ):
        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(runs, "write_page", fail)
        code, summary, said = run("ingest", basic, out, *SCHEMA, "--report", page)
        assert (code, "ingested" in summary) == (0, True)
        assert "all is ingested, but the report cannot be written: [Errno 28] No space left" in said


@pytest.fixture
def report_of_two_readers():
    partitions = (
        PartitionRecord((0, 50), 1, 50, seconds=3.0, started=7.0, ended=10.0),
        PartitionRecord((50, 100), 1, 50, seconds=1.0, started=7.0, ended=8.0),
    )
    chunks = (ChunkRecord(0, 0, 0, 50, 7.0, 3.0, 0, 50, 0.0), ChunkRecord(1, 0, 50, 100, 7.0, 1.0, 0, 50, 0.0))
    return RebalanceReport(ScanRecord("s", 0.0, 100, partitions, chunks, ()))


def test_a_value_that_does_not_fit_the_destination_is_refused_with_a_schema_that_makes_it_a_reject(
    run, tmp_path, out, without_spark
):
    (tmp_path / "a.csv").write_text("id,name\n1,ada\n2,grace\n")
    assert run("ingest", tmp_path / "*.csv", out, "-q")[0] == 0
    (tmp_path / "b.csv").write_text("id,name\n3,joan\nx,mary\n5,rosa\n6,lise\n")
    code, _, errors = run("ingest", tmp_path / "*.csv", out, "-q")
    assert (code, f"where: {tmp_path}/b.csv, byte 15, column 'id'" in errors) == (4, True)
    assert "column 'id': 'x' is no int" in errors
    (schema,) = re.findall(r"--schema '(.*?)'", errors)
    assert run("ingest", tmp_path / "*.csv", out, "--schema", schema, "--json")[0] == 8
    assert sorted(map(str, pq.read_table(out)["id"].to_pylist())) == ["1", "2", "3", "5", "6", "None"]
    assert run("ingest", tmp_path / "*.csv", tmp_path / "texts", "-q", "--types", "text")[0] == 0
    assert "x" in pq.read_table(tmp_path / "texts")["id"].to_pylist()
