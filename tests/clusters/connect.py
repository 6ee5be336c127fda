"""A server of Spark Connect in a process of its own, which clients reach over the network."""

from __future__ import annotations

import re
from pathlib import Path

from .driver import SETTINGS, SPARK_HOME, java_options, worker_environment
from .processes import Guarded, wait_until

_STARTED = re.compile(r"Spark Connect server started at: .*:(\d+)")


class ConnectServer:
    """A server; closing it kills all of it.

    Args:
        folder: For its files.
        master: Where it runs tasks.
    """

    def __init__(self, folder: Path, master: str) -> None:
        folder.mkdir()
        self.folder = folder
        settings = {
            **SETTINGS,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
            "spark.driver.extraJavaOptions": java_options(folder),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
        options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        self.process = Guarded(
            [
                str(SPARK_HOME / "bin" / "spark-submit"), "--master", master, *options,
                "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
            ],
            {**worker_environment(folder), "SPARK_HOME": str(SPARK_HOME)},
            folder / "server.log",
        )  # fmt: skip
        try:
            log = self.process.log
            port = wait_until("a server", lambda: _STARTED.search(log.read_text(errors="replace")))[1]
        except BaseException:
            self.close()
            raise
        self.url = f"sc://127.0.0.1:{port}"

    def close(self) -> None:
        self.process.close()
