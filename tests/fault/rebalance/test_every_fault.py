"""What can go wrong under rebalancing, and the tests of each: in a local master, and on a cluster of two workers.

Every test of rebalanced rows compares count, distinct ids, the sum of a 64-bit hash of all records, and the order in
each partition with the coordinator's log (``rebalanced.check``). Two places are missing where there is nothing to lose:
a local master has no executors, copies of tasks or heartbeats, and what no task sees is the same everywhere.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
LOCAL, CLUSTER, CONNECT, ALONE = "local_driver", "cluster_driver", "Spark Connect", "no Spark"
BOTH = (LOCAL, CLUSTER)


@dataclass(frozen=True)
class Fault:
    """What goes wrong, where that is tried, and the tests, below ``tests``."""

    what: str
    places: tuple[str, ...]
    tests: tuple[str, ...]


HERE = "fault/rebalance/"
FAIL, LOST, AGAIN = f"{HERE}test_tasks_that_fail.py", f"{HERE}test_lost_outputs.py", f"{HERE}test_frames_used_again.py"
BAD, ENDS, INPUTS = f"{HERE}test_coordinators_that_fail.py", f"{HERE}test_ends.py", f"{HERE}test_inputs.py"
ALONE_READERS, ALONE_STRANGERS, ALONE_ENDS = (
    f"fault/coordinator/test_{name}.py" for name in ("readers", "strangers", "ends")
)
MODEL = "property/test_claim_log.py"
TRIED_AGAIN = f"{FAIL}::test_tasks_that_fail_are_tried_again_and_read_what_the_log_says"
INGESTED = f"{HERE}test_ingests.py::test_an_ingest_whose_tasks_and_executors_are_lost_delivers_what_its_log_says"
WORST = f"{FAIL}::test_readers_that_die_or_lose_an_answer_at_the_worst_moment_change_nothing"
TWICE = f"{LOST}::test_cached_blocks_and_shuffle_files_of_an_earlier_job_that_are_lost"
ONE_HANGS = f"{FAIL}::test_a_task_and_its_copy_of_which_one_hangs"

FAULTS = {
    1: Fault("exceptions at the first, a middle and the last record, up to the last attempt", BOTH, (
        TRIED_AGAIN,
        f"{FAIL}::test_what_was_taken_over_is_read_once_when_both_sides_fail",
        f"{FAIL}::test_a_task_that_spark_gives_up_fails_the_job_and_the_next_job_reads_the_same",
        INGESTED,
    )),
    2: Fault("a Python worker is killed", BOTH, (TRIED_AGAIN, INGESTED)),
    3: Fault("an executor is killed", (CLUSTER,), (TRIED_AGAIN, INGESTED)),
    4: Fault("a worker is killed after the end of its log, before Spark has its task", BOTH, (WORST,)),
    5: Fault("a worker is killed while its claim is under way", BOTH, (
        WORST, f"{ALONE_READERS}::test_a_reader_that_dies_while_its_claim_is_under_way_loses_nothing",
    )),
    6: Fault("an answer is lost, and asked for again", BOTH, (
        WORST, f"{ALONE_READERS}::test_answers_that_get_lost_are_asked_for_again",
    )),
    7: Fault("the answer to giving back a claim is lost: nothing is ever given back", (ALONE,), (
        f"{MODEL}::test_giving_back_what_somebody_else_holds_is_wrong",
    )),
    8: Fault("a copy of a task wins", (CLUSTER,), (ONE_HANGS,)),
    9: Fault("a task wins over its copy, which hangs", (CLUSTER,), (ONE_HANGS,)),
    10: Fault("an executor is stopped, given up, and goes on", (CLUSTER,), (
        f"{LOST}::test_executors_that_are_stopped_until_spark_gives_them_up_and_then_go_on",
    )),
    11: Fault("a stage is run again, planned adaptively or not", BOTH, (
        f"{LOST}::test_a_stage_that_is_run_again_because_its_shuffle_files_are_lost",
    )),
    12: Fault("a cached block is lost, and a later job needs it", BOTH, (TWICE,)),
    13: Fault("shuffle files of a finished job are lost, and a later job needs them", BOTH, (TWICE,)),
    14: Fault("one frame in several actions and plans, and at once in two threads", BOTH, (
        f"{AGAIN}::test_actions_plans_unions_and_joins_of_one_frame_read_the_same_log",
        f"{AGAIN}::test_two_actions_at_once_under_a_driver_that_is_busy",
    )),
    15: Fault("unions and joins of a frame with itself", BOTH, (
        f"{AGAIN}::test_actions_plans_unions_and_joins_of_one_frame_read_the_same_log",
    )),
    16: Fault("a part of the rows is taken, in every way, and then all", BOTH, (
        f"{AGAIN}::test_limits_and_iterators_that_stop_early_lose_nothing_of_the_whole",
    )),
    17: Fault("a job is cancelled, and run again", BOTH, (f"{AGAIN}::test_a_job_that_was_cancelled_and_run_again",)),
    18: Fault("several filters on one frame", BOTH, (
        f"{AGAIN}::test_filters_on_one_frame_do_not_leak_into_each_other",
    )),
    19: Fault("the coordinator is killed, replaced by an empty one, slow, or not there at planning", BOTH, (
        f"{BAD}::test_a_coordinator_that_is_killed_fails_the_job_for_good_and_later_frames_have_a_new_one",
        f"{BAD}::test_a_coordinator_that_does_not_answer_for_ten_seconds_and_strangers_who_talk_to_it",
        f"{BAD}::test_without_a_coordinator_at_planning_the_scan_is_static_and_says_so",
        f"{ALONE_READERS}::test_an_empty_successor_on_the_same_port_fails_the_reader",
    )),
    20: Fault("false tokens, garbage, connections that stay half open", BOTH, (
        f"{BAD}::test_a_coordinator_that_does_not_answer_for_ten_seconds_and_strangers_who_talk_to_it",
        f"{ALONE_STRANGERS}::test_a_wrong_token_is_refused_at_once_and_changes_nothing",
        f"{ALONE_STRANGERS}::test_garbage_without_the_token_is_sent_away",
        f"{ALONE_STRANGERS}::test_connections_that_stay_half_open_hold_up_nobody",
    )),
    21: Fault("fewer and more slots than partitions; no record, one, some longer than chunks; edges between records",
              BOTH, (f"{INPUTS}::test_inputs_of_odd_shapes_and_partitions_beside_the_number_of_slots",)),
    22: Fault("a file is replaced between two attempts", BOTH, (
        f"{INPUTS}::test_a_file_that_is_replaced_between_two_attempts_fails_the_job",
    )),
    23: Fault("the process that planned is gone when the action comes, after a minute", BOTH, (
        f"{ENDS}::test_frames_outlive_the_process_that_planned_them",
        f"{ENDS}::test_frames_outlive_killed_processes_that_planned_them",
    )),
    24: Fault("a driver ends, in any way, and its coordinator with it", (*BOTH, ALONE), (
        f"{ENDS}::test_a_driver_that_is_killed_leaves_no_coordinator",
        f"{ENDS}::test_a_driver_of_a_cluster_that_ends_while_its_tasks_read_leaves_no_coordinator",
        f"{ALONE_ENDS}::test_no_coordinator_outlives_its_driver",
    )),
    25: Fault("Spark Connect with a server of its own, whose clients go away", (CONNECT,), (
        f"{HERE}test_connect.py::test_a_remote_server_of_spark_connect_and_clients_that_go_away",
    )),
    26: Fault("many scans, planned and never run", (ALONE,), (
        f"{ALONE_READERS}::test_scans_that_are_planned_and_never_run_cost_little",
        "unit/rebalance/test_memory.py::test_a_scan_that_is_planned_and_never_run_costs_less_than_its_texts",
    )),
    27: Fault("the driver's Python computes, and lets nobody else run", BOTH, (
        f"{AGAIN}::test_two_actions_at_once_under_a_driver_that_is_busy",
        f"{ALONE_ENDS}::test_a_driver_that_keeps_the_interpreter_busy_holds_up_nobody",
    )),
    28: Fault("anything, in any order, with messages that are lost, doubled and late", (ALONE,), (
        f"{MODEL}::test_every_row_is_delivered_once_in_very_many_runs",
        f"{MODEL}::test_every_row_is_delivered_once_through_messages",
    )),
}  # fmt: skip


@cache
def functions_of(path: str) -> dict[str, ast.FunctionDef]:
    """The functions of a file of tests, which is read and not imported."""
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def places_of(reference: str) -> Iterator[str]:
    """Where a test runs: by its parameters, its fixtures, also those of its file, and constants of its decorators."""
    path, _, name = reference.partition("::")
    text = (TESTS / path).read_text(encoding="utf-8")
    test = functions_of(path)[name]
    said = ast.unparse(test)
    constants = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    for node in constants:
        if any(isinstance(target, ast.Name) and target.id in said for target in node.targets):
            said += ast.unparse(node)
    fixtures = functions_of(path).keys() & {argument.arg for argument in test.args.args}
    said += "".join(ast.unparse(functions_of(path)[fixture]) for fixture in fixtures)
    yield from (place for place in BOTH if place in said)
    spelled = {"'local[2]'": LOCAL, "ConnectServer(": CONNECT}
    yield from (place for text, place in spelled.items() if text in said)
    if not path.startswith(HERE):
        yield ALONE


def test_every_fault_is_there_once_and_in_order():
    assert list(FAULTS) == list(range(1, 29))


@pytest.mark.parametrize("number", FAULTS)
def test_every_fault_has_tests_in_every_place_where_it_can_happen(number):
    fault = FAULTS[number]
    found = {place for reference in fault.tests for place in places_of(reference)}
    assert set(fault.places) <= found, fault.what
