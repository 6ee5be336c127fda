from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from splitscan.engine import SEAM

ASK = "from splitscan.engine import kernel; found = kernel(); kernel(); print(found and found.__name__)"
OUR_KERNEL = f"SEAM = {SEAM}\n__version__ = '9.9'\n"
NO_KERNEL = "raise ImportError('no such library')\n"
OTHER_KERNEL = "SEAM = 99\n__version__ = '9.9'\n"


def ask(
    folder: Path, source: str, choice: str | None = None, code: str = ASK, *, succeeds: bool = True
) -> tuple[str, str]:
    """What a new process prints, and what it complains about, where the kernel is this Python file."""
    (folder / "splitscan_kernel.py").write_text(source, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if k != "SPLITSCAN_ENGINE"} | {"PYTHONPATH": str(folder)}
    if choice is not None:
        environment["SPLITSCAN_ENGINE"] = choice
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode == 0) is succeeds, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "choice", "answer"),
    [
        (OUR_KERNEL, None, "splitscan_kernel"),
        (OUR_KERNEL, "kernel", "splitscan_kernel"),
        (OUR_KERNEL, "reference", "None"),
        (NO_KERNEL, "reference", "None"),
    ],
)
def test_the_engine_is_chosen_without_a_word(tmp_path, source, choice, answer):
    assert ask(tmp_path, source, choice) == (answer, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (NO_KERNEL, "no such library"),
        (OTHER_KERNEL, f"splitscan_kernel 9.9 has seam 99, and this splitscan needs seam {SEAM}"),
        ("", f"splitscan_kernel of an unknown version has seam None, and this splitscan needs seam {SEAM}"),
    ],
)
def test_a_missing_kernel_gives_one_warning_and_the_reference(tmp_path, source, reason):
    answer, complaint = ask(tmp_path, source)
    assert answer == "None"
    assert complaint.count("SlowEngineWarning") == 1
    assert complaint.startswith("<string>:1: ")  # who asked
    assert f"on host {socket.gethostname()}: {reason}. " in complaint
    assert "100 to 200 times slower" in complaint
    assert "pip install ./kernel" in complaint


@pytest.mark.slow
def test_threads_that_ask_at_once_are_warned_once(tmp_path):
    code = (
        "import warnings; warnings.simplefilter('always')\n"
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "from splitscan.engine import kernel\n"
        "with Pool(8) as pool: print(set(pool.map(lambda _: kernel(), range(64))))"
    )
    answer, complaint = ask(tmp_path, "import time; time.sleep(0.2)\n" + NO_KERNEL, code=code)
    assert answer == "{None}"
    assert complaint.count("SlowEngineWarning:") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "choice", "lines"),
    [
        (
            NO_KERNEL,
            "kernel",
            [
                "SPLITSCAN_ENGINE=kernel needs the native kernel [bad-engine]",
                f"  seen:  no such library, on host {socket.gethostname()}",
                "  fix:   install it in the environment of every worker: pip install ./kernel; "
                "or leave SPLITSCAN_ENGINE out",
            ],
        ),
        (
            OUR_KERNEL,
            "Kernel",
            [
                "SPLITSCAN_ENGINE must be kernel or reference [bad-engine]",
                "  seen:  'Kernel'",
                "  fix:   leave it out: the kernel is taken where it is installed",
            ],
        ),
    ],
)
def test_a_choice_that_cannot_be_had_is_an_error(tmp_path, source, choice, lines):
    _, complaint = ask(tmp_path, source, choice, succeeds=False)
    assert complaint.splitlines()[-len(lines) :] == [f"splitscan.errors.UsageError: {lines[0]}", *lines[1:]]


@pytest.mark.slow
def test_importing_splitscan_does_not_look_for_the_kernel(tmp_path):
    code = "import sys, splitscan; print('splitscan_kernel' in sys.modules)"
    assert ask(tmp_path, OUR_KERNEL, code=code) == ("False", "")
