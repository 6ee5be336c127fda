"""How the command ends where its start is interrupted, or its output leads nowhere."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from splitscan.api.files import Scan
from splitscan.startup import INTERRUPTED

MODULE = [sys.executable, "-m", "splitscan"]
DESTINATION = 5


def end_of(command, *, output="pipe", **options):
    """The exit code and standard error of a command whose standard output is *output*."""
    shell = {"pipe": '"$@"', "full": '"$@" > /dev/full', "closed": '"$@" >&-', "none": '"$@" >&- 2>&-'}[output]
    script = ["sh", "-c", shell, "sh", *map(str, command)]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=300, **options)
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("loaded", ["splitscan.redaction", "pyarrow.lib", "splitscan.scans.planner"])
def test_ctrl_c_while_the_command_starts_is_a_word_and_not_a_traceback(basic, loaded):
    command = [sys.executable, "-X", "importtime", "-m", "splitscan", "count", str(basic)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.rstrip().endswith(f"| {loaded}") or line.rstrip().endswith(f" {loaded}"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
        assert process.wait(300) == INTERRUPTED
    assert "interrupted\n" in rest
    assert "Traceback" not in rest


@pytest.mark.slow
def test_a_program_that_imports_splitscan_keeps_its_handlers_and_collects_garbage(basic):
    program = f"""
import gc, signal
import splitscan
from splitscan.cli import main
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, gc.isenabled())
gc.disable()
main(["count", {str(basic)!r}, "-f", "text"])
print(gc.isenabled(), gc.get_freeze_count())
"""
    said = subprocess.check_output([sys.executable, "-c", program], text=True, timeout=300).splitlines()
    assert (said[0], said[-1]) == ("True True", "False 0")


@pytest.mark.slow
def test_the_command_collects_garbage_from_its_imports_to_its_end_only(basic):
    program = f"""
import gc, sys
sys.argv = ["/usr/bin/splitscan", "count", {str(basic)!r}, "-f", "text"]
from splitscan.cli import main
from splitscan.api.files import Scan
count = Scan.count_rows
def counted(*args):
    print(gc.isenabled(), gc.get_freeze_count())
    return count(*args)
Scan.count_rows = counted
print(gc.isenabled())
main()
print(gc.get_freeze_count() > 50_000)
"""
    said = subprocess.check_output([sys.executable, "-c", program], text=True, timeout=300).splitlines()
    assert [said[0], said[1], said[-1]] == ["False", "True 0", "True"]


@pytest.mark.slow
@pytest.mark.parametrize("command", [["count"], ["head"], ["options", "csv"], ["--help"]])
def test_output_on_a_full_disk_is_an_error_of_the_destination(basic, command):
    lines = [basic, "-f", "text"] if command[0] in {"count", "head"} else []  # of CSV it tells the dialect first
    code, err = end_of([*MODULE, *command, *lines], output="full")
    assert code == DESTINATION
    assert err.startswith("error: standard output cannot be written [output-failed]\n  seen:  No space left on device")
    assert len(err.splitlines()) == 3


@pytest.mark.slow
def test_much_output_on_a_full_disk_is_the_same_error(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("".join(f"{number},text\n" for number in range(100_000)))
    code, err = end_of([*MODULE, "head", path, "-f", "text", "-n", "100000"], output="full")
    assert (code, len(err.splitlines())) == (DESTINATION, 3)


@pytest.mark.slow
def test_closed_output_is_refused_before_anything_is_done(basic, tmp_path):
    code, err = end_of([*MODULE, "ingest", basic, tmp_path / "out"], output="closed")
    assert code == DESTINATION
    assert err.startswith("error: standard output cannot be written [output-failed]\n  seen:  it is closed")
    assert not (tmp_path / "out").exists()
    assert end_of([*MODULE, "count", basic], output="none") == (DESTINATION, "")


def test_an_error_of_the_system_that_is_not_the_output_s_is_told_as_it_is(run, basic, monkeypatch):
    def fail(self, on_bytes):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Scan, "count_rows", fail)
    code, _, err = run("count", basic)
    assert code == 1
    assert "unexpected OSError" in err


@pytest.mark.parametrize("command", ["ingest", "watch"])
def test_without_a_destination_the_destination_is_missing(run, basic, command):
    code, out, err = run(command, basic)
    assert (code, out) == (2, "")
    assert err.startswith("error: Missing argument 'DEST' [usage]\n")
    assert run(command)[2].startswith("error: Missing argument 'SRC...'")
    assert run(command, basic, "--help")[0] == 0


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="no files without a size here")
def test_a_file_that_hides_its_size_is_refused_and_not_counted_as_empty(run, tmp_path):
    code, out, err = run("count", "/proc/version", "-f", "text")
    assert (code, out) == (3, "")
    assert "[size-unknown]" in err
    (tmp_path / "empty.txt").touch()
    assert run("count", tmp_path / "empty.txt", "-f", "text") == (0, "0\n", "")
