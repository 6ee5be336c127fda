"""Content of files: their bytes, or what they decompress to, and its head. Every reader of records opens files here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from threading import Lock
from typing import Any

from splitscan.blocks import UNKNOWN_END, BlockMetadata, Compression, Damage, FileMetadata
from splitscan.content.archives.opening import CutOffMember, MemberSource, member_codec, open_member
from splitscan.content.codecs.contract import Codec, ContainerError
from splitscan.content.codecs.formats import (
    CODECS,
    SIGNATURE_BYTES,
    container_of,
    promised_by,
    recognise,
    said_by,
)
from splitscan.content.codecs.source import CompressedSource, codec_of
from splitscan.content.kept import SeekStore
from splitscan.content.storage import ByteSource, check_unchanged, open_source, read_at_once
from splitscan.errors import (
    InvariantError,
    RecordError,
    SourceChangedError,
    SourceError,
    Where,
    bad_option,
    quote_bytes,
)
from splitscan.formats.framing.contract import FullFormat, Need, Preamble, RecordFormat, has
from splitscan.formats.framing.encodings import LOOKED_AT_BYTES, is_no_text
from splitscan.options import OnFileChange
from splitscan.options.files import MAX_DECOMPRESSION_RATIO, FileOptions, SourceCompression
from splitscan.redaction import redact
from splitscan.sizes import MIB

_CHECKED_BYTES = 4 * MIB
_SHOWN_BYTES = 200
_REMEMBERED = 1024  # files that are not read again for that, and warnings that are not given again


class _Once:
    """Something that is done once, by the first of several threads."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.is_done = False


@lru_cache(maxsize=_REMEMBERED)
def _check_of(file: FileMetadata, format: Any) -> _Once:
    return _Once()


def check_columns(source: ByteSource, file: FileMetadata, format: FullFormat, position: int) -> None:
    """Refuse a file that names other columns later (``[header-changed]``), before any value lands in a wrong one.

    A block in the middle cannot see what was named before it. So the file is read once to its end by each process,
    which looks for such lines only.
    """
    configuration: Any = format  # formats are hashable: part of their contract
    check = _check_of(file, configuration)
    with check.lock:
        data, at_end = b"", check.is_done
        while not at_end:
            wanted = min(_CHECKED_BYTES, file.content_bytes - position)
            read = source.read_at(position, wanted)
            position += len(read)
            at_end = len(read) < wanted or position == file.content_bytes
            data += read
            found, rest = format.other_columns(data, at_end=at_end)
            if found is not None:
                raise RecordError(
                    "a line in the middle of a file names other columns than its head",
                    Where(file.path, offset=position - len(data) + found),
                    seen=quote_bytes(data[found : found + _SHOWN_BYTES].splitlines()[0]),
                    fix="split the file before that line into files of their own, whose columns may differ; or read it "
                    "as lines, with recordFormat=text",
                    code="header-changed",
                )
            data = rest
        check.is_done = True


_LOG = logging.getLogger("splitscan")

HEAD_BYTES = 64 * 1024
"""Of a file, where its preamble is looked for first; more where that does not decide."""

LONGEST_HEAD_BYTES = 64 * 1024 * 1024
"""A header larger than this is not a header."""


def open_content(block: BlockMetadata, files: FileOptions, format: object) -> ByteSource:
    """Open the file of a block for reading at offsets of what it holds.

    A part of a file that was not planned as a compressed one gets the bytes of the file. Raises ``SourceError`` if it
    is not in the codec that was said or planned, ``[no-codec]`` if the library of that is not installed.
    """
    seek = block.seek if block.file.compression is None else None  # else it is a place in the file itself
    source = open_member(block.file, files.storage_options, seek)
    if source is None:
        source = open_source(block.file.path, files.storage_options, block.file)
    if block.is_file and not isinstance(source, MemberSource):  # members tell more than their bytes
        source = read_at_once(source)
    try:
        if block.file.compression is not None:
            codec = _planned_codec(source, block, block.file.compression)
        else:
            codec = codec_in(source, block.file.path, files, format) if block.start == 0 else None
        if codec is not None and block.file.compression is None and not block.is_file:
            raise SourceError(
                "a part of a compressed file is read only as it was planned",
                block.where(0),
                seen=f"a {codec.name} file whose blocks are cut as if it were none",
                fix="let splitscan plan the blocks of this file, or decompress it first",
                code="compressed-input",
            )
        if isinstance(source, CutOffMember) and not has(format, "frame"):
            raise ContainerError(
                "readers of your own get whole files, and damage of the archive cuts this one off",
                Where(redact(block.file.path)),
                seen=str(source.damage),
                fix="get the archive again from where it came, or leave the member out with archivePathFilter",
            )
    except BaseException:
        source.close()
        raise
    if codec is None:
        return source
    on_members = on_damage = None
    if files.ignore_corrupt_files:
        on_damage = partial(_tell_of_damage, block.file.path)
    elif block.file.compression is not None and block.file.content_bytes == UNKNOWN_END:
        on_members = partial(SeekStore().save, source, block.file, codec.name)
    return CompressedSource(
        source, codec, block.seek, max_ratio=files.max_decompression_ratio, on_members=on_members, on_damage=on_damage
    )


def _tell_of_damage(path: str, damage: Damage) -> None:
    _LOG.warning("%s: %s (ignoreCorruptFiles=true)", redact(path), damage)


def open_file(file: FileMetadata, files: FileOptions, format: object) -> ByteSource:
    """Open a file for reading at offsets of what it holds: see :func:`open_content`."""
    return open_content(BlockMetadata(file, 0, file.size_bytes, 0), files, format)


def open_planned_file(file: FileMetadata, files: FileOptions, format: object) -> ByteSource:
    """Open a file as :func:`open_file` does, and make sure that it is the one that was planned."""
    source = open_file(file, files, format)
    try:
        if files.on_file_change is OnFileChange.FAIL:
            check_unchanged(file, source)
    except BaseException:
        source.close()
        raise
    return source


def recognised_content(source: ByteSource, on_damage: Callable[[Damage], None] | None = None) -> ByteSource:
    """Content of an open file that was read as a compressed one: its bytes, if its first ones are no codec's.

    Closing either closes both. With *on_damage* the content of a damaged file ends where its damage begins.
    """
    promised = promised_by(source.path) or CODECS.values()
    codec = member_codec(source) or recognise(source.read_at(0, SIGNATURE_BYTES), promised)
    if codec is None:
        return source
    return CompressedSource(source, codec, max_ratio=MAX_DECOMPRESSION_RATIO, on_damage=on_damage)


def in_content(block: BlockMetadata, source: ByteSource | str) -> BlockMetadata:
    """The block in offsets of what *source* reads, or a codec: a whole compressed file is all of its content."""
    codec = source if isinstance(source, str) else codec_of(source)
    if codec is None and block.file.compression is not None:
        rule = "a block that was planned as one of a compressed file is not read from its bytes"
        raise InvariantError(rule, block.where())
    if codec is None or block.file.compression is not None:
        return block
    return replace(block, file=replace(block.file, compression=Compression(codec)), stop=UNKNOWN_END)


def head_of(file: FileMetadata, source: ByteSource, most_bytes: int) -> BlockMetadata:
    """A block of the first *most_bytes* bytes of what *source* reads."""
    whole = in_content(BlockMetadata(file, 0, file.size_bytes, 0), source)
    return replace(whole, stop=min(most_bytes, whole.file.content_bytes))


def content_bytes_of(source: ByteSource) -> int | None:
    """Length of the content of a compressed file, once its end was reached; ``None`` for other files."""
    length: int | None = getattr(source, "content_bytes", None)
    return length


def damage_of(source: ByteSource) -> Damage | None:
    """Why the content of a compressed file ends where it does, if that is for damage; known once it was reached."""
    damage: Damage | None = getattr(source, "damage", None)
    return damage


def codec_in(source: ByteSource, path: str, files: FileOptions, format: object) -> Codec | None:
    """The codec in which a file is to be read; ``None`` if its bytes are the content.

    The first bytes decide. A name that says something else is logged. Formats whose records may be any bytes need the
    name to agree; slices, and formats of users' own, get the bytes as they are.

    Raises:
        SourceError: ``[other-codec]`` if ``sourceCompression`` names a codec that the file is not in.
    """
    said = files.source_compression
    packed = member_codec(source)
    if packed is not None:
        return _codec_of_member(packed, path, said, format)
    if said is SourceCompression.NONE:
        return None
    ours = has(format, "encoding")
    if not ours and not has(format, "frame"):
        if said is not SourceCompression.AUTO:
            raise bad_option(
                f"readers of your own get the bytes of their files: sourceCompression={said.value} has no meaning",
                type(format).__name__,
                "leave it out, and decompress in the reader; or give a record format",
            )
        return None
    if said is SourceCompression.AUTO and not ours and not has(format, "may_be_packed"):
        return None
    head = source.read_at(0, SIGNATURE_BYTES)
    promised = promised_by(path) if said is SourceCompression.AUTO else said_by(said.value)
    found = _recognise(head, promised)
    if said is not SourceCompression.AUTO:
        if found not in promised and head:
            seen = f"{'no compressed file' if found is None else found.name}: {quote_bytes(head)}"
            raise _other_codec(path, said, seen, "the first bytes of every file tell")
        return found or promised[0]
    is_as_named = found in promised if promised else found is None
    if not is_as_named and head and ours:
        _tell_of_name(path, found, promised)
    return found if ours or is_as_named else None


def _codec_of_member(packed: Codec, path: str, said: SourceCompression, format: object) -> Codec:
    """The codec of a member that its archive has compressed: whatever it holds, what it says of itself comes first."""
    if not has(format, "frame"):
        raise SourceError(
            "readers of your own get the bytes of their files, and those of a compressed member are not its content",
            Where(path),
            seen=f"a member in {packed.name}",
            fix="pack the archive without compression (zip -0, or tar)",
            code="unsupported-member",
        )
    if said not in {SourceCompression.AUTO, SourceCompression.NONE}:
        raise _other_codec(path, said, f"a member of an archive in {packed.name}", "the archive tells")
    return packed


def _other_codec(path: str, said: SourceCompression, seen: str, tells: str) -> SourceError:
    rule = f"a file is not in the codec that sourceCompression={said.value} says"
    return SourceError(rule, Where(path, 0), seen, f"leave sourceCompression out: {tells}", "other-codec")


def _planned_codec(source: ByteSource, block: BlockMetadata, planned: Compression) -> Codec | None:
    if isinstance(source, CutOffMember) and source.codec == planned.codec:
        return None
    head = source.read_at(0, SIGNATURE_BYTES)
    codec = member_codec(source) or _recognise(head, (CODECS[planned.codec],))
    if codec is None or codec.name != planned.codec:
        raise SourceChangedError(
            "the file is not in the codec any more that it was planned in",
            Where(block.file.path, 0),
            seen=f"{quote_bytes(head)} where {planned.codec} was planned",
            fix="plan again",
        )
    return codec


def _recognise(head: bytes, promised: Iterable[Codec]) -> Codec | None:
    """The codec of a file; one that is promised if it breaks off so early that its first bytes do not tell."""
    for codec in promised:
        if head and any(each.startswith(head) for each in codec.signatures):
            return codec
    return recognise(head, promised)


def _tell_of_name(path: str, found: Codec | None, promised: Sequence[Codec]) -> None:
    what = "is not compressed" if found is None else f"is a {found.name} file"
    name = f"like a {promised[0].name} file" if promised else "like a file that is not"
    _tell_once(f"{redact(path)} {what}, though it is named {name}; it is read as what it is")


@lru_cache(maxsize=_REMEMBERED)
def _tell_once(text: str) -> None:
    """Log a warning; a scan opens a file several times."""
    _LOG.warning("%s", text)


def refuse_no_text(path: str, format: object, head: bytes) -> None:
    """Refuse records of text in bytes of a container (``[compressed-input]``), or that are no text (``[not-text]``)."""
    encoding = getattr(format, "encoding", None)
    if encoding is None:
        return
    kind = container_of(head)
    if kind is not None:
        raise SourceError(
            "bytes of a container are not read as text",
            Where(path, offset=0),
            seen=f"{kind}: {quote_bytes(head[:SIGNATURE_BYTES])}",
            fix="read a tar or zip file with archivePathFilter=*, and unpack what is compressed or packed twice, or in "
            "a way that is not read (.Z, lzop, rar); else leave sourceCompression out, and use a format of splitscan's "
            "own and blocks that splitscan planned",
            code="compressed-input",
        )
    if is_no_text(head, encoding):
        raise SourceError(
            "bytes that are no text are not read as text",
            Where(path, offset=0),
            seen=f"{quote_bytes(head[:SIGNATURE_BYTES])}, read as {encoding.name}",
            fix="if the file is compressed, say sourceCompression=snappy, lz4 or deflate, which are known by the names "
            "of files alone, or decompress it first; if it is text, say its encoding; else read it with format fixed "
            "or slices, which take any bytes, or with format cobol by a copybook",
            code="not-text",
        )


def truncated(file: FileMetadata, size_bytes: int) -> SourceChangedError:
    """The error for a file that ends before its planned size."""
    return SourceChangedError(
        "the file became shorter while it was read",
        Where(file.path, offset=size_bytes),
        seen=f"{size_bytes} bytes where {file.content_bytes} were planned",
        fix="plan the scan again when the file is complete",
        code="source-truncated",
    )


def read_preamble(source: ByteSource, file: FileMetadata, format: RecordFormat) -> Preamble:
    """Read as much of the head of *file* as its format needs.

    Raises:
        RecordError: If the head never ends (a header with an unclosed quote); ``[header-changed]`` if a later line
            names other columns.
        SourceChangedError: If the file is shorter than planned.
        SourceError: ``[compressed-input]``, ``[not-text]`` if the format is text and the bytes are not.
    """
    length = HEAD_BYTES
    end = file.content_bytes
    while True:
        wanted = min(length, end)
        head = source.read_at(0, wanted)
        if len(head) < wanted:
            if end < UNKNOWN_END:
                raise truncated(file, len(head))
            wanted = end = len(head)
        refuse_no_text(file.path, format, head)
        try:
            is_torn = wanted == end and damage_of(source) is not None
            preamble = format.preamble(head, at_end=wanted == end and not is_torn)
        except RecordError as error:
            raise RecordError(
                error.rule, Where(file.path, offset=0), error.seen, error.fix, error.reason_code
            ) from error
        if not isinstance(preamble, Need):
            if has(preamble.format, "other_columns"):
                check_columns(source, file, preamble.format, preamble.data_start)
            return preamble
        if is_torn:
            return Preamble(end, format)  # a header that is cut off says nothing, and no record follows it
        if length >= LONGEST_HEAD_BYTES:
            raise RecordError(
                f"the header does not end within {LONGEST_HEAD_BYTES} bytes",
                Where(file.path, offset=0),
                fix="check options quote, escape and lineSep, or set header=false",
                code="bad-header",
            )
        length *= 4


def preamble_for(source: ByteSource, file: FileMetadata, format: RecordFormat, start: int) -> Preamble:
    """Preamble for a reader from *start* on, by :func:`read_preamble`; no byte is read where none is needed."""
    if format.needs_head(start):
        return read_preamble(source, file, format)
    if start == 0:
        check_head(source, file, format)
    return Preamble(0, format)


def check_head(source: ByteSource, file: FileMetadata, format: RecordFormat) -> None:
    """Refuse a file that is compressed or no text, for readers that need nothing else from the head of *file*."""
    if has(format, "encoding"):
        refuse_no_text(file.path, format, source.read_at(0, min(LOOKED_AT_BYTES, file.content_bytes)))
