"""Messages of Kafka: which there are, how they are cut into blocks, and reading a block of them."""

from splitscan.sources.kafka.cluster import KafkaCluster
from splitscan.sources.kafka.loss import DataLoss
from splitscan.sources.kafka.ranges import MessageRange, TopicPartition, cut_ranges, share_limit
from splitscan.sources.kafka.reading import MessageReading

__all__ = [
    "DataLoss",
    "KafkaCluster",
    "MessageRange",
    "MessageReading",
    "TopicPartition",
    "cut_ranges",
    "share_limit",
]
