"""A cluster and the client library: what topics have, and settings, which are never shown.

The library is imported when a message is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from splitscan.errors import SourceError, SourceMissingError, UsageError, Where
from splitscan.messages.kafka.ranges import TopicPartition
from splitscan.options.kafka import KafkaOptions
from splitscan.redaction import redact

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
            "reading Kafka needs a library that is not installed",
            seen=str(error),
            fix="install splitscan[kafka], or confluent-kafka, on the driver and on every worker",
            code="no-kafka",
        ) from error


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
        raise UsageError(
            "an option kafka.* is refused by the client library",
            seen=mask(str(error), options) if name is None else f"kafka.{name}",
            fix="use the names and values of librdkafka's CONFIGURATION.md",
            code="bad-option",
        ) from None  # the library's message quotes the value


def failed(what: str, error: object, options: KafkaOptions, where: Where | None = None) -> SourceError:
    """The error for a request that the cluster, or the way to it, let down."""
    return SourceError(
        f"Kafka could not be asked for {what}",
        where,
        mask(f"{error}; brokers {options.bootstrap_servers}", options),
        "see that the brokers can be reached from here, and that the options kafka.* are right",
        "kafka-failed",
    )


def mask(text: str, options: KafkaOptions) -> str:
    """A text of the library without the values of settings that may be secret."""
    hidden = {f"secret {name}": value for name, value in options.client.items() if name not in _SHOWN}
    return redact(text, hidden)


_ADMIN = "confluent_kafka.admin"
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
        try:
            answers: Mapping[Any, Any] = self._client().list_offsets(
                asked, isolation_level=level, request_timeout=self._timeout_seconds
            )
            found = {TopicPartition(key.topic, key.partition): each.result().offset for key, each in answers.items()}
        except library.KafkaException as error:
            raise failed(f"the {which} offsets", error, self._options) from None
        return {source: int(found[source]) for source in wanted}

    def _missing(self, name: str) -> SourceMissingError:
        return SourceMissingError(
            "a topic or partition that is to be read is not there",
            Where(name if name.startswith("kafka:") else f"kafka:{name}"),
            mask(f"the topics of {self._options.bootstrap_servers}", self._options),
            "create it, or correct subscribe or assign",
            "kafka-topic-missing",
        )
