"""Framed snappy as no library writes it: of chunks as small as one likes, of all kinds."""

import cramjam

SIGNATURE = b"\xff\x06\x00\x00sNaPpY"


def chunk(kind, body):
    return bytes((kind,)) + len(body).to_bytes(3, "little") + body


def checksum_of(content):
    """As the library has it in front of such a chunk."""
    return bytes(cramjam.snappy.compress(content))[14:18] or b"\xd8\xea\x82\xa2"  # of nothing it writes no chunk


def plain(content):
    return chunk(0x01, checksum_of(content) + content)


def compressed(content):
    return chunk(0x00, checksum_of(content) + bytes(cramjam.snappy.compress_raw(content)))


def framed(contents):
    """A file of one chunk for each content, with all there may be between them."""
    between = (b"", chunk(0xFE, bytes(7)), chunk(0x80, plain(b"no content")), SIGNATURE, chunk(0xFD, b""), plain(b""))
    written = [SIGNATURE]
    for index, content in enumerate(contents):
        written += [between[index % len(between)], (compressed, plain)[index % 3 > 1](content)]
    return b"".join(written)
