"""Work as steps or as time of the processor: a machine that is busy with something else changes neither."""

import itertools
import sys
import threading
import time
from contextlib import contextmanager


def steps_of(work):
    """How many lines of Python ``work()`` runs, each time it runs them, in this thread and in those that it starts."""
    counted = itertools.count()

    def step(_frame, event, _argument):
        if event == "line":
            next(counted)
        return step

    before = sys.gettrace()
    threading.settrace(step)
    sys.settrace(step)
    try:
        work()
    finally:
        sys.settrace(before)
        threading.settrace(None)
    return next(counted)


@contextmanager
def at_most_cpu_seconds(limit):
    """Fail if this process computes for longer in the meantime; what it waits for the processor does not count."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < limit, f"{spent:.1f} s of the processor, and at most {limit} are allowed"
