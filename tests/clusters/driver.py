"""A Spark application in a process of its own, told by a test what to do."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyspark
from pyspark import cloudpickle

from ..java import QUICK_START
from .agent import LENGTH
from .processes import Guarded, Seen

ROOT = Path(__file__).resolve().parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
START_SECONDS = 180  # a busy machine is no failure
CALL_SECONDS = 480

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "700m",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
}

_LOGGING = """
rootLogger.level = info
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n
"""


class FailedInDriverError(Exception):
    """What a function raised in the driver: the name of its class, its message, its traceback."""

    def __init__(self, kind: str, message: str, trace: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message, self.trace = kind, message, trace


class DriverGoneError(Exception):
    """The driver ended before it answered."""


def worker_environment(folder: Path) -> dict[str, str]:
    """What every process of a cluster finds in its environment: our Python, our modules, a place that is removed."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "SPARK_CONF_DIR": str(SPARK_HOME / "conf"),  # there is none; kept classes are for one path of classes
        "SPARK_LOCAL_DIRS": str(folder),
        "TMPDIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def java_options(folder: Path) -> str:
    """Of every Java of a cluster: it starts quickly, tells what it does, and leaves its files in *folder*."""
    logging = folder / "log4j2.properties"
    logging.write_text(_LOGGING)
    return f"-Djava.io.tmpdir={folder} -Dlog4j2.configurationFile={logging} -XX:-UsePerfData {QUICK_START}"


class Driver:
    """An application; closing it kills what is left of it.

    Args:
        folder: For its files.
        master: Where it runs.
        settings: Of Spark, beside those that all of these have.
        environment: Variables beside those that all of these have.
        connect: Whether the session is one of Spark Connect, with a server that runs where *master* says.
    """

    def __init__(
        self,
        folder: Path,
        master: str,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        connect: bool = False,
    ) -> None:
        self.folder = folder
        events = folder / "events"
        events.mkdir()
        java = java_options(folder)
        all_settings = {
            "spark.remote" if connect else "spark.master": master,
            "spark.app.name": "splitscan tests",
            "spark.driver.extraJavaOptions": java,
            "spark.executor.extraJavaOptions": java,
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": str(events),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            **SETTINGS,
            **(settings or {}),
        }
        if master.startswith("sc://"):  # it has settings of its own
            all_settings = {"spark.remote": master}
        self._calls: dict[int, Future[Any]] = {-1: Future()}
        self._number = 0
        self.process = Guarded(
            [sys.executable, "-m", "tests.clusters.agent"],
            {**worker_environment(folder), **(environment or {})},
            folder / "driver.log",
            piped=True,
        )
        self._send(pickle.dumps(all_settings))
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self._calls[-1].result(START_SECONDS)
        except BaseException:
            self.close()
            raise

    def begin(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Future[Any]:
        """Start ``function(spark, ...)`` in a thread of the driver. What its module defines travels with it."""
        cloudpickle.register_pickle_by_value(sys.modules[function.__module__])
        self._number += 1
        future = self._calls[self._number] = Future()
        self._send(cloudpickle.dumps((self._number, function, arguments, named)))
        return future

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float = CALL_SECONDS, **named: Any) -> Any:
        """Run ``function(spark, ...)`` in the driver.

        Raises:
            FailedInDriverError: What it raised.
            DriverGoneError: If the driver ended.
        """
        return self.begin(function, *arguments, **named).result(seconds)

    def python_workers(self) -> list[Seen]:
        """Python workers of executors that are this process's own: of a local master."""
        return self.process.find("pyspark.daemon")

    def finish(self) -> None:
        """Let the application end as a program does; what it leaves running is still there afterwards."""
        self.process.input.close()

    def fail(self) -> None:
        """Let the application end by an error that nobody catches."""
        self._send(b"no call")

    def close(self) -> None:
        self.process.close()

    def _send(self, data: bytes) -> None:
        with suppress(BrokenPipeError):
            self.process.input.write(LENGTH.pack(len(data)) + data)
            self.process.input.flush()

    def _listen(self) -> None:
        output = self.process.output
        with suppress(ValueError):  # closed
            while head := output.read(LENGTH.size):
                number, ok, value = pickle.loads(output.read(LENGTH.unpack(head)[0]))
                if ok:
                    self._calls[number].set_result(value)
                else:
                    self._calls[number].set_exception(FailedInDriverError(*value))
        for future in self._calls.values():
            if not future.done():
                future.set_exception(DriverGoneError(self.process.log.read_text(errors="replace")[-3000:]))
