"""Write record batches to Parquet: bounded memory, the same bytes for the same rows, a digest on the way."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from splitscan.arrays import flag_array, number_array, numbers_of, text_array, text_scalar
from splitscan.blocks import FileMetadata, Reject
from splitscan.content.storage import ByteSource, open_source
from splitscan.errors import InvariantError, Where
from splitscan.jobs.ledger import WrittenFile
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.staging import PartTarget, Staging
from splitscan.reading.reader_context import open_stream
from splitscan.reading.rejects import REJECTED, RejectBatch
from splitscan.redaction import MARK_OF_SECRETS, redact
from splitscan.sizes import KIB, MIB

REJECT_SCHEMA: pa.Schema = REJECTED.remove(REJECTED.get_field_index("line"))
"""Columns of a reject table."""

DICTIONARY_BYTES = 128 * KIB
"""The longest dictionary of a column: a longer one costs more to build than it saves, most are of distinct values."""

WITHOUT_NAN = "splitscan.without-nan"
"""Says in a footer which floating point columns have no NaN: their bounds are those of all values."""

_REJECT_PORTION = 4096  # rejects held in memory; their raw bytes are bounded one by one
REJECT_PORTION_BYTES = 8 * MIB
"""The same for their bytes, and a row group of a reject table: it is held beside one of the data, and seldom read."""

_EXAMPLES = 5


class CountingOutput:
    """A binary file that counts what is written to it. Who opened the file closes it."""

    closed = False

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self.size_bytes = 0

    def write(self, data: Any) -> int:
        """Write *data*."""
        view = memoryview(data).cast("B")
        self._output.write(view)
        self.size_bytes += len(view)
        return len(view)

    def flush(self) -> None:
        """Hand buffered bytes on."""
        self._output.flush()

    def close(self) -> None:
        """Nothing: who opened the file closes it."""


class HashingOutput(CountingOutput):
    """A counting output with a digest of what is written."""

    def __init__(self, output: BinaryIO) -> None:
        super().__init__(output)
        self._digest = hashlib.sha256()

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return super().write(data)

    @property
    def sha256(self) -> str:
        """SHA-256 of all bytes so far, hexadecimal."""
        return self._digest.hexdigest()


def open_parquet(output: Any, schema: pa.Schema, settings: IngestSettings) -> pq.ParquetWriter:
    """Open a Parquet file with the codec, the dictionaries and the pages that all our files have."""
    return pq.ParquetWriter(
        output, schema, compression=settings.compression, dictionary_pagesize_limit=DICTIONARY_BYTES,
        max_rows_per_page=settings.row_group_rows,  # so that pages end by their bytes alone
    )  # fmt: skip


class WholeOrNothing(ABC):
    """A context manager that closes what it writes, or abandons it where an error ends the block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abandon(error)
            return
        try:
            self.close()
        except BaseException as failure:
            self.abandon(failure)
            raise

    @abstractmethod
    def close(self) -> None:
        """Take no more; what was written appears."""

    @abstractmethod
    def abandon(self, error: BaseException) -> None:
        """Take no more; of what did not appear yet nothing is left."""


class ParquetFileWriter(WholeOrNothing):
    """Writes batches to one Parquet file. Without rows there is no file.

    The file appears when the block ends without an error; its bytes depend on the rows, their batches and the settings
    only, so that two attempts at the same work write the same file.
    """

    def __init__(
        self, staging: Staging, name: str, schema: pa.Schema, settings: IngestSettings, *, keep_empty: bool = False
    ) -> None:
        self._staging, self.name = staging, name
        self._schema, self._settings = schema, settings
        self._keep_empty = keep_empty
        self._stack = ExitStack()
        self._writer: pq.ParquetWriter | None = None
        self._output: HashingOutput | None = None
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = self._pending_bytes = 0
        self._rows = 0
        self._without_nan = [column.name for column in schema if pa.types.is_floating(column.type)]
        self.written: WrittenFile | None = None

    @property
    def taken_rows(self) -> int:
        """Rows that were added so far."""
        return self._rows + self._pending_rows

    @property
    def is_open(self) -> bool:
        """True if something is in the file by now."""
        return self._writer is not None

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; a full row group goes to the file."""
        limit = self._settings.row_group_rows
        while batch.num_rows:
            free = limit - self._pending_rows
            taken = batch if batch.num_rows <= free else batch.slice(0, free)
            batch = batch.slice(taken.num_rows)
            self._pending.append(taken)
            self._pending_rows += taken.num_rows
            self._pending_bytes += taken.nbytes
            if self._pending_rows >= limit or self._pending_bytes >= self._settings.row_group_bytes:
                self.flush()

    def flush(self) -> None:
        """Write what is held as a row group."""
        if not self._pending_rows:
            return
        table = pa.Table.from_batches(self._pending, self._schema)
        self._without_nan = [name for name in self._without_nan if not pc.any(pc.is_nan(table[name])).as_py()]
        self._open().write_table(table, row_group_size=self._pending_rows)
        self._rows += self._pending_rows
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0

    def _open(self) -> pq.ParquetWriter:
        if self._writer is None:
            self._output = HashingOutput(self._stack.enter_context(self._staging.open_output(self.name)))
            stream = pa.PythonFile(self._output, mode="w")
            self._writer = open_parquet(stream, self._schema, self._settings)
        return self._writer

    def close(self) -> None:
        self.flush()
        if self._keep_empty:
            self._open()
        if self._writer is None or self._output is None:
            return
        if self._without_nan:
            self._writer.add_key_value_metadata({WITHOUT_NAN: json.dumps(self._without_nan)})
        self._writer.close()
        self._stack.close()
        self.written = WrittenFile(self.name, self._output.size_bytes, self._rows, self._output.sha256)

    def abandon(self, error: BaseException) -> None:
        if self._writer is not None:
            with suppress(Exception):
                self._writer.close()  # or it would try when it is collected
        with suppress(type(error)):
            self._stack.__exit__(type(error), error, error.__traceback__)


def write_empty(target: PartTarget, staging: Staging, name: str) -> WrittenFile:
    """Write Parquet without rows, under this name in the destination."""
    schema = target.partitioning.file_schema(target.schema)
    with ParquetFileWriter(staging, name, schema, target.settings, keep_empty=True) as data:
        pass
    if data.written is None:
        raise InvariantError("an empty file was asked for, and none was written", Where(path=name))
    return data.written


class RejectFileWriter(ParquetFileWriter):
    """Writes the reject table of a part; pass :meth:`add` to the reader."""

    def __init__(self, staging: Staging, name: str, settings: IngestSettings) -> None:
        small = replace(settings, row_group_bytes=min(settings.row_group_bytes, REJECT_PORTION_BYTES))
        super().__init__(staging, name, REJECT_SCHEMA, small)
        self._loose: list[Reject] = []  # not yet rows
        self._portion: list[pa.RecordBatch] = []
        self._portion_rows = self._portion_bytes = self._loose_bytes = 0
        self.count = 0
        self.dropped = 0
        self.examples: list[str] = []

    def add(self, rejects: Sequence[Reject]) -> None:
        """Take rejects."""
        self.count += len(rejects)
        if (missing := _EXAMPLES - len(self.examples)) > 0:
            self.examples += [
                f"{_text(reject.path)}, byte {reject.offset}: {_text(reject.reason)} [{reject.code}]"
                for reject in rejects[:missing]
            ]
        if isinstance(rejects, RejectBatch):
            self._gather()
            self.dropped += len(rejects) - int(np.count_nonzero(rejects.delivered))
            for start in range(0, len(rejects), _REJECT_PORTION):
                self._hold(_rows_of_batch(rejects[start : start + _REJECT_PORTION]))
            return
        for reject in rejects:
            self.dropped += not reject.delivered
            self._loose.append(reject)
            self._loose_bytes += len(reject.raw)
            if self._is_full(len(self._loose), self._loose_bytes):
                self._gather()

    def close(self) -> None:
        self._gather()
        self._write_portion()
        super().close()

    def _gather(self) -> None:
        if self._loose:
            rows = reject_batch(self._loose)
            self._loose, self._loose_bytes = [], 0
            self._hold(rows)

    def _hold(self, rows: pa.RecordBatch) -> None:
        """Take rows; whenever there is a portion of them it is written, however they come."""
        sizes = numbers_of(pc.binary_length(rows["raw"]))
        while rows.num_rows:
            full = int(np.searchsorted(np.cumsum(sizes), REJECT_PORTION_BYTES - self._portion_bytes)) + 1
            taken = rows.slice(0, min(full, _REJECT_PORTION - self._portion_rows))
            count = taken.num_rows
            self._portion.append(taken)
            self._portion_rows += count
            self._portion_bytes += int(sizes[:count].sum())
            rows, sizes = rows.slice(count), sizes[count:]
            if self._is_full():
                self._write_portion()

    def _is_full(self, more_rows: int = 0, more_bytes: int = 0) -> bool:
        rows, size = self._portion_rows + more_rows, self._portion_bytes + more_bytes
        return rows >= _REJECT_PORTION or size >= REJECT_PORTION_BYTES

    def _write_portion(self) -> None:
        if self._portion:
            self.write(pa.concat_batches(self._portion))
        self._portion, self._portion_rows, self._portion_bytes = [], 0, 0


def reject_batch(rejects: Sequence[Reject]) -> pa.RecordBatch:
    """Build rows of the reject table.

    Example:
        >>> batch = reject_batch([Reject("/data/a.csv", 7, 3, "ragged", "too few fields", b"x,y", False)])
        >>> batch.to_pylist()[0]["raw"], batch.schema.names[:3]
        (b'x,y', ['path', 'offset', 'length'])
    """
    columns = [
        [_text(reject.path) for reject in rejects],
        [reject.offset for reject in rejects],
        [reject.length_bytes for reject in rejects],
        [reject.code for reject in rejects],
        [_text(reject.reason) for reject in rejects],
        [bytes(reject.raw) for reject in rejects],
        [reject.delivered for reject in rejects],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, REJECT_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=REJECT_SCHEMA)


def _rows_of_batch(rejects: RejectBatch) -> pa.RecordBatch:
    codes, reasons = (column.cast(pa.string()) for column in rejects.words)
    secret = pc.match_substring_regex(reasons, MARK_OF_SECRETS)
    if pc.any(secret).as_py():
        masked = text_array([redact(reason) for reason in reasons.filter(secret).to_pylist()], pa.string())
        reasons = pc.replace_with_mask(reasons, secret, masked)
    path = pa.repeat(text_scalar(_text(rejects.path), pa.string()), len(rejects))
    raw, delivered = rejects.raw.cast(pa.binary()), flag_array(rejects.delivered)
    offsets, lengths = map(number_array, (rejects.offsets, rejects.lengths))
    arrays = [path, offsets, lengths, _without_bitmap(codes), _without_bitmap(reasons), _without_bitmap(raw), delivered]
    return pa.RecordBatch.from_arrays(arrays, schema=REJECT_SCHEMA)


def _without_bitmap(texts: pa.Array) -> pa.Array:
    """Drop the bitmap of texts of which none is null, as kernels of Arrow leave one: row groups end by size."""
    return pa.Array.from_buffers(texts.type, len(texts), [None, *texts.buffers()[1:]], 0, texts.offset)


def check_schema(batch: pa.RecordBatch, schema: pa.Schema) -> None:
    """Make sure that a batch has exactly the planned columns."""
    if not batch.schema.equals(schema):
        raise InvariantError(
            "a batch does not have the planned columns", seen=str(batch.schema)[:500], fix="report it with the options"
        )


@contextmanager
def open_parquet_file(path: str, options: Mapping[str, Any] | None, buffer_bytes: int) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file of any storage for reading."""
    with closing(open_source(path, options)) as source, closing(parquet_of(source, buffer_bytes)) as parquet:
        yield parquet


def parquet_of(source: ByteSource, buffer_bytes: int) -> pq.ParquetFile:
    """Read a source, which stays open, as Parquet."""
    file = FileMetadata(source.path, source.size_bytes, 0, source.fingerprint, source.path)
    return pq.ParquetFile(open_stream(source, file, buffer_bytes))


def read_footer(read_at: Callable[[int, int], bytes], size_bytes: int) -> pq.FileMetaData:
    """Read the footer of a Parquet file, and little else; ``pa.ArrowInvalid`` if it is no Parquet file."""
    tail = read_at(max(0, size_bytes - _TAIL_BYTES), min(size_bytes, _TAIL_BYTES))
    if len(tail) >= _FOOT_BYTES and tail[-4:] == b"PAR1":
        wanted = int.from_bytes(tail[-_FOOT_BYTES:-4], "little") + _FOOT_BYTES
        if wanted > len(tail):
            tail = read_at(max(0, size_bytes - wanted), min(size_bytes, wanted))
    return pq.read_metadata(pa.BufferReader(b"PAR1" + bytes(tail)))


_FOOT_BYTES = 8  # length of the footer, and the magic
_TAIL_BYTES = 64 * 1024


def _text(value: str) -> str:
    """Text that Parquet can hold: names of files may be no valid UTF-8."""
    return redact(value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8"))
