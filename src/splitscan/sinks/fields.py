"""Take fields of known kinds out of JSON that was read from a disk. Whatever is not as it should be is an error."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from splitscan.content.storage import is_content_digest
from splitscan.errors import IngestError

T = TypeVar("T")

_SHA256 = re.compile(r"[0-9a-f]{64}")


def take(raw: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """The field *name*, of exactly this kind."""
    value = raw.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise damaged(f"{name} is missing or no {kind.__name__}")
    return value


def take_whole(raw: Mapping[str, Any], name: str) -> int:
    """The field *name*, a number that is not negative."""
    value = take(raw, name, int)
    if value < 0:
        raise damaged(f"{name} is negative")
    return value


def take_wholes(raw: Mapping[str, Any], names: Sequence[str]) -> dict[str, int]:
    """Several such fields, by name: numbers as they should be are not asked twice, as a ledger has millions."""
    return {
        name: value if type(value := raw.get(name)) is int and value >= 0 else take_whole(raw, name) for name in names
    }


def take_sha256(raw: Mapping[str, Any], name: str) -> str:
    """The field *name*, a SHA-256 in hexadecimal."""
    value = take(raw, name, str)
    if not _SHA256.fullmatch(value):
        raise damaged(f"{name} is not a SHA-256")
    return value


def take_digest(raw: Mapping[str, Any], name: str) -> str:
    """The field *name*, a digest of a source's bytes, or the empty text where they were not hashed."""
    value = take(raw, name, str)
    if value and not is_content_digest(value):
        raise damaged(f"{name} is not a digest")
    return value


def read_object(data: bytes | str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise damaged("a line is not JSON") from None
    return as_object(value, "a line")


def as_object(value: Any, what: str) -> dict[str, Any]:
    """A value that must be a JSON object."""
    if not isinstance(value, dict):
        raise damaged(f"{what} is not a JSON object")
    return value


def damaged(what: str) -> IngestError:
    """The error for a file that is not as it was written."""
    return IngestError(
        "a ledger is damaged", seen=what,
        fix="restore the file from a backup; without it, what was ingested cannot be told", code="ledger-damaged",
    )  # fmt: skip
