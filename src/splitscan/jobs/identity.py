"""The identity of a job: the same files, cut into the same blocks, read with the same options, are the same job."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.storage import redact
from splitscan.jobs.ledger import describe_columns, identify
from splitscan.jobs.settings import IngestSettings
from splitscan.options import ReadOptions
from splitscan.path_text import portable_path
from splitscan.scan import ScanSpec
from splitscan.streaming.windows import Window

_LAYOUT = 2  # what is left in staging by a splitscan with another one belongs to another job

# Options that choose files or shape tasks: what is read is in the plan, and how it is divided changes nothing.
_WITHOUT_EFFECT = frozenset({
    "storage_options", "task_bytes", "open_cost_bytes", "min_partitions", "path_glob_filter", "recursive_file_lookup",
    "modified_before_us", "modified_after_us", "ignore_missing_files", "ignored_path_segment_regex",
    "where", "sampling_bytes", "infer_schema", "sample_files", "provided_schema", "schema_mode", "schema_hints",
    "schema_conflicts", "column_options", "rebalance", "dialect", "found_options",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Growth:
    """Range that a job reads of a file that grows: from *start* to where the file was planned.

    *content* is the identity of what was written under the file's name, in its destination.
    """

    content: str
    start: int


def describe_growth(stream: str, window: Window, contents: Mapping[str, str]) -> dict[str, Growth]:
    """Tell what a window reads of each of its files, by path."""
    starts: dict[str, int] = {}
    for block in window.blocks:
        starts.setdefault(block.file.path, block.start)
    return {path: Growth(f"{stream}/{contents[path]}", start) for path, start in starts.items()}


def describe_read_options(options: ReadOptions) -> dict[str, Any]:
    """Spell all options as JSON values; settings of the file system appear by name only.

    Example:
        >>> from splitscan.formats.registry import parse_options
        >>> described = describe_read_options(parse_options("text", {"storageOptions": {"key": "k"}}))
        >>> described["files"]["storage_options"], described["reading"]["mode"]
        ({'key': '***'}, 'PERMISSIVE')
    """
    described: dict[str, Any] = _plain(options)
    del described["given"]  # what was left to its default is the same job
    described["files"]["storage_options"] = dict.fromkeys(options.files.storage_options, "***")
    return described


def compute_job_id(
    blocks: Iterable[BlockMetadata],
    empty_files: Iterable[FileMetadata],
    spec: ScanSpec,
    settings: IngestSettings,
    taken: Container[str] = (),
    *,
    claimed: bool = False,
    growth: Mapping[str, Growth] | None = None,
    ids: Sequence[str] = (),
) -> str:
    """Compute the identity of a job: 32 hexadecimal digits."""
    described = describe_read_options(spec.options)
    for section in described.values():
        if isinstance(section, dict):
            for name in _WITHOUT_EFFECT:
                section.pop(name, None)
    writing = (
        settings.compression, settings.row_group_bytes, settings.row_group_rows, settings.source_digests,
        *(settings.partition_by or ()),
    )  # fmt: skip
    digest = hashlib.sha256()
    columns = [[str(column) for column in describe_columns(schema)] for schema in (spec.fields, spec.schema)]
    rules = [sorted((str(k), str(v)) for k, v in (column.metadata or {}).items()) for column in spec.fields]
    head = [_LAYOUT, described, columns, rules, repr(spec.framing), writing, pa.__version__, *filter(None, ids)]
    head += filter(None, [spec.notices])  # what a block has noticed is part of its report
    digest.update(json.dumps(head, sort_keys=True).encode("ascii"))
    previous = None
    for block in blocks:
        if block.file is not previous:
            previous = block.file
            _add(digest, "file", *_identity(previous))
            if growth and previous.path in growth:
                _add(digest, "content", growth[previous.path].content)
        _add(digest, block.start, block.stop)
    if claimed:
        _add(digest, "claimed")
    for file in empty_files:
        _add(digest, "empty", *_identity(file))
    while (job_id := digest.hexdigest()[:32]) in taken:
        _add(digest, "again")
    return job_id


def _identity(file: FileMetadata) -> tuple[str, str, str]:
    return identify(file.path), file.fingerprint, portable_path(file.relative_path, file.path)


def _add(digest: Any, *parts: object) -> None:
    digest.update(json.dumps(parts).encode("ascii") + b"\n")


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return redact(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [_plain(item) for item in value]
        return sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items
    return repr(value)  # bytes, zones, patterns: their texts tell them apart
