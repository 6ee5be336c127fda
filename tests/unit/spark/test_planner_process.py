"""What the process that plans for the connector loads: the first query of a session waits for it."""

import json
import struct
import subprocess
import sys

import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from splitscan.jar import connector_jar, jar_version
from splitscan.spark.planner import VERSION

PROGRAM = """
import atexit, sys
atexit.register(lambda: sys.stderr.write("\\n" + " ".join(sys.modules)))
from splitscan.spark.planner import main
main()
"""
UNUSED = ("pandas", "polars", "fsspec", "asyncio", "multiprocessing", "pyarrow.parquet", "pyarrow.dataset")
MOST_MODULES = 600  # with pandas 900
MOST_ROOMS = 175
SCHEMA = StructType([StructField("a", IntegerType()), StructField("b", StringType())])


def _asked(about: str, options: dict[str, str]) -> bytes:
    jar = connector_jar()
    question = {
        "version": str(VERSION), "connector": "" if jar is None else jar_version(jar), "about": about, "id": "a",
        "options": options, "inferred": "false", "schema": SCHEMA.json(), "conditions": "",
        "limit": "-1", "setting": "", "timeZone": "UTC", "slots": "2",
    }  # fmt: skip
    text = json.dumps(question).encode()
    return struct.pack(">i", len(text)) + text


@pytest.mark.slow
@pytest.mark.parametrize("place", ["a.csv", "day=2024-01-01/n=7/share=0.5/a.csv"])
def test_a_plan_of_a_csv_file_with_a_schema_loads_no_pandas_and_few_modules(tmp_path, place):
    pytest.importorskip("pandas")
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('1,"x"\n2,y\n')
    options = {"path": str(tmp_path), "recordFormat": "csv"}
    questions = b"".join(_asked(about, options) for about in ("plan", "tasks"))
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, input=questions, capture_output=True, check=True, timeout=300)
    assert b"plan " in done.stdout
    assert b"tasks " in done.stdout
    loaded = set(done.stderr.decode().splitlines()[-1].split())
    assert not loaded & set(UNUSED)
    assert len(loaded) < MOST_MODULES
    rooms = {name for name in loaded if name.startswith("splitscan.")}
    assert len(rooms) < MOST_ROOMS
    formats = {name for name in rooms if name.startswith("splitscan.formats.") and name.endswith(".format")}
    assert formats == {"splitscan.formats.csv.format"}
