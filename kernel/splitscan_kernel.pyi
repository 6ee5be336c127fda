"""The native engine of splitscan.

Data are ``bytes``, of which ``data[start:end]`` is looked at, which begins with a record; ``stop`` is a position in the
data too. Positions in answers are relative to ``start``; many of them are little-endian integers of 64 bits, as bytes.
"""

from collections.abc import Sequence
from typing import Any, Literal, NoReturn, TypeAlias, final

_Framed: TypeAlias = tuple[bytes, bytes, list[int], int]  # starts, stops, malformed, next_start
_Run: TypeAlias = tuple[int, int | None, int | None, int | None, int | None]  # state, first, last, marked, records

SEAM: int
__version__: str

class KernelBug(RuntimeError):
    """The native engine is wrong, not the data."""

class Unsupported(ValueError):
    """The native engine leaves this to the reference engine."""

@final
class Batch:
    """Rows as columns, for ``pyarrow.record_batch``."""

    def __new__(cls) -> NoReturn: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

class BlockFailed(RuntimeError):
    """A block cannot be read on: kind, rule, offset, what was seen, how to mend it, code, the record that ends it."""

@final
class Content:
    """A compressed file, of an open file, its codec, and places to begin at: bits, content, state. For tests."""

    def __new__(
        cls, source: Any, codec: str, points: Sequence[tuple[int, int, str | None]], max_ratio: int
    ) -> Content: ...
    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes from an offset on. ``BlockFailed`` has kind, rule, place and notes, what was seen, and the code."""

    @property
    def content_bytes(self) -> int | None:
        """Length of the content, once its end was reached."""

@final
class BlockReader:
    """Reads one block, as two documents in JSON say: of a scan, and of the block. Iterate, or call ``count``."""

    def __new__(cls, scan: str, block: str, source: Any, descriptor: int | None = None) -> BlockReader: ...
    @staticmethod
    def check(scan: str) -> None:
        """Raises ``Unsupported`` if the kernel does not read such scans."""

    def __iter__(self) -> BlockReader: ...
    def __next__(self) -> Batch: ...
    def count(self) -> tuple[int, int, tuple[int, str] | None]:
        """Rows, records that were given up, and offset and code of the first of those."""

    def take_rejects(self) -> Batch | None:
        """The records that broke a rule since the last call."""

    def take_noticed(self) -> list[tuple[int, str, bytes]]:
        """Offset, parts that no column takes as JSON, and text of records that have some, since the last call."""

    def stop_noticing(self) -> None:
        """Notice no more of them."""

    @property
    def report(self) -> tuple[int, int, int, str, int | None] | None:
        """First byte and first byte after the span, rows, digest, length of content; ``None`` before the end."""

    @property
    def oddities(self) -> list[tuple[str, int, int]]:
        """What is odd about the records that were read so far: code, how many records, place of the first."""

    @property
    def last_row(self) -> int | None: ...
    @property
    def records(self) -> int: ...
    @property
    def passed_bytes(self) -> int: ...

@final
class MessageReader:
    """Reads values of messages, as two documents say: of a scan, and of a block, which names where they are from."""

    def __new__(cls, scan: str, block: str, separator: bytes) -> MessageReader: ...
    def read(self, values: Any) -> tuple[Batch, Batch | None]:
        """Rows of an array of values, and those that broke a rule, whose offset is their number in the array."""

def project_document(scan: str, wanted: str) -> str | None:
    """The document of a scan for some columns and members, a struct in Spark's JSON; ``None`` if it has not all."""

def fit_texts(document: str, batch: Any, kinds: list[int]) -> list[tuple[int, int, bool]]:
    """Which types the columns of a batch of texts fit, of those in *kinds*, a bit for each.

    Answers for each column: the types, most digits of a whole number, and whether there is a text.
    """

@final
class Blake3:
    """BLAKE3 of bytes that come piece by piece."""

    def __new__(cls) -> Blake3: ...
    def update(self, data: bytes, start: int, stop: int) -> None:
        """Take ``data[start:stop]`` as the next bytes."""
    def hexdigest(self) -> str:
        """The digest of all bytes so far, in 64 hexadecimal digits."""

@final
class Csv:
    """The grammar of CSV files."""

    def __new__(
        cls,
        *,
        sep: bytes,
        quote: bytes | None,
        escape: bytes | None,
        escape_escape: bytes | None,
        doubled: bool,
        comment: bytes | None,
        line_sep: bytes | None,
        multi_line: bool,
        trim_leading: bool,
        unit_bytes: int,
        big_endian: bool,
    ) -> Csv: ...
    def frame(self, data: bytes, start: int, end: int, at_end: bool) -> _Framed:
        """Where the complete records of ``data[start:end]`` are."""
    def count(self, data: bytes, start: int, end: int, at_end: bool) -> tuple[int, int]:
        """How many records that finds, and where the next one starts."""
    def open_starts(self, data: bytes, start: int, end: int, longest: int) -> bytes:
        """Where records would begin that do not end in ``data[start:end]``, or are too long: at any line start."""
    def summarise(self, data: bytes, start: int, end: int, before: bytes, after: bytes, mark: int) -> list[_Run | None]:
        """What ``data[start:end]`` does to a reader that enters it in each state."""
    def may_be_odd(self, data: bytes, start: int, end: int, header: bytes | None, comments: bool) -> bool:
        """Whether ``data[start:end]`` may hold the header again, or, with *comments*, lines that are none."""
    def last_split_point(self, data: bytes) -> int | None:
        """The last position that is a record boundary whatever is around the data."""

@final
class JsonPast:
    """The state inside of what is passed over."""

@final
class Json:
    """Where the records of JSON are: values one after the other, elements of an array or of arrays, or lines."""

    def __new__(
        cls, shape: Literal["values", "array", "below", "nowhere"], path: Sequence[str | None] | None = None
    ) -> Json: ...
    @staticmethod
    def lines(line_sep: bytes | None = None, unit_bytes: int = 1, big_endian: bool = False) -> Json:
        """Records that are lines which hold more than white space."""
    def frame(self, data: bytes, start: int, end: int, at_end: bool) -> _Framed:
        """Where the complete records of ``data[start:end]`` are."""
    def count(self, data: bytes, start: int, end: int, at_end: bool) -> tuple[int, int]:
        """How many records that finds, and where the next one starts."""
    def gap_bytes(self, data: bytes, start: int, end: int, at_end: bool) -> int | None:
        """Length of what lies between records at the front of ``data[start:end]``; ``None`` where later bytes tell."""
    def first_array(self, data: bytes, start: int, end: int) -> tuple[int | None, bool]:
        """Where reading begins in a file that begins with ``data[start:end]``, and whether a null is at the path."""
    def pass_over(
        self, data: bytes, start: int, end: int, past: JsonPast | None = None
    ) -> tuple[int | None, int, JsonPast, bool]:
        """Go past what ``data[start:end]`` begins with: where reading goes on, how many bytes are done with, the state
        after those, and whether it is open.
        """  # noqa: D205 - the sentence is one
    def open_starts(self, data: bytes, start: int, end: int, longest: int) -> bytes:
        """Where values begin that do not end in ``data[start:end]``, or are longer than *longest* bytes."""
    def summarise(self, data: bytes, start: int, end: int, before: bytes, after: bytes, mark: int) -> list[_Run | None]:
        """What ``data[start:end]`` does to a reader of values that enters it in each state."""

@final
class MemberSummary:
    """The members of records and the types of their values, found as a document says."""

    def __new__(cls, document: str) -> MemberSummary: ...
    def take(self, data: bytes, starts: bytes, stops: bytes) -> list[int]:
        """Take records that were found before; which of them only the reference engine can read."""
    @property
    def has_others(self) -> bool:
        """Whether some record has no members."""
    @property
    def is_full(self) -> bool:
        """Whether there are more members than are kept."""
    @property
    def repeated(self) -> str | None:
        """A name that an object has twice."""
    def members(self) -> str:
        """The members, in order, as JSON: the name of each and its type.

        A type is its name, or an object that says the ``members`` of a struct, the ``items`` of an array, or precision
        and scale of a ``decimal``.
        """

@final
class XmlPast:
    """The state inside of what is passed over."""

@final
class Xml:
    """Where the records of XML are: elements of one name."""

    def __new__(cls, row_tag: bytes, unit_bytes: int = 1, big_endian: bool = False) -> Xml: ...
    def frame(self, data: bytes, start: int, end: int, at_end: bool) -> _Framed:
        """Where the complete records of ``data[start:end]`` are."""
    def count(self, data: bytes, start: int, end: int, at_end: bool) -> tuple[int, int]:
        """How many records there are before the end of a file, and where the next one starts."""
    def gap_bytes(self, data: bytes, start: int, end: int, at_end: bool) -> int | None:
        """Length of what is before the first record in ``data[start:end]``; ``None`` where later bytes tell."""
    def pass_over(
        self, data: bytes, start: int, end: int, past: XmlPast | None = None
    ) -> tuple[int | None, int, XmlPast, bool]:
        """Go past what ``data[start:end]`` begins with, as :meth:`Json.pass_over`."""
    def open_starts(self, data: bytes, start: int, end: int, longest: int) -> bytes | None:
        """Row tags that do not end in ``data[start:end]``, or are too long; ``None`` if it does not begin with one."""
    def summarise(
        self, data: bytes, start: int, end: int, before: bytes, after: bytes, mark: int
    ) -> list[tuple[int, int | None, int | None, int | None, int | None, bool] | None]:
        """What ``data[start:end]`` does to a reader that enters it in each place and depth."""

@final
class CobolRecords:
    """How the records of a copybook are found."""

    def __new__(cls, spec: str) -> CobolRecords: ...
    def frame(self, data: bytes, start: int, end: int, at_end: bool) -> _Framed:
        """Where the complete records of ``data[start:end]`` are."""
    def count(self, data: bytes, start: int, end: int, at_end: bool) -> tuple[int, int]:
        """How many records that finds, and where the next one starts."""

@final
class Lines:
    """How the records of text are ended."""

    def __new__(
        cls, line_sep: bytes | None, escape: bytes | None, unit_bytes: int = 1, big_endian: bool = False
    ) -> Lines: ...
    def frame(self, data: bytes, start: int, end: int, at_end: bool) -> _Framed:
        """Where the complete records of ``data[start:end]`` are."""
    def count(self, data: bytes, start: int, end: int, at_end: bool) -> tuple[int, int]:
        """How many records that finds, and where the next one starts."""
