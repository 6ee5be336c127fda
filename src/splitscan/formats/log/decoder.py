"""Log records whose columns are named groups of a pattern, by the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.decoding.contract import Fault, FaultTemplate
from splitscan.formats.decoding.values import NOT_BEGUN_WORDING, PartsDecoder
from splitscan.formats.framing.frames import Frames, records_in_utf8

NO_MATCH = "no-match"
NO_MATCH_WORDING = FaultTemplate(NO_MATCH, "the record does not match the pattern")


@dataclass(frozen=True, kw_only=True)
class GroupsDecoder(PartsDecoder):
    """Decodes records by a pattern."""

    pattern: str
    groups: tuple[str, ...]

    def parts(self, data: memoryview, frames: Frames) -> tuple[list[pa.Array], dict[int, Fault]]:
        records = pa.array(records_in_utf8(data, frames, self.encoding), pa.string())
        found = pc.extract_regex(records, rf"\A(?:{self.pattern})\z")
        if frames.malformed:
            begun = np.ones(len(frames), dtype=bool)
            begun[list(frames.malformed)] = False
            found = pc.if_else(pa.array(begun), found, None)
        faults = {record: NO_MATCH_WORDING.fault(record) for record in np.flatnonzero(_nulls(found)).tolist()}
        faults |= {record: NOT_BEGUN_WORDING.fault(record) for record in frames.malformed}
        texts = [pc.struct_field(found, group) for group in self.groups]
        return [self.without_nulls(text, text) for text in texts], faults


def _nulls(found: pa.Array) -> np.ndarray:
    nulls: np.ndarray = found.is_null().to_numpy(zero_copy_only=False)
    return nulls
