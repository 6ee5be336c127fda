"""What a new session waits for."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import pyspark.sql
before = set(sys.modules)
import splitscan as ss
ss.register
import splitscan.spark.registration
new = sys.modules.keys() - before
print(len([name for name in new if name.startswith("splitscan")]), *sorted({"pyarrow", "numpy", "fsspec"} & new))
"""


@pytest.mark.slow
def test_registering_imports_nothing_that_plans_or_reads():
    count, *others = subprocess.check_output([sys.executable, "-c", SCRIPT], text=True).split()
    assert others == []
    assert int(count) <= 15
