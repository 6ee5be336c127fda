"""PySpark 4.0 and 4.1 know no limits of streams: what needs none is there, and streams are refused by name."""

import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from pyspark.errors import AnalysisException

import splitscan as ss

_WITHOUT_LIMITS = """
import sys
import pyspark.sql.datasource  # which needs it itself, in newer ones
sys.modules["pyspark.sql.streaming.datasource"] = None  # what importing it does in 4.0 and 4.1
from pyspark_splitscan import DefaultSource
from splitscan.spark.source import SplitscanDataSource
assert DefaultSource is SplitscanDataSource
for options in ({"path": sys.argv[1]}, {"source": "kafka"}):
    try:
        DefaultSource(options).streamReader(None)
    except ValueError as error:
        print(error)
"""


def test_old_pyspark_fails_not_at_import_and_refuses_streams_by_name(tmp_path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("1,2\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_LIMITS, str(file)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[needs-newer-spark]") == 2
    assert done.stdout.count("streams of splitscan need PySpark 4.2 or newer") == 2
    assert "splitscan watch" in done.stdout


class Refused(AnalysisException):
    """What PySpark raises for an error of the JVM, without one."""

    def __init__(self, condition: str) -> None:
        super().__init__(message=condition)
        self.condition = condition

    def getCondition(self) -> str:  # noqa: N802 -- PySpark's name
        return self.condition


@pytest.mark.parametrize("condition", ["DATA_SOURCE_ALREADY_EXISTS", "ANOTHER"])
def test_a_source_that_spark_4_0_has_found_itself_is_registered(monkeypatch, condition: str) -> None:
    def register(_) -> None:
        raise Refused(condition)

    monkeypatch.setattr("splitscan.spark.source.check_workers", lambda _: None)
    with nullcontext() if condition == "DATA_SOURCE_ALREADY_EXISTS" else pytest.raises(Refused):
        ss.register(SimpleNamespace(dataSource=SimpleNamespace(register=register)))
