"""Counting many small files: as many rows as reading gives, one read of each file, and every header validated."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.content.storage import SHORT_BYTES
from splitscan.errors import SchemaError
from splitscan.reading.block_scan import open_reader
from splitscan.scans.counting import count_blocks, rows_by_index

OPTIONS = {"header": True, "enforce_schema": False, "multi_line": True, "escape": '"'}


def _write(folder: Path, contents: list[bytes]) -> str:
    for number, content in enumerate(contents):
        (folder / f"{number:03}.csv").write_bytes(content)
    return str(folder)


@pytest.mark.parametrize("multi_line", [False, True])
@pytest.mark.parametrize("end", [b"\n", b"", b"\r", b"\r\n", b"\n\n"])
def test_files_are_counted_as_they_are_read(tmp_path: Path, end: bytes, multi_line: bool) -> None:
    contents = [b"a,b" + b"".join(b'\n%d,"x\n%d"' % (row, row) for row in range(rows)) + end for rows in range(9)]
    contents += [b"a,b\n1,2\n" * 40_000, b"", b'a,b\n1,"never closed\n', b"a,b\n\n\n"]
    scan = ss.scan_csv(_write(tmp_path, contents), "a string, b string", **OPTIONS | {"multi_line": multi_line})
    assert len(contents[-4]) > SHORT_BYTES
    assert scan.count() == scan.to_arrow().num_rows
    assert count_blocks(scan.counting_spec, scan.plan()).rows == scan.to_arrow().num_rows


@pytest.mark.slow
def test_the_index_tells_rows_and_leaves_the_rest_to_readers(tmp_path: Path) -> None:
    chance, told, left = random.Random(7), 0, 0
    for number in range(300):
        texts = ["1,2\n", '1,"x\ny"\n', '"",a\n', "\n", "#,\r\n", "é,ü\r", '"a""b",c\n', "a,b\n", ",\n"]
        texts += chance.choice([[], ['"'], ["long" * 20 + "\n"], ["\xff,1\n"]])
        folder = tmp_path / f"{number}"
        folder.mkdir()
        bodies = ["".join(chance.choices(texts, k=chance.randrange(40))).encode("latin-1") for _ in range(2)]
        files = [b"a,b\n" + body for body in bodies]
        options = {
            **OPTIONS,
            "enforce_schema": True,
            "block_size": chance.choice([7, 20, 1000]),
            "open_cost_in_bytes": 0,
        }
        options |= {"max_record_bytes": 60, "comment": chance.choice(["", "#"]), "header": chance.random() < 0.5}
        scan = ss.scan_csv(_write(folder, files), "a string, b string", **options)
        rows, others = rows_by_index(scan.counting_spec, scan.blocks(), None)
        assert rows + count_blocks(scan.counting_spec, others).rows == scan.to_arrow().num_rows, (
            files,
            options,
        )
        told, left = told + bool(rows), left + bool(others)
    assert min(told, left) > 100


def test_a_short_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[tuple[int, int]] = []
    pread = os.pread

    def record(descriptor: int, length_bytes: int, offset: int) -> bytes:
        reads.append((os.fstat(descriptor).st_ino, offset))
        return pread(descriptor, length_bytes, offset)

    path = _write(tmp_path, [b"a,b\n" + b"1,2\n" * number for number in range(30)])
    scan = ss.scan_csv(path, "a string, b string", **OPTIONS)
    blocks, spec = scan.plan(), scan.counting_spec
    monkeypatch.setattr(os, "pread", record)
    assert count_blocks(spec, blocks).rows == sum(range(30))
    assert sorted(reads) == sorted((Path(path, f"{number:03}.csv").stat().st_ino, 0) for number in range(30))


def test_every_header_is_judged(tmp_path: Path) -> None:
    path = _write(tmp_path, [b"a,b\n1,2\n"] * 20 + [b"a,c\n1,2\n"] + [b"a,b\n1,2\n"] * 20)
    with pytest.raises(SchemaError, match=r"column 2 is c, not b") as caught:
        ss.scan_csv(path, "a string, b string", **OPTIONS).count()
    assert caught.value.where.path == f"{path}/020.csv"


@pytest.mark.parametrize("reason", [None, "why"])
def test_records_that_are_given_up_are_counted_once(tmp_path: Path, engine: str, reason: str | None) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a@a1@axxxxxxxxxxx@a2@a")  # a record begins like the header, so that its bytes are read again
    scan = ss.scan_csv(
        path, "a string", line_sep="@a", header=True, enforce_schema=True, max_record_bytes=5,
        reject_reason_column=reason,
    )  # fmt: skip
    counted = [open_reader(scan.spec.select(()), block).count() for block in scan.plan()]

    assert [(each.rows, each.given_up) for each in counted] == [(2, 1)]
    assert scan.count() == scan.to_arrow().num_rows == 2 + (reason is not None)
