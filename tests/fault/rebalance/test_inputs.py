"""Inputs of odd shapes, more or fewer partitions than slots, and a file that is replaced between two attempts."""

from pathlib import Path

import pytest
from tests.clusters import rebalanced
from tests.clusters.driver import FailedInDriverError
from tests.clusters.faults import InjectedError, take_turn
from tests.clusters.records import Run, content, offsets_of, run, write_records

BOTH = pytest.mark.parametrize("where", ["local_driver", pytest.param("cluster_driver", marks=pytest.mark.large)])
LONG = 3 << 20  # longer than any chunk at the start of a scan


def read_all(spark, cases):
    """Per case of path and partitions: what was read, and the logs; no logs where there is nothing to read."""
    found = []
    for path, partitions in cases:
        read = run(rebalanced.load(spark, path, minPartitionNum=partitions))
        found.append((read, rebalanced.logs_of(spark, rebalanced.latest_scan(spark)) if read.offsets else None))
    return found


def write_text(path, records):
    quoted = (f'{number},"{text}"\n' for number, text in records)
    path.write_text("id,text\n" + "".join(quoted), newline="")
    return content(records)


@BOTH
def test_inputs_of_odd_shapes_and_partitions_beside_the_number_of_slots(request, tmp_path, where):
    plain, one, long, even = (tmp_path / f"{name}.csv" for name in ("plain", "one", "long", "even"))
    expected = {
        plain: write_records(plain, 2000),
        one: write_text(one, [(1, "only")]),
        long: write_text(long, [(1, "a"), (2, "b\n" * (LONG // 2)), (3, "c"), (4, "d" * LONG), (5, "e")]),
        even: write_text(even, [(number, "x" * 1000) for number in range(1000, 3000)]),  # edges of chunks may fit
    }
    cases = [(plain, 1), (plain, 16), (one, 4), (long, 4), (even, 5)]
    for name in ("empty", "header only"):
        (tmp_path / f"{name}.csv").write_text("" if name == "empty" else "id,text\n")
        cases.append((tmp_path / f"{name}.csv", 4))
    found = request.getfixturevalue(where).call(read_all, [(str(path), partitions) for path, partitions in cases])
    for (path, _), (read, logs) in zip(cases, found, strict=True):
        if path in expected:
            rebalanced.check(read, logs, expected[path], offsets_of(str(path)))
        else:
            assert read == Run(content([]), {})


def read_while_it_is_replaced(spark, path, marks):
    def replace_and_fail(batches):
        for batch in batches:
            yield batch
            if take_turn(marks, "replaced", 1):
                Path(path).write_text(Path(path).read_text().replace("x", "y"))
                raise InjectedError("replaced")

    frame = rebalanced.load(spark, path)
    return run(frame.mapInArrow(replace_and_fail, frame.schema))


@BOTH
def test_a_file_that_is_replaced_between_two_attempts_fails_the_job(request, tmp_path, where):
    write_records(tmp_path / "a.csv", 4000)
    with pytest.raises(FailedInDriverError, match=r"\[source-changed\]"):
        request.getfixturevalue(where).call(read_while_it_is_replaced, str(tmp_path / "a.csv"), str(tmp_path))
