"""How far it is from a scan to its blocks, and from a block to its batches: modules that run, and calls on each other.

Whoever follows one block reads about as many files as run for it. A change that makes the way longer shows here.
"""

import json
import subprocess
import sys

import pytest

from splitscan.engine import kernel

_TRACED = """
import json, os, pickle, sys
import splitscan as ss
from splitscan.engine import kernel
from splitscan.formats.registry import FORMATS
from splitscan.reading.block_documents import for_tasks
from splitscan.reading.block_scan import ConsecutiveBlocks

loaded = ss.scan_csv, FORMATS["csv"], kernel()  # imported when asked for, and no part of the way
HOME = os.path.dirname(ss.__file__)

def traced(work):
    modules, calls, open_calls, deepest = set(), 0, 0, 0

    def profile(frame, event, arg):
        nonlocal calls, open_calls, deepest
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(HOME):
            return
        if event == "call":
            modules.add(os.path.relpath(frame.f_code.co_filename, HOME))
            calls += 1
        open_calls = max(0, open_calls + (1 if event == "call" else -1))
        deepest = max(deepest, open_calls)

    sys.setprofile(profile)
    try:
        result = work()
    finally:
        sys.setprofile(None)
    return result, {"modules": sorted(modules), "calls": calls, "depth": deepest}

def read(spec, blocks):
    consecutive = ConsecutiveBlocks(spec)
    rows = [batch.num_rows for block in blocks for batch in consecutive.open(block)]
    consecutive.close()
    return sum(rows)

path = sys.argv[1]
found = {}
options = {"schema": "id long, text string", "header": True, "multi_line": sys.argv[2] == "quoted"}
blocks, found["planning"] = traced(lambda: ss.scan_csv(path, **options).plan())
scan = ss.scan_csv(path, **options)
spec = pickle.loads(pickle.dumps(for_tasks(scan.spec)))  # as a task gets it
rows, found["block"] = traced(lambda: read(spec, blocks))
again, found["next block"] = traced(lambda: read(spec, blocks))
batches, found["batches"] = traced(lambda: list(scan.to_batches()))
found["rows"] = [rows, again, sum(batch.num_rows for batch in batches)]
print(json.dumps(found))
"""

ROWS = 20_000
LIMITS = {  # modules, calls, calls on top of each other
    "planning": (32, 590, 13),  # it looks at the first file: how it is written, and what is beside it
    "block": (21, 96, 6),  # in a worker, by what was made for all tasks while planning
    "next block": (19, 91, 6),
    "batches": (32, 196, 9),  # the document is made in this process
}


@pytest.mark.slow  # each starts a process
@pytest.mark.skipif(kernel() is None, reason="the way is another one by the reference")
@pytest.mark.parametrize("kind", ["lines", "quoted"])
def test_the_way_of_a_block_is_short(tmp_path, kind):
    path = tmp_path / "a.csv"
    path.write_text("id,text\n" + "".join(f'{row},"x{row}"\n' for row in range(ROWS)))
    ran = subprocess.run(
        [sys.executable, "-c", _TRACED, str(path), kind], check=True, capture_output=True, text=True, timeout=60
    )
    found = json.loads(ran.stdout)

    assert found.pop("rows") == [ROWS] * 3
    lengths = {name: (len(way["modules"]), way["calls"], way["depth"]) for name, way in found.items()}
    too_long = {
        name: (length, found[name]["modules"])
        for name, length in lengths.items()
        if any(is_ > most for is_, most in zip(length, LIMITS[name], strict=True))
    }
    assert not too_long, lengths
