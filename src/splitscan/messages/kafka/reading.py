"""Read one block of messages: exactly those whose offset lies in it, or an error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from splitscan.errors import SourceError, Where
from splitscan.messages.kafka.cluster import KafkaCluster, client_module, consumer_settings, failed, make_client, mask
from splitscan.messages.kafka.ranges import MessageRange, report_loss
from splitscan.options.kafka import KafkaOptions
from splitscan.sizes import MIB

_POLL_SECONDS = 0.1  # the library waits so long for a full portion, so it is the price of a gap at the end of a range
_FIRST_PORTION = 100  # messages, before anything is known of their length
_LARGEST_PORTION = 10_000  # messages: more at a time are no faster
_PORTION_BYTES = 8 * MIB  # of values that are held as objects at a time

# What the library gets over by itself, with nothing skipped. After any other error it may go on with a later message.
_PASSING = (
    "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT", "_WAIT_CACHE", "_MAX_POLL_EXCEEDED",
    "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE",
    "REPLICA_NOT_AVAILABLE", "NETWORK_EXCEPTION", "KAFKA_STORAGE_ERROR", "OFFSET_NOT_AVAILABLE", "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR",
)  # fmt: skip


class MessageReading:
    """Reads blocks of messages, one after the other, through one connection.

    Thread safety: none.
    """

    def __init__(self, options: KafkaOptions, make_consumer: Callable[[], Any] | None = None) -> None:
        self._options = options
        settings = consumer_settings(options)
        self._make = make_consumer or partial(make_client, "Consumer", "confluent_kafka", options, settings)
        self._consumer: Any = None

    def read(self, wanted: MessageRange) -> Iterator[list[Any]]:
        """The messages of a range in portions, by offset: objects of the client library, none of which is an error.

        Guarantees: every message that the cluster still has and whose offset lies in the range, once. Where offsets of
        the range have no message (compaction, transactions), there is none. Brokers may come and go meanwhile.

        Raises:
            SourceError: ``[kafka-data-loss]`` if messages are gone and ``failOnDataLoss`` is on; ``[kafka-failed]`` if
                the brokers are silent for too long, or refuse.
        """
        library = client_module()
        self._consumer = consumer = self._consumer or self._make()
        position = wanted.start
        consumer.assign([library.TopicPartition(*wanted.source, position)])
        portion, heard = _FIRST_PORTION, time.monotonic()
        while position < wanted.stop:
            got = self._poll(consumer, min(portion, wanted.stop - position), wanted)
            messages = [message for message in got if message.error() is None and message.offset() >= position]
            if messages:
                heard = time.monotonic()
                position = messages[-1].offset() + 1
                if position > wanted.stop:
                    messages = [message for message in messages if message.offset() < wanted.stop]
                if messages:
                    yield messages
                    heard = time.monotonic()  # whoever takes messages may be slow, and that is no silence
                    portion = _next_portion(messages)
            for message in got:
                if message.error() is not None:
                    following = self._after_event(consumer, message, wanted, position)
                    heard = heard if following == position else time.monotonic()
                    position = following
            if position < wanted.stop and time.monotonic() - heard > self._options.poll_timeout_ms / 1000:
                raise self._silent(wanted, position)

    def close(self) -> None:
        """End the connection. Calling it again does nothing."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    # ---------------------------------------------------------------- inside

    def _poll(self, consumer: Any, most: int, wanted: MessageRange) -> list[Any]:
        try:
            got: list[Any] = consumer.consume(most, _POLL_SECONDS)
        except client_module().KafkaException as error:
            raise failed("messages", error, self._options, Where(str(wanted.source), wanted.start)) from None
        return got

    def _after_event(self, consumer: Any, event: Any, wanted: MessageRange, position: int) -> int:
        """Offset after an event that is no message."""
        error, codes = event.error(), client_module().KafkaError
        if error.code() == codes._PARTITION_EOF:  # noqa: SLF001 - the library's name for it
            return max(position, min(int(event.offset()), wanted.stop))
        if error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):  # noqa: SLF001 - the same
            return self._after_loss(consumer, wanted, position)
        if error.fatal() or error.code() not in _passing(codes):
            raise failed("messages", error.str(), self._options, Where(str(wanted.source), position))
        return position

    def _after_loss(self, consumer: Any, wanted: MessageRange, position: int) -> int:
        """Offset *position* is not there: what is after it may be."""
        cluster = KafkaCluster(self._options)
        low, high = (ask([wanted.source])[wanted.source] for ask in (cluster.earliest, cluster.latest))
        seen = f"offsets [{low}, {high}) of the block's [{position}, {wanted.stop})"
        report_loss(self._options, wanted.source, position, seen)
        following = min(low, wanted.stop) if low > position else wanted.stop
        if following < wanted.stop:
            consumer.assign([client_module().TopicPartition(*wanted.source, following)])
        return following

    def _silent(self, wanted: MessageRange, position: int) -> SourceError:
        seconds = self._options.poll_timeout_ms / 1000
        return SourceError(
            f"no message came for {seconds:g} s (kafkaConsumer.pollTimeoutMs), and the block is not read to its end",
            Where(str(wanted.source), position, (wanted.start, wanted.stop)),
            mask(f"silence of {self._options.bootstrap_servers}", self._options),
            "see that the brokers can be reached from the workers, and still have these offsets; or raise the option",
            "kafka-failed",
        )


def _passing(codes: Any) -> frozenset[int]:
    return frozenset(getattr(codes, name) for name in _PASSING if hasattr(codes, name))


def _next_portion(messages: list[Any]) -> int:
    """How many messages of this length to ask for next."""
    average = max(1, sum(map(len, messages)) // len(messages))
    return max(1, min(_LARGEST_PORTION, _PORTION_BYTES // average))
