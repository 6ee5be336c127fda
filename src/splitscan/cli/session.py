"""The Spark session of the command: a quiet local one of its own, that of a server, or the one of spark-submit.

A local one needs Java: Spark finds it on the path, if it is there and new enough. The command ``spark-conf`` prints
settings that give sessions to come what makes reading faster.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from splitscan.cli.flags import Json
from splitscan.cli.output import write_json
from splitscan.cli.program import command, debugging
from splitscan.cli.terminal import show_name
from splitscan.errors import SplitscanError, UsageError, bad_option
from splitscan.redaction import redact
from splitscan.sizes import MIB

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?")
_CONNECT_SCHEME = "sc://"
_CONNECT_PORT = 15002  # where an address of Spark Connect names none
_REACH_SECONDS = 30
_PROXIES = {"grpc_proxy", "https_proxy", "http_proxy"}  # gRPC goes through them
_MOST_DRIVER_MEMORY = 2048 * MIB  # only plans and reports pass through it: rows never do
_QUIET = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_LOCAL_DEFAULTS = {
    **_QUIET,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.unix.domain.socket.enabled": "true",
    # no row passes through this JVM, so what counts is that it starts with little work
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
LEAST_JAVA_VERSION = 17

_JAVA_PLACES = (  # the same as in tools/find-java
    ("/usr/lib/jvm", "*/bin/java"),
    ("/opt/java", "*/bin/java"),
    ("/Library/Java/JavaVirtualMachines", "*/Contents/Home/bin/java"),
    ("~/Library/Java/JavaVirtualMachines", "*/Contents/Home/bin/java"),
    ("~/.sdkman/candidates/java", "*/bin/java"),
    ("/opt/homebrew/opt", "openjdk*/bin/java"),
    ("/usr/local/opt", "openjdk*/bin/java"),
)

_MACOS_JAVA_STAND_IN = "/usr/bin/java"  # is always there, and asks the user to install one

_JAVA_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.M)


def under_spark_submit() -> bool:
    """True if spark-submit started this process: then it decides about master and memory."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def parse_conf(texts: Sequence[str]) -> dict[str, str]:
    """Read the repeated ``--spark-conf key=value``.

    Example:
        >>> parse_conf(["spark.driver.memory=4g"])
        {'spark.driver.memory': '4g'}
    """
    pairs = [text.partition("=") for text in texts]
    for text, (name, equals, _) in zip(texts, pairs, strict=True):
        if not (name.strip() and equals):
            raise bad_option(
                "--spark-conf takes a name and a value", show_name(text), "write --spark-conf spark.driver.memory=4g"
            )
    return {name.strip(): value for name, _, value in pairs}


def local_slots(master: str) -> int | None:
    """Number of tasks that a local master runs at a time; ``None`` for a master elsewhere.

    Example:
        >>> local_slots("local[3]"), local_slots("local"), local_slots("yarn")
        (3, 1, None)
    """
    match = _LOCAL.fullmatch(master)
    if match is None:
        return None
    return (os.cpu_count() or 1) if match[1] == "*" else int(match[1] or 1)


def choose_remote(master: str | None, conf: Mapping[str, str], environ: Mapping[str, str] | None = None) -> str | None:
    """Address of the server of Spark Connect, if the session is to be one of it; ``None`` for a session without one.

    A master says it, or the setting or the variable by which PySpark itself knows it.

    Example:
        >>> choose_remote("sc://host:15002", {}), choose_remote("local[2]", {"spark.remote": "sc://host"})
        ('sc://host:15002', None)
    """
    if master is not None:
        return master if master.startswith(_CONNECT_SCHEME) else None
    if "spark.remote" in conf or "spark.master" in conf:
        return conf.get("spark.remote")
    return (os.environ if environ is None else environ).get("SPARK_REMOTE") or None


@dataclass(frozen=True)
class Session:
    """A Spark session, and what belongs to it."""

    spark: SparkSession
    log: Path | None
    ours: bool

    def close(self, *, keep_log: bool) -> None:
        """End the session, if it is ours."""
        if self.ours:
            self.spark.stop()
        if self.log is not None and not keep_log:
            self.log.unlink(missing_ok=True)


def start_session(master: str | None, conf: Mapping[str, str]) -> Session:
    """Start a session, or take the one that is there.

    A local master gets no web page, and workers that run this very interpreter. Whatever *conf* says wins. A server of
    Spark Connect has its own settings: it gets those of *conf*, and no others.
    Spark's own messages go to a file, except under spark-submit and when debugging.

    Raises:
        SplitscanError: If there is no PySpark or no Java, or Spark does not start.
    """
    try:
        from pyspark.errors import PySparkException  # noqa: PLC0415 -- Spark is optional
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ImportError as error:
        raise SplitscanError(
            "an ingest runs on Spark, and PySpark is not installed", seen=str(error),
            fix="pip install 'splitscan[spark]'",
        ) from error  # fmt: skip
    if not debugging():
        warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark(\.|$)")
    ours = not under_spark_submit() and SparkSession.getActiveSession() is None
    settings = session_settings(master, conf) if ours else dict(conf)
    log = _new_log() if ours and not debugging() else None
    try:
        with children_write_to(log):
            _check_server(settings.get("spark.remote", ""))
            spark = finish_once_begun(SparkSession.builder.config(map={**settings}).getOrCreate)
    except KeyboardInterrupt:
        if log is not None:
            log.unlink()
        raise
    except UsageError:
        raise
    except (PySparkException, OSError, ValueError) as error:
        raise SplitscanError(
            "Spark did not start", seen=last_words(log) or redact(str(error).strip().partition("\n")[0]),
            fix=_how_to_start(settings),
        ) from error  # fmt: skip
    return Session(spark, log, ours)


def _check_server(remote: str) -> None:
    """Make sure that somebody listens where the server should be: PySpark would try for minutes, deaf to Ctrl-C.

    Raises:
        OSError: If nobody does. Behind a proxy that cannot be known here.
    """
    if remote.startswith(_CONNECT_SCHEME) and not _PROXIES.intersection(os.environ):
        try:
            address = urlsplit(remote)
            host, port = address.hostname or "", address.port or _CONNECT_PORT
        except ValueError:  # which quotes what may hold a token
            raise bad_option(
                "a server of Spark Connect is named sc://HOST:PORT/;NAME=VALUE",
                "a URL whose host or port is none",
                "write an IPv6 address in [], a port as a number, and a / before parameters",
            ) from None
        socket.create_connection((host, port), _REACH_SECONDS).close()


def finish_once_begun(start: Callable[[], SparkSession]) -> SparkSession:
    """Start Spark; when the user interrupts, let it start, and end it: half a start leaves a Java process behind."""
    with ThreadPoolExecutor(1, thread_name_prefix="splitscan-start") as pool:
        future = pool.submit(start)
        try:
            return future.result()
        except KeyboardInterrupt:
            with suppress(Exception):
                future.result().stop()
            raise


def session_settings(master: str | None, conf: Mapping[str, str]) -> dict[str, str]:
    """Settings of a session that the command starts."""
    remote = choose_remote(master, conf)
    if remote is not None:
        return {**conf, "spark.remote": remote}
    settings = dict(conf)
    settings.setdefault("spark.master", "local[*]")
    if master is not None:
        settings["spark.master"] = master
    settings.setdefault("spark.app.name", "splitscan ingest")
    settings.setdefault("spark.driver.memory", f"{_driver_memory_mib()}m")
    _prepare_environment()
    return {**(_LOCAL_DEFAULTS if local_slots(settings["spark.master"]) else _QUIET), **settings}


def _how_to_start(settings: Mapping[str, str]) -> str:
    if "spark.remote" in settings:
        return "check that the server runs and can be reached; --debug shows all that Spark says"
    return "check that Java is 17 or newer, and --master and --spark-conf; --debug shows all that Spark says"


def _new_log() -> Path:
    descriptor, name = tempfile.mkstemp(prefix="splitscan-spark-", suffix=".log")
    os.close(descriptor)
    return Path(name)


@contextmanager
def children_write_to(log: Path | None) -> Iterator[None]:
    """Processes that start meanwhile have *log* as standard output and error, for as long as they live."""
    if log is None:
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    try:
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        yield
    finally:
        for stream, original in enumerate(saved, start=1):
            os.dup2(original, stream)
            os.close(original)
        os.close(descriptor)


def last_words(log: Path | None) -> str | None:
    """The line of a log that says why, and the log is gone."""
    if log is None:
        return None
    lines = log.read_text("utf-8", "replace").splitlines()
    log.unlink(missing_ok=True)
    telling = [line for line in lines if "Exception" in line or "Error" in line] or lines
    return telling[0].strip() if telling else None


def _prepare_environment() -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", os.environ["PYSPARK_PYTHON"])
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    home = find_java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = home


def _driver_memory_mib() -> int:
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):  # not a POSIX system
        return 1024
    return max(512, min(_MOST_DRIVER_MEMORY, physical // 4) // MIB)


def find_java_home() -> str | None:
    """Home of Java; ``None`` where Spark finds one by itself that is new enough.

    Raises:
        SplitscanError: If there is none, or ``JAVA_HOME`` names one that is too old.
    """
    named = os.environ.get("JAVA_HOME")
    if named:
        version = java_version(Path(named)) if (Path(named) / "bin/java").exists() else None
        if version is not None and version < LEAST_JAVA_VERSION:
            raise _no_java(f"JAVA_HOME={named} is Java {version}")
        if (Path(named) / "bin/java").exists():
            return None
    elif (on_path := shutil.which("java")) and _is_usable_java(on_path):
        return None
    homes = [home for home in _java_homes() if (java_version(home) or LEAST_JAVA_VERSION) >= LEAST_JAVA_VERSION]
    if homes:
        return str(max(homes, key=lambda home: (java_version(home) or 0, str(home))))
    raise _no_java(f"JAVA_HOME={named}, no java there" if named else "no java on the PATH that is new enough")


def java_version(home: Path) -> int | None:
    """The version that a Java says it has, ``None`` if it does not say."""
    with suppress(OSError, UnicodeDecodeError):
        found = _JAVA_VERSION.search((home / "release").read_text("utf-8"))
        return None if found is None else int(found[1])
    return None


def _is_usable_java(executable: str) -> bool:
    if sys.platform == "darwin" and executable == _MACOS_JAVA_STAND_IN:
        return False
    version = java_version(Path(executable).resolve().parent.parent)
    return version is None or version >= LEAST_JAVA_VERSION


def _java_homes() -> Iterator[Path]:
    for place, pattern in _JAVA_PLACES:
        for executable in Path(place).expanduser().glob(pattern):
            yield executable.parent.parent


def _no_java(seen: str) -> SplitscanError:
    return SplitscanError(
        f"Spark needs Java {LEAST_JAVA_VERSION} or newer", seen=seen,
        fix="install one (Debian and Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17), "
        "or set JAVA_HOME",
    )  # fmt: skip


_Submit = Annotated[bool, typer.Option("--submit", help="Print arguments of spark-submit instead.")]


@command(
    ("for every session to come", "splitscan spark-conf >> $SPARK_HOME/conf/spark-defaults.conf"),
    ("for one job", 'eval "spark-submit $(splitscan spark-conf --submit) job.py"'),
)
def spark_conf(submit: _Submit = False, as_json: Json = False) -> None:
    """Print the settings that make Spark read faster: the connector's jar, and how the JVM runs. Needs no Spark.

    They are lines of spark-defaults.conf. A session that is running takes the jar with splitscan.register(spark).
    """
    from splitscan.api.sessions import recommended_conf  # noqa: PLC0415 - what jobs need loads with it

    settings = recommended_conf()
    if as_json:
        write_json(settings, indent=2)
    elif submit:
        sys.stdout.write("".join(f"--conf {shlex.quote(f'{name}={value}')}\n" for name, value in settings.items()))
    else:
        sys.stdout.write("".join(f"{name} {value}\n" for name, value in settings.items()))
