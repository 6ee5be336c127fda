"""Python workers that are another Python than the driver's: what they need, and what is said where they lack it."""

import importlib.util
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.spark import session as interpreter
from splitscan.spark.connector import SETTING


@pytest.fixture(autouse=True)
def _read_by_python(request) -> Iterator[None]:
    if "spark" not in request.fixturenames:
        yield
        return
    session = request.getfixturevalue("spark")
    session.conf.set(SETTING, "false")
    yield
    session.conf.unset(SETTING)


NEEDED = ("pyarrow", "numpy", "fsspec")
_SHIPPED = """
import sys
from pyspark.sql import SparkSession
package, file = sys.argv[1:]
settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.submit.pyFiles": package}
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
import splitscan as ss
ss.register(spark)
print([row.note for row in spark.read.format("splitscan").schema("id int, note string").load(file).collect()])
print(ss.scan_csv(file).to_spark(spark).count())
"""


def bare_python(folder: Path, *packages: str) -> str:
    """A Python of its own that has these packages of ours, and nothing else."""
    venv.create(folder / "venv", symlinks=True)
    own = folder / "packages"
    own.mkdir()
    for name in packages:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (own / name).symlink_to(Path(spec.origin).parent)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (folder / "venv" / "lib" / version / "site-packages" / "own.pth").write_text(str(own))
    return str(folder / "venv" / "bin" / "python")


def test_register_says_what_the_workers_lack_and_in_which_python(spark: SparkSession, tmp_path, monkeypatch) -> None:
    python = bare_python(tmp_path, "numpy", "fsspec")
    monkeypatch.setenv("PYSPARK_PYTHON", python)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
    with pytest.raises(UsageError, match="lack what splitscan needs to read") as caught:
        ss.register(spark)
    assert caught.value.reason_code == "wrong-python"
    assert f"{python}, Python {sys.version.split()[0]}" in str(caught.value.seen)
    assert str(caught.value.seen).endswith("lacks pyarrow, splitscan")
    assert str(caught.value.fix).endswith(f"to one that has them: {sys.executable}")


def test_a_session_whose_python_nobody_chose_takes_the_drivers(
    spark: SparkSession, tmp_path, monkeypatch, caplog
) -> None:
    python = bare_python(tmp_path)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
    ss.register(spark)
    assert spark.sparkContext.pythonExec == sys.executable
    (message,) = [record.getMessage() for record in caplog.records if record.name == interpreter.__name__]
    assert sys.executable in message
    assert f"{python}, Python" in message
    file = tmp_path / "a.csv"
    file.write_text("1,a\n2,b\n")
    assert spark.read.format("splitscan").schema("id int, note string").load(str(file)).count() == 2


def test_where_workers_run_elsewhere_one_of_them_is_asked(spark: SparkSession, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(interpreter, "classic_context", lambda _: None)  # as with Spark Connect
    ss.register(spark)
    python = bare_python(tmp_path)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
    with pytest.raises(UsageError, match=rf"(?s)\[wrong-python\].*{python}.* lacks pyarrow, numpy, fsspec, splitscan"):
        ss.register(spark)


@pytest.mark.slow
def test_workers_with_the_three_packages_read_what_py_files_ships(tmp_path, monkeypatch) -> None:
    sources = Path(ss.__file__).parents[1]
    package = shutil.make_archive(str(tmp_path / "shipped"), "zip", sources)
    file = tmp_path / "a.csv"
    file.write_text("1,a\n2,b\n")
    monkeypatch.setenv("PYSPARK_PYTHON", bare_python(tmp_path, *NEEDED))
    done = subprocess.run(
        [sys.executable, "-c", _SHIPPED, package, str(file)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["['a', 'b']", "2"]
