"""The laws, for everybody who writes a format, a source or a tracker.

Every ``check_*`` function raises ``AssertionError`` with the first difference it finds. Strategies for random inputs
are in :mod:`splitscan.testing.strategies`; they need ``hypothesis``.
"""

from splitscan.testing.faults import (
    ChangingSource,
    FailingSource,
    MemorySource,
    RecordingSource,
    ShortReadSource,
    SlowSource,
    TruncatedSource,
    WrappedSource,
    check_byte_source,
)
from splitscan.testing.laws import (
    PlannedWindow,
    check_chunking_law,
    check_count_law,
    check_fast_path_law,
    check_first_start_law,
    check_format_laws,
    check_partition_law,
    check_replay_law,
    check_resume_law,
)
from splitscan.testing.memory_reader import FramedRecord, read_range
from splitscan.testing.range_laws import RebalanceCensus, check_chunk_claim_law, check_rebalance_law, check_tracker_law
from splitscan.testing.reader_laws import (
    ReadRecord,
    ReadRows,
    check_managed_reader_laws,
    check_reader_law,
    plan_file,
    read_file,
    read_managed,
)
from splitscan.testing.scan_laws import (
    BlockResult,
    check_block_law,
    check_ledger_law,
    check_projection_law,
    check_summary_law,
    cut_blocks,
    read_block,
)

__all__ = [
    "BlockResult",
    "ChangingSource",
    "FailingSource",
    "FramedRecord",
    "MemorySource",
    "PlannedWindow",
    "ReadRecord",
    "ReadRows",
    "RebalanceCensus",
    "RecordingSource",
    "ShortReadSource",
    "SlowSource",
    "TruncatedSource",
    "WrappedSource",
    "check_block_law",
    "check_byte_source",
    "check_chunk_claim_law",
    "check_chunking_law",
    "check_count_law",
    "check_fast_path_law",
    "check_first_start_law",
    "check_format_laws",
    "check_ledger_law",
    "check_managed_reader_laws",
    "check_partition_law",
    "check_projection_law",
    "check_reader_law",
    "check_rebalance_law",
    "check_replay_law",
    "check_resume_law",
    "check_summary_law",
    "check_tracker_law",
    "cut_blocks",
    "plan_file",
    "read_block",
    "read_file",
    "read_managed",
    "read_range",
]
