"""Windows over messages, and a bounded scan of them.

The state of windows is a few integers, so the offset that Spark logs is the whole plan. A window is what lies between
two offsets. Where it begins in a partition that the offset before it does not have, or cannot be followed from, its own
offset says. So the ranges of a window are a function of two texts in the checkpoint, and the cluster is never asked
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa

from splitscan.errors import SchemaError, UsageError, Where, bad_option
from splitscan.formats.decoding.ddl import as_schema
from splitscan.messages import MessageSpec, make_message_spec, scan_messages
from splitscan.messages.kafka import KafkaCluster, MessageRange, TopicPartition, cut_ranges, report_loss, share_limit
from splitscan.messages.spec import parse_kafka_options
from splitscan.options.sources import EARLIEST, LATEST, KafkaOptions, OffsetChoice
from splitscan.reading.rejects import OnReject
from splitscan.redaction import redact
from splitscan.scans.rows import Rows, checked_limit, first_rows
from splitscan.streaming.windows import foreign_offset

_VERSION = 1
_SOURCE = "kafka"
_MOST_SHOWN = 10

Positions = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class MessageOffset:
    """A position in a stream of messages.

    Attributes:
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
    """The inverse of :meth:`MessageOffset.to_json`."""
    try:
        if (value["v"], value["source"]) == (_VERSION, _SOURCE):
            return MessageOffset(_flat(value["at"]), _flat(value["from"]))
    except (TypeError, KeyError, ValueError, AttributeError):
        pass  # the same error as for another version
    raise foreign_offset(value)


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
                "an offset in the checkpoint does not follow from the one before it", Where(str(source)),
                "a partition whose beginning is nowhere", "restore the checkpoint, or use an empty one", "bad-offset",
            )  # fmt: skip
        ranges.append(MessageRange(source, begin, end.positions[source]))
    return ranges


class MessagePlanner:
    """Plans the windows of one stream of messages, and the one window of a bounded read.

    Thread safety: none; calls come one after the other.
    """

    def __init__(self, cluster: KafkaCluster, options: KafkaOptions) -> None:
        self._cluster = cluster
        self._options = options
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
            UsageError: ``[bad-option]`` if the options do not say it for every partition.
        """
        choice = self._options.ending_offsets or OffsetChoice(LATEST)
        ranges = []
        todo = self._open_ranges(MessageOffset(), fresh=True)
        _check_named(choice, {one.source for one in todo}, "endingOffsets")
        for one in todo:
            stop = self._named(choice, one.source, "endingOffsets")
            if stop > one.stop:
                report_loss(self._options, one.source, one.stop, f"the log ends there, and endingOffsets is {stop}")
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
            report_loss(self._options, source, start.positions[source], "the partition is no longer there")
        ranges = []
        for source in sources:
            low, high = lows[source], ends[source]
            begin = start.positions.get(source)
            if begin is None:
                begin = self._beginning(source, low, high) if fresh else low
            if not low <= begin <= high:
                report_loss(self._options, source, begin, f"the partition has offsets [{low}, {high})")
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
            raise bad_option(
                f"option {option} names an offset for every partition, or for none", "no offset for this one",
                f'add it, or set {option} to "latest"', Where(str(source)),
            )  # fmt: skip
        return offset


def _check_named(choice: OffsetChoice, sources: Set[TopicPartition], option: str) -> None:
    """See that offsets are named of partitions only that are read: another one would be a slip, and not noticed."""
    for topic, number, offset in choice.named:
        if TopicPartition(topic, number) not in sources:
            raise bad_option(
                f"option {option} names an offset of a partition that is not read",
                f"offset {offset}; partitions: {', '.join(map(str, sorted(sources)[:_MOST_SHOWN]))}",
                "leave it out, or subscribe to its topic",
                Where(str(TopicPartition(topic, number))),
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


class MessageScan(Rows):
    """Describes a scan of the messages that are there when it is read; no broker is asked before.

    Args:
        format: Record format of the values; ``None`` for bytes as they are.

    Raises:
        SchemaError: ``[no-schema]`` if the values have columns, and no schema says which.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        format: str | None = None,
        schema: str | pa.Schema | None = None,
        selected: tuple[str, ...] | None = None,
        limit: int | None = None,
    ) -> None:
        self._options, self._format, self._given = dict(options), format, as_schema(schema)
        self.selected, self.row_limit = selected, limit
        kafka, others = parse_kafka_options(options, streams=False)
        self._spec: MessageSpec = make_message_spec(kafka, format, others, self._given)
        missing = [name for name in selected or () if name not in self.full_schema.names]
        if missing:
            raise SchemaError(
                f"messages have no column {missing[0]!r}", seen=", ".join(self.full_schema.names),
                fix="select one of them, or name what is beside the value in metadataColumns", code="unknown-column",
            )  # fmt: skip

    def __repr__(self) -> str:
        servers = redact(str(self._options.get("kafka.bootstrap.servers")))
        return f"<{type(self).__name__} servers: {servers}; values: {self._format or 'bytes'}; {self.schema.names}>"

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that were given, with the record format among them."""
        return self._options if self._format is None else {**self._options, "recordFormat": self._format}

    @property
    def full_schema(self) -> pa.Schema:
        """Schema of the rows before columns are selected."""
        return self._spec.schema

    @property
    def schema(self) -> pa.Schema:
        full = self.full_schema
        return full if self.selected is None else pa.schema([full.field(name) for name in self.selected])

    def select(self, *columns: str) -> Self:
        """A scan of these columns only, in this order. The values are decoded whole, so that no row changes.

        Raises:
            SchemaError: ``[unknown-column]`` if there is no such column.
        """
        return type(self)(self._options, self._format, self._given, columns, self.row_limit)

    def limit(self, rows: int) -> Self:
        """A scan that stops after *rows* rows.

        Raises:
            UsageError: ``[bad-limit]`` if it is no whole number from 0 on.
        """
        return type(self)(self._options, self._format, self._given, self.selected, checked_limit(rows))

    def ranges(self) -> list[MessageRange]:
        """Offsets of now, by topic and partition, as tasks would read them. Each call asks the cluster again."""
        kafka = self._spec.kafka
        found = MessagePlanner(KafkaCluster(kafka), kafka).bounded()
        return cut_ranges(found, kafka.min_partitions, kafka.max_records_per_partition)

    def to_batches(self, on_reject: OnReject | None = None) -> Iterator[pa.RecordBatch]:
        """Read what there is now in this process, by topic, partition and offset."""
        names = self.schema.names
        for batch in first_rows(lambda: scan_messages(self._spec, self.ranges(), on_reject), self.row_limit):
            yield batch if self.selected is None else batch.select(names)

    def count(self) -> int:
        """Number of rows of what there is now: messages are read, and no value is converted."""
        kafka = replace(self._spec.kafka, metadata_columns=())
        spec = MessageSpec(kafka, self._spec.values.select(()), pa.schema([]))
        batches = first_rows(lambda: scan_messages(spec, self.ranges()), self.row_limit)
        return sum(batch.num_rows for batch in batches)
