"""A native library that cannot be loaded: on the machine of a local session, and on those of executors."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.clusters.driver import Driver, FailedInDriverError, java_options
from tests.clusters.standalone import linked_spark_home

import splitscan as ss
from splitscan.jar import connector_jar

_JAR = connector_jar()
pytestmark = [pytest.mark.skipif(_JAR is None, reason="the connector was not built"), pytest.mark.slow]

_VARIABLE = "SPLITSCAN_CONNECTOR_LIBRARY"
_MACHINE = 18  # offset of e_machine in the head of an ELF file
_S390 = 22
_ROWS = [(number, f"v{number}") for number in range(50)]


@pytest.fixture
def lines(tmp_path: Path) -> str:
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{number},{value}\n" for number, value in _ROWS))
    return str(path)


# ------------------------------------------------------ libraries that cannot be loaded


def _own_library() -> bytes:
    """The native library of the jar for the platform of the tests."""
    with zipfile.ZipFile(str(_JAR)) as jar:
        (name,) = [name for name in jar.namelist() if "/native/" in name and name.endswith(".so")]
        return jar.read(name)


def of_another_machine(folder: Path) -> Path:
    """The library, as if it were built for another processor."""
    built = bytearray(_own_library())
    built[_MACHINE : _MACHINE + 2] = _S390.to_bytes(2, "little")
    path = folder / "other-machine.so"
    path.write_bytes(built)
    return path


def of_another_libc(folder: Path) -> Path:
    """The library, as if it were built for a system whose libc is called otherwise, as musl is."""
    built = _own_library()
    assert built.count(b"\0libc.so.6\0") == 1
    path = folder / "other-libc.so"
    path.write_bytes(built.replace(b"\0libc.so.6\0", b"\0libc.musl\0"))
    return path


def nothing(folder: Path) -> Path:
    """No library at all."""
    return folder / "nothing.so"


_LIBRARIES = {
    of_another_machine: "UnsatisfiedLinkError: .*splitscan-",
    of_another_libc: r"libc\.musl: cannot open shared object file",
    nothing: r"NoSuchFileException: .*nothing\.so",
}


# ------------------------------------------------------------------- what is done in a driver


def _read(spark: Any, path: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], str, str]:
    """Rows by name and of a scan, the plan of the first, and who reads the second."""
    ss.register(spark)
    by_name = spark.read.format("splitscan").schema("k int, v string").load(path)
    scan = ss.scan_csv(path, "k int, v string", dialect="spark")
    of_scan = scan.to_spark(spark)
    rows = [sorted(map(tuple, frame.collect())) for frame in (by_name, of_scan)]
    return rows[0], rows[1], by_name._jdf.queryExecution().toString(), str(scan.explain(spark))


@contextmanager
def _local(folder: Path, library: Path | None = None, java: str = "") -> Iterator[Driver]:
    """A local session with another library, or other options of Java."""
    folder.mkdir()
    environment = {} if library is None else {_VARIABLE: str(library)}
    settings = {"spark.driver.extraJavaOptions": f"{java_options(folder)} {java}"}
    with closing(Driver(folder, "local[2]", settings, environment)) as driver:
        yield driver


def _python_reads(driver: Driver, path: str, seen: str) -> None:
    """Python reads all rows, and one line of the log says why."""
    by_name, of_scan, plan, explained = driver.call(_read, path)
    assert by_name == of_scan == _ROWS
    assert "(Python)" in plan
    assert re.search(r"Python workers \(.*\[no-connector\]", explained), explained
    log = driver.process.log.read_text()
    warned = [line for line in log.splitlines() if "Python workers read for Spark: " in line]
    assert len(warned) == 1, log
    assert re.search(rf"\[no-connector\]; seen:  .*{seen}.*; fix:   set {_VARIABLE} to the library", warned[0]), warned


@pytest.mark.parametrize("library", _LIBRARIES)
def test_where_a_local_session_cannot_load_it_python_reads(
    tmp_path: Path, lines: str, library: Callable[[Path], Path]
) -> None:
    with _local(tmp_path / "driver", library(tmp_path)) as driver:
        _python_reads(driver, lines, _LIBRARIES[library])


def test_on_a_platform_of_which_the_jar_has_no_library_python_reads(tmp_path: Path, lines: str) -> None:
    with _local(tmp_path / "driver", java="-Dos.arch=riscv64") as driver:
        _python_reads(driver, lines, r"native/linux-riscv64/")


@pytest.mark.parametrize("library", [of_another_machine, of_another_libc])
def test_executors_that_cannot_load_it_say_what_to_do(
    tmp_path: Path, lines: str, library: Callable[[Path], Path]
) -> None:
    home = linked_spark_home(tmp_path / "home")
    settings = {f"spark.executorEnv.{_VARIABLE}": str(library(tmp_path)), "spark.executor.memory": "512m"}
    (tmp_path / "driver").mkdir()
    started = Driver(tmp_path / "driver", "local-cluster[1,1,512]", settings, {"SPARK_HOME": str(home)})
    with closing(started) as driver:
        with pytest.raises(FailedInDriverError) as caught:
            driver.call(_read, lines)
        said = str(caught.value)
        assert "the native library of the connector cannot be loaded [no-connector]" in said
        assert re.search(_LIBRARIES[library], said), said
        assert f"set {_VARIABLE} to the library on every machine, or spark.splitscan.connector=false" in said
        assert driver.call(_read_by_python, lines) == _ROWS
        assert driver.call(_loaded_in_driver) == []


def _read_by_python(spark: Any, path: str) -> list[tuple[Any, ...]]:
    spark.conf.set("spark.splitscan.connector", "false")
    frame = spark.read.format("splitscan").schema("k int, v string").load(path)
    return sorted(map(tuple, frame.collect()))


def _loaded_in_driver(spark: Any) -> list[str]:
    """Copies of the native library that the JVM of the driver has loaded."""
    maps = Path(f"/proc/{spark._jvm.java.lang.ProcessHandle.current().pid()}/maps").read_text()
    return re.findall(r"/splitscan-\S*\.so", maps)


# --------------------------------------------------------------------------------- noexec


@pytest.fixture
def noexec(tmp_path: Path) -> Iterator[Path]:
    """A folder of a file system from which nothing is executed."""
    folder = tmp_path / "noexec"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root mounts file systems")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "noexec,size=64m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_where_no_folder_is_executable_python_reads(tmp_path: Path, lines: str, noexec: Path) -> None:
    with _local(noexec / "driver", java=f"-Duser.dir={noexec}") as driver:
        _python_reads(driver, lines, f"{noexec}/driver: .*UnsatisfiedLinkError.*; {noexec}: .*UnsatisfiedLinkError")
        assert not list(noexec.rglob("splitscan-*.so"))


def test_where_temporary_folders_are_not_executable_another_one_has_it(
    tmp_path: Path, lines: str, noexec: Path
) -> None:
    with _local(noexec / "driver", java=f"-Duser.dir={tmp_path}") as driver:
        by_name, of_scan, plan, explained = driver.call(_read, lines)
        assert by_name == of_scan == _ROWS
        assert "(Python)" not in plan
        assert "the connector" in explained
        assert not list(tmp_path.rglob("splitscan-*.so"))
