"""Codecs: how a compressed file is recognised and decompressed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from splitscan.blocks import SeekPoint
from splitscan.content.storage.contract import ByteSource
from splitscan.errors import SourceError, Where


class Decompressor(Protocol):
    """Decompresses one member: a gzip member, a zstd or lz4 frame, a bzip2 or xz stream.

    Checks what the container has to check by: a decoder that reaches ``eof`` has verified checksum and length.
    """

    @property
    def eof(self) -> bool:
        """True if the end of the member was reached."""

    @property
    def needs_input(self) -> bool:
        """True if it can give nothing more before it is fed."""

    @property
    def unused_data(self) -> bytes | None:
        """Bytes that were fed and lie after the end of the member."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take at most *max_length* bytes."""


class BlockDecoder(Decompressor, Protocol):
    """Decompresses a member whose blocks are verified one by one, and gives out nothing else."""

    @property
    def bit_offset(self) -> int:
        """Position of the next block, in bits from the first byte that was fed."""

    @property
    def has_failed(self) -> bool:
        """True if the next block would end within what was fed, were it not damaged."""


@dataclass(frozen=True)
class Codec:
    """One kind of compressed file.

    Attributes:
        signatures: What a file, and every member that follows another, begins with. Without any, it is one member.
        make_decoder: A new decoder for one member. Raises ``UsageError`` ``[no-codec]`` if its library is not there.
        is_fast: Whether decompressing costs a small part of what parsing costs, so that several tasks may each
            decompress the whole file and parse a share of it.
        resume: A decoder that goes on at a point inside a member (one whose ``state`` is given), up to the end of that
            member. Raises ``SourceError`` if the file is not what the point was made of. ``None`` for codecs that
            have no such points.
        pad_bytes: Between two members there may be zeros, in multiples of so many; 0 for none.
        proves: Whether a file that begins so may be one, for a codec that hardly has a signature: asked only where the
            name of the file, or the user, promises the codec. The bytes may be fewer than the beginning at the end of a
            file. ``None`` where the signature is enough.
        option: As the option ``sourceCompression`` spells it, if that has another name for it.
        make_block_decoder: For members that may be damaged, where damage spoils all of the block that it is in;
            ``None`` where what comes before it is given out in any case.

    Pickling: never; by its name.
    """

    name: str
    extensions: tuple[str, ...]
    signatures: tuple[bytes, ...]
    make_decoder: Callable[[], Decompressor]
    is_fast: bool
    resume: Callable[[ByteSource, SeekPoint], Decompressor] | None = None
    pad_bytes: int = 0
    make_block_decoder: Callable[[], BlockDecoder] | None = None
    proves: Callable[[bytes], bool] | None = None
    option: str | None = None

    @property
    def said_as(self) -> str:
        """As the option ``sourceCompression`` spells it."""
        return self.option or self.name

    def begins(self, data: bytes) -> bool:
        """True if *data* begins like a member."""
        return data.startswith(self.signatures)


@dataclass(frozen=True, slots=True)
class MemberTable:
    """Points to enter a compressed file, in order, at members or blocks that hold anything; length of all content."""

    points: tuple[SeekPoint, ...]
    content_bytes: int


class ContainerError(SourceError):
    """A compressed file ends too early, or does not hold what its checksums say.

    ``where.offset`` is the offset in the compressed file up to which it was fed to the decoder; the note ``content``
    is the offset in what it holds up to which it was decompressed.
    """

    code = "corrupt-container"


def container_error(
    file: ByteSource, codec: str, rule: str, offset: int, content_offset: int, seen: str, code: str | None = None
) -> ContainerError:
    """The error for a compressed file that breaks off or is damaged."""
    return ContainerError(
        rule,
        Where(file.path, offset, notes=(("codec", codec), ("content", f"byte {content_offset}"))),
        seen=seen,
        fix="get the file again from where it came; what stands before the damage can be had with the codec's own tool",
        code=code,
    )
