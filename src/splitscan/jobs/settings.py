"""Settings of an ingest: how it writes, and when it gives up."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from splitscan.errors import IngestError, UsageError, Where, bad_option
from splitscan.formats.decoding.contract import BAD_VALUE
from splitscan.jobs.partitioning import Layout
from splitscan.sizes import MIB, count_of


class OnChanged(enum.Enum):
    """Policy for a file that was ingested before and has changed since."""

    FAIL = "fail"
    SKIP = "skip"
    REPLACE = "replace"


class SchemaEvolution(enum.Enum):
    """Policy for a column of the rows that the destination does not have."""

    FAIL = "failOnNewColumns"
    ADD = "addNewColumns"
    RESCUE = "rescue"
    NONE = "none"

    @property
    def keeps_columns(self) -> bool:
        """True if files are read by the columns that the destination has, whatever they bring."""
        return self in {SchemaEvolution.RESCUE, SchemaEvolution.NONE}


_DEFAULT_RATIO = 0.01
_DEFAULT_REJECTS = 10  # that a few records may have, so that one line does not stop a small file
_MOST_OF_FEW = 0.5  # but not most of them: then the options are wrong

_WIDENING = "addNewColumnsWithTypeWidening"  # Auto Loader has it, and Delta Lake and old files of a folder cannot
_CODECS = {"zstd", "snappy", "gzip", "lz4", "brotli", "none"}


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """Settings of an ingest, validated. Declared here once, for an ingest of files, of a table, and each of a watch.

    Attributes:
        max_rejects: Most records that may break a rule; ``None`` for no such limit.
        max_reject_ratio: Largest share of records that may break a rule, 0 to 1; ``None`` for no such limit. Without
            either limit it is 1 in 100, or 10 records if that is more, but never more than half.
        compression: Parquet codec: ``zstd``, ``snappy``, ``gzip``, ``lz4``, ``brotli`` or ``none``.
        row_group_bytes: A row group is closed when its rows, as Arrow, reach this size. Bounds a worker's memory.
        row_group_rows: Most rows in a row group, and in a portion of it.
        source_digests: Whether the ledger holds a digest of the source bytes of every block.
        on_changed: What to do with a file that was ingested before and has changed since: fail, skip it, or replace its
            rows in the same commit. A file that is gone is not removed.
        partition_by: Columns whose values choose the folder of a row (``day=2024-01-02/``), outermost first; none for
            one folder. ``None`` for what the destination has.
        layout: How the jobs of a plain folder lie in it: each in a folder of its own (``splitscan_job=00000012/``),
            which appears by one rename, or files side by side. ``None`` for what the destination has.
        schema_evolution_mode: What to do with a column of the rows that the destination does not have: fail, add it
            (with a null in rows that were there before), or read files by the columns of the destination and keep what
            else they have in ``rescuedDataColumn``, or nowhere.

    Raises:
        UsageError: ``[bad-option]`` if a value has no meaning.
    """

    max_rejects: int | None = None
    max_reject_ratio: float | None = None
    compression: str = "zstd"
    row_group_bytes: int = 32 * MIB
    row_group_rows: int = 1_000_000
    source_digests: bool = True
    on_changed: OnChanged = OnChanged.FAIL
    partition_by: tuple[str, ...] | None = None
    layout: Layout | None = None
    schema_evolution_mode: SchemaEvolution = SchemaEvolution.FAIL

    def __post_init__(self) -> None:
        self._require_whole("max_rejects", self.max_rejects, 0)
        self._require_whole("row_group_bytes", self.row_group_bytes, 1)
        self._require_whole("row_group_rows", self.row_group_rows, 1)
        ratio = self.max_reject_ratio
        if ratio is not None and not (isinstance(ratio, (int, float)) and math.isfinite(ratio) and 0 <= ratio <= 1):
            raise _bad("max_reject_ratio", ratio, "give a share from 0 to 1")
        if self.compression not in _CODECS or not (
            self.compression == "none" or pa.Codec.is_available(self.compression)
        ):
            raise _bad("compression", self.compression, f"give one of {', '.join(sorted(_CODECS))}")

    @classmethod
    def of(cls, *, replace_changed: bool = False, **named: Any) -> IngestSettings:
        """Build settings as users name them: enums by their texts, ``partition_by`` one column or several.

        ``replace_changed`` is the same as ``on_changed="replace"``. ``[bad-option]`` if a value has no meaning.
        """
        known = {each.name for each in fields(cls)}
        for name in named.keys() - known:
            raise bad_option(f"{name} is no setting of an ingest", name, f"name one of {', '.join(sorted(known))}")
        if named.get("schema_evolution_mode") == _WIDENING:
            raise bad_option(
                "types of columns that are there never change",
                f"schema_evolution_mode={_WIDENING}",
                "use addNewColumns with option rescuedDataColumn, which keeps what a column cannot hold; or "
                "another destination with a wider schema",
            )
        for name, kind in _ENUMS.items():
            if named.get(name) is not None or (name in named and name != "layout"):
                named[name] = _member(kind, name, named[name])
        if replace_changed and named.get("on_changed") is OnChanged.SKIP:
            raise _bad("on_changed", "skip", "give replace_changed or on_changed='skip', not both")
        if replace_changed:
            named["on_changed"] = OnChanged.REPLACE
        columns = named.get("partition_by")
        if columns is not None:
            named["partition_by"] = (columns,) if isinstance(columns, str) else tuple(columns)
        return cls(**named)

    def _require_whole(self, name: str, value: int | None, least: int) -> None:
        if value is None and name == "max_rejects":
            return
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise _bad(name, value, f"give a whole number, at least {least}")

    def check_budget(
        self,
        rows: int,
        rejects: int,
        dropped: int,
        examples: list[str],
        destination: str,
        lost: int = 0,
        *,
        guessed: bool = False,
    ) -> None:
        """Make sure that no more records broke a rule than allowed: ``[reject-budget]``.

        Values have to fit types that were *guessed* from a sample, unless a limit says how many need not.
        """
        misfits = [example for example in examples if example.endswith(f"[{BAD_VALUE}]")]
        if guessed and misfits and self.max_rejects is None and self.max_reject_ratio is None:
            rule, shown = "values do not fit the types that a sample showed", misfits
            count = f"{count_of(rejects, 'record')} broke a rule"
            fix = (
                "leave sampleBytes and sampleFiles out, so that all values decide on the types; or give a schema, "
                "raise inferBytes, or allow such records with max_rejects"
            )
        elif limit := self._broken_limit(rows + dropped, rejects, rejects - lost):
            rule, shown, count = limit, examples, f"{rejects} of {rows + dropped} records"
            fix = (
                "compare the options with the file (`splitscan head` shows what they read), correct the records or the "
                "schema, or allow more with max_reject_ratio or max_rejects; what was read so far is kept for the next "
                "run"
            )
        else:
            return
        seen = "\n         ".join([f"{count}; the first:", *shown])
        raise IngestError(f"{rule}; nothing was published", Where(path=destination), seen, fix, "reject-budget")

    def _broken_limit(self, records: int, rejects: int, broken: int) -> str | None:
        if self.max_rejects is not None and rejects > self.max_rejects:
            return f"more records broke a rule than max_rejects={self.max_rejects} allows"
        if self.max_reject_ratio is not None and broken > self.max_reject_ratio * records:
            return f"a larger share of the records broke a rule than max_reject_ratio={self.max_reject_ratio} allows"
        is_default = self.max_rejects is None and self.max_reject_ratio is None
        few = min(_DEFAULT_REJECTS, _MOST_OF_FEW * records)
        if is_default and broken > max(few, _DEFAULT_RATIO * records):
            return "more records broke a rule than the default allows (1 in 100; up to 10 of few records, at most half)"
        return None


_ENUMS: dict[str, type[enum.Enum]] = {
    "on_changed": OnChanged, "layout": Layout, "schema_evolution_mode": SchemaEvolution,
}  # fmt: skip


def _member(kind: type[enum.Enum], name: str, value: object) -> enum.Enum:
    try:
        return kind(value)
    except ValueError:
        raise _bad(name, value, f"give one of {', '.join(each.value for each in kind)}") from None


def _bad(name: str, value: object, fix: str) -> UsageError:
    return bad_option(f"{name} has a value without meaning", repr(value)[:80], fix)
