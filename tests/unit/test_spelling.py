"""A file is the same file under every locale: its path is kept by its bytes."""

import json
import os
import subprocess
import sys

import pytest

from splitscan.spelling import native_path, portable_path

NAMES = [b"plain.txt", "é😀.txt".encode(), b"torn\xff\xc3.txt", b"latin\xe9.txt"]

# What is kept of a folder: identities of blocks, a ledger, a window. And whether kept ones are of these files.
PROGRAM = """
import json, sys
from splitscan.blocks import BlockMetadata
from splitscan.jobs.destination import History
from splitscan.scans.listing import list_files
from splitscan.jobs.ledger import Ledger, LedgerBlock, LedgerFile, identify
from splitscan.jobs.ledger_files import parse_ledger, render_ledger
from splitscan.streaming.windows import PlannedFile, Window, read_window

folder, kept = sys.argv[1], json.load(sys.stdin)
files = sorted(list_files(folder), key=lambda file: file.modified_us)
blocks = [BlockMetadata(file, 0, file.size_bytes, 0) for file in files]
listed = [LedgerFile(i, f.path, f.fingerprint, f.size_bytes, f.modified_us) for i, f in enumerate(files)]
made = [LedgerBlock(i, 0, 0, 2, 0, 2, 1, 0, "") for i in range(len(files))]
ledger = Ledger("ab" * 16, 1, "2026-01-01T00:00:00Z", "text", {}, (), tuple(listed), tuple(made), (), (folder,))
window = Window(1, tuple(map(PlannedFile, files)), tuple(blocks), (len(blocks),), ((files[1].path, files[2].path),))
if kept:
    earlier = parse_ledger(kept["ledger"].encode("ascii"), "example")
    assert [file.path for file in earlier.files] == [file.path for file in files], earlier.files
    assert earlier.roots == (folder,)
    found = History([earlier]).sort_files(files)
    assert found.skipped == files, found
    assert read_window(kept["window"], "example") == window
    for file in earlier.files:
        open(file.path).close()
json.dump({
    "encoding": sys.getfilesystemencoding(),
    "kept": {
        "blocks": [block.block_id for block in blocks],
        "identities": [identify(file.path) for file in files],
        "ledger": render_ledger(ledger).decode("ascii"),
        "window": list(window.lines()),
    },
}, sys.stdout)
"""


def run_under(locale, folder, kept=None):
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder],
        input=json.dumps(kept).encode(), env=environment, capture_output=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr.decode("utf-8", "replace")
    found = json.loads(done.stdout)
    return found["encoding"], found["kept"]


@pytest.fixture
def folder(tmp_path):
    holder = os.fsencode(tmp_path) + b"/dir\xc3\xa9"
    os.mkdir(holder)  # noqa: PTH102 -- a path of bytes
    for number, name in enumerate(NAMES):
        with open(holder + b"/" + name, "wb") as output:  # noqa: PTH123
            output.write(b"a\n")
        os.utime(output.name, (number, number))
    return holder


@pytest.mark.slow
def test_what_is_kept_of_a_file_is_the_same_under_every_locale(folder):
    wide, kept = run_under("C.UTF-8", folder)
    narrow, also = run_under("C", folder)
    assert (wide, narrow) == ("utf-8", "ascii")
    assert also == kept


@pytest.mark.slow
@pytest.mark.parametrize("locales", [("C", "C.UTF-8"), ("C.UTF-8", "C"), ("C", "C")], ids="-".join)
def test_what_one_locale_has_kept_another_finds_again(folder, locales):
    _, kept = run_under(locales[0], folder)
    run_under(locales[1], folder, kept)


def test_ledgers_that_kept_the_text_of_the_locale_c_are_still_of_their_files():
    assert native_path("/data/\udcc3\udca9/\udcff") == "/data/é/\udcff"


@pytest.mark.parametrize("path", ["/é", "/\udcff", "s3://bucket/\udcc3\udca9", "a\udcc3\udca9", "/\ud800é"])
def test_a_path_of_this_process_comes_back(path):
    assert native_path(portable_path(path)) == path


def test_a_part_of_a_path_is_spelled_as_the_path():
    assert portable_path("a\udcc3\udca9", "/data/a\udcc3\udca9") == "aé"
    assert portable_path("a\udcc3\udca9", "s3://b/a\udcc3\udca9") == "a\udcc3\udca9"
