"""A file of a mainframe as a DataFrame: a copybook says its columns, and lengths in front of records where they are.

    python examples/mainframe_file.py FOLDER

Companies and their contacts share one file. Each record says in its first byte which of the two it is.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import splitscan as ss

COPYBOOK = """
       01  REC.
           05  KIND          PIC X.
           05  COMPANY.
               10  NAME      PIC X(12).
               10  BALANCE   PIC S9(7)V99 COMP-3.
           05  CONTACT REDEFINES COMPANY.
               10  PERSON    PIC X(12).
               10  PHONE     PIC 9(9).
"""
COPIES = 500


def record(kind: str, name: str, rest: bytes) -> bytes:
    """A record behind its length, in EBCDIC."""
    data = (kind + name.ljust(12)).encode("cp037") + rest
    return len(data).to_bytes(2, "big") + bytes(2) + data


def main(folder: Path) -> None:
    """Write such a file, and read it."""
    folder.mkdir(parents=True, exist_ok=True)
    path, copybook = folder / "companies.dat", folder / "companies.cob"
    companies = record("C", "Fjord", bytes.fromhex("001234567C")) + record("C", "Alp", bytes.fromhex("000000050D"))
    path.write_bytes((companies + record("P", "Kari", "123456789".encode("cp037"))) * COPIES)
    copybook.write_text(COPYBOOK)

    spark = SparkSession.builder.getOrCreate()
    ss.register(spark)
    reader = spark.read.format("splitscan").option("recordFormat", "cobol").option("copybook", str(copybook))
    kinds = "COMPANY => C; CONTACT => P"
    records = reader.option("recfm", "V").option("segmentField", "KIND").option("redefineSegmentIdMap", kinds)
    frame = records.option("blockSize", "4 KiB").load(str(path))
    for kind, count in sorted(frame.groupBy("KIND").count().collect()):
        print(f"{kind}: {count}")
    balance, phone = frame.selectExpr("sum(COMPANY.BALANCE)", "max(CONTACT.PHONE)").first() or (None, None)
    print(f"balance {balance}, phone {phone}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
