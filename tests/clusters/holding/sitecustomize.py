"""Holds Spark's Python workers while a job runs: Python imports this first where its folder is in ``PYTHONPATH``.

``SPLITSCAN_TEST_HOLD`` has three paths, one a line: a source; a pattern of reports, as finished tasks leave them; and a
file. When there is a report, workers that open the source make the file and wait, until Spark ends them.
"""

import glob
import os
import sys
import time


def hold(event, arguments):
    if event == "open" and arguments[0] == source and glob.glob(reports):  # noqa: PTH207 - imported before anything else
        os.close(os.open(held, os.O_CREAT))
        time.sleep(3600)


if "pyspark.daemon" in sys.orig_argv and "SPLITSCAN_TEST_HOLD" in os.environ:
    source, reports, held = os.environ["SPLITSCAN_TEST_HOLD"].split("\n")
    sys.addaudithook(hold)
