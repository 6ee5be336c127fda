"""Which engine reads records: the native kernel where it is installed, else the reference, which is pure Python.

Both give the same answers for every input; the reference is the definition, and slow. The kernel is a distribution
of its own, so a worker may lack it although the driver has it: each process asks for itself.
"""

from __future__ import annotations

import importlib
import os
import socket
import threading
import warnings
from functools import cache
from types import ModuleType

from splitscan.errors import UsageError

SEAM = 27  # what the kernel must speak: raised with every change of a name, an argument or a meaning

DOCUMENT_VERSION = 1
"""Version of the documents in JSON that the kernel is told of a scan, a block and inference."""

_VARIABLE = "SPLITSCAN_ENGINE"
_KERNEL, _REFERENCE = "kernel", "reference"
_INSTALL = "install it in the environment of every worker: pip install ./kernel"

_lock = threading.RLock()


class SlowEngineWarning(UserWarning):
    """The kernel is missing, and the reference reads instead: the same rows, slowly."""


def kernel() -> ModuleType | None:
    """The native kernel, or ``None`` where the reference engine reads.

    The environment variable ``SPLITSCAN_ENGINE`` chooses: ``kernel`` or ``reference``. Without it the kernel is taken
    where it is installed and fits; where not, one :class:`SlowEngineWarning` per process says so.

    Returns:
        The module ``splitscan_kernel``. Looked for once per process and choice; a call costs about a microsecond.

    Raises:
        UsageError: If the variable has another value, or asks for a kernel that is missing or does not fit.

    Thread safety: any thread may call it.
    """
    return _engine(os.environ.get(_VARIABLE, ""))


def _engine(choice: str) -> ModuleType | None:
    with _lock:  # the cache alone would let two threads warn
        return _chosen(choice)


@cache
def _chosen(choice: str) -> ModuleType | None:
    if choice == _REFERENCE:
        return None
    if choice not in {"", _KERNEL}:
        raise UsageError(
            f"{_VARIABLE} must be {_KERNEL} or {_REFERENCE}", seen=repr(choice),
            fix="leave it out: the kernel is taken where it is installed", code="bad-engine",
        )  # fmt: skip
    found = _find()
    if isinstance(found, ModuleType):
        return found
    if choice == _KERNEL:
        raise UsageError(
            f"{_VARIABLE}={_KERNEL} needs the native kernel", seen=f"{found}, on host {socket.gethostname()}",
            fix=f"{_INSTALL}; or leave {_VARIABLE} out", code="bad-engine",
        )  # fmt: skip
    warnings.warn(
        f"the native kernel is not used on host {socket.gethostname()}: {found}. The reference engine reads "
        f"the same rows, 100 to 200 times slower. To change that, {_INSTALL}",
        SlowEngineWarning,
        stacklevel=4,  # who asked for an engine
    )
    return None


def _find() -> ModuleType | str:
    """The kernel, or why there is none."""
    try:
        module = importlib.import_module("splitscan_kernel")
    except ImportError as error:
        return str(error)
    seam = getattr(module, "SEAM", None)
    if seam != SEAM:
        version = getattr(module, "__version__", "of an unknown version")
        return f"splitscan_kernel {version} has seam {seam}, and this splitscan needs seam {SEAM}"
    return module
