"""Content in every kind of record, and the law of compressed files: any cut gives what one reading gives."""

from itertools import pairwise

import splitscan as ss
from splitscan.reading.block_scan import scan_blocks
from splitscan.testing.scan_laws import read_block


def csv_of(rows):
    return b"id,name\n" + b"".join(b'%d,"%s\n%d"\n' % (i, b"x" * (i % 7), i * i) for i in range(rows))


def odd_csv_of(rows):
    rows = b"".join(b'%d,a"b\n%d,"a\n""%d"\n' % (i, i, i) for i in range(rows))
    return b"id,name\n" + rows + b'9,"never closed\n1,2\n'


def json_of(values):
    return b"[" + b",\n".join(b'{"id": %d, "name": "n,\\"%d]"}' % (i, i) for i in range(values)) + b"]"


def lines_of(lines):
    return b"".join(b"line \\\\\\\n%d\n" % i for i in range(lines)) + b"the last has no end"


def scan_multi_line(path, **options):
    return ss.scan_csv(path, "id string, name string", header=True, multiLine=True, escape='"', **options)


def scans_of(csv, odd_csv, json, lines):
    """By the kind of records: the content, and how it is scanned."""
    return {
        "csv": (csv, lambda path, **options: ss.scan_csv(path, "id string, name string", header=True, **options)),
        "csv with newlines": (csv, scan_multi_line),
        "odd csv": (odd_csv, scan_multi_line),
        "escaped lines": (lines, lambda path, **options: ss.scan_text(path, escape="\\", **options)),
        "UTF-16 lines": (lines.decode().encode("utf-16"), lambda path, **o: ss.scan_text(path, encoding="UTF-16", **o)),
        "json": (json, lambda path, **options: ss.scan_json(path, "id long, name string", multiLine=True, **options)),
        "fixed": (lines, lambda path, **options: ss.scan_fixed(path, record_length=7, **options)),
    }


CSV, LINES = csv_of(150), lines_of(200)
SCANS = scans_of(CSV, odd_csv_of(60), json_of(120), LINES)
METADATA = ["record_offset", "record_length"]


def pieces_of(data, length):
    return [data[i : i + length] for i in range(0, len(data), length)]


def check_cuts(scan_of, path, content_bytes, block_bytes):
    expected = scan_of(path, metadata_columns=METADATA).to_arrow().to_pylist()
    scan = scan_of(path, metadata_columns=METADATA, block_size=block_bytes)
    blocks = scan.plan()
    results = [read_block(scan, block) for block in blocks]
    assert [row for result in results for row in result.rows] == expected, block_bytes
    assert [left.stop for left in blocks[:-1]] == [right.start for right in blocks[1:]]
    spans = [(result.report.span_start, result.report.span_stop) for result in results]
    assert not any(result.rows for result, (start, stop) in zip(results, spans, strict=True) if start == stop)
    spans = [(start, stop) for start, stop in spans if start < stop]  # where no record starts, there is nothing to tile
    assert (spans[0][0], spans[-1][1]) == (0, content_bytes)
    assert all(left[1] == right[0] for left, right in pairwise(spans)), spans
    assert results[-1].report.content_bytes == content_bytes
    assert scan.count() == len(expected)
    in_turn = scan_blocks(scan.spec, blocks)  # as one task reads them
    assert [row for batch in in_turn for row in batch.to_pylist()] == expected, block_bytes
    return len(blocks)
