"""Content that the kernel decompresses, as a byte source: the same tests are for both."""

from splitscan.content.codecs.contract import ContainerError
from splitscan.engine import kernel
from splitscan.errors import UsageError, Where
from splitscan.reading.block_documents import CODECS_OF_TASKS

BY_KERNEL = [] if kernel() is None else [f"{codec} by the kernel" for codec in sorted(CODECS_OF_TASKS)]


class KernelContent:
    def __init__(self, file, codec, seek=None, *, places=(), max_ratio):
        points = list(places if seek is None else (seek, *places))
        self._content = kernel().Content(file, codec.name, points, max_ratio)
        self._path = file.path

    @property
    def content_bytes(self):
        return self._content.content_bytes

    def read_at(self, offset, length_bytes):
        try:
            return self._content.read_at(offset, length_bytes)
        except kernel().BlockFailed as error:
            kind, rule, (byte, notes), seen, code = error.args
            where = Where(self._path, byte, notes=tuple(notes))
            if kind == "usage":
                raise UsageError(rule, where, seen, "", code) from None
            raise ContainerError(rule, where, seen, "", code) from None
