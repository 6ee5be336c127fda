"""A ledger as a file: JSON lines, with a checksum. It is data only: nothing in it is ever evaluated.

The first line has the version, and all fields of :class:`Ledger` that are no lists. A line follows for each item of its
lists, and a last one with counts and the SHA-256 of everything above it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from splitscan.errors import IngestError, SplitscanError, Where
from splitscan.jobs.ledger import Ledger, LedgerBlock, LedgerFile, RemovedFile, ReplacedFile, WrittenFile
from splitscan.jobs.record_json import Json, damaged, from_plain, read_object, to_plain

LEDGER_VERSION = 1

_VERSION = "ledger_version"
_OLDER_VERSION = "splitscan_ledger"  # of the formats before version 1
_LINES: dict[str, tuple[str, type]] = {
    "file": ("files", LedgerFile),
    "written": ("written", WrittenFile),
    "replaced": ("replaced", ReplacedFile),
    "removed": ("removed", RemovedFile),
    "block": ("blocks", LedgerBlock),
}
"""What a line is called, the list of the ledger that it is an item of, and its type, in the order of the file."""

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def render_ledger(ledger: Ledger) -> bytes:
    """Spell a ledger, with its checksum.

    Example:
        >>> ledger = Ledger("ab" * 16, 1, "2026-01-01T00:00:00Z", "csv", {}, ())
        >>> parse_ledger(render_ledger(ledger), "example") == ledger
        True
    """
    body = b"".join(map(_line, _lines_of(ledger)))
    return body + _line({"end": {**_counts(ledger), "sha256": hashlib.sha256(body).hexdigest()}})


def parse_ledger(data: bytes, name: str) -> Ledger:
    """Read a ledger back and check it.

    Args:
        data: The file's content.
        name: Its path, for messages.

    Raises:
        IngestError: ``[ledger-damaged]`` if a byte is missing or changed, or a name in it leads elsewhere;
            ``[ledger-version]`` if another version of splitscan wrote it.
    """
    try:
        return _parse(data)
    except SplitscanError as error:
        raise IngestError(error.rule, Where(path=name), error.seen, error.fix, error.reason_code) from None


def _lines_of(ledger: Ledger) -> Iterator[Json]:
    nothing: dict[str, Any] = {name: () for name, _ in _LINES.values()}
    head = replace(ledger, **nothing)
    yield {_VERSION: LEDGER_VERSION, **to_plain(head)}
    for line, (name, _) in _LINES.items():
        yield from ({line: to_plain(each)} for each in getattr(ledger, name))


def _line(value: Json) -> bytes:
    return _encode(value).encode("ascii") + b"\n"


def _counts(ledger: Ledger) -> dict[str, int]:
    counts = {name: len(getattr(ledger, name)) for name, _ in _LINES.values()}
    return {**counts, "rows": ledger.rows, "rejects": ledger.rejects}


def _parse(data: bytes) -> Ledger:
    body, newline, foot_line = data.removesuffix(b"\n").rpartition(b"\n")
    body += newline
    if not data.endswith(b"\n") or not body:
        raise damaged("the last line is cut off")
    foot = read_object(foot_line).get("end")
    if not isinstance(foot, dict) or foot.pop("sha256", None) != hashlib.sha256(body).hexdigest():
        raise damaged("the checksum in the last line does not fit the lines above it")
    head, *lines = map(read_object, body.splitlines())
    _check_version(head)
    found: dict[str, list[Any]] = {name: [] for name, _ in _LINES.values()}
    for line in lines:
        ((kind, raw),) = line.items() if len(line) == 1 else [("", None)]
        if kind not in _LINES:
            raise damaged(f"a line is no {', '.join(_LINES)}")
        name, item = _LINES[kind]
        found[name].append(from_plain(item, raw, kind))
    lists: dict[str, Any] = {name: tuple(items) for name, items in found.items()}
    ledger = replace(from_plain(Ledger, head, "the first line"), **lists)
    if foot != _counts(ledger):
        raise damaged("the counts in the last line do not fit the lines above it")
    return ledger


def _check_version(head: Json) -> None:
    if head.get(_VERSION) == LEDGER_VERSION:
        return
    version, older = head.get(_VERSION), head.get(_OLDER_VERSION)
    raise IngestError(
        "the ledger was written in a format that this version does not read",
        seen=f"version {version}" if older is None else f"format {older}, from before version {LEDGER_VERSION}",
        fix="use a newer splitscan"
        if older is None
        else "convert the destination once: python tools/convert_ledgers.py DESTINATION, in a checkout of splitscan",
        code="ledger-version",
    )
