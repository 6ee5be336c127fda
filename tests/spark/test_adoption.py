"""``format("splitscan")`` without a call of ours: importing splitscan is enough, before PySpark or after it."""

import os
import subprocess
import sys

import pytest

from splitscan.jar import connector_jar

SCRIPT = """
{imports}
spark = SparkSession.builder.master("local[1]").config("spark.splitscan.connector", {connector!r}).getOrCreate()
reader = spark.read.format("SplitScan").options(recordFormat="csv", header="true", multiLine="true")
print("rows:", reader.load({path!r}).count())
stream = spark.readStream.format("splitscan").schema("a int, b string")
print("streams:", stream.options(recordFormat="csv", header="true").load({folder!r}).isStreaming)
"""
IMPORTS = ["import splitscan", "from pyspark.sql import SparkSession"]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("imports", "connector"), [(IMPORTS, "true"), (IMPORTS[::-1], "true"), (IMPORTS, "false")], ids=str
)
def test_a_script_that_imports_splitscan_can_name_it(tmp_path, imports, connector):
    path = tmp_path / "in" / "a.csv"
    path.parent.mkdir()
    path.write_text('a,b\n1,"x\ny"\n2,z\n')
    script = SCRIPT.format(imports="\n".join(imports), connector=connector, path=str(path), folder=str(path.parent))
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert "rows: 2\nstreams: True" in ran.stdout, ran.stderr


@pytest.mark.parametrize("imports", [IMPORTS, IMPORTS[::-1]], ids=str)
def test_readers_are_adopted_once(imports):
    script = "\n".join(
        [
            *imports,
            "from splitscan.adoption import adopt_readers; adopt_readers()",
            "from pyspark.sql.readwriter import DataFrameReader; format = DataFrameReader.format",
            "print(hasattr(format, '__wrapped__'), hasattr(format.__wrapped__, '__wrapped__'))",
        ]
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).split() == ["True", "False"]


CALLS = """
import splitscan as ss
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").getOrCreate()
calls = []
client = type(spark.sparkContext._gateway._gateway_client)
send = client.send_command
client.send_command = lambda self, call, *rest: calls.append(call[0]) or send(self, call, *rest)
reader = spark.read
for act in (lambda: ss.register(spark), lambda: reader.format("splitscan")):
    calls.clear()
    act()
    print(len([call for call in calls if call != "m"]))  # py4j frees what the garbage collector found
"""


@pytest.mark.spark
@pytest.mark.skipif(connector_jar() is None, reason="the connector was not built")
def test_a_new_session_is_given_the_connector_once_and_by_few_calls():
    registers, names = map(int, subprocess.check_output([sys.executable, "-c", CALLS], text=True).split())
    assert (registers <= 25, names) == (True, 1), registers
