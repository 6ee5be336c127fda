"""Open a path of any storage, and check that a planned file is still the same, or has only grown."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.storage.contract import ByteSource, FileTree
from splitscan.content.storage.local import LocalByteSource, LocalTree
from splitscan.content.storage.paths import Location, locate
from splitscan.errors import SourceChangedError, SourceMissingError, Where
from splitscan.redaction import redact

HEAD_BYTES = 1024
"""How many bytes of the head are compared. Files that begin alike are told apart by the end of what was known."""

_TAIL_BYTES = 64
_MARK = "prefix"


def prefix_fingerprint(source: ByteSource, size_bytes: int) -> str:
    """Identity of the first *size_bytes* bytes of a file, whatever follows them: their length, head and end.

    Raises:
        SourceError: If the file cannot be read.
    """
    head = source.read_at(0, min(HEAD_BYTES, size_bytes))
    tail_bytes = min(_TAIL_BYTES, size_bytes)
    tail = source.read_at(size_bytes - tail_bytes, tail_bytes)
    return f"{_MARK}-{size_bytes}-{_hash(head)}-{_hash(tail)}"


def head_of(fingerprint: str) -> str:
    """What a prefix fingerprint says of the head of the file."""
    return fingerprint.split("-")[2]


def is_prefix_fingerprint(fingerprint: str) -> bool:
    """Whether a fingerprint is of a part of a file."""
    return fingerprint.startswith(f"{_MARK}-")


def has_prefix(source: ByteSource, fingerprint: str) -> bool:
    """Whether a file still begins with the part that a prefix fingerprint is of."""
    size_bytes = int(fingerprint.split("-")[1])
    return source.size_bytes >= size_bytes and prefix_fingerprint(source, size_bytes) == fingerprint


def check_prefix(file: FileMetadata, source: ByteSource) -> None:
    """Make sure that a file that may have grown still begins with what was planned.

    Raises:
        SourceChangedError: If it does not.
    """
    if has_prefix(source, file.fingerprint):
        return
    raise SourceChangedError(
        "the file is no longer the one that was planned: it was replaced, not appended to",
        Where(path=redact(file.path)),
        f"{source.size_bytes} bytes; the first {file.size_bytes} were planned, and are others now",
        "put the file back as it was, or start with another checkpoint",
        "source-changed",
    )


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def open_source(path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> ByteSource:
    """Open a file for reading at any offset.

    Args:
        path: A local path, a ``file:`` URI, or any URI that fsspec knows (``s3://``, ``s3a://``, ``memory://`` ...).
        storage_options: Settings of the remote file system; local paths ignore them.

    Returns:
        The open file. The caller closes it.

    Raises:
        UsageError: If the path has no meaning, or no file system serves it.
        SourceMissingError: If there is no such file.
        SourceError: If it cannot be opened.

    Example:
        >>> source = open_source(__file__)
        >>> source.read_at(0, 3), source.read_at(source.size_bytes, 10)
        (b'\"\"\"', b'')
        >>> source.close()
    """
    location = locate(path)
    if location.is_local:
        return LocalByteSource(location.path)
    from splitscan.content.storage.remote import RemoteByteSource  # noqa: PLC0415 -- local paths never pay for fsspec

    return RemoteByteSource(location, storage_options or {})


def open_planned(file: FileMetadata, storage_options: Mapping[str, Any] | None = None) -> ByteSource:
    """Open a file that was planned. One that was planned while it grew is found again where rotation has renamed it.

    Args:
        file: The file; if it was planned while it grew, and its name is now another file's or nobody's, the files
            of its directory are looked at for the one that begins as it did.
        storage_options: Settings of the remote file system.

    Returns:
        The open file, which the caller closes. Whether it is the planned version is for :func:`check_unchanged`.

    Raises:
        SourceMissingError: If there is no such file.
        SourceError: If it cannot be opened.
    """
    if not is_prefix_fingerprint(file.fingerprint):
        return open_source(file.path, storage_options)
    try:
        source = _open_if_planned(file.path, file, storage_options) or _find_renamed(file, storage_options)
    except SourceMissingError:
        source = _find_renamed(file, storage_options)
    return source or open_source(file.path, storage_options)


def _find_renamed(file: FileMetadata, storage_options: Mapping[str, Any] | None) -> ByteSource | None:
    """The file under another name of its directory; names that begin alike are looked at first."""
    folder = file.path.rpartition("/")[0]
    listed = open_tree(locate(file.path), storage_options).entries(folder, lambda _, is_folder: not is_folder, True)
    fitting = [entry for entry in listed if not entry.is_directory and entry.size_bytes >= file.size_bytes]
    for entry in sorted(fitting, key=lambda entry: (not entry.name.startswith(file.name), entry.name)):
        with suppress(SourceMissingError):
            source = _open_if_planned(entry.path, file, storage_options)
            if source is not None:
                return source
    return None


def _open_if_planned(path: str, file: FileMetadata, storage_options: Mapping[str, Any] | None) -> ByteSource | None:
    source = open_source(path, storage_options)
    try:
        fits = has_prefix(source, file.fingerprint)
    except BaseException:
        source.close()
        raise
    if not fits:
        source.close()
        return None
    return source


def open_tree(location: Location, storage_options: Mapping[str, Any] | None = None) -> FileTree:
    """Open the storage of a location for listing.

    Args:
        location: Any path of the storage; for a remote one it chooses bucket or host.
        storage_options: Settings of the remote file system.

    Returns:
        The tree; it looks up paths of that bucket or host.

    Raises:
        UsageError: If no file system serves the location.
    """
    if location.is_local:
        return LocalTree()
    from splitscan.content.storage.remote import RemoteTree  # noqa: PLC0415 -- local paths never pay for fsspec

    return RemoteTree(location, storage_options or {})


def check_unchanged(file: FileMetadata, source: ByteSource) -> None:
    """Make sure that what is open is the version that was planned. A file that was planned while it grew may be longer.

    Called after opening it protects against changes before the read; open the file again after the last read
    and call it once more to protect against changes during the read.

    Raises:
        SourceChangedError: If the fingerprints or the lengths differ.
    """
    if is_prefix_fingerprint(file.fingerprint):
        check_prefix(file, source)
        return
    if source.fingerprint == file.fingerprint and source.size_bytes == file.size_bytes:
        return
    raise SourceChangedError(
        "the file changed after it was planned (onFileChange=fail)", Where(path=redact(file.path)),
        f"fingerprint {source.fingerprint}, {source.size_bytes} bytes; "
        f"planned {file.fingerprint}, {file.size_bytes} bytes",
        "plan again, or set option onFileChange=ignore to read whatever is there now", "source-changed",
    )  # fmt: skip
