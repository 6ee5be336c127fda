"""The example of Apache Apex's block reader: split files, read lines, drop some, write one output for each block.

    python examples/one_output_per_block.py FOLDER

Four operators in a row, as there: file splitter, block reader, filter, record writer. Between any two of them Spark can
move rows, or a topic of Kafka can stand: a block is a row that says file, version, start and stop.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, hex, lower

import splitscan as ss


def deliver(landing: Path) -> None:
    """Three files of lines. Those that begin with a dot are invalid."""
    landing.mkdir(parents=True, exist_ok=True)
    for file in range(3):
        lines = (f"{'.' if number % 5 == 0 else ''}line {number} of file {file}\n" for number in range(1_000))
        (landing / f"{file}.txt").write_text("".join(lines))


def main(folder: Path) -> None:
    """Run the four operators, and look at what they wrote."""
    spark = SparkSession.builder.getOrCreate()
    landing, out = folder / "landing", folder / "out"
    deliver(landing)

    paths = spark.createDataFrame([(str(landing),)], "path string")
    blocks = ss.split_files(paths, block_size="4 KiB").repartition(4)
    records = ss.read_blocks(blocks, format="text")  # the columns block_id and value
    valid = records.filter(~col("value").startswith("."))
    outputs = valid.select(lower(hex("block_id")).alias("block"), "value")
    outputs.write.partitionBy("block").text(str(out))  # a block is read by one task, so its folder gets one file

    written = [len(path.read_text().splitlines()) for path in out.glob("block=*/*.txt")]
    print(f"{blocks.count()} blocks, {len(written)} outputs, {sum(written)} of {records.count()} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
