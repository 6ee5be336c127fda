"""The inputs of the measurements, generated: the same for everybody, and none is kept."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pyarrow as pa

from bench.works.text_works import FIXED_BYTES
from splitscan.testing.generated import generated_batch, render_csv, write_generated_csv

_RECORDS = 1 << 14
DELIMITER = "||\n"
"""The delimiter of several bytes that some lines have."""


def write_lines(path: Path, size_bytes: int) -> None:
    """Plain lines, some with quotes and separators in them."""
    write_generated_csv(path, size_bytes, newline=" ")


def write_escaped(path: Path, size_bytes: int) -> None:
    """Lines of which every fifth has an escaped newline in it."""
    write_generated_csv(path, size_bytes, newline="\\\n")


def write_delimited(path: Path, size_bytes: int) -> None:
    """Lines behind a delimiter of several bytes."""
    with path.open("wb") as out:
        for number in count():
            text = render_csv(generated_batch(number * _RECORDS, _RECORDS), " ")
            out.write(text.replace(b"\n", DELIMITER.encode()))
            if out.tell() >= size_bytes:
                return


def write_fixed(path: Path, size_bytes: int) -> None:
    """Records of fixed length."""
    write_generated_csv(path, size_bytes)
    os.truncate(path, path.stat().st_size // FIXED_BYTES * FIXED_BYTES)


def write_compressed(path: Path, size_bytes: int) -> None:
    """One stream of compressed CSV with newlines in quotes, by the codec that the file's name says."""
    plain = path.with_suffix("")
    write_generated_csv(plain, size_bytes)
    with pa.CompressedOutputStream(str(path), {".gz": "gzip", ".zst": "zstd"}[path.suffix]) as out:
        out.upload(plain.open("rb"))
    plain.unlink()


def write_small_files(folder: Path, size_bytes: int, file_bytes: int) -> None:
    """A folder of files of CSV, all of about the same size."""
    folder.mkdir()
    first = generated_batch(0, _RECORDS)
    records = max(1, file_bytes * _RECORDS // len(render_csv(first)))
    for number in range(size_bytes // file_bytes):
        content = render_csv(generated_batch(number * records, records))
        (folder / f"{number:06d}.csv").write_bytes(content)
