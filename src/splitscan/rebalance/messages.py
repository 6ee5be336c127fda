r"""Messages between readers and coordinator: one JSON object per line, in UTF-8.

On connecting, both sides prove that they know the token, which itself never travels::

    server  {"splitscan": 1, "nonce": "..."}
    client  {"proof": HMAC(token, "client" nonce), "nonce": "..."}
    server  {"proof": HMAC(token, "server" nonce)}  or  {"error": {...}}

Then the client sends requests, and each gets one answer, in order::

    {"op": "create", "scan": s, "segments": [[length, text, indivisible], ...], "ranges": [[start, stop], ...]}
    {"op": "next", "scan": s, "partition": p, "index": i, "stats": [seconds, records, bytes, wait] or null}
    {"op": "scans"}
    {"op": "entries", "scan": s, "partition": p}
    {"op": "record", "scan": s}

    {"created": bool}   {"chunk": [index, start, stop, [[segment, start, stop, text], ...]]}   {"end": true}
    {"scans": [s, ...]}   {"entries": [[start, stop], ...]}   {"record": {...}}   {"error": {code, rule, seen, fix}}
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from splitscan.errors import RebalanceError, SplitscanError, UsageError, bad_option
from splitscan.rebalance.claim_values import (
    Chunk,
    ChunkPiece,
    ChunkRecord,
    ChunkStats,
    PartitionRecord,
    ScanRecord,
    Segment,
    StealRecord,
)

VERSION = 1
MAX_GREETING_BYTES = 1 << 10  # until the other side has proven itself
MAX_LINE_BYTES = 1 << 30  # a plan of some million segments

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CoordinatorAddress:
    """Address of a coordinator, and the token that opens it, which ``repr`` does not show.

    Attributes:
        host: Name or IP address that readers can reach.

    Example:
        >>> address = CoordinatorAddress("127.0.0.1", 4000, "0123")
        >>> address, CoordinatorAddress.from_option(address.to_option()) == address
        (CoordinatorAddress(host='127.0.0.1', port=4000), True)
    """

    host: str
    port: int
    token: str = field(repr=False)

    def to_option(self) -> str:
        """All three as one text, for an option of a data source. It holds the token: never print it."""
        return f"{self.token}@{self.host}:{self.port}"

    @classmethod
    def from_option(cls, text: str) -> CoordinatorAddress:
        """Read what :meth:`to_option` wrote.

        Raises:
            UsageError: ``[bad-option]`` if it is something else; the text is not quoted.
        """
        token, at, place = text.partition("@")
        host, colon, port = place.rpartition(":")
        if not (token and at and host and colon and port.isdecimal()):
            rule, fix = "the address of a coordinator is made by splitscan", "leave this option out; set rebalance=true"
            raise bad_option(rule, None, fix)
        return cls(host, int(port), token)


def new_token() -> str:
    """A fresh secret of 256 bits, hexadecimal."""
    return secrets.token_hex(32)


def new_nonce() -> str:
    """A number that is used once, so that no proof can be used again."""
    return secrets.token_hex(16)


def proof(token: str, side: str, nonce: str) -> str:
    """Answer *nonce* as only somebody with the token can; *side* keeps proofs from being sent back."""
    return hmac.new(token.encode(), _encoded(f"{side} {nonce}"), hashlib.sha256).hexdigest()


def proves(given: object, token: str, side: str, nonce: str) -> bool:
    """Return whether *given* is the proof. Takes the same time however much of it is right."""
    return isinstance(given, str) and hmac.compare_digest(_encoded(given), proof(token, side, nonce).encode())


def encode(message: Message) -> bytes:
    """One line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Read one line."""
    try:
        message = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise bad_message("a line that is not JSON") from None
    if not isinstance(message, dict):
        raise bad_message("a line that is no JSON object")
    return message


def decode_stats(value: object) -> ChunkStats | None:
    """Read the statistics of a chunk."""
    if value is None:
        return None
    seconds, records, bytes_read, wait = items(value, 4)
    return ChunkStats(_seconds(seconds), count(records), count(bytes_read), _seconds(wait))


def encode_segments(segments: Sequence[Segment]) -> list[list[int | str]]:
    """A plan, as it travels."""
    return [[length, text, int(indivisible)] for length, text, indivisible in segments]


def decode_segments(value: object) -> list[Segment]:
    """Read a plan."""
    found = []
    for item in items(value):
        length, text, indivisible = items(item, 3)
        if not isinstance(text, str):
            raise bad_message("a segment whose text is none")
        found.append(Segment(count(length), text, bool(count(indivisible))))
    return found


def decode_ranges(value: object) -> list[tuple[int, int]]:
    """Read ranges of positions."""
    return [(count(start), count(stop)) for start, stop in (items(item, 2) for item in items(value))]


def decode_chunk(value: object) -> Chunk:
    """Read a chunk."""
    index, start, stop, pieces = items(value, 4)
    found = tuple(ChunkPiece(*items(piece, 4)) for piece in items(pieces))
    return Chunk(count(index), count(start), count(stop), found)


def decode_record(value: Message) -> ScanRecord:
    """Read what happened in a scan."""
    record: Message = dict(value)
    record["partitions"] = tuple(
        PartitionRecord(**{**item, "planned": tuple(item["planned"])}) for item in value["partitions"]
    )
    record["chunks"] = tuple(ChunkRecord(*item) for item in value["chunks"])
    record["steals"] = tuple(StealRecord(*item) for item in value["steals"])
    return ScanRecord(**record)


def encode_error(error: SplitscanError) -> Message:
    """An error, as it travels."""
    return {"error": {"code": error.reason_code, "rule": error.rule, "seen": error.seen, "fix": error.fix}}


def decode_error(value: object) -> SplitscanError:
    """Read an error."""
    if not isinstance(value, dict):
        return bad_message("an error that says nothing")
    texts = [value.get(name) for name in ("rule", "seen", "fix", "code")]
    rule, seen, fix, code = (None if text is None else str(text) for text in texts)
    kind = UsageError if code == "bad-rebalance-plan" else RebalanceError
    return kind(rule or "the coordinator refuses", None, seen, fix, code)


def count(value: object) -> int:
    """An integer from 0 to 2**63 - 1, and nothing that only looks like one."""
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise bad_message("something else where a count belongs")
    return value


def text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise bad_message("something else where a text belongs")
    return value


def items(value: object, length: int | None = None) -> list[Any]:
    """A list, of *length* values if that is given."""
    if not isinstance(value, list) or length not in {None, len(value)}:
        raise bad_message("something else where a list belongs")
    return value


def bad_message(seen: str) -> RebalanceError:
    """The error for a message that is none. It quotes nothing, as anything may stand there."""
    return RebalanceError(
        "readers and coordinator exchange messages of one version of splitscan",
        seen=seen,
        fix="use the same version of splitscan everywhere, and let nothing else connect to this port",
        code="bad-message",
    )


def refused(seen: str) -> RebalanceError:
    """The error for a side that does not know the token."""
    return RebalanceError(
        "readers and coordinator know the same token", seen=seen,
        fix="plan the query again (a new DataFrame): the coordinator that knew it is gone", code="coordinator-refused",
    )  # fmt: skip


def _encoded(given: str) -> bytes:
    """The bytes of any text that JSON can hold, halves of surrogate pairs too."""
    return given.encode("utf-8", "surrogatepass")


def _seconds(value: object) -> float:
    if type(value) not in {int, float} or not 0 <= value < 1e12:  # type: ignore[operator]
        raise bad_message("something else where seconds belong")
    return float(value)  # type: ignore[arg-type]


def _no_constant(name: str) -> None:
    raise ValueError(name)
