"""The command as a user runs it: a process of its own, which starts a Spark of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ..clusters.processes import wait_until

HOLDING = Path(__file__).parents[1] / "clusters" / "holding"
RECORDS = 20_000
SCHEMA = ("-o", "header=true", "-o", "multiLine=true", "-o", 'escape="', "-s", "id long, text string")
TIMEOUT_SECONDS = 240


def command(*args):
    return [sys.executable, "-m", "splitscan", *map(str, args)]


def environment(folder):
    """One in which Spark's own messages, where they are kept, can be counted."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYSPARK_PYTHON", "SPLITSCAN_DEBUG"}}
    return {**kept, "TMPDIR": str(folder)}


def run(folder, *args):
    return subprocess.run(
        command(*args), env=environment(folder), capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
    )


def write_records(path, records=RECORDS):
    """Records with newlines inside quotes; returns the sum of their numbers."""
    with path.open("w", encoding="utf-8") as file:
        file.write("id,text\n")
        file.writelines(f'{number},"line one\nline ""two"" of {number}"\n' for number in range(records))
    return sum(range(records))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def source(folder):
    path = folder / "in.csv"
    write_records(path)
    with path.open("a", encoding="utf-8") as file:
        file.write("many,words\n5,too,many\n")
    return path


@pytest.fixture(scope="module")
def ingested(folder, source):
    return run(folder, "ingest", source, folder / "out", *SCHEMA, "--master", "local[2]", "--block-size", "200k")


def test_an_ingest_delivers_every_record_and_says_so(ingested, folder, source):
    assert ingested.returncode == 0, ingested.stderr
    table = pq.read_table(folder / "out")
    assert table.num_rows == RECORDS + 2
    assert sum(filter(None, table["id"].to_pylist())) == sum(range(RECORDS)) + 5
    title, *facts = ingested.stdout.splitlines()
    assert title == f"ingested 20,002 records into {folder / 'out'}"
    assert "  proof    every byte accounted for" in facts
    assert "  rejects  2" in facts
    start = source.stat().st_size - len("many,words\n5,too,many\n")
    assert f"  {source}, byte {start}: " in ingested.stdout
    assert "[bad-value]" in ingested.stdout
    assert "[field-count]" in ingested.stdout


def test_where_there_is_no_terminal_progress_is_plain_lines_and_nothing_else_is_said(ingested):
    lines = ingested.stderr.splitlines()
    assert all(line.startswith("splitscan: ") for line in lines), ingested.stderr
    assert "\x1b" not in ingested.stderr + ingested.stdout
    assert "\r" not in ingested.stderr
    for phase in ("planning", "starting Spark", "publishing"):
        assert f"splitscan: {phase}" in lines


def test_nothing_of_spark_is_left_behind(ingested, folder):
    assert ingested.returncode == 0
    assert list(folder.glob("splitscan-spark-*")) == []


def test_run_again_it_finds_nothing_to_do_without_starting_spark(ingested, folder, source):
    before = sorted(folder.joinpath("out").rglob("*"))
    again = run(folder, "ingest", source, folder / "out", *SCHEMA, "--block-size", "200k")
    assert (again.returncode, again.stderr) == (0, "splitscan: planning\n")
    assert again.stdout.startswith("nothing to do: 1 file ingested before\n")
    assert sorted(folder.joinpath("out").rglob("*")) == before


def test_verify_agrees_and_notices_damage(ingested, folder):
    deep = run(folder, "verify", folder / "out", "--deep")
    assert (deep.returncode, deep.stderr) == (0, "")
    assert "read again, same digest" in deep.stdout
    part = sorted(folder.joinpath("out").glob("*.parquet"))[0]
    content = part.read_bytes()
    part.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    damaged = run(folder, "verify", folder / "out")
    part.write_bytes(content)
    assert damaged.returncode == 5
    assert f"where: {part}" in damaged.stdout


def test_an_error_of_a_worker_is_told_without_any_traceback(folder, source):
    failed = run(
        folder, "ingest", source, folder / "failed", *SCHEMA, "-o", "mode=FAILFAST", "--master", "local[1]", "-q"
    )
    assert (failed.returncode, failed.stdout) == (4, "")
    assert failed.stderr.startswith("error: column 'id': 'many' is no bigint")
    assert f"\n  where: {source}, byte " in failed.stderr
    assert "Traceback" not in failed.stderr
    assert "\tat " not in failed.stderr
    assert not folder.joinpath("failed").exists()


def test_interrupted_it_says_that_a_rerun_finishes_the_work_and_so_it_does(folder):
    source, out, held = folder / "long.csv", folder / "interrupted", folder / "held"
    total = write_records(source, 40_000)
    held_environment = {
        **environment(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HOLDING), os.environ.get("PYTHONPATH", "")])),
        "SPLITSCAN_TEST_HOLD": f"{source}\n{folder}/.interrupted.splitscan/*/reports/*/*.json\n{held}\n{folder}/never",
    }
    small = ("--block-size", "100k", "-o", "taskSize=200k", "-o", "openCostInBytes=0")
    args = ("ingest", source, out, *SCHEMA, "--master", "local[1]", *small)
    with subprocess.Popen(
        command(*args), env=held_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("splitscan: reading"):
                wait_until("a task that will not end by itself", held.exists, TIMEOUT_SECONDS)
                process.send_signal(signal.SIGINT)
                break
        rest, shown = process.stderr.read(), process.stdout.read()
        assert process.wait(TIMEOUT_SECONDS) == 130, "".join(said) + rest
    assert shown == ""
    assert rest.splitlines()[-1].startswith("interrupted: run the same command again and it finishes the work")
    assert "Traceback" not in rest
    assert not out.exists()
    done = run(folder, *args, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["rows"], report["rejects"], report["accounted"]) == (40_000, 0, True)
    assert sum(pq.read_table(out, columns=["id"])["id"].to_pylist()) == total
