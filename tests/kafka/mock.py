"""A cluster of Kafka brokers on loopback: librdkafka's own mock, reached through its C interface."""

import contextlib
import ctypes
import logging
from pathlib import Path

_PRODUCER = 0
_FOLDER = "confluent_kafka.libs"


def _library():
    import confluent_kafka

    found = sorted((Path(confluent_kafka.__file__).parents[1] / _FOLDER).glob("librdkafka*"))
    library = ctypes.CDLL(str(found[0]))
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    signatures = {
        "rd_kafka_conf_new": (pointer, []),
        "rd_kafka_conf_set": (number, [pointer, text, text, text, ctypes.c_size_t]),
        "rd_kafka_new": (pointer, [number, pointer, text, ctypes.c_size_t]),
        "rd_kafka_destroy": (None, [pointer]),
        "rd_kafka_handle_mock_cluster": (pointer, [pointer]),
        "rd_kafka_mock_cluster_bootstraps": (text, [pointer]),
        "rd_kafka_mock_topic_create": (number, [pointer, text, number, number]),
        "rd_kafka_mock_broker_set_down": (number, [pointer, ctypes.c_int32]),
        "rd_kafka_mock_broker_set_up": (number, [pointer, ctypes.c_int32]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class MockCluster:
    """Brokers that live until ``close``; each keeps 5 MB of a partition, compressed as they came."""

    def __init__(self, brokers=3):
        self._library = _library()
        self._count = brokers
        error = ctypes.create_string_buffer(512)
        settings = self._library.rd_kafka_conf_new()
        for name, value in {"test.mock.num.brokers": str(brokers), "log_level": "0"}.items():
            assert self._library.rd_kafka_conf_set(settings, name.encode(), value.encode(), error, 512) == 0, (
                error.value
            )
        self._client = self._library.rd_kafka_new(_PRODUCER, settings, error, 512)
        assert self._client, error.value
        self._cluster = self._library.rd_kafka_handle_mock_cluster(self._client)
        self.servers = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def create(self, topic, partitions):
        assert self._library.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1) == 0

    @contextlib.contextmanager
    def down(self):
        """All brokers are gone for the time of a ``with`` block: connections break, and new ones are refused."""
        for broker in range(1, self._count + 1):
            assert self._library.rd_kafka_mock_broker_set_down(self._cluster, broker) == 0
        try:
            yield
        finally:
            for broker in range(1, self._count + 1):
                assert self._library.rd_kafka_mock_broker_set_up(self._cluster, broker) == 0

    def send(self, topic, values, partition=None, **more):
        """Send values, one message each, in order; *more* as the client library's ``produce`` takes it."""
        from confluent_kafka import Producer

        settings = {"bootstrap.servers": self.servers, "linger.ms": 20, "queue.buffering.max.messages": 2_000_000}
        producer = Producer({**settings, "compression.type": "lz4"}, logger=logging.getLogger("tests.kafka"))
        failures = []
        where = {} if partition is None else {"partition": partition}
        for value in values:
            producer.produce(
                topic, value, on_delivery=lambda error, _: error and failures.append(error), **where, **more
            )
        assert producer.flush(60) == 0
        assert not failures

    def close(self):
        if self._client:
            self._library.rd_kafka_destroy(self._client)
            self._client = None
