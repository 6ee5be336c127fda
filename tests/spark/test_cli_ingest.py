"""The command as a user runs it: a process of its own, which starts a Spark of its own."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from ..clusters.processes import wait_until

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def source(folder):
    """Records with newlines inside quotes, and two bad ones at the end."""
    path = folder / "in.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("id,text\n")
        file.writelines(f'{number},"line one\nline ""two"" of {number}"\n' for number in range(RECORDS))
        file.write("many,words\n5,too,many\n")
    return path


@pytest.fixture(scope="module")
def args(folder, source):
    """Of an ingest of a few tasks, one after the other."""
    small = ("--block-size", "100k", "-o", "taskSize=200k", "-o", "openCostInBytes=0")
    return ("ingest", source, folder / "out", *SCHEMA, "--master", "local[1]", *small)


@pytest.fixture(scope="module")
def interrupted(args, folder, source):
    """An ingest that was told to end while a task of it ran: how it ended, what it said, and whether anything came."""
    held = folder / "held"
    held_environment = {
        **environment(folder),
        "SPLITSCAN_TEST_HOLD": f"{source}\n{folder}/.out.splitscan/*/reports/*/*.json\n{held}\n{folder}/never",
    }
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
        process.wait(TIMEOUT_SECONDS)
    return SimpleNamespace(
        returncode=process.returncode, stdout=shown, stderr="".join(said) + rest, delivered=(folder / "out").exists()
    )


@pytest.fixture(scope="module")
def ingested(interrupted, args, folder):
    """The same command again."""
    return run(folder, *args)


def test_interrupted_it_says_that_a_rerun_finishes_the_work(interrupted):
    assert (interrupted.returncode, interrupted.stdout) == (130, ""), interrupted.stderr
    last = interrupted.stderr.splitlines()[-1]
    assert last.startswith("interrupted: run the same command again and it finishes the work")
    assert "Traceback" not in interrupted.stderr
    assert not interrupted.delivered


def test_the_rerun_delivers_every_record_and_says_so(ingested, folder, source):
    assert ingested.returncode == 8, ingested.stderr
    table = pq.read_table(folder / "out")
    assert table.num_rows == RECORDS + 2
    assert sum(filter(None, table["id"].to_pylist())) == sum(range(RECORDS)) + 5
    title, *facts = ingested.stdout.splitlines()
    assert title == f"ingested 20,002 records into {folder / 'out'}"
    assert "  proof    every byte accounted for" in facts
    assert "  rejects  2" in facts
    assert any(fact.startswith("  blocks ") and fact.endswith(" of them by an earlier run") for fact in facts)
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
    assert ingested.returncode == 8
    assert list(folder.glob("splitscan-spark-*")) == []


def test_run_again_it_finds_nothing_to_do_without_starting_spark(ingested, args, folder):
    before = sorted(folder.joinpath("out").rglob("*"))
    again = run(folder, *args)
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


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_ended_while_spark_starts_it_leaves_no_log_of_spark(tmp_path, source, stop):
    logs = tmp_path / "logs"
    logs.mkdir()
    with subprocess.Popen(
        command("ingest", source, tmp_path / "out", *SCHEMA), env=environment(logs), stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until("a log of Spark", lambda: list(logs.glob("splitscan-spark-*.log")), TIMEOUT_SECONDS)
        process.send_signal(stop)
        said = process.stderr.read()
        assert process.wait(TIMEOUT_SECONDS) == 128 + stop
    assert "run the same command again and it finishes the work" in said
    assert list(logs.glob("splitscan-spark-*")) == []


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
