"""Apache Kafka itself for tests: one node in KRaft mode on loopback, its jars from Maven."""

from __future__ import annotations

import base64
import logging
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

VERSION = "4.1.0"
_START_SECONDS = 120
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
  </dependencies>
</project>
"""
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "auto.create.topics.enable": "false",
    "log.initial.task.delay.ms": "200",  # retention and compaction do their work at once
    "log.retention.check.interval.ms": "200",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "4194304",
}  # fmt: skip


class Broker:
    """A node that runs until ``close``.

    Attributes:
        servers: Where clients find it.
        admin: A client that creates topics, changes their settings, deletes their records.
    """

    def __init__(self, java: str, classpath: str, folder: Path) -> None:
        from confluent_kafka.admin import AdminClient

        self._folder, self._java = folder, [java, *_JVM, "-cp", classpath]
        broker, controller = _free_ports(2)
        self.servers = f"127.0.0.1:{broker}"
        settings = _SETTINGS | {
            "listeners": f"PLAINTEXT://{self.servers},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.servers}",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "log.dirs": str(folder / "data"),
        }
        self._settings = folder / "server.properties"
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        number = b"\0" + uuid.uuid4().bytes[1:]  # its text must not begin with a dash: it would be an option
        identity = base64.urlsafe_b64encode(number).decode().rstrip("=")
        self._call("kafka.tools.StorageTool", "format", "--standalone", "-t", identity, "-c", str(self._settings))
        self._process = self._start()
        self.admin = AdminClient({"bootstrap.servers": self.servers}, logger=logging.getLogger("tests.kafka"))

    def create(self, topic: str, partitions: int, **settings: object) -> None:
        """Create a topic; ``cleanup_policy="compact"`` is the setting ``cleanup.policy``."""
        from confluent_kafka.admin import NewTopic

        config = {name.replace("_", "."): str(value) for name, value in settings.items()}
        _done(self.admin.create_topics([NewTopic(topic, partitions, 1, config=config)]))

    def producer(self, **settings: object) -> Any:
        """A client that sends."""
        from confluent_kafka import Producer

        more = {name.replace("_", "."): value for name, value in settings.items()}
        return Producer(
            {"bootstrap.servers": self.servers, "linger.ms": 5, **more}, logger=logging.getLogger("tests.kafka")
        )

    def send(self, topic: str, values: Any, partition: int | None = None, **more: Any) -> None:
        """Send values, one message each, in order; *more* as the client library's ``produce`` takes it."""
        producer, failures = self.producer(compression_type="lz4"), []
        where = {} if partition is None else {"partition": partition}
        for value in values:
            producer.produce(
                topic, value, on_delivery=lambda error, _: error and failures.append(error), **where, **more
            )
        assert producer.flush(60) == 0
        assert not failures

    @contextmanager
    def down(self) -> Iterator[None]:
        """The node is killed, and gone for the time of a ``with`` block."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        try:
            yield
        finally:
            self._process = self._start()

    def close(self) -> None:
        """End the node; its folder is the caller's."""
        self._process.kill()
        self._process.wait()

    # ---------------------------------------------------------------- inside

    def _call(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*self._java, program, *arguments], capture_output=True, text=True, check=False, timeout=_START_SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _start(self) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._settings)], stdout=log, stderr=subprocess.STDOUT,
                process_group=0,  # Ctrl-C in the terminal is not for the node
            )  # fmt: skip
        deadline = time.monotonic() + _START_SECONDS
        host, port = self.servers.split(":")
        while time.monotonic() < deadline and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    return process
            time.sleep(0.1)
        process.kill()
        raise AssertionError((self._folder / "log").read_text()[-2000:])


@contextmanager
def running_broker(folder: Path) -> Iterator[Broker]:
    """A node in a folder of its own, until the end of the block; skips the test where Maven or Java is not there."""
    maven, java = shutil.which("mvn"), _java()
    if maven is None or java is None:
        pytest.skip("Apache Kafka is tested where Maven (mvn) and Java are installed")
    broker = Broker(java, _classpath(maven, folder), folder)
    try:
        yield broker
    finally:
        broker.close()


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else shutil.which("java")


def _classpath(maven: str, folder: Path) -> str:
    """The jars, which Maven keeps in its own repository: after the first time nothing is loaded."""
    (folder / "pom.xml").write_text(_POM)
    goal = ["dependency:build-classpath", "-Dmdep.outputFile=classpath"]
    for offline in (["-o"], []):
        command = [maven, "-q", "-B", *offline, *goal]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode == 0:
            return (folder / "classpath").read_text().strip()
    pytest.skip(f"Maven has no jars of Apache Kafka {VERSION}: {done.stdout.strip()[-300:]}")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _done(answers: dict[Any, Any]) -> None:
    for answer in answers.values():
        answer.result(60)
