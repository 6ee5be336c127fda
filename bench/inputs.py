"""The inputs of the measurements, generated: the same for everybody, and none is kept."""

from __future__ import annotations

import os
import struct
import zlib
from itertools import count
from pathlib import Path

import pyarrow as pa
from backports import zstd

from bench.generated import generated_batch, render_csv, write_generated_csv
from bench.works.text_works import FIXED_BYTES

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


def write_members(path: Path, size_bytes: int) -> None:
    """The same CSV twice: of many members, in the codec that the file's name says, and as one gzip stream beside it."""
    member, content_bytes = {".gz": (_bgzf_member, 0xFF00), ".zst": (zstd.compress, 4 << 20)}[path.suffix]
    whole = one_stream(path)
    write_compressed(whole, size_bytes)
    with pa.CompressedInputStream(pa.OSFile(str(whole)), "gzip") as content, path.open("wb") as out:
        while piece := content.read(content_bytes):
            out.write(member(piece))


def one_stream(path: Path) -> Path:
    """The file with the content of *path* in one gzip stream."""
    return path.with_name("one_stream.csv.gz")


def _bgzf_member(content: bytes) -> bytes:
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = deflate.compress(content) + deflate.flush()
    head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
    return head + body + struct.pack("<II", zlib.crc32(content), len(content))


def write_small_files(folder: Path, size_bytes: int, file_bytes: int) -> None:
    """A folder of files of CSV, all of about the same size."""
    folder.mkdir()
    first = generated_batch(0, _RECORDS)
    records = max(1, file_bytes * _RECORDS // len(render_csv(first)))
    for number in range(size_bytes // file_bytes):
        content = render_csv(generated_batch(number * records, records))
        (folder / f"{number:06d}.csv").write_bytes(content)
