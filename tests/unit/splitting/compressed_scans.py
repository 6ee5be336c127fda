"""Content in every kind of record, and the law of compressed files: any cut gives what one reading gives."""

from itertools import pairwise

import splitscan as ss
from splitscan.scan import scan_blocks
from splitscan.testing.scan_laws import read_block

CSV = b"id,name\n" + b"".join(b'%d,"%s\n%d"\n' % (i, b"x" * (i % 7), i * i) for i in range(150))
ODD_CSV = b"id,name\n" + b"".join(b'%d,a"b\n%d,"a\n""%d"\n' % (i, i, i) for i in range(60)) + b'9,"never closed\n1,2\n'
JSON = b"[" + b",\n".join(b'{"id": %d, "name": "n,\\"%d]"}' % (i, i) for i in range(120)) + b"]"
LINES = b"".join(b"line \\\\\\\n%d\n" % i for i in range(200)) + b"the last has no end"
SCANS = {
    "csv": (CSV, lambda path, **o: ss.scan_csv(path, "id string, name string", header=True, **o)),
    "csv with newlines": (
        CSV,
        lambda path, **o: ss.scan_csv(path, "id string, name string", header=True, multiLine=True, escape='"', **o),
    ),
    "odd csv": (
        ODD_CSV,
        lambda path, **o: ss.scan_csv(path, "id string, name string", header=True, multiLine=True, escape='"', **o),
    ),
    "escaped lines": (LINES, lambda path, **options: ss.scan_text(path, escape="\\", **options)),
    "UTF-16 lines": (LINES.decode().encode("utf-16"), lambda path, **o: ss.scan_text(path, encoding="UTF-16", **o)),
    "json": (JSON, lambda path, **o: ss.scan_json(path, "id long, name string", multiLine=True, **o)),
    "fixed": (LINES, lambda path, **options: ss.scan_fixed(path, record_length=7, **options)),
}
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
    assert (spans[0][0], spans[-1][1]) == (0, content_bytes)
    assert all(left[1] == right[0] for left, right in pairwise(spans)), spans
    assert results[-1].report.content_bytes == content_bytes
    assert scan.count() == len(expected)
    in_turn = scan_blocks(scan.spec, blocks)  # as one task reads them
    assert [row for batch in in_turn for row in batch.to_pylist()] == expected, block_bytes
    return len(blocks)
