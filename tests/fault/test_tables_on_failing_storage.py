"""Tables in an object store that refuses, is slow, or fails after it did what it was asked; and disks that are full."""

import errno
import http.client
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from splitscan.api.files import Scan
from splitscan.errors import IngestError
from splitscan.jobs import parquet, verify
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, run_ingest

from ..unit.jobs.conftest import InProcessRunner

pytestmark = [pytest.mark.fault, pytest.mark.slow]

COMMITS = {"none": "/_splitscan/ledger/", "delta": "/_delta_log/"}
"""What an object that makes a job visible has in its name. With Iceberg no object does: its catalog decides."""


class FailingStore:
    """Stands between a client and an S3 server.

    ``fault(method, path, headers)`` says what becomes of a request: ``"refuse"`` it, ``"forget"`` to say that it was
    done, ``"delay"`` it; anything else hands it on.
    """

    def __init__(self, endpoint):
        server = urlsplit(endpoint)
        self.fault = lambda *_: None
        self.happened = Counter()
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                fault = store.fault(self.command, self.path, self.headers)
                store.happened[fault] += 1
                if fault == "refuse":
                    return self.say(501, {}, b"<Error><Code>NotImplemented</Code></Error>")
                if fault == "delay":
                    time.sleep(0.5)
                connection = http.client.HTTPConnection(server.hostname, server.port)
                connection.request(self.command, self.path, body, dict(self.headers))
                response = connection.getresponse()
                content = response.read()
                connection.close()
                if fault == "forget":
                    return self.say(503, {}, b"<Error><Code>SlowDown</Code></Error>")
                return self.say(response.status, dict(response.getheaders()), content)

            def say(self, status, headers, content):
                self.send_response_only(status)
                for name, value in headers.items():
                    if name.lower() not in {"transfer-encoding", "connection", "content-length"}:
                        self.send_header(name, value)
                is_head = self.command == "HEAD"
                length = next((value for name, value in headers.items() if name.lower() == "content-length"), "0")
                self.send_header("Content-Length", length if is_head else str(len(content)))
                self.end_headers()
                if not is_head:
                    self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer  # noqa: N815 -- the names that the server calls

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def store(s3_options):
    started = FailingStore(s3_options["endpoint_url"])
    yield started
    started.close()


@pytest.fixture(params=sorted(COMMITS))
def table(request):
    return request.param


@pytest.fixture
def ingest(tmp_path, table, store, s3_root):
    """Ingest what is in ``in`` into a destination of each kind in the store; ``ingest.verify`` counts its rows."""
    options = {"key": "test", "secret": "test", "endpoint_url": store.url}
    where = f"{s3_root}/out"

    def call(names):
        (tmp_path / "in").mkdir(exist_ok=True)
        for name in names:
            if (tmp_path / f"in/{name}.csv").exists():
                continue
            (tmp_path / f"in/{name}.csv").write_text("".join(f"{number},{name}\n" for number in range(50)))
        scan = Scan.of(str(tmp_path / "in"), "csv", "id long, text string", {})
        return run_ingest(
            FileSource(scan), IngestTarget(where, IngestSettings(), options, table=table), InProcessRunner()
        )

    def check():
        report = verify(where, deep=True, storage_options=options)
        assert (report.problems, report.notes) == ((), ())
        return report.rows

    call.verify = check
    return call


def once(what, table):
    """That happens to the first request that would make a job visible."""
    left = [what]

    def fault(method, path, _):
        return left.pop() if left and method == "PUT" and COMMITS[table] in path else None

    return fault


def test_a_commit_that_happened_and_is_called_failed_happens_once(ingest, store, table):
    ingest("a")
    store.fault = once("forget", table)
    ingest("ab")
    assert store.happened["forget"] == 1
    assert ingest.verify() == 100
    assert ingest("ab").nothing_to_do


def test_a_slow_store_only_costs_time(ingest, store, table):
    store.fault = lambda method, path, _: "delay" if method == "PUT" and COMMITS[table] in path else None
    ingest("a")
    assert store.happened["delay"] > 0
    assert ingest.verify() == 50


def test_where_conditional_requests_are_refused_nothing_is_committed(ingest, store):
    ingest("a")
    store.fault = lambda method, _, headers: "refuse" if method == "PUT" and headers.get("If-None-Match") else None
    with pytest.raises(IngestError) as caught:
        ingest("ab")
    assert caught.value.reason_code == "destination-failed"
    store.fault = lambda *_: None
    assert ingest.verify() == 50
    assert ingest("ab").blocks_resumed == 1
    assert ingest.verify() == 100


@pytest.mark.parametrize("table", ["none", "delta", "iceberg"])
def test_a_disk_that_is_full_in_a_task_leaves_the_destination_as_it_was(tmp_path, table, monkeypatch):
    (tmp_path / "a.csv").write_text("".join(f"{number},a\n" for number in range(50)))
    scan = Scan.of(str(tmp_path / "a.csv"), "csv", "id long, text string", {})
    request = FileSource(scan), IngestTarget(tmp_path / "out", IngestSettings(), table=table)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(parquet.HashingOutput, "write", full)
        with pytest.raises(IngestError, match="No space left") as caught:
            run_ingest(*request, InProcessRunner())
    assert caught.value.reason_code == "destination-failed"
    assert list(tmp_path.rglob("*.parquet")) == []
    assert run_ingest(*request, InProcessRunner()).rows == 50
    assert verify(tmp_path / "out", deep=True).ok
