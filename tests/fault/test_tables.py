"""Tables that others write to while Spark reads them, and readers that are killed: every row once, of one version.

Also where tasks claim the keys that they read, so that what is left of one that was killed moves to others.
"""

import os
import threading

import pytest

import splitscan as ss
from splitscan.tables import read_pieces

from ..clusters.faults import happened, suffering
from ..clusters.processes import wait_until

ROWS = int(os.environ.get("SPLITSCAN_TABLE_ROWS", "200000"))  # 5,000,000 by hand
PATIENCE_SECONDS = max(480, ROWS // 3000)
MOVES = 20
FAULTS = {3: "kill worker", ROWS // 2: "raise", ROWS - 10: "kill worker"}
pytestmark = pytest.mark.timeout(2 * PATIENCE_SECONDS)
_OPTIONS = {"min_partitions": 8, "batch_rows": 10_000}

# A row moves to another key, and so out of a range that is being read, or into one. Every version has each number once.
_MOVE = """WITH gone AS (DELETE FROM busy WHERE id = {number} RETURNING id, amount)
    INSERT INTO busy SELECT gen_random_uuid(), id, amount FROM gone"""


@pytest.fixture(scope="module")
def busy(postgresql):
    """A table keyed by uuid whose rows move all the time; and the numbers of the rows that moved."""
    postgresql.run(
        "DROP TABLE IF EXISTS busy",  # a worker may come back to this file
        f"""CREATE TABLE busy AS SELECT md5(i::text)::uuid AS key, i::bigint AS id,
            ((i % 1000) / 4.0)::numeric(10,2) AS amount FROM generate_series(0, {ROWS - 1}) i""",
        "ALTER TABLE busy ADD PRIMARY KEY (key)",
        "CREATE INDEX ON busy (id)",
        "ANALYZE busy",
    )
    moved, stop = [], threading.Event()

    def move():
        with postgresql.cursor() as cursor:
            while not stop.wait(0.002):  # the readers need the processor too
                number = len(moved) * 7919 % ROWS
                cursor.execute(_MOVE.format(number=number))
                moved.append(number)

    thread = threading.Thread(target=move)
    thread.start()
    yield postgresql.url, moved
    stop.set()
    thread.join()


def planned(spark, url):
    return ss.scan_table(url, "busy", "key", **_OPTIONS).to_spark(spark)


def loaded(spark, url, **more):
    options = {"source": "table", "url": url, "dbtable": "busy", "keyColumn": "key", **_OPTIONS, **more}
    return spark.read.format("splitscan").options(**options).load()


def claimed(spark, url):
    return loaded(spark, url, rebalance="true")


def read(spark, url, open_frame, folder, faults):
    frame = suffering(open_frame(spark, url), folder, faults)
    rows = frame.selectExpr("count(*)", "count(DISTINCT key)", "count(DISTINCT id)", "sum(id)", "sum(amount)").first()
    return [int(value) for value in rows]


@pytest.mark.parametrize("open_frame", [planned, loaded, claimed])
def test_every_row_is_read_once_while_rows_move_and_readers_are_killed(busy, local_driver, tmp_path, open_frame):
    url, moved = busy
    before = len(moved)
    found = local_driver.begin(read, url, open_frame, tmp_path, FAULTS)
    wait_until(
        "the first reader was killed",
        lambda: found.done() or happened(tmp_path, "kill worker at 3"),
        PATIENCE_SECONDS,
    )
    at_kill = len(moved)
    wait_until("rows moved after that", lambda: len(moved) >= at_kill + MOVES)
    total = sum(number % 1000 for number in range(ROWS)) // 4
    assert found.result(PATIENCE_SECONDS) == [ROWS, ROWS, ROWS, ROWS * (ROWS - 1) // 2, total]
    assert all(happened(tmp_path, f"{what} at {number}") == 1 for number, what in FAULTS.items())
    assert len(moved) > before


def test_without_a_snapshot_moving_rows_would_be_seen_twice_or_not_at_all(busy):
    """That rows do move between ranges: the test above would find it."""
    url, moved = busy
    scan = ss.scan_table(url, "busy", "key", columns="id", snapshot="own", min_partitions=4)
    plan = scan.plan(4)
    numbers = []
    for task in plan.tasks:
        numbers += [id for batch in read_pieces(plan.spec, task, plan.version) for id in batch.column(0).to_pylist()]
        before = len(moved)
        wait_until("rows moved", lambda: len(moved) >= before + 40)  # noqa: B023 - called at once
    assert sorted(numbers) != list(range(ROWS))
