"""Files made to hurt: whatever they say of depth, lengths and numbers, time and memory are bounded, in one process."""

import json
import subprocess
import sys

import pytest

MIB = 1 << 20
READ = r"""
import json, pathlib, re, sys, time
import splitscan as ss
path, given = sys.argv[1], json.loads(sys.stdin.read())
rejects, rows = [], 0
try:
    for batch in ss.scan(path, **given).to_batches(rejects.append):
        rows += batch.num_rows
    found = [reject.code for reject in rejects]
except ss.SplitscanError as error:
    found = error.reason_code
peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) >> 10
print(json.dumps([rows, found, time.process_time(), peak]))
"""


def book(*items):
    return "       01 R.\n" + "".join(f"          {item}.\n" for item in items)


def cobol(*items, **options):
    return {"format": "cobol", "copybook": book(*items), **options}


def below(path="$.data[*]", **options):
    return {"format": "json", "schema": "x int", "recordPath": path, **options}


def deep(levels):
    return "[" * levels + "]" * levels


LINES = {"format": "log", "recordStart": "[0-9]{4}"}
VARIANTS = {"format": "json", "singleVariantColumn": "v"}
TABLE = ("05 A OCCURS 1000", "10 B OCCURS 1000 PIC X")
FIELDS = [f"05 F{number} PIC 9(3)" for number in range(10_000)]
LENGTHS = {  # of a record or a block, as four bytes
    "0": b"\0\0\0\0", "its own file": b"\0\x0e\0\0", "one byte more": b"\0\4\0\0", "the greatest": b"\xff\xff\0\0",
    "2 GiB": b"\xff\xff\xff\xff",
}  # fmt: skip
CASES = {  # what is read, how, rows, codes
    "a copybook of 10,000 fields": (b"\xf1\xf2\xf3" * 2_000_000, cobol(*FIELDS), 200, []),
    "a copybook of more fields than there may be": (b"", cobol(*FIELDS * 11), 0, "bad-copybook"),
    "1000 lists of 1000": (b"\xc1" * 8_000_000, cobol(*TABLE), 8, []),
    "1000 lists of 1000 lists of 1000": (b"\xc1", cobol(TABLE[0], "10 B OCCURS 1000", "15 C OCCURS 1000 PIC X"), 0,
                                         "bad-copybook"),
    "a log record of 100 MB": (b"2024 a\n" + b"  at x.y\n" * (100 * MIB // 9) + b"2024 b\n", LINES, 1,
                               ["record-too-long"]),
    "a line of 100 MB": (
        b"2024 " + b"a" * (100 * MIB) + b"\n2024 ab\n", LINES | {"recordPattern": "(?P<y>[0-9]+) (?P<m>(?:a|aa)*b)"}, 1,
        ["record-too-long"],
    ),
    "a record of 30 MB that many ways might match": (
        b"2024 " + b"a" * (30 * MIB) + b"\n", LINES | {"recordPattern": "(?P<y>[0-9]+) (?P<m>(?:a|aa|a*)*b)"}, 1,
        ["no-match"],
    ),
    "a path of 10,000 levels": (
        '{"a":' * 10_000 + '[{"x":1}]' + "}" * 10_000, below("$" + ".a" * 10_000 + "[*]"), 1, [],
    ),
    "a path of 5,000 lists": (
        '[{"a":' * 5_000 + '[{"x":1}]' + "}]" * 5_000, below("$" + "[*].a" * 5_000 + "[*]"), 1, [],
    ),
    "3,000,000 levels beside the path": (f'{{"y":{deep(3_000_000)},"data":[{{"x":1}}],"z":{deep(9)}}}', below(), 1, []),
    "3,000,000 levels in an element": (f'{{"data":[{{"x":1,"y":{deep(3_000_000)}}},{{"x":2}}]}}', below(), 2, []),
    "10,000 levels in a column around the path": (
        f'{{"y":{deep(10_000)},"data":[{{"x":1}}]}}', below(recordPathColumns="$.y"), 1, [],
    ),
    "a variant of 128 MB": (b'1\n"' + b"x" * (128 * MIB) + b'"\n2\n', VARIANTS, 2, ["record-too-long"]),
    "a variant that is longer than the limit": (b'1\n"' + b"x" * (20 * MIB) + b'"\n2\n', VARIANTS, 3, ["bad-value"]),
    "a variant of 1,000,000 keys": (
        "{" + ",".join(f'"k{number}":1' for number in range(1_000_000)) + "}", VARIANTS, 1, [],
    ),
    "a variant of 3,000,000 levels": (deep(3_000_000) + "\n1\n", VARIANTS, 2, ["bad-value"]),
    **{
        f"a length of a record that is {name}": (
            b"\0\3\0\0\xc1\xc2\xc3" + length + b"\xc1\xc2\xc3",
            cobol("05 A PIC X(3)", recfm="V"), 2, ["bad-record-header" if name in {"0", "2 GiB"} else "short-record"],
        )
        for name, length in LENGTHS.items()
    },
    **{
        f"a length of a block that is {name}": (
            b"\0\7\0\0\0\3\0\0\xc1\xc2\xc3" + length + b"\0\3\0\0\xc1\xc2\xc3",
            cobol("05 A PIC X(3)", recfm="VB"), 2, None,
        )
        for name, length in LENGTHS.items()
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_time_and_memory_are_bounded(write, name):
    data, given, rows, codes = CASES[name]
    path = write(data)
    done = subprocess.run(
        [sys.executable, "-c", READ, path], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    found_rows, found, seconds, peak_mib = json.loads(done.stdout.splitlines()[-1])
    if codes is not None:
        assert (found_rows, found) == (rows, codes), done.stderr
    assert seconds < 20
    assert peak_mib < 800
