"""From a scan's description to what the framework runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from splitscan.blocks import BlockMetadata
from splitscan.content.storage import ByteSource
from splitscan.formats.column_rules import default_of, rules_of_format
from splitscan.scan.framework import ManagedReader, OutputPlan, ReaderPlan
from splitscan.scan.framework.columns import Columns
from splitscan.scan.managed_reading import ManagedReading
from splitscan.scan.spec import ScanSpec


def shared_plan(spec: ScanSpec, limit: int | None = None) -> tuple[OutputPlan, Columns]:
    """What the scan of a block delivers, and its columns: one pair for all blocks without limit."""
    if limit is not None or isinstance(spec.framing, ManagedReading):
        plan = output_plan(spec, limit)
        return plan, Columns(plan)
    known: tuple[OutputPlan, Columns] | None = spec.plans.get("whole")
    if known is None:
        plan = output_plan(spec)
        known = spec.plans.setdefault("whole", (plan, Columns(plan)))
    return known


def output_plan(spec: ScanSpec, limit: int | None = None) -> OutputPlan:
    """What a scan delivers. The reader of framed records judges its records itself; others do not."""
    reading = spec.options.reading
    is_managed = isinstance(spec.framing, ManagedReading)
    rules = rules_of_format(spec.options)
    defaults = {field.name: default_of(field, rules) for field in spec.fields} if is_managed else {}
    return OutputPlan(
        schema=spec.schema,
        judged=spec.fields if is_managed else None,
        defaults={name: value for name, value in defaults.items() if value is not None},
        mode=reading.mode,
        corrupt_column=spec.corrupt_column if is_managed and spec.corrupt_column in spec.columns else None,
        batch_rows=reading.batch_rows,
        batch_bytes=reading.batch_bytes,
        limit=limit,
        empty_result=False,
        ignore_missing=spec.options.files.ignore_missing_files,
    )


def reader_plan(
    spec: ScanSpec,
    block: BlockMetadata,
    make: Callable[[], ManagedReader],
    open_source: Callable[[], ByteSource],
    constants: Mapping[str, pa.Scalar],
) -> ReaderPlan:
    """One reader of a block; messages name it if it is the user's own."""
    is_managed = isinstance(spec.framing, ManagedReading)
    return ReaderPlan(
        make=make,
        split=block,
        open_source=open_source,
        constants=constants,
        name="" if is_managed else None,
        provided_schema=spec.fields if is_managed and len(spec.fields) else None,
        options=spec.options,
        read_bytes=spec.options.reading.read_bytes,
    )
