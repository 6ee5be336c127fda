"""Every program of ``examples/`` runs, says what it should, and loses nothing."""

import ast
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def said(spark, tmp_path, monkeypatch, capsys):
    """What an example prints, by lines; its arguments are folders that do not exist yet."""

    def run(name, *folders):
        monkeypatch.setattr(sys, "argv", [name, *(str(tmp_path / folder) for folder in folders)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def test_a_block_has_one_output_with_its_valid_lines(said, tmp_path):
    (line,) = said("one_output_per_block.py", "blocks")
    assert line == "15 blocks, 15 outputs, 2400 of 3000 lines"
    outputs = [list(path.glob("*.txt")) for path in (tmp_path / "blocks/out").glob("block=*")]
    assert [len(files) for files in outputs] == [1] * 15
    written = sorted(line for (file,) in outputs for line in file.read_text().splitlines())
    assert written == sorted(f"line {n} of file {file}" for file in range(3) for n in range(1_000) if n % 5)


def test_escaped_newlines_end_no_message(said):
    assert said("escaped_newlines.py", "chat") == [
        "Spark:     2000 records",
        "splitscan: 1500 records, read in 12 tasks",
        r"{'from': 'Melissa', 'to': 'Gert', 'message': 'Ok\nHow about Italian?'}",
        "Gert: 1000",
        "Melissa: 500",
    ]


def test_traces_stay_with_their_errors(said):
    assert said("logs_with_traces.py", "logs") == [
        "1200 records, 400 errors, 400 with their cause",
        "jobs: 480000 rows; at timestamp, job string, rows int, seconds double",
        "hour 10: 400 requests, 0 failed, 20 ms",
        "hour 11: 400 requests, 400 failed, 3000 ms",
    ]


def test_a_rebalanced_job_delivers_each_record_once(said, tmp_path):
    lines = said("rebalanced_job.py", "job")
    assert lines[0] == "each record once: True"
    name, moved = lines[1].split(": ")
    assert name == "ranges that moved"
    assert moved.isdigit(), "how many depends on when Spark starts the second task"
    assert "</svg>" in (tmp_path / "job/timeline.svg").read_text()


def test_a_file_of_a_mainframe_is_a_data_frame(said):
    assert said("mainframe_file.py", "companies") == ["C: 1000", "P: 500", "balance 6172585.00, phone 123456789"]


def test_a_reader_of_ones_own_reads_in_parallel(said):
    sums = {404: sum(n for n in range(0, 3_000, 10) if n % 3), 200: sum(n for n in range(3_000) if n % 10 and n % 3)}
    assert said("custom_reader.py", "logs") == [
        r"here: 3000 requests, rejected: [b'-- rotated --']",
        f"on Spark: 2700 requests with status 200, {sums[200]} bytes",
        f"on Spark: 300 requests with status 404, {sums[404]} bytes",
    ]


def test_a_watched_directory_is_a_table_for_three_engines(said):
    assert said("watch_into_delta.py", "landing", "orders")[-3:] == [
        "Polars: 300 orders, 44850",
        "DuckDB: 300 orders, 44850",
        "Spark:  300 orders, 44850",
    ]


def test_records_in_answers_are_rows_with_what_stands_around_them(said):
    assert said("records_in_answers.py", "answers") == [
        "id bigint, price double, tags array<string>, day date, total double",
        *(f"2024-01-0{day}: 1000 items, 124875.0 of 124875.0" for day in (1, 2, 3)),
        "more than one task: True",
    ]


def test_events_of_any_shape_are_variants(said):
    assert said("variants_of_events.py", "events") == [
        "300 events, 0 of them broken: order 100, refund 100, visit 100",
        "amounts: 5050",
        "refund: OBJECT<kind: STRING, order: OBJECT<amount: BIGINT, reason: STRING>>",
    ]


def test_examples_are_short_and_each_has_a_test():
    tested = Path(__file__).read_text()
    programs = sorted(EXAMPLES.glob("*.py"))
    assert len(programs) == 9
    for program in programs:
        code = program.read_text()
        assert f'said("{program.name}"' in tested
        assert len(code.splitlines()) < 90, program.name
        assert f"python examples/{program.name} " in (ast.get_docstring(ast.parse(code)) or "")
