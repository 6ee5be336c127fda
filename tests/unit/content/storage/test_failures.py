import errno
import pickle
import traceback

import pytest

from splitscan.content.storage.contract import guarded, is_transient
from splitscan.errors import SourceError, SourceMissingError, UsageError, Where


class _Flaky:
    def __init__(self, failures, error):
        self.failures, self.error, self.calls = failures, error, 0

    def __call__(self):
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return "done"


def _run(call, options=None):
    return guarded(call, "read file", Where(path="s3://b/a.csv", offset=7), options)


def test_a_transient_failure_is_tried_again_with_growing_pauses(waits):
    assert _run(_Flaky(3, ConnectionResetError("reset"))) == "done"
    assert waits == pytest.approx([0.05, 0.2, 0.8])


def test_a_failure_that_stays_names_the_place_and_the_attempts():
    call = _Flaky(99, TimeoutError("slow"))
    with pytest.raises(SourceError) as caught:
        _run(call)
    assert call.calls == 4
    assert str(caught.value).splitlines() == [
        "cannot read file [storage-failed]",
        "  where: s3://b/a.csv, byte 7",
        "  seen:  TimeoutError: slow (after 4 attempts)",
        "  fix:   check that the storage is reachable",
    ]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (FileNotFoundError("gone"), SourceMissingError, "file-missing"),
        (PermissionError("no"), SourceError, "file-unreadable"),
        (OSError(errno.ELOOP, "loop"), SourceError, "storage-failed"),
        (RuntimeError("client"), SourceError, "storage-failed"),
    ],
)
def test_a_permanent_failure_is_not_tried_again(error, kind, code):
    call = _Flaky(99, error)
    with pytest.raises(kind) as caught:
        _run(call)
    assert (call.calls, caught.value.reason_code) == (1, code)
    assert caught.value.__cause__ is error


class _AnsweredError(Exception):
    def __init__(self, status):
        super().__init__(f"status {status}")
        self.status = status


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (ConnectionRefusedError("refused"), "storage-failed"),
        (ConnectionResetError("reset"), "storage-failed"),
        (TimeoutError("slow"), "storage-failed"),
        (OSError("no address"), "storage-failed"),
        (PermissionError("no"), "file-unreadable"),
        (_AnsweredError(500), "storage-failed"),
        (_AnsweredError(403), "storage-failed"),
        (_AnsweredError(503), "storage-failed"),
        (_AnsweredError(404), "file-missing"),
        (_AnsweredError(410), "file-missing"),
        (FileNotFoundError("gone"), "file-missing"),
        (KeyError("gone"), "file-missing"),
        (None, "file-missing"),
    ],
)
def test_a_server_that_cannot_be_asked_has_not_lost_the_file(cause, code):
    """As fsspec tells every failure of HTTP; ``ignoreMissingFiles`` would skip the file, and its rows."""
    error = FileNotFoundError("http://h/a.csv")
    error.__cause__ = cause
    with pytest.raises(SourceError) as caught:
        _run(_Flaky(99, error))
    assert caught.value.reason_code == code
    if code != "file-missing":
        assert str(cause) in caught.value.seen


def test_our_own_errors_pass_unchanged():
    error = UsageError("closed")
    with pytest.raises(UsageError) as caught:
        _run(_Flaky(99, error))
    assert caught.value is error


def test_no_part_of_the_traceback_shows_a_secret():
    in_path, in_options = "top" + "secret", "hunter" + "22"  # in pieces: tracebacks quote the lines of this test
    call = _Flaky(99, OSError(errno.EACCES, f"denied for s3://k:{in_path}@b with {in_options}"))
    options = {"password": in_options}
    with pytest.raises(SourceError) as caught:
        _run(call, options=options)
    text = "".join(traceback.format_exception(caught.value))
    assert in_path not in text
    assert in_options not in text
    assert "denied for s3://***@b with ***" in text


@pytest.mark.parametrize("code", [errno.EIO, errno.ETIMEDOUT, errno.ESTALE, errno.EAGAIN, None])
def test_network_and_device_hiccups_are_transient(code):
    assert is_transient(OSError(code, "x") if code else OSError("x"))


@pytest.mark.parametrize("error", [ValueError(), SourceError("x"), OSError(errno.ENOSPC, "full"), NotADirectoryError()])
def test_what_cannot_heal_is_not_transient(error):
    assert not is_transient(error)
