"""Where Java is: Spark finds it on the path, if it is there and new enough."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from splitscan.errors import SplitscanError

LEAST_VERSION = 17

_PLACES = (  # the same as in tools/find-java
    ("/usr/lib/jvm", "*/bin/java"),
    ("/opt/java", "*/bin/java"),
    ("/Library/Java/JavaVirtualMachines", "*/Contents/Home/bin/java"),
    ("~/Library/Java/JavaVirtualMachines", "*/Contents/Home/bin/java"),
    ("~/.sdkman/candidates/java", "*/bin/java"),
    ("/opt/homebrew/opt", "openjdk*/bin/java"),
    ("/usr/local/opt", "openjdk*/bin/java"),
)
_MACOS_STAND_IN = "/usr/bin/java"  # is always there, and asks the user to install one
_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.M)


def find_java_home() -> str | None:
    """Where Java is: ``None`` where Spark finds one by itself that is new enough.

    Raises:
        SplitscanError: If there is none, or ``JAVA_HOME`` names one that is too old.
    """
    named = os.environ.get("JAVA_HOME")
    if named:
        version = java_version(Path(named)) if (Path(named) / "bin/java").exists() else None
        if version is not None and version < LEAST_VERSION:
            raise _no_java(f"JAVA_HOME={named} is Java {version}")
        if (Path(named) / "bin/java").exists():
            return None
    elif (on_path := shutil.which("java")) and _is_usable(on_path):
        return None
    homes = [home for home in _homes() if (java_version(home) or LEAST_VERSION) >= LEAST_VERSION]
    if homes:
        return str(max(homes, key=lambda home: (java_version(home) or 0, str(home))))
    raise _no_java(f"JAVA_HOME={named}, no java there" if named else "no java on the PATH that is new enough")


def java_version(home: Path) -> int | None:
    """The version that a Java says it has, ``None`` if it does not say."""
    with suppress(OSError, UnicodeDecodeError):
        found = _VERSION.search((home / "release").read_text("utf-8"))
        return None if found is None else int(found[1])
    return None


def _is_usable(executable: str) -> bool:
    if sys.platform == "darwin" and executable == _MACOS_STAND_IN:
        return False
    version = java_version(Path(executable).resolve().parent.parent)
    return version is None or version >= LEAST_VERSION


def _homes() -> Iterator[Path]:
    for place, pattern in _PLACES:
        for executable in Path(place).expanduser().glob(pattern):
            yield executable.parent.parent


def _no_java(seen: str) -> SplitscanError:
    return SplitscanError(
        f"Spark needs Java {LEAST_VERSION} or newer", seen=seen,
        fix="install one (Debian and Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17), "
        "or set JAVA_HOME",
    )  # fmt: skip
