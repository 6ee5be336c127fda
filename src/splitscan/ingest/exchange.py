"""Swap two directories in one atomic step, where the operating system can."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # Linux: linux/fs.h
_RENAME_SWAP = 2  # macOS: sys/stdio.h
TRIAL_ENDING = ".trial"
"""Ends the name of a folder that lasts as long as one trial, in who holds the lock of a destination."""


def exchange_paths(left: Path, right: Path) -> None:
    """Let two names of one file system trade places: no instant exists at which either name is missing.

    Raises:
        OSError: If the system or the file system cannot do it (``ENOTSUP``, ``ENOSYS``, ``EINVAL``, ``EXDEV``), or
            a name does not exist.
    """
    call = _system_call()
    if call is None:
        raise OSError(errno.ENOTSUP, "this system cannot exchange two names", os.fspath(left))
    if call(os.fsencode(left), os.fsencode(right)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), os.fspath(left))


def can_exchange(folder: Path) -> bool:
    """Find out by trial whether directories in *folder* can be exchanged and files linked."""
    trial = folder / f".{secrets.token_hex(8)}{TRIAL_ENDING}"
    left, right = trial / "left", trial / "right"
    try:
        left.mkdir(parents=True)
        right.mkdir()
        (left / "file").touch()
        (right / "link").hardlink_to(left / "file")
        exchange_paths(left, right)
        return (left / "link").exists() and (right / "file").exists()
    except OSError:
        return False
    finally:
        shutil.rmtree(trial, ignore_errors=True)


def _system_call() -> Callable[[bytes, bytes], int] | None:
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            swap = library.renamex_np
            return lambda left, right: int(swap(left, right, ctypes.c_uint(_RENAME_SWAP)))
        exchange = library.renameat2
    except AttributeError:  # an old C library, or another system
        return None
    return lambda left, right: int(
        exchange(_AT_FDCWD, left, _AT_FDCWD, right, ctypes.c_uint(_RENAME_EXCHANGE)),
    )
