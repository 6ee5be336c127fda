"""A Python worker of Spark, which runs task after task."""

from __future__ import annotations

import gc
from functools import cache

from splitscan.reading.cursor import keep_freed_memory


@cache
def begin_task() -> None:
    """Before the first task of a worker, have it keep what the next ones need too: freed memory, and modules.

    PySpark collects garbage after each task, and the next task waits for that: 20 to 50 ms for all that is imported
    here, the time in which 20 MB are read. What is loaded by now is not looked at again.
    """
    gc.freeze()
    keep_freed_memory()
