"""Storages that fail while a file is read, a destination is written, or a process dies."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from splitscan.content.storage import contract, open_source, open_storage, opening
from splitscan.errors import SourceError
from splitscan.testing.faults import (
    ChangingSource,
    FailingSource,
    MemorySource,
    RecordingSource,
    ShortReadSource,
    TruncatedSource,
)

pytestmark = pytest.mark.fault

DATA = bytes(range(256)) * 64


def test_a_mount_that_hiccups_on_every_other_read_delivers_every_byte(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(DATA)
    real, calls = os.pread, []

    def hiccup(descriptor, length, offset):
        calls.append(offset)
        if len(calls) % 2:
            raise OSError(errno.EIO, "hiccup")
        return real(descriptor, min(length, 1000), offset)

    monkeypatch.setattr(opening.os, "pread", hiccup)
    monkeypatch.setattr(contract, "sleep", lambda _: None)
    source = opening.LocalByteSource(str(tmp_path / "a"))
    assert source.read_at(0, len(DATA)) == DATA
    source.close()
    assert len(calls) == 2 * -(-len(DATA) // 1000)


def test_an_object_store_that_goes_away_is_named_and_shows_no_secret():
    with pytest.raises(SourceError) as caught:
        open_source(
            "s3://bucket/a.csv",
            {
                "key": "AKIAEXAMPLE", "secret": "hunter22", "endpoint_url": "http://127.0.0.1:9",
                "config_kwargs": {"retries": {"max_attempts": 0}, "connect_timeout": 1},
            },
        )  # fmt: skip
    assert "where: s3://bucket/a.csv" in str(caught.value)
    assert "hunter22" not in str(caught.value)
    assert "AKIAEXAMPLE" not in str(caught.value)


WRITER = textwrap.dedent(
    """
    import os, sys
    from splitscan.content.storage import open_storage
    storage = open_storage(sys.argv[1])
    print("ready", flush=True)
    number = 0
    while True:
        number += 1
        storage.write_bytes_atomic("state.json", bytes([number % 256]) * 200_000)
    """
)


def test_a_writer_killed_at_any_instant_leaves_a_whole_file(tmp_path):
    for pause_seconds in (0.0, 0.003, 0.011, 0.02, 0.05):
        child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(pause_seconds)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        storage = open_storage(tmp_path)
        if storage.exists("state.json"):
            data = storage.read_bytes("state.json")
            assert len(data) == 200_000
            assert len(set(data)) == 1
        assert all(name == "state.json" or name.startswith(".") for name in storage.list_names())


@pytest.mark.parametrize("kind", ["local", "s3"])
def test_of_many_creators_exactly_one_wins(kind, tmp_path, request):
    if kind == "local":
        storage = open_storage(tmp_path)
    else:
        storage = open_storage(request.getfixturevalue("s3_root"), request.getfixturevalue("s3_options"))
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: storage.try_create("log/7", b"%d" % number), range(16)))
    assert sum(won) == 1
    assert storage.read_bytes("log/7") == b"%d" % won.index(True)
    assert storage.list_names("log") == ["7"]


def test_a_failing_source_fails_where_it_should_and_heals_when_it_should():
    source = FailingSource(MemorySource(DATA), fail_from=100)
    assert source.read_at(0, 100) == DATA[:100]
    assert source.read_at(50, 0) == b""
    assert source.read_at(len(DATA), 10) == b""  # after the end there is no bad byte
    for offset, length in ((99, 2), (100, 1), (5000, 1)):
        with pytest.raises(SourceError, match=f"byte {offset}"):
            source.read_at(offset, length)
    healing = FailingSource(MemorySource(DATA), good_reads=1, times=2, error=lambda: OSError(errno.EIO, "x"))
    assert healing.read_at(0, 1) == DATA[:1]
    for _ in range(2):
        with pytest.raises(OSError, match="x"):
            healing.read_at(0, 1)
    assert healing.read_at(0, 1) == DATA[:1]
    assert (healing.read_count, healing.failure_count) == (4, 2)


def test_faulty_sources_keep_telling_what_was_found_on_opening():
    inner = MemorySource(DATA, "memory://x", "v1")
    changing = ChangingSource(inner, MemorySource(b"other", "memory://x", "v2"), good_reads=0)
    for source in (ShortReadSource(inner, 1), TruncatedSource(inner, 1), changing):
        assert (source.path, source.size_bytes, source.fingerprint) == ("memory://x", len(DATA), "v1")
    assert changing.read_at(0, 99) == b"other"
    assert TruncatedSource(inner, 10).read_at(20, 5) == b""
    recording = RecordingSource(changing)
    recording.close()
    recording.close()
    assert (recording.closes, inner.closed) == (2, True)
