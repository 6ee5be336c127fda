"""A watch that dies at every few of its changes to the file system, as if killed there, and goes on.

Of complete files, which it takes away or not, and of files that grow and are rotated while nobody watches.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.fault, pytest.mark.slow]

SCRIPT = r"""
import json, os, shutil, sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from splitscan.jobs import verify
from splitscan.jobs.division import Runner
from splitscan.jobs.watching import Watch
from splitscan.options.stream import parse_stream_options
from splitscan.api.files import Scan
from splitscan.jobs.settings import Layout
from splitscan.jobs.settings import IngestSettings

root, mode, step, layout = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Layout(sys.argv[4])
MUTATIONS = ("link", "replace", "rename", "unlink", "mkdir")
os.fsync = lambda _: None  # no power fails here: waiting for the disk would be most of the time


def drain(folder, clean):
    stream, others = parse_stream_options(
        {"scanIntervalMillis": 0, "maxFilesPerTrigger": 2, "cleanSource": clean, "blockSize": 64, "fileMode": mode})
    source = str(folder / "in")
    settings = IngestSettings(layout=layout)
    watch = Watch(lambda: Scan.of(source, "text", None, others), str(folder / "out"), stream, settings)
    for _ in watch.drain(Runner()):
        pass
    watch.close()


def dies_at(point):
    left = [point]
    for name in MUTATIONS:
        real = getattr(os, name)

        def mutate(*args, _real=real, **kwargs):
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)
            return _real(*args, **kwargs)

        setattr(os, name, mutate)


def in_child(work):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(folder, expected):
    assert sorted(pq.read_table(folder / "out", use_threads=False).column("value").to_pylist()) == expected, folder
    clean = not any((folder / "in").iterdir())
    report = verify(str(folder / "out"), deep=not clean)
    assert report.ok or clean, report


points = 1 - step
while True:
    points += step
    folder = root / str(points)
    (folder / "in").mkdir(parents=True)
    expected = []
    texts = []
    for number in range(3):
        lines = [f"{number}-{line}" for line in range(20)]
        expected += lines
        texts.append("".join(f"{line}\n" for line in lines))
    clean = "off"
    if mode == "append":  # two files have grown since they were ingested, and end inside a record
        for number, text in enumerate(texts[:2]):
            (folder / "in" / f"{number}").write_text(text[:20])
        assert in_child(lambda: drain(folder, clean)) == 0
        for number, text in enumerate(texts):
            (folder / "in" / f"{number}").write_text(text[:70])
    else:
        clean = ("off", "delete")[points // step % 2]
        for number, text in enumerate(texts):
            (folder / "in" / f"{number}").write_text(text)

    def killed():
        dies_at(points)
        drain(folder, clean)

    code = in_child(killed)
    assert code in (0, 9), code
    if mode == "append":
        for number, text in enumerate(texts):
            with (folder / "in" / f"{number}").open("a") as grown:
                grown.write(text[70:])
        (folder / "in" / "1").rename(folder / "in" / "1.old")
        (folder / "in" / "1").write_text("later\n")
    else:
        (folder / "in" / "later").write_text("later\n")
    assert in_child(lambda: drain(folder, clean)) == 0, (points, "after")
    assert in_child(lambda: check(folder, sorted([*expected, "later"]))) == 0, (points, "check")
    shutil.rmtree(folder)
    if code == 0:
        break
print(json.dumps({"points": points}))
"""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("layout", ["flat", "jobs"])
@pytest.mark.parametrize(
    ("mode", "step"),
    [
        ("complete", 5),
        ("append", 8),
        *(pytest.param(mode, 1, marks=pytest.mark.large) for mode in ("complete", "append")),
    ],
)
def test_a_watch_killed_anywhere_goes_on(tmp_path, mode, step, layout):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "work"), mode, str(step), layout],
        env=environment, capture_output=True, text=True, check=False, timeout=800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout)["points"] > 50
    assert not any(Path(tmp_path / "work").iterdir())
