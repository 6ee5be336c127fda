import hashlib
import json
from dataclasses import replace

import pytest

from splitscan.blocks import FileMetadata
from splitscan.content.storage import redact
from splitscan.errors import IngestError
from splitscan.jobs.destination import History
from splitscan.jobs.ledger import (
    Ledger,
    LedgerBlock,
    LedgerColumn,
    LedgerFile,
    RowRange,
    WrittenFile,
    identify,
)
from splitscan.jobs.ledger_files import parse_ledger, render_ledger
from splitscan.jobs.settings import Layout, Partitioning
from splitscan.jobs.staging import PartReport

SHA = "0123456789abcdef" * 4


def block(index=0, **changes):
    values = {
        "file_index": 0, "index": index, "start": 5 * index, "stop": 5 * index + 5, "span_start": 5 * index,
        "span_stop": 5 * index + 5, "rows": 2, "rejects": 1, "digest": f"sha256:{SHA}",
        "data": (RowRange("part-0.parquet", 2 * index, 2 * index + 2),),
        "reject_table": RowRange("_splitscan/rejects/part-0.rejects", index, index + 1),
    }  # fmt: skip
    return LedgerBlock(**(values | changes))


WRITTEN = (
    WrittenFile("_splitscan/rejects/part-0.rejects", 10, 2, SHA),
    WrittenFile("part-0.parquet", 100, 2, SHA),
)


def ledger(**changes):
    values = {
        "job_id": "ab" * 16, "sequence": 3, "created": "2026-01-01T00:00:00+00:00", "record_format": "csv",
        "options": {"reading": {"mode": "PERMISSIVE"}}, "columns": (LedgerColumn("id", "int64", False),),
        "files": (LedgerFile(0, "/in/\udcff é.csv", "10-0", 10, 7),),
        "blocks": (block(0), block(1, data=(), rows=0, missing=True)), "written": WRITTEN, "roots": ("/in",),
    }  # fmt: skip
    return Ledger(**(values | changes))


def test_a_ledger_comes_back_as_it_was_written():
    assert parse_ledger(render_ledger(ledger()), "x") == ledger()
    assert (ledger().rows, ledger().rejects, len(ledger().data_files)) == (2, 2, 1)


def test_a_ledger_of_partitioned_rows_comes_back_and_says_its_version():
    places = (RowRange("k=a%2Fb/part-0.parquet", 0, 1), RowRange("k=.., é/part-0.parquet", 3, 4))
    partitioned = ledger(blocks=(block(0, data=places),), partitioning=Partitioning(("k",), in_files=True))
    text = render_ledger(partitioned)
    assert parse_ledger(text, "x") == partitioned
    assert json.loads(text.splitlines()[0])["ledger_version"] == 1


@pytest.mark.parametrize("columns", [(), ("k",)])
def test_a_ledger_says_that_jobs_have_folders(columns):
    laid_out = ledger(partitioning=Partitioning(columns, layout=Layout.JOBS))
    text = render_ledger(laid_out)
    assert parse_ledger(text, "x") == laid_out
    with pytest.raises(IngestError, match="layout is none"):
        parse_ledger(resealed(lambda lines: lines[0].update(partitioning={"layout": "heap"})), "x")


def test_every_line_of_a_ledger_is_json_and_plain_ascii():
    lines = render_ledger(ledger()).decode("ascii").splitlines()
    assert [next(iter(json.loads(line))) for line in lines[1:]] == [
        "file",
        "written",
        "written",
        "block",
        "block",
        "end",
    ]


def test_every_changed_byte_is_noticed():
    data = render_ledger(ledger())
    for offset in range(len(data)):
        damaged = bytearray(data)
        damaged[offset] ^= 0x01
        with pytest.raises(IngestError) as caught:
            parse_ledger(bytes(damaged), "/out/ledger")
        assert caught.value.reason_code == "ledger-damaged", offset


def test_every_lost_tail_is_noticed():
    data = render_ledger(ledger())
    for length in range(len(data)):
        with pytest.raises(IngestError, match="ledger-damaged"):
            parse_ledger(data[:length], "/out/ledger")


def test_a_lost_line_is_noticed_and_the_message_names_the_file():
    lines = render_ledger(ledger()).splitlines(keepends=True)
    with pytest.raises(IngestError) as caught:
        parse_ledger(b"".join(lines[:2] + lines[3:]), "/out/ledger")
    assert str(caught.value).startswith(
        "a ledger is damaged [ledger-damaged]\n  where: /out/ledger\n  seen:  the check"
    )


def resealed(change):
    """The bytes of a ledger that was changed by somebody who knows how to compute the checksum."""
    lines = [json.loads(line) for line in render_ledger(ledger()).splitlines()]
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
        lambda lines: lines[1]["file"].update(path_sha256="nope"),
        lambda lines: lines[2]["written"].update(sha256="nope"),
        lambda lines: lines[2]["written"].update(rows=-1),
        lambda lines: lines[4]["block"].update(digest="nope"),
        lambda lines: lines[4]["block"].update(data="part-0.parquet"),
        lambda lines: lines[4]["block"]["data"][0].update(start="0"),
        lambda lines: lines[4]["block"].update(missing=1),
        lambda lines: lines[4].update(more={}),
        lambda lines: lines[4].update(blocks=lines[4].pop("block")),
        lambda lines: lines[4]["block"].update(rows=3),
        lambda lines: lines.pop(2),
        lambda lines: lines.pop(4),
    ],
    ids=range(17),
)
def test_values_of_the_wrong_kind_are_refused_even_with_a_good_checksum(change):
    with pytest.raises(IngestError, match="ledger-damaged"):
        parse_ledger(resealed(change), "x")


@pytest.mark.parametrize(
    "name",
    [
        "../part.parquet", "/etc/passwd.parquet", "a/../../b.parquet", "", ".parquet", "_splitscan/lock",
        "_splitscan/ledger/00000001.jsonl", "_splitscan/rejects/../part.rejects", "_splitscan/rejects/.rejects",
        "_splitscan/staging/x.parquet",
        "_splitscan/rejects/part-0.parquet", "a\0.parquet", "part.txt", "a/part.parquet", "k=1/../part.parquet",
        "=/part.parquet", "_k=1/part.parquet", ".k=1/part.parquet", "k=1//part.parquet", "k=1/.parquet",
        "_splitscan/rejects/k=1/part.rejects",
    ],
)  # fmt: skip
@pytest.mark.parametrize("line", ["written", "data", "reject_table"])
def test_a_ledger_can_only_name_parquet_files_of_its_destination(name, line):
    def rename(lines):
        block = lines[4]["block"]
        {"written": lines[2]["written"], "data": block["data"][0], "reject_table": block["reject_table"]}[line].update(
            name=name
        )

    with pytest.raises(IngestError, match="ledger-damaged"):
        parse_ledger(resealed(rename), "x")


@pytest.mark.parametrize(
    ("head", "advice"), [({"ledger_version": 2}, "newer"), ({"splitscan_ledger": 7}, "convert_ledgers.py")]
)
def test_another_version_is_refused_with_advice(head, advice):
    def change(lines):
        del lines[0]["ledger_version"]
        lines[0].update(head)

    with pytest.raises(IngestError, match="ledger-version") as caught:
        parse_ledger(resealed(change), "x")
    assert advice in str(caught.value)


def test_files_of_which_only_a_secret_differs_are_told_apart():
    one, other = (FileMetadata(f"https://host/a.csv?sig={secret}", 1, 0, "1-0", "a.csv") for secret in ("11", "22"))
    held = LedgerFile(0, redact(one.path), "1-0", 1, 0, identify(one.path))
    job = ledger(files=(held,), blocks=())
    found = History([job]).sort_files([one, other])
    assert (found.skipped, found.fresh) == ([one], [other])
    assert "11" not in render_ledger(job).decode().replace(held.path_sha256, "")


def test_the_report_of_a_part_comes_back_as_it_was_written():
    report = PartReport(7, (block(0), block(1, missing=True)), WRITTEN, 1, ("a record is bad",), times=(1.5, 2.0))
    log = replace(report, partition=0, chunks=2, files=("/in/a",), noticed=(("/in/a", 0, b"\x00s"),))
    for each in (report, log):
        assert PartReport.from_json(each.to_json()) == each


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"report": 1}', '{"report": 3, "number": 0, "blocks": {}}', "null"]
)
def test_half_a_report_is_none(text):
    with pytest.raises(IngestError):
        PartReport.from_json(text)
