"""Memory that a worker of Spark keeps from one row group to the next."""

import os
import platform
import subprocess
import sys
import textwrap

import pytest

ALLOCATE = """
    import resource, sys
    import numpy as np
    from splitscan.spark.worker import begin_task

    if len(sys.argv) > 1:
        begin_task()

    def rows_of_a_group():
        rows = [np.ones(2 << 20, np.uint8) for _ in range(16)]
        del rows

    rows_of_a_group()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    rows_of_a_group()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _faults(*begun: str) -> int:
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name and "GLIBC" not in name}
    command = [sys.executable, "-c", textwrap.dedent(ALLOCATE), *begun]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env=environment)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries are left as they are")
def test_rows_take_the_memory_of_rows_that_were_freed_once_a_task_has_begun():
    assert _faults("begun") < _faults() // 4
