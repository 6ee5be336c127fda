"""Runs a command, and kills all that came of it when the test that asked for it is gone, however it went.

``guard.py SOCKET COMMAND...``: SOCKET is a descriptor that the test holds the other end of. Whatever loses its parent
below this process becomes its child, so that nothing escapes: not a process of a session of its own, not a stopped one.
Imports nothing but the standard library: it is run as a file.
"""

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_LOOK_SECONDS = 0.1


def main():
    lifeline = socket.socket(fileno=int(sys.argv[1]))
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
    child = subprocess.Popen(sys.argv[2:])
    for descriptor in (0, 1):  # the test must see the end of its output when the command ends
        os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    with suppress(OSError):
        lifeline.sendall(b"%d\n" % child.pid)
        while not (select.select([lifeline], [], [], _LOOK_SECONDS)[0] and not lifeline.recv(64)):
            reap()
    while reap():
        for process in below(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_LOOK_SECONDS / 10)


def reap():
    """Bury children that ended. Returns whether there are others."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return True
        except ChildProcessError:
            return False


def below(root):
    """Processes that descend from *root*."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found[1:]


if __name__ == "__main__":
    main()
