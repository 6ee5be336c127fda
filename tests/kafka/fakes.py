"""Messages, a log and a cluster without any broker."""

from confluent_kafka import KafkaError

from splitscan.messages.kafka import TopicPartition


class FakeMessage:
    def __init__(self, offset, value, error=None, key=None):
        self._offset, self._value, self._error, self._key = offset, value, error, key

    def __len__(self):
        return len(self._value or b"")

    def offset(self):
        return self._offset

    def value(self):
        return self._value

    def error(self):
        return self._error

    def key(self):
        return self._key

    def headers(self):
        return [("h", b"1"), ("none", None)]

    def topic(self):
        return "t"

    def partition(self):
        return 0

    def timestamp(self):
        return (0, 0) if self._key is None else (1, 1500)


def end_of_log(offset):
    return FakeMessage(offset, None, KafkaError(KafkaError._PARTITION_EOF))


class FakeConsumer:
    """A log of one partition: messages by offset, and what is said once when a poll finds nothing more."""

    def __init__(self, log, *events):
        self.log = dict(log)
        self.events = list(events)
        self.position = None
        self.closed = 0

    def assign(self, partitions):
        self.position = partitions[0].offset

    def consume(self, most, _):
        offsets = [offset for offset in sorted(self.log) if offset >= self.position][:most]
        if offsets:
            self.position = offsets[-1] + 1
            return [FakeMessage(offset, self.log[offset]) for offset in offsets]
        return [self.events.pop(0)] if self.events else []

    def close(self):
        self.closed += 1


class FakeCluster:
    """Partitions with first and last offsets that a test changes as it likes."""

    def __init__(self, **partitions):
        self.offsets = {TopicPartition("t", int(name[1:])): pair for name, pair in partitions.items()}

    def set(self, **partitions):
        self.offsets |= {TopicPartition("t", int(name[1:])): pair for name, pair in partitions.items()}

    def partitions(self):
        return sorted(self.offsets)

    def earliest(self, sources):
        return {source: self.offsets[source][0] for source in sources}

    def latest(self, sources):
        return {source: self.offsets[source][1] for source in sources}
