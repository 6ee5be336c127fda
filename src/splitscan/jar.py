"""Path of the connector: one jar, beside the kernel."""

from __future__ import annotations

import zipfile
from email.parser import HeaderParser
from functools import cache
from importlib.util import find_spec
from pathlib import Path

JAR = "splitscan-connector.jar"
_MANIFEST = "META-INF/MANIFEST.MF"
_VERSION = "Implementation-Version"


def connector_jar() -> Path | None:
    """The jar, which lies beside the kernel; ``None`` where there is none."""
    found = find_spec("splitscan_kernel")
    folders = [] if found is None else found.submodule_search_locations or []
    return next((path for folder in folders if (path := Path(folder, JAR)).is_file()), None)


@cache
def jar_version(jar: Path) -> str:
    """The version that a jar says it is of, with a checksum of its sources."""
    with zipfile.ZipFile(jar) as archive:
        return str(HeaderParser().parsestr(archive.read(_MANIFEST).decode())[_VERSION])
