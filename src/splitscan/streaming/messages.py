"""Windows over messages. Their state is a few integers, so the offset that Spark logs is the whole plan.

A window is what lies between two offsets. Where it begins in a partition that the offset before it does not have, or
cannot be followed from, its own offset says. So the ranges of a window are a function of two texts in the checkpoint,
and the cluster is never asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

from splitscan.errors import UsageError, Where
from splitscan.messages.kafka import DataLoss, MessageRange, TopicPartition, share_limit
from splitscan.options.kafka import EARLIEST, LATEST, KafkaOptions, OffsetChoice

_VERSION = 1
_SOURCE = "kafka"
_MOST_SHOWN = 10

Positions = Mapping[TopicPartition, int]


class Cluster(Protocol):
    """A cluster, as a planner needs it."""

    def partitions(self) -> list[TopicPartition]:
        """All partitions that are to be read."""

    def earliest(self, sources: list[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset that each still has."""

    def latest(self, sources: list[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last message of each."""


@dataclass(frozen=True, slots=True)
class MessageOffset:
    """A position in a stream of messages.

    Attributes:
        positions: Next offset of each partition.
        begins: Where the window that ends here began, in partitions in which that is not where the one before ended.
    """

    positions: Positions = field(default_factory=dict)
    begins: Positions = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As JSON values, always in one order: Spark compares offsets as texts.

        Example:
            >>> MessageOffset({TopicPartition("t", 10): 7, TopicPartition("t", 2): 0}).to_json()
            {'v': 1, 'source': 'kafka', 'at': {'t': {'2': 0, '10': 7}}, 'from': {}}
        """
        return {"v": _VERSION, "source": _SOURCE, "at": _nested(self.positions), "from": _nested(self.begins)}


def read_message_offset(value: Any) -> MessageOffset:
    """The inverse of :meth:`MessageOffset.to_json`.

    Raises:
        UsageError: ``[bad-offset]`` if it is another source's.
    """
    try:
        if (value["v"], value["source"]) == (_VERSION, _SOURCE):
            return MessageOffset(_flat(value["at"]), _flat(value["from"]))
    except (TypeError, KeyError, ValueError, AttributeError):
        pass  # the same error as for another version
    raise UsageError(
        "the checkpoint holds an offset that is not of this source",
        seen=repr(value)[:200],
        fix="use the checkpoint of this query, or an empty one",
        code="bad-offset",
    )


def window_ranges(start: MessageOffset, end: MessageOffset) -> list[MessageRange]:
    """Window between two offsets: a function of them alone.

    Raises:
        UsageError: ``[bad-offset]`` if the second does not follow from the first.
    """
    ranges = []
    for source in sorted(end.positions):
        begin = end.begins.get(source, start.positions.get(source))
        if begin is None:
            raise UsageError(
                "an offset in the checkpoint does not follow from the one before it",
                Where(str(source)),
                "a partition whose beginning is nowhere",
                "restore the checkpoint, or use an empty one",
                "bad-offset",
            )
        ranges.append(MessageRange(source, begin, end.positions[source]))
    return ranges


class MessagePlanner:
    """Plans the windows of one stream of messages, and the one window of a bounded read.

    Thread safety: none; calls come one after the other.
    """

    def __init__(self, cluster: Cluster, options: KafkaOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._loss = DataLoss(options.fail_on_data_loss)
        self._frozen: Positions | None = None
        self.backlog = 0
        """Offsets that were there and are not planned, when it was last looked."""

    def freeze(self) -> None:
        """From now on plan only what is there now: what comes later is left for the next run."""
        self._frozen = self._cluster.latest(self._cluster.partitions())

    def latest(self, start: MessageOffset, *, limited: bool = True) -> MessageOffset:
        """Plan the next window.

        Returns:
            Where the window ends; equal to *start* if there is nothing new. Partitions that are seen for the first time
            are in it even if they are empty, so that where they begin is known for ever.

        Raises:
            SourceError: If the cluster does not answer, or messages are gone that were not read.
        """
        todo = self._open_ranges(start, fresh=not start.positions)
        if self._frozen is not None:
            frozen = self._frozen
            todo = [
                MessageRange(one.source, one.start, max(one.start, min(one.stop, frozen.get(one.source, one.start))))
                for one in todo
            ]
        planned = share_limit(todo, self._options.max_offsets_per_trigger if limited else None)
        self.backlog = sum(one.offsets for one in todo) - sum(one.offsets for one in planned)
        begins = {one.source: one.start for one in todo if start.positions.get(one.source) != one.start}
        end = MessageOffset({one.source: one.stop for one in planned}, begins)
        return start if dict(end.positions) == dict(start.positions) and not begins else end

    def bounded(self) -> list[MessageRange]:
        """Plan one read: from ``startingOffsets`` to ``endingOffsets``, as the cluster is now.

        Raises:
            SourceError: As :meth:`latest` does.
            UsageError: ``[bad-option]`` if the options do not say it for every partition.
        """
        choice = self._options.ending_offsets or OffsetChoice(LATEST)
        ranges = []
        todo = self._open_ranges(MessageOffset(), fresh=True)
        _check_named(choice, {one.source for one in todo}, "endingOffsets")
        for one in todo:
            stop = self._named(choice, one.source, "endingOffsets")
            if stop > one.stop:
                self._loss.report(one.source, one.stop, f"the log ends there, and endingOffsets is {stop}")
            ranges.append(MessageRange(one.source, one.start, one.stop if stop == LATEST else min(stop, one.stop)))
        return ranges

    # ---------------------------------------------------------------- inside

    def _open_ranges(self, start: MessageOffset, *, fresh: bool) -> list[MessageRange]:
        """Everything that is not planned, from where each partition begins."""
        sources = self._cluster.partitions()
        if fresh and self._options.starting_offsets is not None:
            _check_named(self._options.starting_offsets, set(sources), "startingOffsets")
        lows = self._cluster.earliest(sources)
        ends = self._cluster.latest(sources)  # asked for last: so no beginning lies after its end
        for source in sorted(set(start.positions) - set(sources)):
            self._loss.report(source, start.positions[source], "the partition is no longer there")
        ranges = []
        for source in sources:
            low, high = lows[source], ends[source]
            begin = start.positions.get(source)
            if begin is None:
                begin = self._beginning(source, low, high) if fresh else low
            if not low <= begin <= high:
                self._loss.report(source, begin, f"the partition has offsets [{low}, {high})")
                begin = low
            ranges.append(MessageRange(source, begin, high))
        return ranges

    def _beginning(self, source: TopicPartition, low: int, high: int) -> int:
        choice = self._options.starting_offsets or OffsetChoice(EARLIEST)
        begin = self._named(choice, source, "startingOffsets")
        return {EARLIEST: low, LATEST: high}.get(begin, begin)

    def _named(self, choice: OffsetChoice, source: TopicPartition, option: str) -> int:
        offset = choice.of(*source)
        if offset is None:
            raise UsageError(
                f"option {option} names an offset for every partition, or for none",
                Where(str(source)),
                seen="no offset for this one",
                fix=f'add it, or set {option} to "latest"',
                code="bad-option",
            )
        return offset


def _check_named(choice: OffsetChoice, sources: Set[TopicPartition], option: str) -> None:
    """See that offsets are named of partitions only that are read: another one would be a slip, and not noticed."""
    for topic, number, offset in choice.named:
        if TopicPartition(topic, number) not in sources:
            raise UsageError(
                f"option {option} names an offset of a partition that is not read",
                Where(str(TopicPartition(topic, number))),
                seen=f"offset {offset}; partitions: {', '.join(map(str, sorted(sources)[:_MOST_SHOWN]))}",
                fix="leave it out, or subscribe to its topic",
                code="bad-option",
            )


def _nested(positions: Positions) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for source in sorted(positions):
        nested.setdefault(source.topic, {})[str(source.partition)] = positions[source]
    return nested


def _flat(nested: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(number)): int(offset)
        for topic, offsets in nested.items()
        for number, offset in offsets.items()
    }
