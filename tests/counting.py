"""Work as a number of steps: the same on every machine, however busy it is."""

import itertools
import sys
import threading


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
