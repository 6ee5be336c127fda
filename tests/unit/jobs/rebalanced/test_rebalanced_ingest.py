"""An ingest whose tasks claim what they read: the same rows, the same proof, whatever was claimed by whom."""

import gzip
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from splitscan.api.files import Scan
from splitscan.errors import IngestError, RebalanceError, SourceMissingError
from splitscan.jobs import verify
from splitscan.jobs.ledger_files import ledger_name, parse_ledger

pytestmark = pytest.mark.slow

ROWS = 400


def rows_in(folder):
    """All rows of a destination, sorted."""
    rows = ds.dataset(folder, format="parquet").to_table().to_pylist()
    return sorted(((row["id"], row["text"]) for row in rows), key=repr)


def ledger_of(out, number=1):
    return parse_ledger((out / ledger_name(number)).read_bytes(), "x")


def rejects_in(out):
    table = ds.dataset(out / "_splitscan/rejects", format="parquet").to_table().to_pylist()
    return sorted((row["path"], row["offset"], row["raw"]) for row in table)


@pytest.fixture
def scan(make_scan):
    return lambda **options: make_scan(rows=ROWS, bad=options.pop("bad", 0), block="128m", **options)


class TestTheSameRows:
    @pytest.mark.parametrize("slots", [1, 2, 5])
    def test_as_an_ingest_that_was_planned(self, tmp_path, scan, run, run_claimed, claim_runner, slots):
        run(scan(bad=3), tmp_path / "planned")
        report = run_claimed(scan(bad=3), tmp_path / "claimed", claim_runner(slots))
        assert rows_in(tmp_path / "claimed") == rows_in(tmp_path / "planned")
        assert rejects_in(tmp_path / "claimed") == rejects_in(tmp_path / "planned")
        assert (report.rows, report.rejects, report.files) == (2 * ROWS + 6, 6, 2)
        assert verify(tmp_path / "claimed", deep=True).ok

    @pytest.mark.parametrize("attempts", [1, 2])
    def test_in_partitions(self, tmp_path, run_claimed, claim_runner, attempts):
        """A chunk reaches into several files, whose rows share the files of their partitions."""
        for name in "abcdef":
            lines = [f"{number},{name}{number % 3}\n" for number in range(100)]
            (tmp_path / f"{name}.csv").write_text("".join(lines))
        scan = Scan.of(str(tmp_path / "*.csv"), "csv", "id long, text string", {"taskSize": "3k"})
        runner = claim_runner(2, attempts=attempts)
        report = run_claimed(scan, tmp_path / "out", runner, partition_by=("text",), row_group_rows=30)
        assert (report.rows, report.accounted) == (600, True)
        partitions = ds.partitioning(pa.schema([("text", pa.string())]), flavor="hive")
        read = ds.dataset(tmp_path / "out", format="parquet", partitioning=partitions).to_table().to_pylist()
        assert Counter(map(str, read)) == Counter(map(str, scan.to_arrow().to_pylist()))
        assert any(len(block.data) > 1 for block in ledger_of(tmp_path / "out").blocks)
        assert verify(tmp_path / "out", deep=True).ok

    def test_of_json_over_many_lines(self, tmp_path, run_claimed):
        values = [{"id": number, "text": f"{number}\n" * (number % 5)} for number in range(500)]
        (tmp_path / "in.json").write_text(json.dumps(values, indent=1))
        scan = Scan.of(str(tmp_path / "in.json"), "json", "id long, text string", {"multiLine": True})
        assert run_claimed(scan, tmp_path / "out").blocks > 10
        assert rows_in(tmp_path / "out") == sorted(((value["id"], value["text"]) for value in values), key=repr)
        assert verify(tmp_path / "out", deep=True).ok

    def test_of_many_small_files(self, tmp_path, run_claimed):
        (tmp_path / "in").mkdir()
        for number in range(120):
            (tmp_path / f"in/{number:03d}.csv").write_text(f"{number},text\n" * (number % 3))
        scan = Scan.of(str(tmp_path / "in"), "csv", "id long, text string", {"taskSize": "200"})
        report = run_claimed(scan, tmp_path / "out")
        assert (report.files, report.rows) == (120, 120)
        assert len(rows_in(tmp_path / "out")) == 120
        assert verify(tmp_path / "out", deep=True).ok

    @pytest.mark.parametrize("block_size", ["128m", "700"])
    def test_of_compressed_files_each_as_a_whole(self, tmp_path, run_claimed, claim_runner, block_size):
        (tmp_path / "in").mkdir()
        for number in range(6):
            text = "".join(f'{row},"some text\nof {number}"\n' for row in range(300))
            data = text.encode() if number % 3 == 0 else gzip.compress(text.encode())
            (tmp_path / f"in/{number}.csv").write_bytes(data)
        options = {"multiLine": True, "blockSize": block_size, "taskSize": "2000", "openCostInBytes": 0}
        scan = Scan.of(str(tmp_path / "in"), "csv", "id long, text string", options)
        with pytest.raises(IngestError, match="the power failed"):
            run_claimed(scan, tmp_path / "out", claim_runner(2, stop_after=9))
        told = []
        report = run_claimed(scan, tmp_path / "out", claim_runner(2), on_progress=told.append)
        assert (report.files, report.rows) == (6, 1800)
        assert rows_in(tmp_path / "out") == sorted(
            ((row, f"some text\nof {number}") for number in range(6) for row in range(300)), key=repr
        )
        assert told[-1].bytes_done == told[-1].bytes_total
        assert verify(tmp_path / "out", deep=True).ok

    def test_of_nothing(self, tmp_path, run_claimed):
        (tmp_path / "in.csv").write_text("")
        scan = Scan.of(str(tmp_path / "in.csv"), "csv", "id long, text string")
        report = run_claimed(scan, tmp_path / "out")
        assert (report.rows, report.files, report.rebalance) == (0, 1, None)
        assert verify(tmp_path / "out").ok


class TestTheProof:
    def test_the_ledger_tiles_every_file_by_what_was_claimed(self, tmp_path, scan, run_claimed, claim_runner):
        runner = claim_runner()
        report = run_claimed(scan(), tmp_path / "out", runner)
        ledger = ledger_of(tmp_path / "out")
        assert report.blocks == len(ledger.blocks) >= runner.claimed
        for file in ledger.files:
            blocks = [block for block in ledger.blocks if block.file_index == file.index]
            assert [block.index for block in blocks] == list(range(len(blocks)))
            assert [block.start for block in blocks[1:]] == [block.stop for block in blocks[:-1]]
            assert [block.span_start for block in blocks[1:]] == [block.span_stop for block in blocks[:-1]]

    def test_files_hold_many_chunks_and_end_where_the_log_says(self, tmp_path, scan, run_claimed):
        run_claimed(scan(taskSize="3000"), tmp_path / "out")
        ledger = ledger_of(tmp_path / "out")
        sizes, chunks = Counter(), Counter()
        for block in ledger.blocks:
            for rows in block.data:  # a record may be longer than a chunk, which then has none
                sizes[rows.name] += block.stop - block.start
                chunks[rows.name] += 1
        assert max(chunks.values()) > 2
        last = {name.rpartition("-")[0]: name for name in sorted(sizes)}.values()
        assert len(last) < len(sizes)
        assert all(3000 - 2 * 64 <= size < 3000 + 700 for name, size in sizes.items() if name not in last)

    def test_another_attempt_leaves_the_same_files_and_reads_nothing_twice(
        self, tmp_path, scan, run_claimed, claim_runner
    ):
        runner = claim_runner(attempts=2)
        report = run_claimed(scan(taskSize="3000"), tmp_path / "out", runner)
        assert verify(tmp_path / "out", deep=True).ok
        assert len(rows_in(tmp_path / "out")) == report.rows == 2 * ROWS
        asked = Counter(runner.asked)
        firsts = {(partition, index) for partition, index in asked if asked[partition, index] == 1}
        assert len(firsts) >= runner.claimed - 3  # the second attempt asks for the end alone: all parts are finished

    def test_an_attempt_that_skips_finished_parts_writes_the_others_as_the_one_that_wrote_them(
        self, tmp_path, claim_runner, run_claimed
    ):
        """Blank lines lie at the edges: whoever comes from before them stopped after them."""

        class Forgetful(claim_runner):
            def run_claimed(self, spec, context, run):
                reports = super().run_claimed(spec, context, run)
                staging = tmp_path / ".out.splitscan" / context.job_id
                before = {path.name: path.read_bytes() for path in (staging / "files").rglob("*.parquet")}
                found = sorted((staging / "reports").rglob("*.json"))
                for path in found[1::2]:
                    path.unlink()
                assert len(found) > 5
                again = super().run_claimed(spec, context, run)
                assert sorted(again, key=repr) == sorted(reports, key=repr)
                assert {path.name: path.read_bytes() for path in (staging / "files").rglob("*.parquet")} == before
                return again

        (tmp_path / "in.csv").write_text("".join(f"{number},x\n" * 40 + "\n" * 90 for number in range(100)))
        options = {"taskSize": "1000", "readBytes": 64, "batchRows": 20}  # a batch per read, a row group per batch
        scan = Scan.of(str(tmp_path / "in.csv"), "csv", "id long, text string", options)
        assert run_claimed(scan, tmp_path / "out", Forgetful(2), row_group_bytes=100).rows == 4000

    def test_an_attempt_without_the_reports_writes_the_same_bytes(
        self, tmp_path, scan, claim_runner, run_claimed, seen
    ):
        class Forgetful(claim_runner):
            def run_claimed(self, spec, context, run):
                reports = super().run_claimed(spec, context, run)
                staging = tmp_path / ".out.splitscan" / context.job_id
                before = {path.name: path.read_bytes() for path in (staging / "files").rglob("*.parquet")}
                for path in (staging / "reports").rglob("*.json"):
                    path.unlink()
                again = super().run_claimed(spec, context, run)
                assert again == reports
                assert {path.name: path.read_bytes() for path in (staging / "files").rglob("*.parquet")} == before
                return again

        run_claimed(scan(taskSize="3000"), tmp_path / "out", Forgetful())
        assert verify(tmp_path / "out", deep=True).ok

    def test_attempts_at_the_same_time_write_the_same(self, tmp_path, scan, claim_runner, run_claimed):
        """As speculative tasks do, and tasks that were thought dead."""

        class Twins(claim_runner):
            def run_claimed(self, spec, context, run):
                with ThreadPoolExecutor(2) as pool:
                    one, other = pool.map(lambda _: list(super(Twins, self).run_claimed(spec, context, run)), range(2))
                assert one == other
                return other

        report = run_claimed(scan(taskSize="1500", bad=2), tmp_path / "out", Twins())
        assert len(rows_in(tmp_path / "out")) == report.rows == 2 * ROWS + 4
        assert verify(tmp_path / "out", deep=True).ok

    def test_what_was_claimed_is_in_the_report(self, tmp_path, scan, run_claimed, claim_runner):
        runner = claim_runner()
        report = run_claimed(scan(), tmp_path / "out", runner)
        assert report.rebalance.finished
        assert report.rebalance.claimed_bytes == report.source_bytes
        assert sum(reader.records for reader in report.rebalance.readers) == report.rows

    def test_progress_counts_bytes(self, tmp_path, scan, run_claimed):
        told = []
        report = run_claimed(scan(), tmp_path / "out", on_progress=told.append)
        assert told[-1].bytes_done == told[-1].bytes_total == report.source_bytes
        assert (told[-1].rows, told[-1].blocks_done) == (report.rows, report.blocks)


class TestRunsThatFollow:
    @pytest.mark.parametrize("chunks", [0, 1, 7, 25, 40])
    def test_finish_what_a_killed_one_has_begun(self, tmp_path, scan, run_claimed, claim_runner, chunks):
        options = {"taskSize": "1500", "bad": 2}
        with pytest.raises(IngestError, match="the power failed"):
            run_claimed(scan(**options), tmp_path / "out", claim_runner(3, stop_after=chunks))
        assert not list((tmp_path / "out").glob("*")) if (tmp_path / "out").exists() else True
        report = run_claimed(scan(**options), tmp_path / "out", claim_runner(2))
        assert report.rows == 2 * ROWS + 4
        assert report.blocks_resumed > 0 or chunks < 25  # how many bytes fewer chunks have depends on the clock
        assert report.blocks_resumed == 0 or chunks > 0
        assert len(rows_in(tmp_path / "out")) == report.rows
        assert len(rejects_in(tmp_path / "out")) == 4
        assert verify(tmp_path / "out", deep=True).ok

    def test_read_only_what_is_left(self, tmp_path, scan, run_claimed, claim_runner):
        with pytest.raises(IngestError):
            run_claimed(scan(), tmp_path / "out", claim_runner(3, stop_after=40))
        report = run_claimed(scan(), tmp_path / "out", claim_runner(3))
        resumed = sum(block.stop - block.start for block in ledger_of(tmp_path / "out").blocks) - (
            report.rebalance.claimed_bytes
        )
        assert resumed > 1500

    def test_are_as_many_as_it_takes(self, tmp_path, scan, run_claimed, claim_runner):
        for _ in range(50):
            try:
                report = run_claimed(scan(taskSize="700"), tmp_path / "out", claim_runner(2, stop_after=12))
                break
            except IngestError:
                pass
        assert len(rows_in(tmp_path / "out")) == report.rows == 2 * ROWS
        assert verify(tmp_path / "out", deep=True).ok

    def test_do_nothing_when_all_is_ingested(self, tmp_path, scan, run_claimed):
        run_claimed(scan(), tmp_path / "out")
        assert run_claimed(scan(), tmp_path / "out").nothing_to_do

    def test_leave_out_what_a_late_task_wrote_beside_them(self, tmp_path, scan, run_claimed, claim_runner):
        """A task of the killed run went on: its part overlaps one that the next run wrote."""
        with pytest.raises(IngestError):
            run_claimed(scan(), tmp_path / "out", claim_runner(3, stop_after=40))
        (reports,) = (tmp_path / ".out.splitscan").glob("*/reports/scan-*")
        one = min(reports.iterdir())
        late = json.loads(one.read_text())
        late["partition"], late["blocks"][0]["start"] = 9, late["blocks"][0]["start"] + 1
        (reports / "00009-00000000.json").write_text(json.dumps(late))
        report = run_claimed(scan(), tmp_path / "out", claim_runner(3))
        assert len(rows_in(tmp_path / "out")) == report.rows == 2 * ROWS
        assert verify(tmp_path / "out", deep=True).ok

    def test_read_again_what_lost_its_file(self, tmp_path, scan, run_claimed, claim_runner):
        with pytest.raises(IngestError):
            run_claimed(scan(), tmp_path / "out", claim_runner(3, stop_after=40))
        for path in (tmp_path / ".out.splitscan").glob("*/files/*.parquet"):
            path.unlink()
        report = run_claimed(scan(), tmp_path / "out", claim_runner(3))
        assert report.blocks_resumed == 0
        assert len(rows_in(tmp_path / "out")) == 2 * ROWS

    def test_that_are_planned_start_anew(self, tmp_path, scan, run, run_claimed, claim_runner):
        with pytest.raises(IngestError):
            run_claimed(scan(), tmp_path / "out", claim_runner(3, stop_after=40))
        assert run(scan(), tmp_path / "out").blocks_resumed == 0
        assert len(rows_in(tmp_path / "out")) == 2 * ROWS


class TestFilesThatVanish:
    def test_before_they_are_read_are_left_out(self, tmp_path, scan, claim_runner, run_claimed):
        missing = tmp_path / "in/b.csv"

        class Vanishing(claim_runner):
            def run_claimed(self, spec, context, run):
                missing.unlink()
                return super().run_claimed(spec, context, run)

        report = run_claimed(scan(ignoreMissingFiles=True), tmp_path / "out", Vanishing())
        assert (report.files, report.files_missing, report.rows) == (1, 1, ROWS)
        assert verify(tmp_path / "out", deep=True).ok

    def test_are_errors_otherwise(self, tmp_path, scan, claim_runner, run_claimed):
        class Vanishing(claim_runner):
            def run_claimed(self, spec, context, run):
                (tmp_path / "in/b.csv").unlink()
                return super().run_claimed(spec, context, run)

        with pytest.raises(SourceMissingError):
            run_claimed(scan(), tmp_path / "out", Vanishing())


def test_where_no_coordinator_can_be_reached_all_is_planned(tmp_path, scan, run_claimed, runner):
    class Unreachable(runner):
        def divide_claimed(self, scan, files, blocks):
            return None

    report = run_claimed(scan(), tmp_path / "out", Unreachable())
    assert report.rebalance is None
    assert len(rows_in(tmp_path / "out")) == 2 * ROWS


def test_a_coordinator_that_died_after_the_last_chunk_takes_only_the_report_along(
    tmp_path, scan, run_claimed, claim_runner, caplog
):
    class Lost(claim_runner):
        def describe_claims(self, scan):
            raise RebalanceError("the coordinator answers", seen="it is gone", code="coordinator-lost")

    report = run_claimed(scan(), tmp_path / "out", Lost())
    assert (report.rebalance, report.rows) == (None, 2 * ROWS)
    assert verify(tmp_path / "out", deep=True).ok
    (said,) = [record.message for record in caplog.records if "rebalance" in record.message]
    assert said.startswith("rebalance: all was read, but there is no report of it: ")
    assert "it is gone" in said
