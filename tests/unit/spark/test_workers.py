"""What a Python worker of Spark loads before it reads."""

import subprocess
import sys
import textwrap

import pytest

import splitscan as ss

WORK = """
    import sys
    import splitscan as ss
    from splitscan.ingest.spark_runner import run_part
    from splitscan.sinks.part_writing import PartTarget
    from splitscan.sinks.parts import plan_parts
    from splitscan.sinks.settings import IngestSettings
    from splitscan.scan.block_scan import BlockScan
    from splitscan.spark.jobs import answer_batch

    scan = getattr(ss, sys.argv[1])(sys.argv[2], schema="a int, b string").planner
    plan = {(0, block.index): block for block in scan.plan()}
    (part,) = plan_parts(plan, scan.tasks(plan.values()), set())
    target = PartTarget("j" * 8, sys.argv[3], IngestSettings(), scan.spec.schema)
    report = run_part(
        target, part, lambda block, on_reject, _: BlockScan(scan.spec, block, on_reject=on_reject)
    )
    answer_batch(report.to_json())
    print(sum(block.rows for block in report.blocks), "pandas" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "data"), [("scan_csv", b"1,x\n2,y\n"), ("scan_json", b'{"a":1}\n{"a":2,"b":"y"}\n')]
)
def test_a_task_of_an_ingest_does_without_pandas(tmp_path, format, data):
    source = tmp_path / "source"
    source.write_bytes(data)
    command = [sys.executable, "-c", textwrap.dedent(WORK), format, str(source), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == [
        str(getattr(ss, format)(str(source), schema="a int, b string").planner.count()),
        "False",
    ]
