"""bzip2 streams as no library writes them: of blocks as small as one likes, and with block marks inside blocks."""

import bz2
import zlib

BLOCK, END = 0x314159265359, 0x177245385090
_MASK = (1 << 48) - 1


class Bits:
    """A growing number of bits."""

    def __init__(self):
        self.value = self.count = 0

    def add(self, value, count):
        self.value = self.value << count | value
        self.count += count

    def to_bytes(self):
        pad = -self.count % 8
        return (self.value << pad).to_bytes((self.count + pad) // 8, "big")


def block_of(content):
    """The bits of the one block in which the library writes so little content."""
    stream = bz2.compress(content)
    value, count = int.from_bytes(stream, "big"), len(stream) * 8
    pad = next(pad for pad in range(8) if value >> pad + 32 & _MASK == END)
    length = count - pad - 80 - 32
    return value >> pad + 80 & (1 << length) - 1, length


def stream_of(blocks, level=9):
    """One stream of blocks that are given as their bits, which begin with mark and checksum."""
    bits = Bits()
    bits.add(int.from_bytes(b"BZh%d" % level, "big"), 32)
    combined = 0
    for value, length in blocks:
        bits.add(value, length)
        checksum = value >> length - 80 & 0xFFFFFFFF
        combined = (combined << 1 & 0xFFFFFFFF | combined >> 31) ^ checksum
    bits.add(END, 48)
    bits.add(combined, 32)
    return bits.to_bytes()


def bzip2_stream(contents):
    """One stream whose blocks hold these contents."""
    return stream_of(block_of(content) for content in contents if content)


def bzip2_streams(contents):
    """Streams of three blocks each, an empty one first."""
    streams = [bzip2_stream(contents[i : i + 3]) for i in range(0, len(contents), 3)]
    return bz2.compress(b"") + b"".join(streams)


def block_with_marks_inside(marks):
    """A block whose coded bits hold marks of blocks, and what it holds.

    All symbols but four have codes of eight bits, so that bytes of the mark are codes. What they stand for follows.
    """
    coded = list(range(2, 90)) + list(b"".join(mark.to_bytes(6, "big") + b"\x80\x81" for mark in marks))
    last_column, order = [], list(range(256))
    for symbol in coded:  # none of them is a run: these are 0 and 1
        byte = order.pop(symbol - 1)
        order.insert(0, byte)
        last_column.append(byte)
    content = _undo_runs(_undo_sorting(last_column, 3))
    bits = Bits()
    bits.add(BLOCK, 48)
    bits.add(_checksum(content), 32)
    bits.add(0, 1)
    bits.add(3, 24)  # the row that the content begins in
    bits.add((1 << 272) - 1, 272)  # all bytes are used
    groups = -(-(len(coded) + 1) // 50)
    bits.add(2, 3)  # tables
    bits.add(groups, 15)
    bits.add(0, groups)  # every group uses the first
    for _ in range(2):
        bits.add(8, 5)
        for symbol in range(258):
            if symbol == 254:
                bits.add(0b10, 2)  # one bit longer from here on
            bits.add(0, 1)
    for symbol in coded:
        bits.add(symbol, 8)
    bits.add((254 << 1) + 3, 9)  # the end: the last of four codes of nine bits
    return (bits.value, bits.count), content


def _undo_sorting(last_column, row):
    following = sorted(range(len(last_column)), key=lambda i: (last_column[i], i))
    content = []
    position = following[row]
    for _ in last_column:
        content.append(last_column[position])
        position = following[position]
    return bytes(content)


def _undo_runs(data):
    content, run, position = bytearray(), 0, 0
    while position < len(data):
        run = run + 1 if content and run and content[-1] == data[position] else 1
        content.append(data[position])
        position += 1
        if run == 4:
            content += content[-1:] * (data[position] if position < len(data) else 0)
            position, run = position + 1, 0
    return bytes(content)


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _checksum(content):
    """bzip2's: CRC-32 with the bits of every byte, and of the sum, the other way round."""
    return int(f"{zlib.crc32(content.translate(_REVERSED)):032b}"[::-1], 2)
