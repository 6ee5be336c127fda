"""The parts that need no session."""

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType
from tests.counting import steps_of

import splitscan as ss
from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import SchemaError, UsageError
from splitscan.scans.index import IndexTask, Summarised
from splitscan.spark.frames import pack_payload, unpack_payload
from splitscan.spark.indexing import plain_answer, read_answer
from splitscan.spark.session import arrow_schema, check_executable, spark_schema

from .samples import CSV_OPTIONS, CSV_SCHEMA, write_csv


def test_a_payload_gives_its_blocks_back() -> None:
    chance = random.Random(1)
    files = [FileMetadata(f"/ä/{n}.csv", 10**12 + n, n, f"f{n}", f"{n}.csv") for n in range(3)]
    blocks = [BlockMetadata(chance.choice(files), n, n + 1, n, chance.choice([None, n, n + 5])) for n in range(200)]
    blocks.append(blocks[0].starting_at(0))
    there = unpack_payload(pack_payload(blocks))
    assert there == blocks
    assert unpack_payload(pack_payload([])) == []


def test_many_blocks_are_few_bytes_and_few_steps() -> None:
    file = FileMetadata("/data/" + "x" * 200, 10**14, 1, "1" * 64, "x")
    step = 128 * 1024 * 1024
    blocks = [BlockMetadata(file, n * step, (n + 1) * step, n, n * step + n % 997) for n in range(10_000)]
    payloads: list[bytes] = []
    assert steps_of(
        lambda: payloads.extend(pack_payload(blocks[n : n + 100]) for n in range(0, len(blocks), 100))
    ) < 20 * len(blocks)
    assert sum(map(len, payloads)) < 20 * len(blocks)


def test_pieces_survive_json(tmp_path: Path) -> None:
    scan = ss.scan_csv(write_csv(tmp_path, 50), schema=CSV_SCHEMA, block_size=40, **CSV_OPTIONS)
    seen: list[Summarised] = [None]  # of a file that vanished

    def look(tasks: Sequence[IndexTask]) -> list[Summarised]:
        answers = [task.run() for task in tasks]
        seen.extend(answers)
        return answers

    scan.plan(indexer=look)
    assert len(seen) > 10
    assert [read_answer(json.loads(json.dumps(plain_answer(answer)))) for answer in seen] == seen


def test_schemas_of_spark_and_arrow_agree() -> None:
    fields = [
        pa.field("a", pa.int8(), nullable=False),
        pa.field("b", pa.decimal128(7, 3)),
        pa.field("c", pa.timestamp("us", "UTC")),
        pa.field("d", pa.timestamp("us")),
        pa.field("e", pa.binary(), metadata={"x": "y"}),
        pa.field("f", pa.date32()),
    ]
    schema = pa.schema(fields)
    assert arrow_schema(spark_schema(schema)).equals(schema)
    assert spark_schema(pa.schema([])) == StructType([])
    with pytest.raises(SchemaError, match=r"declare it as string"):
        spark_schema(pa.schema([("a", pa.large_string())]))


def test_the_python_of_this_process_needs_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a trial"))
    check_executable(sys.executable)


def program(folder: Path, text: str) -> str:
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_another_python_is_tried_and_named_when_it_fails(tmp_path: Path) -> None:
    check_executable(program(tmp_path, f'exec {sys.executable} "$@"'))
    for folder, text, reason in (
        ("a", "echo x >&2; echo \"No module named 'pyarrow'\" >&2; exit 1", "No module named 'pyarrow'"),
        ("b", "exit 3", "exit code 3"),
    ):
        (tmp_path / folder).mkdir()
        with pytest.raises(UsageError, match=reason) as caught:
            check_executable(program(tmp_path / folder, text))
        assert sys.executable in (caught.value.fix or "")
        assert caught.value.reason_code == "wrong-python"
    with pytest.raises(UsageError, match="no such program"):
        check_executable("no-such-python-anywhere")


def test_a_python_without_arrow_explains_instead_of_hiding_the_source() -> None:
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pyspark_splitscan as found\n"
        "assert found.DefaultSource.name() == 'splitscan'\n"
        "try: found.DefaultSource({})\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert sys.executable in done.stdout
    assert "pyarrow" in done.stdout
    assert "Set PYSPARK_PYTHON" in done.stdout
