"""Files of a stream's state: JSON lines after which a last line proves that none is missing or changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from splitscan.errors import StreamError, Where
from splitscan.redaction import redact

_DIGEST_BYTES = 16


def seal(lines: Iterable[Any]) -> bytes:
    """Write JSON values, one a line, and the line that proves them.

    Example:
        >>> open_sealed(seal([{"window": 1}, ["a", 2]]), "w")
        [{'window': 1}, ['a', 2]]
    """
    body = b"".join(json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n" for line in lines)
    return body + json.dumps({"bytes": len(body), "digest": _digest(body)}).encode("ascii") + b"\n"


def open_sealed(data: bytes, path: str) -> list[Any]:
    """Read what :func:`seal` wrote: all of it, or nothing.

    Raises:
        StreamError: ``[stream-damaged]`` if a byte is missing or changed.
    """
    stop = data.rfind(b"\n", 0, max(0, len(data) - 1)) + 1
    body = data[:stop]
    try:
        last = json.loads(data[stop:])
        whole = data.endswith(b"\n") and last == {"bytes": len(body), "digest": _digest(body)}
    except ValueError:  # no JSON, or no text
        whole = False
    if not whole:
        raise StreamError(
            "a file of the stream's state is damaged",
            Where(path=redact(path)),
            f"{len(data)} bytes that their last line does not prove",
            "restore it from a copy; or start with another checkpoint, which reads all again",
            "stream-damaged",
        )
    return [json.loads(line) for line in body.splitlines()]


def _digest(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).hexdigest()
