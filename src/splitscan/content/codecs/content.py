"""The content of a compressed file as a stream: member after member, verified, in bounded memory.

The content of a file that may be damaged ends where the damage begins, for whoever reads it. How long the content
probably is can be estimated from its beginning.
"""

from __future__ import annotations

from splitscan.blocks import Damage, SeekPoint
from splitscan.content.codecs.contract import (
    BlockDecoder,
    Codec,
    ContainerError,
    Decompressor,
    MemberTable,
    container_error,
)
from splitscan.content.storage.contract import ByteSource
from splitscan.errors import SplitscanError, UsageError, Where, quote_bytes
from splitscan.sizes import KIB, MIB, format_size

_INPUT_BYTES = 128 * 1024  # small, because what a decoder leaves is copied
_FIRST_READ_BYTES = 256 * 1024  # doubled with every read, because a read may be a request
_LONGEST_READ_BYTES = 4 * MIB
_OUTPUT_BYTES = MIB
_MOST_MEMBERS = 10_000  # that are remembered; about evenly spread over the file

JUDGED_BYTES = 256 * MIB
"""So much content harms nobody, whatever its ratio."""

BEGINNING = SeekPoint(0, 0)
"""Where every file can be decompressed from."""

_NEAR_BYTES = 512 * KIB  # before the place where a decoder fails: it holds no more than that
_STRIDE_BYTES = 128 * KIB
_SAMPLE_BYTES = 4 * MIB  # of content
_TRAILER_BYTES = 4  # in which gzip ends: the length of the last member's content, modulo 2**32


def is_bomb(content_bytes: int, compressed_bytes: int, max_ratio: int) -> bool:
    """True if so much content, of so many bytes of a file, is out of all proportion."""
    return content_bytes > JUDGED_BYTES and content_bytes > compressed_bytes * max_ratio


class ContentStream:
    """Decompresses a file from a member, or from inside one whose codec can resume there, to the end of the file."""

    damage: Damage | None = None

    def __init__(self, file: ByteSource, codec: Codec, point: SeekPoint = BEGINNING, *, max_ratio: int) -> None:
        self._file = file
        self._codec = codec
        self._point = point
        self._fed_to = self._first_offset = point.bit_offset // 8
        self._content_offset = self._first_content = point.content_offset
        self._max_ratio = max_ratio
        self._pending = b""
        self._read = memoryview(b"")  # of the file, and not fed yet
        self._read_bytes = _FIRST_READ_BYTES
        self._decoder: Decompressor | None = None
        self._member = point  # that is decompressed, or was last
        self._members = [point]
        self._ahead: bytes | None = None  # what is given out has the next piece, or the verified end, after it

    @property
    def content_offset(self) -> int:
        """Offset in the content up to which it is decompressed."""
        return self._content_offset

    @property
    def fed_bytes(self) -> int:
        """How many bytes of the compressed file have become content."""
        return self._fed_to - len(self._pending) - self._first_offset

    @property
    def members(self) -> MemberTable:
        """Its beginning, and members passed since: all of them but in files of many thousands."""
        return MemberTable(tuple(self._members), self._content_offset)

    def read(self) -> bytes:
        """The next piece of the content, at most 1 MiB; empty at its end.

        The last piece of a member is given out after its checksum was verified.

        Raises:
            ContainerError: If the file ends inside a member, or is damaged, or something else follows a member.
            UsageError: ``[decompression-bomb]`` if the content is out of all proportion to the file.
        """
        piece = self._decompress() if self._ahead is None else self._ahead
        self._ahead = self._decompress() if piece else b""
        return piece

    def _decompress(self) -> bytes:
        while True:
            if self._decoder is None and not self._begin_member():
                return b""
            piece = self._decode()
            if piece:
                self._content_offset += len(piece)
                self._check_ratio()
                return piece

    def _begin_member(self) -> bool:
        """Make a decoder for the member that begins here; ``False`` at the end of the file."""
        point, self._point = self._point, BEGINNING
        if point.state is not None and self._codec.resume is not None:
            self._decoder = self._codec.resume(self._file, point)
            return True
        if not self._holds_signature() and not self._pass_padding():
            return False
        self._member = SeekPoint((self._fed_to - len(self._pending)) * 8, self._content_offset)
        self._decoder = self._make_decoder()
        self._remember(self._member)
        return True

    def _make_decoder(self) -> Decompressor:
        return self._codec.make_decoder()

    def _remember(self, member: SeekPoint) -> None:
        last = self._members[-1]
        spacing_bits = self._file.size_bytes // _MOST_MEMBERS * 8
        if member.content_offset > last.content_offset and member.bit_offset >= last.bit_offset + spacing_bits:
            self._members.append(member)

    def _holds_signature(self) -> bool:
        if not self._codec.signatures:
            return self._fed_to == self._first_offset
        longest = max(map(len, self._codec.signatures))
        while len(self._pending) < longest and self._feed():
            pass
        return self._codec.begins(self._pending)

    def _pass_padding(self) -> bool:
        """Zeros up to the end of the file belong to nobody: tapes and pre-allocated files have them.

        Says whether a member follows them, as it may in some containers.
        """
        start = self._fed_to - len(self._pending)
        if any(self._pending and each.startswith(self._pending) for each in self._codec.signatures):
            raise self._breaks_off()
        self._pending = self._pending.lstrip(b"\0")
        while not self._pending:
            if not self._feed():
                return False
            self._pending = self._pending.lstrip(b"\0")
        passed = self._fed_to - len(self._pending) - start
        pad_bytes = self._codec.pad_bytes
        if passed and pad_bytes and passed % pad_bytes == 0 and self._holds_signature():
            return True
        if start == self._first_offset:
            raise self._error("a member begins where none can begin", f"{quote_bytes(self._pending, 16)}")
        raise self._error("something that is no member follows the last one", quote_bytes(self._pending, 16))

    def _decode(self) -> bytes:
        decoder = self._decoder
        if decoder is None:
            return b""
        data = b""
        if decoder.needs_input:
            if not self._pending and not self._feed():
                self._end_early(decoder)
                return b""
            data, self._pending = self._pending, b""
        try:
            piece = decoder.decompress(data, _OUTPUT_BYTES)
        except SplitscanError:
            raise
        except Exception as error:
            raise self._error("a compressed file is damaged", f"{type(error).__name__}: {error}") from error
        if decoder.eof:
            self._pending = decoder.unused_data or b""  # lz4 says None for nothing
            self._decoder = None
        return piece

    def _end_early(self, decoder: Decompressor) -> None:
        """The file ends before the decoder does; some containers have no end of their own."""
        if not getattr(decoder, "is_whole", False):
            raise self._breaks_off()
        self._decoder = None

    def _breaks_off(self) -> ContainerError:
        seen = f"the file ends at byte {self._fed_to}, inside a member"
        return self._error("a compressed file breaks off", seen, code="truncated-container")

    def _feed(self) -> bool:
        if not self._read:
            self._read = memoryview(self._file.read_at(self._fed_to, self._read_bytes))
            self._read_bytes = min(2 * self._read_bytes, _LONGEST_READ_BYTES)
        data, self._read = bytes(self._read[:_INPUT_BYTES]), self._read[_INPUT_BYTES:]
        self._fed_to += len(data)
        self._pending += data
        return bool(data)

    def _error(self, rule: str, seen: str, code: str | None = None) -> ContainerError:
        return container_error(
            self._file, self._codec.name, rule, self._fed_to - len(self._pending), self._content_offset, seen, code
        )

    def _check_ratio(self) -> None:
        content = self._content_offset - self._first_content
        compressed = self._fed_to - self._first_offset
        if is_bomb(content, compressed, self._max_ratio):
            raise UsageError(
                f"a compressed file holds more than maxDecompressionRatio={self._max_ratio} times its length",
                Where(self._file.path, self._fed_to),
                seen=f"{format_size(content)} of content from {format_size(compressed)}",
                fix="if the file is no decompression bomb, raise maxDecompressionRatio",
                code="decompression-bomb",
            )


class DamagedStream(ContentStream):
    """Decompresses a file from the beginning to its end, or to the place where it is damaged or breaks off.

    A decoder that fails gives nothing of what it was fed last. So the member is decompressed again, and fed byte by
    byte near its damage, for everything that comes before it.
    """

    def __init__(self, file: ByteSource, codec: Codec, *, max_ratio: int) -> None:
        super().__init__(file, codec, max_ratio=max_ratio)
        self._blocks: BlockDecoder | None = None

    def _make_decoder(self) -> Decompressor:
        if self._codec.make_block_decoder is None:
            return super()._make_decoder()
        self._blocks = self._codec.make_block_decoder()
        return self._blocks

    def _decompress(self) -> bytes:
        if self.damage is not None:
            return b""
        try:
            return super()._decompress()
        except ContainerError as error:
            rest, offset = self._find_damage()
            self._content_offset += len(rest)
            failed = self._blocks is not None and self._blocks.has_failed
            self.damage = Damage(
                "corrupt-container" if failed else error.reason_code,
                offset,
                self._content_offset,
                self._file.size_bytes - offset,
            )
            return rest

    def _find_damage(self) -> tuple[bytes, int]:
        """Further content of the current member, and the offset in the file up to which."""
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


def estimate_content_bytes(file: ByteSource, codec: Codec, max_ratio: int) -> int:
    """Estimate the length of the content: by the ratio of the first 4 MiB, corrected by what the last bytes say.

    Content ends where damage begins: whoever reads it decides what that means.
    """
    stream = DamagedStream(file, codec, max_ratio=max_ratio)
    while stream.content_offset < _SAMPLE_BYTES:
        if not stream.read():
            return stream.content_offset
    guess = stream.content_offset * file.size_bytes // max(stream.fed_bytes, 1)
    return _nearest(guess, _length_in_trailer(file)) if codec.name == "gzip" else guess


def _length_in_trailer(file: ByteSource) -> int:
    trailer = file.read_at(max(file.size_bytes - _TRAILER_BYTES, 0), _TRAILER_BYTES)
    return int.from_bytes(trailer, "little")


def _nearest(guess: int, modulo_length: int) -> int:
    """The number nearest to *guess* that is *modulo_length* modulo 2**32, if it is anywhere near."""
    cycle = 1 << 32
    nearest = modulo_length + max(round((guess - modulo_length) / cycle), 0) * cycle
    return nearest if guess // 2 <= nearest <= guess * 2 else guess
