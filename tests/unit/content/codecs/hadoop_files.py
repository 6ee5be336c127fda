"""Files as Hadoop writes them, of blocks and chunks as small as one likes."""

import cramjam
import lz4.block

RAW = {
    "hadoop-snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
    "hadoop-lz4": lambda data: lz4.block.compress(data, store_size=False),
}


def number(value):
    return value.to_bytes(4, "big")


def block(codec, content, chunk_bytes=64 << 10):
    """One block of chunks that hold so many bytes each."""
    chunks = [RAW[codec](content[i : i + chunk_bytes]) for i in range(0, len(content), chunk_bytes)]
    return number(len(content)) + b"".join(number(len(chunk)) + chunk for chunk in chunks)


def hadoop(codec, content, block_bytes=256 << 10, chunk_bytes=64 << 10):
    """A file; of nothing it is one block of nothing."""
    starts = range(0, len(content), block_bytes) or [0]
    return b"".join(block(codec, content[start : start + block_bytes], chunk_bytes) for start in starts)
