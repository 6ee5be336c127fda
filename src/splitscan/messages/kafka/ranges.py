"""Blocks of messages: ranges of offsets of one partition of a topic, and what to do where messages are gone."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from splitscan.errors import SourceError, Where
from splitscan.options.kafka import KafkaOptions


class TopicPartition(NamedTuple):
    """One partition of a topic; its messages are numbered by offsets that ascend, and may have gaps."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"kafka:{self.topic}/{self.partition}"


@dataclass(frozen=True, slots=True)
class MessageRange:
    """A planned unit of reading: the messages whose offset lies in ``[start, stop)``.

    A message belongs to the range that holds its offset, so ranges that tile others hold the same messages. There may
    be fewer messages than offsets: compaction and transactions leave gaps.

    Pickling: plain values only.
    """

    source: TopicPartition
    start: int
    stop: int

    @property
    def offsets(self) -> int:
        """How many offsets there are, and so messages at the most."""
        return max(0, self.stop - self.start)


def cut_ranges(
    ranges: Sequence[MessageRange], min_ranges: int | None = None, max_offsets: int | None = None
) -> list[MessageRange]:
    """Cut ranges into more of them, in the same order; empty ones are dropped.

    Args:
        min_ranges: Fewest ranges, where there are offsets enough; about, as every range is cut evenly.

    Returns:
        Ranges that tile those given. They depend on nothing else, so a plan that is made again is the same.

    Example:
        >>> source = TopicPartition("t", 0)
        >>> [(r.start, r.stop) for r in cut_ranges([MessageRange(source, 5, 15)], max_offsets=4)]
        [(5, 8), (8, 11), (11, 15)]
        >>> [(r.start, r.stop) for r in cut_ranges([MessageRange(source, 0, 6), MessageRange(source, 6, 8)], 4)]
        [(0, 2), (2, 4), (4, 6), (6, 8)]
    """
    wanted = [each for each in ranges if each.offsets]
    parts = [1 if max_offsets is None else -(-each.offsets // max_offsets) for each in wanted]
    if min_ranges is not None and sum(parts) < min_ranges:
        total = sum(each.offsets for each in wanted)
        shares = [-(-each.offsets * min_ranges // total) for each in wanted]
        parts = [min(max(pair), each.offsets) for each, *pair in zip(wanted, parts, shares, strict=True)]
    return [
        replace(each, start=each.start + each.offsets * i // count, stop=each.start + each.offsets * (i + 1) // count)
        for each, count in zip(wanted, parts, strict=True)
        for i in range(count)
    ]


def share_limit(ranges: Sequence[MessageRange], limit: int | None) -> list[MessageRange]:
    """The fronts of ranges that together have at most *limit* offsets, in proportion to what each has.

    No range starves: each gets an offset at least, and where there are more ranges than offsets they take turns, as the
    starts move on. The result depends on nothing but the arguments.

    Example:
        >>> source = TopicPartition("t", 0)
        >>> [r.stop for r in share_limit([MessageRange(source, 0, 900), MessageRange(source, 0, 90)], 110)]
        [100, 10]
        >>> [r.stop for r in share_limit([MessageRange(source, 0, 900), MessageRange(source, 0, 1)], 9)]
        [8, 1]
    """
    total = sum(each.offsets for each in ranges)
    if limit is None or total <= limit:
        return list(ranges)
    some = [index for index, each in enumerate(ranges) if each.offsets]
    turn = sum(each.start for each in ranges) % len(some)
    some = some[turn:] + some[:turn]
    granted = dict.fromkeys(some[:limit], 1)
    left = limit - len(granted)
    rest = {index: ranges[index].offsets - 1 for index in granted}
    spare = sum(rest.values())
    for index, offsets in rest.items():
        granted[index] += left * offsets // spare if spare else 0
    over = limit - sum(granted.values())
    for index in some:  # what rounding left, one for each
        if over and granted.get(index, 0) < ranges[index].offsets:
            granted[index] = granted.get(index, 0) + 1
            over -= 1
    return [replace(each, stop=each.start + granted.get(index, 0)) for index, each in enumerate(ranges)]


_log = logging.getLogger(__name__)


def report_loss(options: KafkaOptions, source: TopicPartition, offset: int, seen: str) -> None:
    """Say that messages from *offset* on are gone: a warning with ``failOnDataLoss=false``.

    Raises:
        SourceError: ``[kafka-data-loss]`` otherwise.
    """
    if not options.fail_on_data_loss:
        _log.warning("messages are gone that were not read: %s, offset %d: %s", source, offset, seen)
        return
    raise SourceError(
        "messages are gone that were not read (failOnDataLoss=true)", Where(str(source), offset), seen,
        "keep messages longer; to go on with what is there, set failOnDataLoss=false", "kafka-data-loss",
    )  # fmt: skip
