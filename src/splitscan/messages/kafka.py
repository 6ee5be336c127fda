"""Kafka: which messages there are, how they are cut into blocks, and the client."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

from splitscan.errors import SourceError, SourceMissingError, UsageError, Where, bad_option
from splitscan.options.sources import KafkaOptions
from splitscan.redaction import redact


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


_GROUP = "splitscan"  # no group is joined: partitions are assigned, and nothing is committed
# A broker holds a request for messages that are not there yet for so long, and until then the client begins no other
# partition: the library's 500 would be half a second for each partition that is read to its end.
_FETCH_WAIT_MS = 10
_SHOWN = frozenset(
    ["security.protocol", "sasl.mechanism", "sasl.mechanisms", "client.id", "group.id", "isolation.level"]
)  # of the settings that are passed on, those that hold no secret
_PROPERTY = re.compile(r'property:? "([\w.]+)"')


def client_module(name: str = "confluent_kafka") -> Any:
    """The client library.

    Raises:
        UsageError: ``[no-kafka]`` if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(
            "reading Kafka needs a library that is not installed", seen=str(error),
            fix="install splitscan[kafka], or confluent-kafka, on the driver and on every worker", code="no-kafka",
        ) from error  # fmt: skip


def consumer_settings(options: KafkaOptions) -> dict[str, Any]:
    """Settings of a consumer that reads what it is told to, and leaves no trace in the cluster."""
    return {
        "group.id": _GROUP,
        "fetch.wait.max.ms": _FETCH_WAIT_MS,
        **options.client,
        "bootstrap.servers": options.bootstrap_servers,
        "enable.auto.commit": False,
        "auto.offset.reset": "error",  # anything else would go on elsewhere without a word
        "enable.partition.eof": True,  # the last offsets of a range may be gaps
    }


def make_client(kind: str, module: str, options: KafkaOptions, settings: Mapping[str, Any]) -> Any:
    """A client of the library."""
    library = client_module()
    try:
        return getattr(client_module(module), kind)(dict(settings))
    except library.KafkaException as error:
        found = _PROPERTY.search(str(error))
        name = None if found is None else found[1]
        raise bad_option(
            "an option kafka.* is refused by the client library",
            mask(str(error), options) if name is None else f"kafka.{name}",
            "use the names and values of librdkafka's CONFIGURATION.md",
        ) from None  # the library's message quotes the value


def failed(what: str, error: object, options: KafkaOptions, where: Where | None = None) -> SourceError:
    """The error for a request that the cluster, or the way to it, let down."""
    return SourceError(
        f"Kafka could not be asked for {what}", where, mask(f"{error}; brokers {options.bootstrap_servers}", options),
        "see that the brokers can be reached from here, and that the options kafka.* are right", "kafka-failed",
    )  # fmt: skip


def mask(text: str, options: KafkaOptions) -> str:
    """A text of the library without the values of settings that may be secret."""
    hidden = {f"secret {name}": value for name, value in options.client.items() if name not in _SHOWN}
    return redact(text, hidden)


_ADMIN = "confluent_kafka.admin"
_PAUSE_SECONDS = 0.1  # before a partition is asked for its leader again
_INTERNAL = "__"  # what the names of topics begin with that Kafka keeps for itself; a pattern does not mean them
_OF_CONSUMERS = ("isolation.level",)  # settings that an administrator's client does not have


class KafkaCluster:
    """Answers questions about the topics that the options name. Connects with the first question.

    Thread safety: none.
    Pickling: yes; the connection stays behind.
    """

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._admin: Any = None

    def partitions(self) -> list[TopicPartition]:
        """All partitions that are to be read, as they are now, sorted.

        Raises:
            SourceMissingError: ``[kafka-topic-missing]`` if a topic that is named is not there. Topics that match a
                pattern may come and go.
            SourceError: ``[kafka-failed]`` if the cluster cannot be reached.
        """
        found = self._topics()
        options = self._options
        if options.subscribe_pattern is not None:
            matches = re.compile(options.subscribe_pattern).fullmatch
            wanted = [topic for topic in found if matches(topic) and not topic.startswith(_INTERNAL)]
        else:
            wanted = list(options.subscribe or dict.fromkeys(topic for topic, _ in options.assign or ()))
        for topic in wanted:
            if topic not in found:
                raise self._missing(topic)
        every = {TopicPartition(topic, number) for topic in wanted for number in found[topic]}
        if options.assign is None:
            return sorted(every)
        assigned = [TopicPartition(*pair) for pair in options.assign]
        gone = next((source for source in assigned if source not in every), None)
        if gone is not None:
            raise self._missing(str(gone))
        return sorted(assigned)

    def earliest(self, sources: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset that each partition still has."""
        return self._offsets(sources, "earliest")

    def latest(self, sources: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last message of each partition that may be read: not of open transactions."""
        return self._offsets(sources, "latest")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_admin": None}

    # ---------------------------------------------------------------- inside

    @property
    def _timeout_seconds(self) -> float:
        return self._options.poll_timeout_ms / 1000

    def _client(self) -> Any:
        if self._admin is None:
            settings = {name: v for name, v in self._options.client.items() if name not in _OF_CONSUMERS}
            settings["bootstrap.servers"] = self._options.bootstrap_servers
            self._admin = make_client("AdminClient", _ADMIN, self._options, settings)
        return self._admin

    def _topics(self) -> dict[str, list[int]]:
        errors = client_module().KafkaException
        try:
            metadata = self._client().list_topics(timeout=self._timeout_seconds)
        except errors as error:
            raise failed("its topics", error, self._options) from None
        found = {}
        for name, topic in metadata.topics.items():
            if topic.error is None:
                found[name] = sorted(topic.partitions)
            elif topic.error.code() != client_module().KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise failed(f"topic {name}", topic.error, self._options)  # it is there: it must not seem to be gone
        return found

    def _offsets(self, sources: Iterable[TopicPartition], which: str) -> dict[TopicPartition, int]:
        library, admin = client_module(), client_module(_ADMIN)
        wanted = list(sources)
        if not wanted:
            return {}
        point = getattr(admin.OffsetSpec, which)()
        asked = {library.TopicPartition(*source): point for source in wanted}
        uncommitted = self._options.client.get("isolation.level") == "read_uncommitted"
        level = library.IsolationLevel.READ_UNCOMMITTED if uncommitted else library.IsolationLevel.READ_COMMITTED
        codes, deadline = library.KafkaError, time.monotonic() + self._timeout_seconds
        while True:
            try:
                answers: Mapping[Any, Any] = self._client().list_offsets(
                    asked, isolation_level=level, request_timeout=self._timeout_seconds
                )
                places = {TopicPartition(key.topic, key.partition): each for key, each in answers.items()}
                found = {place: each.result().offset for place, each in places.items()}
                break
            except library.KafkaException as error:  # a new partition has no leader for a moment
                no_leader = error.args[0].code() in {codes.LEADER_NOT_AVAILABLE, codes.NOT_LEADER_FOR_PARTITION}
                if not no_leader or time.monotonic() > deadline:
                    raise failed(f"the {which} offsets", error, self._options) from None
                time.sleep(_PAUSE_SECONDS)
        return {source: int(found[source]) for source in wanted}

    def _missing(self, name: str) -> SourceMissingError:
        return SourceMissingError(
            "a topic or partition that is to be read is not there",
            Where(name if name.startswith("kafka:") else f"kafka:{name}"),
            mask(f"the topics of {self._options.bootstrap_servers}", self._options),
            "create it, or correct subscribe or assign",
            "kafka-topic-missing",
        )
