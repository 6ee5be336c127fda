"""The client library, which is imported when a message is read, and its settings, which are never shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from splitscan.errors import SourceError, UsageError, Where
from splitscan.options import KafkaOptions
from splitscan.redaction import MASK, redact

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
    """A client of the library.

    Raises:
        UsageError: ``[bad-option]`` if the library refuses a setting.
    """
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


__all__ = ["MASK", "client_module", "consumer_settings", "failed", "make_client", "mask"]
