"""How Java is started for tests; ``python -m tests.java`` keeps the classes of Spark, from which it starts sooner."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ARCHIVE = Path(sys.prefix, ".spark-classes.jsa")
_COMPILER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def _kept_classes() -> str:
    # Options of Java are divided at blanks. An archive of another Java or Spark is passed over; the log would say so
    # among what launchers of Spark read.
    usable = ARCHIVE.exists() and len(str(ARCHIVE).split()) == 1
    return f"-XX:SharedArchiveFile={ARCHIVE} -Xlog:disable" if usable else ""


KEPT_CLASSES = _kept_classes()
"""For a JVM that chooses its compiler and its collector itself."""
QUICK_START = f"{_COMPILER} {KEPT_CLASSES}".strip()
"""A JVM of a test lives for seconds: the second compiler, which pays after minutes, was a third of its work, and to
load and check classes is half of the rest."""


def keep_classes() -> None:
    """Run a session of Spark that does what those of the tests do; as its Java ends, it keeps what it has loaded."""
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        kept = Path(f"{ARCHIVE}.{os.getpid()}")
        os.environ["SPARK_SUBMIT_OPTS"] = f"{_COMPILER} -XX:ArchiveClassesAtExit={kept} -Xlog:disable"
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        spark = builder.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "OFF").getOrCreate()
        source, out = Path(folder, "in"), Path(folder, "out")
        source.mkdir()
        (source / "a.csv").write_text("id,text\n1,one\n2,two\n")
        reader = spark.read.format("splitscan").option("recordFormat", "csv").option("header", "true")
        frame = reader.schema("id long, text string").load(str(source))
        frame.groupBy("text").count().join(frame, "text").orderBy("id").collect()
        frame.rdd.map(lambda row: (row["id"], row["text"])).groupByKey().collect()
        frame.mapInArrow(lambda batches: batches, frame.schema).write.parquet(str(out))
        stream = spark.readStream.schema("id long, text string").parquet(str(out)).writeStream.format("parquet")
        query = stream.option("checkpointLocation", f"{folder}/ck").option("path", f"{folder}/copy")
        query.trigger(availableNow=True).start().awaitTermination(300)
        java = spark.sparkContext._gateway.proc
        spark.stop()
        java.stdin.close()
        java.wait(300)
        kept.replace(ARCHIVE)


if __name__ == "__main__":
    keep_classes()
