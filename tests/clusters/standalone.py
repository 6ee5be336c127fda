"""A standalone cluster of two workers on two addresses of loopback, from the installed PySpark."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from .driver import SPARK_HOME, Driver, java_options, worker_environment
from .processes import Guarded, Seen, wait_until

EXECUTOR = "CoarseGrainedExecutorBackend"
CORES = 2  # per worker, of an application: room for a copy of a task beside another task
SPARE_CORES = 1  # per worker, for a small application beside it
_EXECUTOR_ID = re.compile(r"--executor-id (\d+)")
_STARTED = re.compile(r"Starting Spark master at (spark://[\d.]+:\d+)")

_SOON_LOST = {"spark.shuffle.io.retryWait": "500ms"}  # an executor that is gone is asked three times more for its files

DRIVER_SETTINGS = {
    "spark.executor.memory": "700m",
    "spark.executor.cores": str(CORES),
    "spark.cores.max": str(2 * CORES),
    "spark.storage.blockManagerHeartbeatTimeoutMs": "10s",  # a stopped executor is given up
    "spark.network.timeout": "20s",
    "spark.network.timeoutInterval": "2s",
    "spark.executor.heartbeatInterval": "2s",
    **_SOON_LOST,
    "spark.locality.wait": "0s",
    "spark.excludeOnFailure.enabled": "false",
    "spark.task.maxFailures": "8",  # several faults of a test may strike one task, and its executor too
    # a task that takes much longer than others gets a copy on the other worker, whatever a test is about
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.minTaskRuntime": "3s",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.task.duration.threshold": "5s",
}

SMALL_SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": str(SPARE_CORES),
    "spark.cores.max": str(2 * SPARE_CORES),
    "spark.task.maxFailures": "2",
    **_SOON_LOST,
}
"""Of an application that has an executor on each worker beside one with the settings above, and gives up soon."""


def linked_spark_home(folder: Path) -> Path:
    """A Spark home whose files are those of PySpark: executors of ``local-cluster`` write into it."""
    folder.mkdir()
    for entry in SPARK_HOME.iterdir():
        (folder / entry.name).symlink_to(entry)
    return folder


class StandaloneCluster:
    """A master and two workers; closing it kills all of it and removes its folder.

    Args:
        folder: For its files; it is made, and removed at the end.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._daemons: list[Guarded] = []
        try:
            self.master = self._start()
        except BaseException:
            self.close()
            raise

    def driver(self, settings: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None) -> Driver:
        """An application that has two executors, one on each worker."""
        folder = self.folder / f"driver-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        started = Driver(folder, self.master, {**DRIVER_SETTINGS, **(settings or {})}, environment)
        wait_until("two executors", lambda: len(self.executors()) == len(self._daemons) - 1)
        return started

    def executors(self) -> list[Seen]:
        """The processes of the executors, in the order of their workers."""
        return [found for daemon in self._daemons[1:] for found in daemon.find(EXECUTOR) if "java" in found.command]

    def executor_ids(self) -> set[str]:
        """What Spark calls the executors, once there is one on each worker; nothing before."""
        ids = {match[1] for found in self.executors() if (match := _EXECUTOR_ID.search(found.command))}
        return ids if len(ids) == len(self._daemons) - 1 else set()

    def python_workers(self) -> list[Seen]:
        """Python processes of the executors: their daemons and what these forked."""
        return [found for daemon in self._daemons[1:] for found in daemon.find("pyspark.daemon")]

    def tasks_run_on(self, worker: int) -> bool:
        """Whether Python works for an executor of a worker, 1 or 2: a daemon, and a process that it forked."""
        return len(self._daemons[worker].find("pyspark.daemon")) > 1

    def lose_worker(self) -> None:
        """Kill the last worker and all that runs on it, as if its machine were gone."""
        self._daemons.pop().close()

    def processes(self) -> list[Seen]:
        """All that the master and the workers run, executors and Python among them."""
        return [found for daemon in self._daemons for found in daemon.processes()]

    def logs(self) -> list[Path]:
        """What master, workers and executors have written."""
        return [daemon.log for daemon in self._daemons] + list(self.folder.glob("work-*/*/*/std*"))

    def close(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> str:
        java = f"{java_options(self.folder)} -Dspark.deploy.maxExecutorRetries=-1"
        environment = {
            **worker_environment(self.folder),
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": java,
            "SPARK_WORKER_WEBUI_PORT": "0",
            "SPARK_MASTER_WEBUI_PORT": "0",
        }
        master = self._daemon("master", environment, "master.Master", "--host", "127.0.0.1", "--port", "0")
        address = wait_until("a master", lambda: _STARTED.search(master.log.read_text()))[1]
        for number in (1, 2):
            self._daemon(
                f"worker-{number}", {**environment, "SPARK_LOCAL_IP": f"127.0.0.{number}"}, "worker.Worker",
                "--host", f"127.0.0.{number}", "--cores", str(CORES + SPARE_CORES), "--memory", "2g",
                "--work-dir", str(self.folder / f"work-{number}"), address,
            )  # fmt: skip
        wait_until("two workers", lambda: master.log.read_text().count("Registering worker") == 2)
        return address

    def _daemon(self, name: str, environment: Mapping[str, str], deploy_class: str, *arguments: str) -> Guarded:
        command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{deploy_class}", *arguments]
        daemon = Guarded(command, environment, self.folder / f"{name}.log")
        self._daemons.append(daemon)
        return daemon
