"""What to do about messages that are gone before they were read."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from splitscan.errors import SourceError, Where
from splitscan.messages.kafka.ranges import TopicPartition

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DataLoss:
    """The policy of option ``failOnDataLoss``.

    Attributes:
        fails: Whether a loss is an error; otherwise it is a warning.
    """

    fails: bool

    def report(self, source: TopicPartition, offset: int, seen: str) -> None:
        """Say that messages from *offset* on are gone.

        Raises:
            SourceError: ``[kafka-data-loss]`` if that is an error.
        """
        if not self.fails:
            _log.warning("messages are gone that were not read: %s, offset %d: %s", source, offset, seen)
            return
        raise SourceError(
            "messages are gone that were not read (failOnDataLoss=true)",
            Where(str(source), offset),
            seen,
            "keep messages longer; to go on with what is there, set failOnDataLoss=false",
            "kafka-data-loss",
        )
