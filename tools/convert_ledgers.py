"""Convert the ledgers of a destination that a splitscan before ledger version 1 wrote (formats 1 to 7).

    python tools/convert_ledgers.py DESTINATION

DESTINATION is a folder of a mounted file system, of any table format. Let no ingest run there, and let the splitscan
that wrote it finish what was interrupted (``splitscan verify`` with that version does). Rows and tables stay as they
are. Each ledger is replaced at once, and one that is of version 1 already is left alone: run it again after a failure.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from splitscan.jobs.ledger import (
    LEDGER_FOLDER,
    OUR_FOLDER,
    REJECT_FOLDER,
    REJECT_SUFFIX,
    Ledger,
    LedgerBlock,
    LedgerColumn,
    LedgerFile,
    RemovedFile,
    ReplacedFile,
    SourceTable,
    WrittenFile,
)
from splitscan.jobs.ledger_files import parse_ledger, render_ledger
from splitscan.jobs.settings import Partitioning
from splitscan.spelling import from_plain

_NEWEST_FORMAT = 7
_LISTS = {"files": LedgerFile, "written": WrittenFile, "replaced": ReplacedFile, "removed": RemovedFile}
_KEY_RANGE = ("start", "stop", "with_nulls", "only_nulls")
_UNFINISHED = (f"{OUR_FOLDER}/staging", f"{OUR_FOLDER}/prepared")


def convert(destination: Path) -> int:
    """Convert the ledgers of a destination. Returns how many were.

    Raises:
        SystemExit: If something is to be finished first, or a ledger is damaged; nothing of that ledger was changed.
    """
    for name in _UNFINISHED:
        if any(destination.glob(f"{name}/*")):
            sys.exit(f"{destination / name}: finish what was interrupted with the splitscan that wrote it")
    done = 0
    for path in [*sorted((destination / LEDGER_FOLDER).glob("*.jsonl")), *destination.glob("*=*/_ledger.jsonl")]:
        data = path.read_bytes()
        head = json.loads(data.partition(b"\n")[0])
        if "ledger_version" in head:
            continue
        ledger = _read_older(data, str(path))
        converted = render_ledger(_with_named_rejects(destination, ledger))
        parse_ledger(converted, str(path))
        _replace(path, converted)
        done += 1
    _forget_older_rejects(destination)
    return done


def _read_older(data: bytes, name: str) -> Ledger:
    *lines, last = [json.loads(line) for line in data.splitlines()]
    body = data[: data.removesuffix(b"\n").rindex(b"\n") + 1]
    if last["end"]["sha256"] != hashlib.sha256(body).hexdigest():
        sys.exit(f"{name}: the checksum does not fit; restore it from a backup")
    head = lines[0]
    version = head.pop("splitscan_ledger")
    if not 1 <= version <= _NEWEST_FORMAT:
        sys.exit(f"{name}: format {version} is none")
    found: dict[str, list[Any]] = {"file": [], "written": [], "replaced": [], "removed": [], "block": []}
    for line in lines[1:]:
        ((kind, raw),) = line.items()
        found[kind].append(raw)
    for block in found["block"]:
        _convert_block(block, found["written"], has_own_files=version == 1)
    if any("***" in raw["path"] and "path_sha256" not in raw for raw in found["file"]):
        sys.exit(
            f"{name}: a path with a masked secret is no file that can be known again; ingest into a new destination"
        )
    source = head.get("source")
    if source is not None:
        source["ranges"] = [[dict(zip(_KEY_RANGE, keys, strict=True)) for keys in block] for block in source["ranges"]]
    return Ledger(
        head["job_id"], head["sequence"], head["created"], head["record_format"], head["options"],
        tuple(from_plain(LedgerColumn, column) for column in head["columns"]),
        files=tuple(from_plain(LedgerFile, raw) for raw in found["file"]),
        blocks=tuple(from_plain(LedgerBlock, raw) for raw in found["block"]),
        written=tuple(from_plain(WrittenFile, {**raw, "name": _new_name(raw["name"])}) for raw in found["written"]),
        roots=tuple(head.get("roots", ())),
        table=head.get("table", ""),
        partitioning=from_plain(
            Partitioning, {**head.get("partitioning", {}), **({"layout": head["layout"]} if "layout" in head else {})}
        ),
        source=None if source is None else from_plain(SourceTable, source),
        replaced=tuple(from_plain(ReplacedFile, raw) for raw in found["replaced"]),
        removed=tuple(from_plain(RemovedFile, raw) for raw in found["removed"]),
    )  # fmt: skip


def _convert_block(block: dict[str, Any], written: list[dict[str, Any]], *, has_own_files: bool) -> None:
    """Spell a block as version 1 does. In format 1 what it names are whole files of its own."""
    for name in ("data", "reject_table"):
        raw = block.get(name)
        if has_own_files and raw is not None:
            written.append(raw)
            block[name] = {"name": raw["name"], "start": 0, "stop": raw["rows"]}
    data = block.get("data")
    block["data"] = [] if data is None else data if isinstance(data, list) else [data]
    if block.get("reject_table") is not None:
        block["reject_table"] = {**block["reject_table"], "name": _new_name(block["reject_table"]["name"])}
    if block["digest"] and ":" not in block["digest"]:
        block["digest"] = f"sha256:{block['digest']}"


def _new_name(name: str) -> str:
    """Reject tables had the suffix of data files once."""
    return name.removesuffix(".parquet") + REJECT_SUFFIX if _is_older_reject(name) else name


def _is_older_reject(name: str) -> bool:
    return name.startswith(f"{REJECT_FOLDER}/") and name.endswith(".parquet")


def _with_named_rejects(destination: Path, ledger: Ledger) -> Ledger:
    """Give reject tables the names of today; the older name stays until all ledgers are converted."""
    for written in ledger.written:
        older = destination / f"{written.name.removesuffix(REJECT_SUFFIX)}.parquet"
        if written.is_reject_table and older.exists() and not (destination / written.name).exists():
            _replace(destination / written.name, older.read_bytes())
    return replace(ledger, written=tuple(sorted(ledger.written, key=lambda each: each.name)))


def _forget_older_rejects(destination: Path) -> None:
    for older in (destination / REJECT_FOLDER).glob("*.parquet"):
        if older.with_suffix(REJECT_SUFFIX).exists():
            older.unlink()


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.converted")
    with beside.open("wb") as output:
        output.write(data)
        output.flush()
        os.fsync(output.fileno())
    beside.replace(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(f"{convert(Path(sys.argv[1]))} ledgers converted")  # noqa: T201 -- a command says what it did
