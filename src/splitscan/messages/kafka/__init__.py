"""Messages of Kafka: which there are, how they are cut into blocks, and reading a block of them."""

from splitscan.messages.kafka.cluster import KafkaCluster
from splitscan.messages.kafka.ranges import MessageRange, TopicPartition, cut_ranges, report_loss, share_limit
from splitscan.messages.kafka.reading import MessageReading

__all__ = [
    "KafkaCluster",
    "MessageRange",
    "MessageReading",
    "TopicPartition",
    "cut_ranges",
    "report_loss",
    "share_limit",
]
