"""Cut files into blocks. Planning is arithmetic on lengths: no file is opened, no byte is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import UsageError, Where


def split_file(file: FileMetadata, block_bytes: int, splittable: bool = True) -> Iterator[BlockMetadata]:
    """Cut one file into consecutive blocks.

    The blocks are disjoint, in order, and cover ``[0, size_bytes)`` exactly. They are not aligned to records: a
    record belongs to the block that holds its first byte.

    Args:
        file: The file as it was listed. An empty file has no block.
        block_bytes: Length of each block; the last may be shorter, and is never empty.
        splittable: Whether reading can start in the middle; if not, the whole file is one block.

    Returns:
        A lazy iterator over the blocks, lowest offset first.

    Raises:
        UsageError: If *block_bytes* is not positive or the file's length is negative; before the first block.

    Example:
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> [(block.start, block.stop) for block in split_file(file, block_bytes=4)]
        [(0, 4), (4, 8), (8, 10)]
        >>> len(list(split_file(file, block_bytes=4, splittable=False)))
        1
    """
    _check_block_bytes(block_bytes)
    _check_size(file)
    return _blocks(file, block_bytes if splittable else max(1, file.size_bytes))


def split_files(
    files: Iterable[FileMetadata], block_bytes: int, splittable: Callable[[FileMetadata], bool] | None = None
) -> Iterator[BlockMetadata]:
    """Cut many files into blocks, file after file.

    Args:
        files: The files, consumed one at a time.
        block_bytes: Length of each block.
        splittable: Tells whether a file can be read from the middle; by default all can.

    Returns:
        A lazy iterator over all blocks, in the order of the files, then of the offsets. It holds one file at a time.

    Raises:
        UsageError: If *block_bytes* is not positive, at once; if a file's length is negative, when it is reached.

    Example:
        >>> files = [FileMetadata(f"/data/{name}", 5, 0, "5-0", name) for name in "ab"]
        >>> [(block.file.name, block.index) for block in split_files(files, block_bytes=4)]
        [('a', 0), ('a', 1), ('b', 0), ('b', 1)]
    """
    _check_block_bytes(block_bytes)
    return (
        block
        for file in files
        for block in split_file(file, block_bytes, splittable is None or splittable(file))
    )  # fmt: skip


def _blocks(file: FileMetadata, block_bytes: int) -> Iterator[BlockMetadata]:
    size_bytes = file.size_bytes
    start = 0
    for index in range(-(-size_bytes // block_bytes)):
        stop = min(start + block_bytes, size_bytes)
        yield BlockMetadata(file, start, stop, index)
        start = stop


def _check_block_bytes(block_bytes: int) -> None:
    if isinstance(block_bytes, bool) or not isinstance(block_bytes, int) or block_bytes < 1:
        raise UsageError(
            "blocks must be at least one byte long", seen=f"block_bytes={block_bytes!r}",
            fix="set option blockSize to a positive size, e.g. 128 MiB", code="bad-option",
        )  # fmt: skip


def _check_size(file: FileMetadata) -> None:
    if file.size_bytes < 0:
        raise UsageError(
            "a file cannot have a negative length", Where(path=file.path), f"size_bytes={file.size_bytes}",
            "list the file again", "bad-file",
        )  # fmt: skip
