import hashlib
import json

import pytest

from splitscan.errors import IngestError, SplitscanError
from splitscan.ingest.ledger import Ledger, LedgerBlock, LedgerColumn, LedgerFile, WrittenFile
from splitscan.ingest.staging import StagedReport

SHA = "0123456789abcdef" * 4


def block(index=0, **changes):
    values = {
        "file_index": 0, "index": index, "start": 5 * index, "stop": 5 * index + 5, "span_start": 5 * index,
        "span_stop": 5 * index + 5, "rows": 2, "rejects": 1, "digest": SHA,
        "data": WrittenFile(f"part-{index}.parquet", 100, 2, SHA),
        "reject_table": WrittenFile(f"_splitscan/rejects/part-{index}.parquet", 10, 1, SHA),
    }  # fmt: skip
    return LedgerBlock(**(values | changes))


def ledger(**changes):
    values = {
        "job_id": "ab" * 16, "sequence": 3, "created": "2026-01-01T00:00:00+00:00", "record_format": "csv",
        "options": {"reading": {"mode": "PERMISSIVE"}}, "columns": (LedgerColumn("id", "int64", False),),
        "files": (LedgerFile(0, "/in/\udcff é.csv", "10-0", 10, 7),),
        "blocks": (block(0), block(1, data=None, rows=0)),
    }  # fmt: skip
    return Ledger(**(values | changes))


def test_a_ledger_comes_back_as_it_was_written():
    assert Ledger.from_bytes(ledger().to_bytes(), "x") == ledger()
    assert (ledger().rows, ledger().rejects, len(list(ledger().written()))) == (2, 2, 3)


def test_every_line_of_a_ledger_is_json_and_plain_ascii():
    lines = ledger().to_bytes().decode("ascii").splitlines()
    assert [next(iter(json.loads(line))) for line in lines[1:]] == ["file", "block", "block", "end"]


def test_every_changed_byte_is_noticed():
    data = ledger().to_bytes()
    for offset in range(len(data)):
        damaged = bytearray(data)
        damaged[offset] ^= 0x01
        with pytest.raises(IngestError) as caught:
            Ledger.from_bytes(bytes(damaged), "/out/ledger")
        assert caught.value.reason_code == "ledger-damaged", offset


def test_every_lost_tail_is_noticed():
    data = ledger().to_bytes()
    for length in range(len(data)):
        with pytest.raises(IngestError, match="ledger-damaged"):
            Ledger.from_bytes(data[:length], "/out/ledger")


def test_a_lost_line_is_noticed_and_the_message_names_the_file():
    lines = ledger().to_bytes().splitlines(keepends=True)
    with pytest.raises(IngestError) as caught:
        Ledger.from_bytes(b"".join(lines[:2] + lines[3:]), "/out/ledger")
    assert str(caught.value).startswith(
        "a ledger is damaged [ledger-damaged]\n  where: /out/ledger\n  seen:  the check"
    )


def resealed(change):
    """The bytes of a ledger that was changed by somebody who knows how to compute the checksum."""
    lines = [json.loads(line) for line in ledger().to_bytes().splitlines()]
    change(lines)
    dump = lambda value: json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"  # noqa: E731
    body = b"".join(dump(line) for line in lines[:-1])
    lines[-1]["end"]["sha256"] = hashlib.sha256(body).hexdigest()
    return body + dump(lines[-1])


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[0].pop("job_id"),
        lambda lines: lines[0].update(sequence="3"),
        lambda lines: lines[0].update(sequence=True),
        lambda lines: lines[0].update(columns=[7]),
        lambda lines: lines[1]["file"].update(size_bytes=-1),
        lambda lines: lines[2]["block"].update(digest="nope"),
        lambda lines: lines[2]["block"].update(data="part-0.parquet"),
        lambda lines: lines[2]["block"]["data"].update(sha256="nope"),
        lambda lines: lines[2]["block"].update(rows=3),
        lambda lines: lines.pop(2),
    ],
    ids=range(10),
)
def test_values_of_the_wrong_kind_are_refused_even_with_a_good_checksum(change):
    with pytest.raises(IngestError, match="ledger-damaged"):
        Ledger.from_bytes(resealed(change), "x")


@pytest.mark.parametrize("name", ["../part.parquet", "/etc/passwd", "a/../../b", ""])
def test_a_ledger_cannot_name_files_outside_its_destination(name):
    with pytest.raises(SplitscanError):
        Ledger.from_bytes(resealed(lambda lines: lines[2]["block"]["data"].update(name=name)), "x")


def test_a_newer_format_is_refused_with_advice():
    with pytest.raises(IngestError, match="ledger-version") as caught:
        Ledger.from_bytes(resealed(lambda lines: lines[0].update(splitscan_ledger=2)), "x")
    assert "newer" in str(caught.value)


def test_the_report_of_a_block_comes_back_as_it_was_written():
    report = StagedReport(block(1), 1, ("a record is bad",))
    assert StagedReport.from_json(report.to_json()) == report


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"report": 2}', '{"report": 1, "block": {}}', "null"])
def test_half_a_report_is_none(text):
    with pytest.raises(IngestError):
        StagedReport.from_json(text)
