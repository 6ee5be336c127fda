"""The jar in a session of Spark Connect: sent by ``register``, and what reads then."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.clusters.connect import ConnectServer
from tests.clusters.driver import Driver

import splitscan as ss
from splitscan.jar import JAR, connector_jar

pytestmark = [pytest.mark.skipif(connector_jar() is None, reason="the connector was not built"), pytest.mark.slow]

_ROWS = [(number, f"v{number}") for number in range(50)]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("in") / "a.csv"
    path.write_text("".join(f"{number},{value}\n" for number, value in _ROWS))
    return str(path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    with closing(ConnectServer(tmp_path_factory.mktemp("connect") / "server", "local[2]")) as started:
        yield started


@pytest.fixture(scope="module")
def client(server: ConnectServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    with closing(Driver(tmp_path_factory.mktemp("client"), server.url, connect=True)) as started:
        yield started


def _read(spark: Any, url: str, path: str, jar: str | None = None) -> tuple[Any, ...]:
    """Rows by name and of a scan in a new session that has a jar already, the plans, and who reads such a scan."""
    session = type(spark).builder.remote(url).create()
    try:
        if jar is not None:
            session.addArtifacts(jar)
        ss.register(session)
        ss.register(session)  # once is enough, and another time is no error
        scan = ss.scan_csv(path, "k int, v string", dialect="spark")
        frames = session.read.format("splitscan").schema("k int, v string").load(path), scan.to_spark(session)
        rows = [sorted(map(tuple, frame.collect())) for frame in frames]
        return *rows, *(frame._explain_string() for frame in frames), str(scan.explain(session))
    finally:
        session.stop()


def test_after_register_the_connector_reads(server: ConnectServer, client: Driver, lines: str) -> None:
    by_name, of_scan, plan, plan_of_scan, explained = client.call(_read, server.url, lines)
    assert by_name == of_scan == _ROWS
    for each in (plan, plan_of_scan):
        assert "BatchScan" in each, plan
        assert "(Python)" not in each, plan
        assert "MapInArrow" not in each, plan
    assert "the connector, in Spark's JVM" in explained


def test_where_the_server_takes_no_jar_python_reads_and_it_is_said(
    server: ConnectServer, client: Driver, lines: str, tmp_path: Path
) -> None:
    other = tmp_path / JAR
    with zipfile.ZipFile(other, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    by_name, of_scan, plan, _, explained = client.call(_read, server.url, lines, str(other))
    assert by_name == of_scan == _ROWS
    assert "(Python)" in plan
    said = r"the server takes no jar: .*ARTIFACT_ALREADY_EXISTS"
    assert re.search(rf"Python workers \({said}", explained), explained
    assert len(re.findall(f"{said}.*; Python workers read for Spark", client.process.log.read_text())) == 1
