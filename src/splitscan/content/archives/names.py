"""How members of archives are named: ``/data/a.zip!/folder/member.csv``."""

from __future__ import annotations

import re

from splitscan.content.codecs.formats import CODECS

MARK = "!/"
"""Stands between the path of an archive and the name of a member in it."""

TAR, ZIP = "tar", "zip"

_ENDINGS = {
    ".zip": ZIP,
    ".tar": TAR,
    ".7z": "7z",
    **dict.fromkeys((".tgz", ".tbz", ".tbz2", ".txz", ".tzst", ".tlz4"), TAR),
    **{f".tar{ending}": TAR for codec in CODECS.values() for ending in codec.extensions},
}
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def archive_kind(path: str) -> str | None:
    """What kind of archive the name of a file promises.

    Example:
        >>> archive_kind("/data/a.ZIP"), archive_kind("/data/a.tgz"), archive_kind("/data/a.csv")
        ('zip', 'tar', None)
    """
    name = path.lower()
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)


def split_member_path(path: str) -> tuple[str, str] | None:
    """The path of an archive and the name of a member in it; ``None`` for paths of other files.

    The name is empty in the path of what is lost of a damaged archive.

    Example:
        >>> split_member_path("s3://bucket/a.zip!/b/c.csv")
        ('s3://bucket/a.zip', 'b/c.csv')
        >>> split_member_path("/data/hello!/a.csv") is None
        True
    """
    at = path.find(MARK)
    while at >= 0:
        if archive_kind(path[:at]) is not None:
            return path[:at], path[at + len(MARK) :]
        at = path.find(MARK, at + 1)
    return None


def in_directories(relative_path: str) -> str:
    """A path in which directories of an archive stand for themselves, as if its members lay beside it.

    Example:
        >>> in_directories("y=2024/a.zip!/m=1/b.csv"), in_directories("a/b.csv")
        ('y=2024/m=1/b.csv', 'a/b.csv')
    """
    found = split_member_path(relative_path)
    if found is None:
        return relative_path
    folder = found[0].rpartition("/")[0]
    return f"{folder}/{found[1]}" if folder else found[1]


def plain_name(name: str) -> str | None:
    r"""The name of a member without ``.`` and empty segments; ``None`` if it leads out of its archive, or is no path.

    Example:
        >>> plain_name("./a//b.csv")
        'a/b.csv'
        >>> [plain_name(name) for name in ("/etc/passwd", "a/../../b", r"..\b", "C:/b", "")]
        [None, None, None, None, None]
    """
    if name.startswith(("/", "\\")) or _DRIVE.match(name) or "\0" in name or ".." in re.split(r"[\\/]", name):
        return None
    return "/".join(segment for segment in name.split("/") if segment not in {"", "."}) or None
