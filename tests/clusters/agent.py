"""The driver of a Spark application that does what a test tells it: it reads pickled functions and answers results.

Only the test that started it talks to it, through its pipes.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import threading
import traceback
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

LENGTH = struct.Struct("<Q")


def main() -> None:
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what Spark and Python print must not stand between the answers
    lock = threading.Lock()

    def answer(number: int, ok: bool, value: Any) -> None:
        data = cloudpickle.dumps((number, ok, value))
        with lock:
            output.write(LENGTH.pack(len(data)) + data)
            output.flush()

    builder = SparkSession.builder
    settings = pickle.loads(_read(sys.stdin.buffer))
    if "spark.remote" in settings:  # the server is started below this process
        builder = builder.remote(settings.pop("spark.remote"))
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    answer(-1, True, spark.version)

    def run(number: int, function: Any, arguments: Any, named: Any) -> None:
        try:
            answer(number, True, function(spark, *arguments, **named))
        except BaseException as error:
            answer(number, False, (type(error).__name__, str(error), traceback.format_exc()))

    while data := _read(sys.stdin.buffer):
        threading.Thread(target=run, args=pickle.loads(data), daemon=True).start()
    spark.stop()


def _read(source: Any) -> bytes:
    head = source.read(LENGTH.size)
    return source.read(LENGTH.unpack(head)[0]) if head else b""


if __name__ == "__main__":
    main()
