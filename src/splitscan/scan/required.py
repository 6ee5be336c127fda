"""Records that have no value for a column that must have one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from splitscan.formats.decoding.contract import NULL_IN_NOT_NULL, Decoded, Fault
from splitscan.options import Mode
from splitscan.scan.spec import ScanSpec


def with_required(spec: ScanSpec, decoded: Decoded) -> Decoded:
    """Make a fault of every record that lacks a value of a column that is NOT NULL.

    Such a record can be no row: in mode DROPMALFORMED it is dropped, whatever columns are read, and in mode FAILFAST it
    fails the scan. In mode PERMISSIVE nothing is done here: whoever assembles rows fails.

    Args:
        spec: What is delivered.
        decoded: Columns of ``spec.judged``, with their defaults filled in.
    """
    if spec.options.reading.mode is Mode.PERMISSIVE:
        return decoded
    faults = {fault.record: fault for fault in decoded.faults}
    for index, column in zip(spec.judged, decoded.columns, strict=True):
        field = spec.fields.field(index)
        if field.nullable or not column.null_count:
            continue
        for record in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
            reason = f"column {field.name!r} is NOT NULL and has no value"
            known = faults.get(record) or Fault(record, NULL_IN_NOT_NULL, reason, True)
            faults[record] = known._replace(structural=True)
    return replace(decoded, faults=[faults[record] for record in sorted(faults)])
