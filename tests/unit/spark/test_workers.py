"""What a Python worker of Spark loads before it reads."""

import subprocess
import sys
import textwrap

import pytest

WORK = """
    import sys
    from functools import partial
    import splitscan as ss
    from splitscan.jobs.part_writing import PartTarget, run_part, write_files
    from splitscan.jobs.settings import Partitioning
    from splitscan.jobs.staging import plan_parts
    from splitscan.jobs.settings import IngestSettings
    from splitscan.spark.jobs import answer_batch

    scan = getattr(ss, sys.argv[1])(sys.argv[2], **eval(sys.argv[4]))
    plan = {(0, block.index): block for block in scan.plan()}
    (part,) = plan_parts(plan, scan.tasks(plan.values()), set())
    target = PartTarget("j" * 8, sys.argv[3], IngestSettings(), scan.spec.schema, partitioning=Partitioning(("b",)))
    report = run_part(target, part, partial(write_files, scan.spec))
    answer_batch(report.to_json())
    (block,) = report.blocks
    print(block.rows, block.rejects, "pandas" in sys.modules)
"""

BROKEN_CSV = b"1,x\n2,y,more\nfew\n3x,'\\xff'\n5,a=b@c\nz=@,\n"
BROKEN_JSON = b'{"a":1}\n{"a":"x","b":"y"}\n{"a":1\n7\n{"a":[],"b":"s=t@u"}\n{"a":"k=@"}\n'
PLAIN, CORRUPT = {"schema": "a int, b string"}, {"schema": "a int, b string, _corrupt_record string"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "data", "options", "answer"),
    [
        ("scan_csv", b"1,x\n2,y\n", PLAIN, "2 0"),
        ("scan_json", b'{"a":1}\n{"a":2,"b":"y"}\n', PLAIN, "2 0"),
        ("scan_csv", BROKEN_CSV, PLAIN, "6 4"),
        ("scan_json", BROKEN_JSON, PLAIN, "6 5"),
        ("scan_csv", BROKEN_CSV, {**CORRUPT, "metadata_columns": ["record_offset", "record_length"]}, "6 4"),
        ("scan_json", BROKEN_JSON, CORRUPT, "6 5"),
        ("scan_csv", BROKEN_CSV, {**PLAIN, "mode": "DROPMALFORMED"}, "4 4"),
        ("scan_json", BROKEN_JSON, {**PLAIN, "rescued_data_column": "_rescued"}, "6 2"),
    ],
)
def test_a_task_of_an_ingest_does_without_pandas(tmp_path, format, data, options, answer):
    source = tmp_path / "source"
    source.write_bytes(data)
    command = [sys.executable, "-c", textwrap.dedent(WORK), format, str(source), str(tmp_path / "out"), repr(options)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == [*answer.split(), "False"], done.stderr
