"""The content of a file that may be damaged: it ends where the damage begins, for whoever reads it."""

from __future__ import annotations

from splitscan.blocks import Damage
from splitscan.content.codecs.content import ContentStream
from splitscan.content.codecs.contract import BlockDecoder, Codec, ContainerError, Decoder, FileBytes
from splitscan.sizes import KIB, MIB

_NEAR_BYTES = 512 * KIB  # before the place where a decoder fails: it holds no more than that
_STRIDE_BYTES = 128 * KIB
_OUTPUT_BYTES = MIB


class DamagedStream(ContentStream):
    """Decompresses a file from the beginning to its end, or to the place where it is damaged or breaks off.

    A decoder that fails gives nothing of what it was fed last. So the member is decompressed again, and fed byte by
    byte near its damage, for everything that comes before it.

    Args:
        file: The compressed file.
        codec: What it is in.
        max_ratio: As for :class:`ContentStream`.

    Thread safety: none.
    """

    def __init__(self, file: FileBytes, codec: Codec, *, max_ratio: int) -> None:
        super().__init__(file, codec, max_ratio=max_ratio)
        self._damage: Damage | None = None
        self._blocks: BlockDecoder | None = None

    @property
    def damage(self) -> Damage | None:
        """Where the file cannot be decompressed any further; known at the end of the content."""
        return self._damage

    def _make_decoder(self) -> Decoder:
        if self._codec.make_block_decoder is None:
            return super()._make_decoder()
        self._blocks = self._codec.make_block_decoder()
        return self._blocks

    def _decompress(self) -> bytes:
        if self._damage is not None:
            return b""
        try:
            return super()._decompress()
        except ContainerError as error:
            rest, offset = self._find_damage()
            self._content_offset += len(rest)
            failed = self._blocks is not None and self._blocks.has_failed
            self._damage = Damage(
                "corrupt-container" if failed else error.reason_code,
                offset,
                self._content_offset,
                self._file.size_bytes - offset,
            )
            return rest

    def _find_damage(self) -> tuple[bytes, int]:
        """What more can be had of the current member, and the offset in the file up to which."""
        if self._decoder is None:  # after a member there is something else
            return b"", self._fed_to - len(self._pending)
        if self._blocks is not None:
            return b"", (self._member.bit_offset + self._blocks.bit_offset) // 8
        return self._decompress_slowly()

    def _decompress_slowly(self) -> tuple[bytes, int]:
        decoder = self._codec.make_decoder()
        position, content = self._member.bit_offset // 8, self._member.content_offset
        near = max(position, self._fed_to - _NEAR_BYTES)
        window = self._file.read_at(near, self._fed_to - near)
        found = bytearray()
        while not decoder.eof and len(found) < _OUTPUT_BYTES and (position < self._fed_to or not decoder.needs_input):
            data = b""
            if decoder.needs_input and position < near:
                data = self._file.read_at(position, min(_STRIDE_BYTES, near - position))
            elif decoder.needs_input:
                data = window[position - near : position - near + 1]
            try:
                piece = decoder.decompress(data, _OUTPUT_BYTES)
            except Exception:  # what libraries raise has no common base; that they do was reported by then
                break
            position += len(data)
            known = max(self._content_offset - content, 0)
            content += len(piece)
            found += piece[known:]
        return bytes(found), position
