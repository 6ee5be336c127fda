"""A reader of one's own for the access logs of web servers: three methods, and everything else is there already.

    python examples/custom_reader.py FOLDER

The framework opens one reader at a time, converts texts to the types of the schema, projects and fills in columns,
bounds batches, gives every fault a place, and closes the reader whatever happens. The reader splits lines.
"""

import re
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import count, sum

import splitscan as ss
from splitscan.testing import check_managed_reader_laws

LINE = re.compile(rb'(\S+) \S+ (\S+) \[([^\]]+)\] "(\S+) (\S+)[^"]*" (\d+) (\d+|-)')


class AccessLog:
    """A request in a line: host, user, moment, method, path, status, bytes. Files are cut into blocks."""

    schema = "host string, user string, moment string, method string, path string, status int, bytes long"
    splittable = True

    def open(self, negotiator: ss.SchemaNegotiator) -> bool:
        """Go to the first line that begins in the block."""
        self.lines, self.stop = negotiator.open_input(), negotiator.split.stop
        if negotiator.split.start:
            self.lines.seek(negotiator.split.start - 1)
            self.lines.readline()
        return True

    def next(self, loader: ss.ResultSetLoader) -> bool:
        """Append lines until the batch is full or the next line belongs to another block."""
        while (offset := self.lines.tell()) < self.stop and not loader.full:
            line = self.lines.readline()
            if found := LINE.match(line):
                values = [None if value == b"-" else value.decode() for value in found.groups()]
                loader.append_rows([values], origin=offset)
            else:
                loader.reject(line.rstrip(), "a line is a request", origin=offset)
        return self.lines.tell() < self.stop

    def close(self) -> None:
        """There is nothing to let go of: the framework closes the file."""


def main(folder: Path) -> None:
    """Check the reader, read with it in this process, and in parallel on Spark."""
    request = '10.0.0.{} - ann [10/Oct/2024:13:55:36 +0000] "GET /{} HTTP/1.1" {} {}\n'
    lines = [request.format(n % 200, n % 7, 200 if n % 10 else 404, n if n % 3 else "-") for n in range(3_000)]
    lines.insert(1_500, "-- rotated --\n")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "access.log"
    path.write_text("".join(lines))

    check_managed_reader_laws(AccessLog, "".join(lines[1_498:1_503]).encode())  # cut everywhere, and compared

    scan = ss.scan(str(path), format=AccessLog, block_size="8 KiB", task_size="32 KiB")
    rejects: list[bytes | None] = []
    batches = scan.to_batches(on_reject=lambda reject: rejects.append(reject.raw))
    print(f"here: {pa.Table.from_batches(batches).num_rows} requests, rejected: {rejects}")

    spark = SparkSession.builder.getOrCreate()
    frame = scan.to_spark(spark)
    for status, requests, size in frame.groupBy("status").agg(count("*"), sum("bytes")).orderBy("status").collect():
        print(f"on Spark: {requests} requests with status {status}, {size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
