"""Ingests that are killed before a change to the file system, or whose change fails: a rerun is exact, and proved.

A change is a call of the kernel, whoever makes it: Python, SQLite, Arrow, or the Rust of deltalake. Kills are SIGKILLs.
"""

import json
import subprocess
import sys

import pytest
from tests.crashes import DESTINATIONS, FILES, KINDS

pytestmark = [pytest.mark.fault, pytest.mark.slow]


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments], capture_output=True, text=True, timeout=3500, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout)
    if told is None:
        pytest.skip("this kernel lets no process answer the calls of another")
    return told


@pytest.mark.parametrize("every", [97, pytest.param(1, marks=[pytest.mark.large, pytest.mark.timeout(3600)])])
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_change_is_the_last_or_fails_the_rerun_is_exact(tmp_path, kind, every):
    told = run("-m", "tests.crashes", str(tmp_path), str(every), kind)
    for job, each in told.items():
        assert each["changes"] > (60 if kind in DESTINATIONS else 4), job
        assert each["faults"] == [], job
    assert len(told) == (2 if kind in FILES else 4)


WATCHED = """
import json, os, sys
from pathlib import Path
from tests.file_changes import Fault, is_supported, run_watched

folder = Path(sys.argv[1])

def work():
    (folder / "a").mkdir()
    (folder / "a/b").write_text("text")
    (folder / "a/b").rename(folder / "c")
    os.unlink("c", dir_fd=os.open(folder, os.O_RDONLY))
    Path("/dev/null").write_text("no change")
    return 0

def look():
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    return found

whole = run_watched(work, folder)
left = [look()]
codes = [whole.code]
for fault in (Fault.KILL, Fault.NO_SPACE):
    for at in range(5):
        codes.append(run_watched(work, folder, at, fault).code)
        left.append(look())
print(json.dumps([whole.changes, codes, left] if is_supported() else None))
"""


def test_a_change_that_is_killed_or_fails_is_not_made_and_all_before_it_are(tmp_path):
    changes, codes, left = run("-c", WATCHED, str(tmp_path))
    assert [path.removeprefix(str(tmp_path)) for _, path in changes] == ["/a", "/a/b", "/a/b", "/c", "/c"]
    before = [[], ["a"], ["a", "a/b"], ["a", "a/b"], ["a", "c"]]
    assert left == [["a"], *before, *before]
    assert codes == [0, *[-9] * 5, *[1] * 5]
