"""Every call of a process that changes files: counted, killed before, or failed, native libraries' calls included.

A filter of the kernel (seccomp's user notification, Linux on x86-64 and ARM) lets a child wait before each such call
until this process has said what becomes of it. No hook is needed in the child, and no time plays a part.
"""

import ctypes
import errno
import fcntl
import os
import platform
import signal
import socket
import struct
import sys
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

_X86 = {
    "write": 1, "pwrite64": 18, "writev": 20, "pwritev": 296, "pwritev2": 328, "copy_file_range": 326, "sendfile": 40,
    "fsync": 74, "fdatasync": 75, "truncate": 76, "ftruncate": 77, "fallocate": 285, "open": 2, "openat": 257,
    "creat": 85, "mkdir": 83, "mkdirat": 258, "rmdir": 84, "unlink": 87, "unlinkat": 263, "rename": 82,
    "renameat": 264, "renameat2": 316, "link": 86, "linkat": 265, "symlink": 88, "symlinkat": 266, "chmod": 90,
    "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260, "utimensat": 280,
}  # fmt: skip
_ARM = {
    "write": 64, "pwrite64": 68, "writev": 66, "pwritev": 70, "pwritev2": 287, "copy_file_range": 285, "sendfile": 71,
    "fsync": 82, "fdatasync": 83, "truncate": 45, "ftruncate": 46, "fallocate": 47, "openat": 56, "mkdirat": 34,
    "unlinkat": 35, "renameat": 38, "renameat2": 276, "linkat": 37, "symlinkat": 36, "fchmod": 52, "fchmodat": 53,
    "fchown": 55, "fchownat": 54, "utimensat": 88,
}  # fmt: skip
_MACHINES = {"x86_64": (_X86, 0xC000003E, 317), "aarch64": (_ARM, 0xC00000B7, 277)}

_BY_DESCRIPTOR = {
    "write": 0, "pwrite64": 0, "writev": 0, "pwritev": 0, "pwritev2": 0, "copy_file_range": 2, "sendfile": 0,
    "fsync": 0, "fdatasync": 0, "ftruncate": 0, "fallocate": 0, "fchmod": 0, "fchown": 0,
}  # fmt: skip
_CHANGED_FOLDER = {"renameat": (2, 3), "renameat2": (2, 3), "linkat": (2, 3), "symlinkat": (1, 2)}  # descriptor, name
_CHANGED_PATH = {"rename": 1, "link": 1, "symlink": 1}
_FLAGS_OF_OPEN = {"open": 1, "openat": 2}

_NOTIFY, _ALLOW = 0x7FC00000, 0x7FFF0000
_LOAD, _IS, _HAS_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101
_CONTINUE = 1
_AT_FDCWD = -100


class Fault(Enum):
    """What becomes of a call."""

    KILL = 0
    NO_SPACE = errno.ENOSPC
    IO_ERROR = errno.EIO


@dataclass
class Run:
    """What a child did.

    Attributes:
        code: Its exit code; that of a signal is negative.
        changes: Name and path of every call that changes something below the folder.
    """

    code: int | None = None
    changes: list[tuple[str, str]] = field(default_factory=list)


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("value", ctypes.c_uint)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction))]


def is_supported():
    """Whether this kernel tells one process of the calls of another."""
    if not sys.platform.startswith("linux") or platform.machine() not in _MACHINES:
        return False
    try:
        return run_watched(lambda: 0, "/").code == 0
    except OSError:
        return False


def run_watched(task, folder, at=None, fault=Fault.KILL):
    """Run ``task()`` in a forked child, whose exit code it returns.

    Args:
        task: What is run. The child ends after it, without clearing up.
        folder: Changes below it count.
        at: Number of the change, from 0, that meets the fault; ``None`` for none.
        fault: What becomes of that change: it is never made.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        _run_filtered(task, theirs)
    theirs.close()
    run = Run()
    try:
        listener = _receive(ours)
        try:
            _serve(listener, child, os.path.realpath(folder), at, fault, run)
        finally:
            os.close(listener)
    finally:
        ours.close()
        if run.code is None:
            run.code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return run


def _receive(ours):
    _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    if not descriptors:
        raise OSError("the filter could not be installed")
    return descriptors[0]


def _run_filtered(task, theirs):
    code = 1
    try:
        listener = _install()
        socket.send_fds(theirs, [b"l"], [listener])
        os.close(listener)
        code = task()
    finally:
        os._exit(code)


def _install():
    """Filter this process. Returns the descriptor by which another one is asked."""
    calls, _, number = _MACHINES[platform.machine()]
    program = [(_LOAD, 0, 0, 0)]
    for name, call in calls.items():
        if name in _FLAGS_OF_OPEN:  # only what may create or empty a file
            low = 16 + 8 * _FLAGS_OF_OPEN[name]
            program += [
                (_IS, 0, 4, call), (_LOAD, 0, 0, low), (_HAS_BITS, 0, 1, os.O_CREAT | os.O_TRUNC),
                (_RETURN, 0, 0, _NOTIFY), (_RETURN, 0, 0, _ALLOW),
            ]  # fmt: skip
        else:
            program += [(_IS, 0, 1, call), (_RETURN, 0, 0, _NOTIFY)]
    program.append((_RETURN, 0, 0, _ALLOW))
    instructions = (_Instruction * len(program))(*program)
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(38, 1, 0, 0, 0)  # no new privileges
    listener = library.syscall(number, 1, 8, ctypes.byref(_Program(len(program), instructions)))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return listener


def _serve(listener, child, folder, at, fault, run):
    """Answer the child's calls until it ends."""
    names = {number: name for name, number in _MACHINES[platform.machine()][0].items()}
    below = f"{folder.rstrip('/')}/"
    while True:
        question = bytearray(80)
        try:
            fcntl.ioctl(listener, _RECEIVE, question)
        except OSError as error:
            if error.errno == errno.ENOENT:  # the last task has ended, or the one that asked
                if _has_ended(child, run):
                    return
                continue
            raise
        number, thread, _, call, _, _, *arguments = struct.unpack("QIIiIQ6Q", question)
        path = _path_of(thread, names[call], arguments)
        verdict, flags = 0, _CONTINUE
        if path is not None and f"{path}/".startswith(below):
            if len(run.changes) == at:
                if fault is Fault.KILL:
                    os.kill(child, signal.SIGKILL)
                    run.changes.append((names[call], path))
                    run.code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                    return
                verdict, flags = -fault.value, 0
            run.changes.append((names[call], path))
        try:
            fcntl.ioctl(listener, _ANSWER, bytearray(struct.pack("QqiI", number, 0, verdict, flags)))
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise


def _has_ended(child, run):
    found, status = os.waitpid(child, os.WNOHANG)
    if found:
        run.code = os.waitstatus_to_exitcode(status)
    return bool(found)


def _path_of(thread, name, arguments):
    """The path that a call changes; ``None`` for what is no file."""
    if name in _BY_DESCRIPTOR:
        return _link(f"/proc/{thread}/fd/{arguments[_BY_DESCRIPTOR[name]]}")
    if name in _CHANGED_FOLDER:
        folder, path = _CHANGED_FOLDER[name]
    elif name.endswith("at"):
        folder, path = 0, 1
    else:
        folder, path = None, _CHANGED_PATH.get(name, 0)
    text = _text(thread, arguments[path])
    if text is None or text.startswith("/"):
        return text
    descriptor = _AT_FDCWD if folder is None else ctypes.c_int(arguments[folder] & 0xFFFFFFFF).value
    home = _link(f"/proc/{thread}/cwd" if descriptor == _AT_FDCWD else f"/proc/{thread}/fd/{descriptor}")
    return None if home is None else f"{home}/{text}"


def _link(path):
    try:
        target = os.fspath(Path(path).readlink())
    except OSError:
        return None
    return target.removesuffix(" (deleted)") if target.startswith("/") else None


def _text(thread, address):
    if not address:
        return None
    with Path(f"/proc/{thread}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        found = b""
        while b"\0" not in found and len(found) < 4096:
            more = memory.read(4096 - (address + len(found)) % 4096)
            if not more:
                break
            found += more
    return os.fsdecode(found.partition(b"\0")[0])
