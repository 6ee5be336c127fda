from __future__ import annotations

import re

import pytest

from splitscan.errors import UsageError
from splitscan.messages.spec import parse_kafka_options, parse_message_options
from splitscan.options.sources import EARLIEST, LATEST, KafkaOptions, OffsetChoice

BASE = {"kafka.bootstrap.servers": "b:9092", "subscribe": "t"}
SPARKS_OWN = [
    "kafka.bootstrap.servers", "kafka.group.id", "assign", "subscribe", "subscribePattern", "groupIdPrefix",
    "startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp", "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy", "failOnDataLoss", "minPartitions",
    "maxRecordsPerPartition", "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "includeHeaders",
    "fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "kafkaConsumer.pollTimeoutMs",
]  # fmt: skip
"""What Spark's Kafka source takes; its classes are no part of PySpark, so that the list is written down here."""


def parse(streams=False, **more) -> KafkaOptions:
    return parse_kafka_options(BASE | more, streams=streams)[0]


def test_reads_begin_at_the_beginning_and_streams_with_what_comes():
    assert (parse().starting_offsets, parse().ending_offsets) == (OffsetChoice(EARLIEST), OffsetChoice(LATEST))
    assert parse(streams=True).starting_offsets == OffsetChoice(LATEST)


def test_offsets_may_be_named_for_every_partition():
    choice = parse(startingOffsets='{"t": {"0": 23, "1": -1}, "a": {"0": -2}}').starting_offsets
    assert choice is not None
    assert [choice.of("t", 0), choice.of("t", 1), choice.of("a", 0), choice.of("a", 1)] == [23, LATEST, EARLIEST, None]


def test_other_settings_are_passed_on_and_never_shown():
    options, others = parse_kafka_options(
        {**BASE, "kafka.sasl.password": "hunter22", "KAFKA.Client.Id": "x", "sep": ";"}
    )
    assert options.client == {"sasl.password": "hunter22", "client.id": "x"}
    assert others == {"sep": ";"}
    assert "hunter22" not in repr(options)


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"subscribe": "t"}, "kafka.bootstrap.servers"),
        ({"kafka.bootstrap.servers": "b"}, "exactly one of"),
        ({**BASE, "subscribePattern": "t.*"}, "exactly one of"),
        ({**BASE, "startingOffsets": "latest"}, "leaves nothing"),
        ({**BASE, "startingOffsets": "newest"}, "takes earliest or latest"),
        ({**BASE, "endingOffsets": "earliest"}, "takes latest"),
        ({**BASE, "endingOffsets": '{"t": {"0": -2}}'}, "takes latest"),
        ({**BASE, "startingOffsets": '{"t": [1]}'}, "startingOffsets takes"),
        ({**BASE, "startingOffsets": '{"t": {"x": 1}}'}, "startingOffsets takes"),
        ({"kafka.bootstrap.servers": "b", "assign": '{"t": 1}'}, "assign takes"),
        ({"kafka.bootstrap.servers": "b", "assign": "["}, "assign takes"),
        ({**BASE, "metadataColumns": "key,offsets"}, "'offsets'"),
        ({**BASE, "metadataColumns": "key,KEY"}, "once"),
        ({**BASE, "kafka.auto.offset.reset": "latest"}, "set by splitscan"),
        ({**BASE, "blockSize": "64m"}, "about files"),
        ({**BASE, "stateLocation": "/x"}, "about files"),
        ({**BASE, "path": "/x"}, "about files"),
        ({**BASE, "limit": "3"}, "about files"),
        ({**BASE, "maxOffsetsPerTrigger": "0"}, "from 1 on"),
    ],
)
def test_what_has_no_meaning_is_refused(options, seen):
    with pytest.raises(UsageError) as refused:
        parse_kafka_options(options)
    assert seen in str(refused.value)
    assert refused.value.reason_code == "bad-option"


def test_a_stream_has_no_end():
    with pytest.raises(UsageError, match="no meaning for a stream"):
        parse(streams=True, endingOffsets="latest")


@pytest.mark.parametrize("name", SPARKS_OWN)
def test_every_option_of_sparks_kafka_source_is_known(name):
    accepted = {"kafka.group.id", "groupIdPrefix", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"}
    given = BASE | {name: object()}
    if name in accepted:
        assert parse_kafka_options(given)[1] == {}
    else:
        with pytest.raises(UsageError, match=rf"option {re.escape(name)} (takes|is not supported)"):
            parse_kafka_options(given)


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"startingTimestamp": "1700000000000"}, "option startingTimestamp is not supported"),
        ({"minoffsetspertrigger": "5"}, "option minoffsetspertrigger is not supported"),
        ({"includeHeaders": "true"}, "add headers to metadataColumns"),
        ({"includeHeaders": "perhaps"}, "option includeHeaders takes true or false"),
    ],
)
def test_options_of_sparks_kafka_source_that_we_cannot_honour_have_a_reason(options, seen):
    with pytest.raises(UsageError) as refused:
        parse_kafka_options(BASE | options)
    assert seen in str(refused.value)
    assert refused.value.reason_code == "bad-option"


def test_options_of_sparks_kafka_source_that_do_no_harm_are_left_out():
    harmless = {"includeHeaders": "false", "groupIdPrefix": "x", "fetchoffset.numretries": "3"}
    assert parse_kafka_options(BASE | harmless) == parse_kafka_options(BASE)


def test_columns_beside_the_value_have_the_names_of_spark():
    assert parse(metadataColumns="KEY, timestamptype").metadata_columns == ("key", "timestampType")


def test_values_are_bytes_unless_a_format_is_named():
    assert parse_message_options(None, {"maxRecordBytes": "1k"}).record_format == "slices"
    assert parse_message_options("CSV", {"sep": ";"}).record_format == "csv"


@pytest.mark.parametrize(
    ("name", "raw", "seen"),
    [
        ("fixed", {"recordLength": 3}, "one of csv, json, raw, text"),
        ("csv", {"header": "true"}, "option header is about files"),
        ("csv", {"skipRows": "1"}, "option skipRows is about files"),
        ("json", {"sep": ";"}, "record format json has no option sep"),
        ("json", {"recordPath": "$.a[*]"}, "option recordPath is about files"),
        ("raw", {"sliceSize": "4k"}, "option sliceSize is about files"),
        ("raw", {"sep": ";"}, "record format raw of messages has no option sep"),
    ],
)
def test_options_of_a_format_must_mean_something_for_messages(name, raw, seen):
    with pytest.raises(UsageError) as refused:
        parse_message_options(name, raw)
    assert seen in str(refused.value)
