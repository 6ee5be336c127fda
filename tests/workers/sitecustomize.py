"""What Spark's Python workers start with in tests: Python imports this first where its folder is in ``PYTHONPATH``.

The daemon that forks the workers imports what each of them would import: half a second for each worker, and tests
kill many.

``SPLITSCAN_TEST_HOLD`` holds workers while a job runs. It has four lines: a pattern of files; a pattern of reports, as
finished tasks and parts leave them; and two files. When there is a report, workers that open what fits the first
pattern write their number to the first file, and wait until there is the second one, or Spark ends them.
"""

import fnmatch
import gc
import glob
import importlib
import os
import sys
import time
from pathlib import Path

IMPORTED = ("pyarrow.parquet", "pyspark.sql.worker.plan_data_source_read", "pyspark_splitscan")


def hold(event, arguments):
    if event == "open" and fnmatch.fnmatch(str(arguments[0]), files) and glob.glob(reports):  # noqa: PTH207 - pathlib takes no pattern from the root
        descriptor = os.open(held, os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, b"%-12d" % os.getpid())
        os.close(descriptor)
        while not Path(go).exists():
            time.sleep(0.05)


if "pyspark.daemon" in sys.orig_argv:
    gc.disable()  # what is imported is no garbage
    try:
        for name in (sys.orig_argv[-1], *IMPORTED):
            importlib.import_module(name)
    except ImportError:
        pass  # a worker that lacks it says so, as it would elsewhere
    gc.enable()
    if "SPLITSCAN_TEST_HOLD" in os.environ:
        files, reports, held, go = os.environ["SPLITSCAN_TEST_HOLD"].split("\n")
        sys.addaudithook(hold)
