"""Open a path of any storage, and check that a planned file is still the same."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.errors import SourceChangedError, Where
from splitscan.redaction import redact
from splitscan.storage.contract import ByteSource
from splitscan.storage.local import LocalByteSource, LocalTree
from splitscan.storage.paths import Location, locate
from splitscan.storage.tree import FileTree


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
    from splitscan.storage.remote import RemoteByteSource  # noqa: PLC0415 -- local paths never pay for fsspec

    return RemoteByteSource(location, storage_options or {})


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
    from splitscan.storage.remote import RemoteTree  # noqa: PLC0415 -- local paths never pay for fsspec

    return RemoteTree(location, storage_options or {})


def check_unchanged(file: FileMetadata, source: ByteSource) -> None:
    """Make sure that what is open is the version that was planned.

    Called after opening it protects against changes before the read; open the file again behind the last read
    and call it once more to protect against changes during the read.

    Raises:
        SourceChangedError: If the fingerprints or the lengths differ.
    """
    if source.fingerprint == file.fingerprint and source.size_bytes == file.size_bytes:
        return
    raise SourceChangedError(
        "the file changed after it was planned (onFileChange=fail)", Where(path=redact(file.path)),
        f"fingerprint {source.fingerprint}, {source.size_bytes} bytes; "
        f"planned {file.fingerprint}, {file.size_bytes} bytes",
        "plan again, or set option onFileChange=ignore to read whatever is there now", "source-changed",
    )  # fmt: skip
