"""Paths of local files as texts that mean the same bytes under every locale.

Python decodes the names of files by the locale of the process, so that one file has as many texts as there are
locales. What is kept (ledgers, window logs, identities) names a file by the bytes of its path, spelled as UTF-8.
What is open in a process keeps the text of that process.
"""

from __future__ import annotations

import sys

_ENCODING = sys.getfilesystemencoding()
_ERRORS = sys.getfilesystemencodeerrors()
_IS_UTF8 = _ENCODING.lower().replace("-", "") == "utf8"


def portable_path(path: str, of: str = "") -> str:
    r"""Spell a path of this process as UTF-8, whatever the locale. Bytes that are no UTF-8 stay as surrogates.

    A URI stays as it is, for an object store has texts for names.

    Args:
        path: The path, or a part of one.
        of: The whole path that it is a part of, if it is.

    Example:
        >>> portable_path("/data/\udcc3\udca9.csv")  # what the locale C makes of the bytes of an é
        '/data/é.csv'
    """
    if path.isascii() or not (of or path).startswith("/"):
        return path
    try:
        data = path.encode(_ENCODING, _ERRORS)
    except UnicodeEncodeError:  # a member of an archive, whose name has an encoding of its own
        return _as_utf8(path)
    return data.decode("utf-8", "surrogateescape")


def native_path(path: str, of: str = "") -> str:
    """Spell a kept path as this process does: the inverse of :func:`portable_path`.

    Paths that an earlier version kept as the text of the locale C are understood, too.

    Example:
        >>> native_path("/data/a.csv"), native_path("s3://bucket/é.csv")
        ('/data/a.csv', 's3://bucket/é.csv')
    """
    if path.isascii() or not (of or path).startswith("/"):
        return path
    if _IS_UTF8:
        return _as_utf8(path)
    try:
        return path.encode("utf-8", "surrogateescape").decode(_ENCODING, _ERRORS)
    except UnicodeError:
        return path


def _as_utf8(path: str) -> str:
    try:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # surrogates that stand for no byte: no file has such a name
        return path


def as_text(name: str) -> str:
    """Text that Arrow can hold: names of files may be no valid UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
