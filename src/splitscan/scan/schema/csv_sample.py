"""What the columns of one CSV file are: names from its header, types from the values at its head."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.blocks import BlockMetadata
from splitscan.decoding.conversions import Rules, convert
from splitscan.framing.quoted import QuotedFormat, split_fields
from splitscan.options import CsvOptions, HeaderMapping, Mode, ReadOptions, SchemaOptions
from splitscan.scan.block_scan import BlockScan
from splitscan.scan.csv_files import unique_names
from splitscan.scan.formats import record_format
from splitscan.scan.schema.lattice import ANY_VALUE, MOST_DIGITS, NO_VALUE, join
from splitscan.scan.spec import make_spec
from splitscan.splitting.block_reader import BlockReader
from splitscan.splitting.contents import open_content
from splitscan.splitting.cursor import Framed

_DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"  # written otherwise, Spark finds timestamps
_WHOLE = r"^[+-]?0*([0-9]+)$"
_CANDIDATES = (pa.int32(), pa.int64(), pa.decimal128(MOST_DIGITS, 0), pa.float64(), pa.date32(),
               pa.timestamp("us", "UTC"), pa.bool_())  # fmt: skip


def sample_names(options: ReadOptions, head: BlockMetadata) -> tuple[str, ...]:
    """The names of a file's columns: its header's, or ``_c0``, ``_c1`` ...; none of a file without a record.

    Raises:
        SourceError: If the file cannot be read.
    """
    with closing(open_content(head, options.files, record_format(options))) as source:
        reader = BlockReader(
            source,
            head,
            record_format(options),
            max_record_bytes=options.reading.max_record_bytes,
            read_bytes=options.reading.sampling_bytes,
        )
        if reader.preamble.header is not None:
            return tuple(unique_names(reader.preamble.header))
        for step in reader:
            if isinstance(step, Framed) and isinstance(reader.preamble.format, QuotedFormat):
                return _positions(step, reader.preamble.format)
    return ()


def _positions(step: Framed, format: QuotedFormat) -> tuple[str, ...]:
    first = bytes(step.data[int(step.frames.starts[0]) : int(step.frames.stops[0])])
    dialect = format.dialect
    utf8 = dialect.encoding.text(first).encode("utf-8")
    return tuple(f"_c{i}" for i in range(len(split_fields(utf8, dialect.in_utf8))))


def sample_types(options: ReadOptions, csv: CsvOptions, head: BlockMetadata, names: tuple[str, ...]) -> pa.Schema:
    """The narrowest types that all values of the records in *head* fit; ``null`` without a value.

    Integers become ``int``, ``bigint`` or, beyond 64 bits, decimals; then come ``double``, ``date``, ``timestamp`` and
    ``boolean``; all else is ``string``.

    Raises:
        SourceError: If the file cannot be read.
    """
    own = replace(csv, header_mapping=HeaderMapping.POSITION)
    lenient = replace(options.reading, mode=Mode.PERMISSIVE, columns=None, metadata_columns=(), limit=None)
    plain = replace(options, format=own, reading=lenient, schema=SchemaOptions())
    spec = make_spec(plain, pa.schema([(name, pa.string()) for name in names]))
    found: list[pa.DataType] = [NO_VALUE] * len(names)
    for batch in BlockScan(spec, head):
        found = [join(old, _kind(csv, batch.column(i))) for i, old in enumerate(found)]
    return pa.schema(list(zip(names, found, strict=True)))


def _kind(csv: CsvOptions, column: pa.Array) -> pa.DataType:
    """The narrowest type that all values of a sample fit."""
    values = column.drop_null()
    if not len(values):
        return NO_VALUE
    rules = Rules(csv.nan_value, csv.positive_inf, csv.negative_inf, csv.date_format, csv.timestamp_format)
    for kind in _CANDIDATES:
        if pa.types.is_decimal(kind):
            whole = _decimal_kind(values)
            if whole is not None:
                return whole
        elif pa.types.is_date32(kind) and not (csv.prefer_date and _are_dates(values, csv)):
            continue
        elif convert(values, kind, rules)[1] is None:
            return kind
    return ANY_VALUE


def _are_dates(values: pa.Array, csv: CsvOptions) -> bool:
    """Whether values that are dates are written as such: without a time behind, and with every digit."""
    return csv.date_format is not None or pc.all(pc.match_substring_regex(values, _DATE)).as_py()


def _decimal_kind(values: pa.Array) -> pa.DataType | None:
    """The decimal type of whole numbers, if they are, and not longer than any decimal."""
    digits = pc.replace_substring_regex(values, _WHOLE, r"\1")
    if not pc.all(pc.match_substring_regex(values, _WHOLE)).as_py():
        return None
    longest = pc.max(pc.binary_length(digits)).as_py()
    return pa.decimal128(longest, 0) if longest <= MOST_DIGITS else None
