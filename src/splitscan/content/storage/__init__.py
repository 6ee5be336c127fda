"""Bytes from somewhere: open, list and write files of any storage. The only room that imports fsspec."""

from splitscan.content.storage.contract import (
    SHORT_BYTES,
    ByteSource,
    Entry,
    FileTree,
    Location,
    ShortSource,
    is_inside,
    locate,
    read_at_once,
)
from splitscan.content.storage.destination import Storage
from splitscan.content.storage.digests import NEEDS_KERNEL, ContentDigest, digest_of, is_content_digest
from splitscan.content.storage.opening import (
    check_unchanged,
    has_prefix,
    is_prefix_fingerprint,
    open_source,
    open_storage,
    open_tree,
    prefix_fingerprint,
)
from splitscan.redaction import redact

__all__ = [
    "NEEDS_KERNEL",
    "SHORT_BYTES",
    "ByteSource",
    "ContentDigest",
    "Entry",
    "FileTree",
    "Location",
    "ShortSource",
    "Storage",
    "check_unchanged",
    "digest_of",
    "has_prefix",
    "is_content_digest",
    "is_inside",
    "is_prefix_fingerprint",
    "locate",
    "open_source",
    "open_storage",
    "open_tree",
    "prefix_fingerprint",
    "read_at_once",
    "redact",
]
