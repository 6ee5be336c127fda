"""Chat messages whose newlines are escaped: Spark takes every newline for the end of a record, splitscan does not.

    python examples/escaped_newlines.py FOLDER

The messages are those of an article on this problem: braces, names without quotes, and a backslash before each newline
that belongs to the text. An even number of backslashes escapes nothing, wherever a block is cut.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json

COPIES = 500
MESSAGES = r"""{from:"Gert", to:"Melissa", message:"Want to have dinner?"}
{from:"Melissa", to:"Gert", message:"Ok\
How about Italian?"}
{from:"Gert", to:"Melissa", message:"C:\\"}
"""
JSON = {"allowUnquotedFieldNames": "true", "allowBackslashEscapingAnyCharacter": "true"}


def main(folder: Path) -> None:
    """Count and read the messages both ways."""
    spark = SparkSession.builder.getOrCreate()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "chat.txt"
    path.write_text(MESSAGES * COPIES)

    print(f"Spark:     {spark.read.text(str(path)).count()} records")

    reader = spark.read.format("splitscan").option("recordFormat", "text").option("escape", "\\")
    records = reader.option("blockSize", "1 KiB").option("taskSize", "8 KiB").load(str(path))
    print(f"splitscan: {records.count()} records, read in {records.rdd.getNumPartitions()} tasks")

    message = from_json("value", "`from` string, `to` string, message string", JSON)
    messages = records.select(message.alias("chat")).select("chat.*")
    first = messages.filter(col("from") == "Melissa").first()
    print(first.asDict() if first else "no message of Melissa's")
    for name, said in sorted(messages.groupBy("from").count().collect()):
        print(f"{name}: {said}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
