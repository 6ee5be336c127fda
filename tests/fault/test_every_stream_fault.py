"""What can go wrong with a stream, and the tests of each: of its planner alone, on Spark, killed, and on a cluster."""

from dataclasses import dataclass

import pytest

from .rebalance.test_every_fault import TESTS, functions_of


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and the tests, below ``tests``; those of one file stand after its name."""

    what: str
    tests: dict[str, str]


LOG, GROWING, COMPLETE = (f"unit/streaming/test_{name}.py" for name in ("log", "growing_files", "complete_files"))
PLANNING, SCALING, MESSAGES = (f"unit/streaming/test_{name}.py" for name in ("planning", "scaling", "messages"))
DIRECTORY, ALONE, LISTING = (
    "unit/streaming/test_directory.py",
    "unit/streaming/test_faults.py",
    "unit/scans/test_listing.py",
)
COPIED, ARRIVALS = "unit/streaming/test_copied_files.py", "unit/streaming/test_arrivals.py"
WATCH, GROWTH = "unit/jobs/test_watching.py", "unit/jobs/test_watching_growth.py"
SPARK, KAFKA, ROWS = "spark/test_stream.py", "spark/test_kafka.py", "spark/test_operators.py"
KILLED, WATCH_KILLED = "fault/test_stream_killed.py", "fault/test_watch_killed.py"
CONNECTOR = "spark/test_connector_stream.py"
CLUSTER, KAFKA_KILLED = "fault/test_stream_on_a_cluster.py", "fault/test_kafka_killed.py"
MODEL = "property/test_stream_model.py"

ANY_KILL = "test_a_stream_that_is_killed_loses_and_doubles_nothing"
WATCH_KILL = "test_a_watch_killed_anywhere_goes_on"
ZOMBIE = "test_a_zombie_is_refused_and_its_successor_goes_on"
PENDING = "test_a_pending_window_gives_the_same_rows_or_an_error"
FAILED = "test_a_batch_that_failed_is_read_again_as_it_was_planned"
EXECUTORS = "test_executors_that_are_killed_in_the_middle_of_a_batch_cost_and_double_no_record"
SCALED = "test_executors_follow_the_backlog_and_a_worker_may_be_lost"

FAULTS = {
    1: Fault("killed between any two steps of planning, also before the first", {
        LOG: "test_a_window_is_there_whole_or_not_at_all_wherever_its_planner_dies",
        COMPLETE: "test_a_window_that_was_planned_is_returned_again "
        "test_a_restarted_planner_answers_from_the_log_alone",
        WATCH_KILLED: WATCH_KILL,
    }),
    2: Fault("killed at random while files are created, appended to and rotated", {KILLED: ANY_KILL}),
    3: Fault("a planner that outlives its driver", {
        COMPLETE: ZOMBIE, LOG: "test_of_many_planners_one_wins", KILLED: ANY_KILL,
    }),
    4: Fault("files that change after the plan of a window", {
        COMPLETE: PENDING,
        GROWING: "test_a_window_does_not_depend_on_what_follows test_a_pending_window_of_replaced_bytes_is_an_error",
        GROWTH: "test_a_pending_window_of_a_file_that_is_gone_is_an_error_until_it_is_left_out "
        "test_an_interrupted_window_is_finished_whatever_has_grown_or_moved",
    }),
    5: Fault("checkpoint or state deleted, older, rolled back, copied, shared; one frame in several queries", {
        COMPLETE: f"test_the_state_must_be_there test_a_checkpoint_may_be_rolled_back {ZOMBIE} "
        "test_two_streams_may_share_a_state_location",
        GROWTH: "test_an_older_position_gives_the_same_ranges "
        "test_a_destination_without_its_position_is_not_begun_anew",
        SPARK: "test_one_frame_in_two_queries_and_twice_in_one",
    }),
    6: Fault("torn or damaged state; no space left", {
        LOG: "test_every_torn_or_changed_byte_is_found test_a_full_disk_leaves_no_window",
        COMPLETE: "test_planning_goes_on_after_a_window_could_not_be_written",
        WATCH: "test_a_damaged_position_is_an_error",
    }),
    7: Fault("growing byte by byte, in blocks of any length", {
        GROWING: "test_a_file_that_grows_byte_by_byte_is_read_once test_an_unfinished_record_waits",
        COMPLETE: "test_an_empty_file_is_read_when_it_is_filled",
        GROWTH: "test_every_format_grows_anyhow",
    }),
    8: Fault("a writer that pauses inside a record, and goes on after its file was taken for ended", {
        GROWING: "test_a_closed_file_needs_no_last_terminator test_a_terminator_that_was_there_is_not_waited_for "
        "test_a_record_written_on_after_its_file_was_closed_comes_in_two_parts",
        GROWTH: "test_the_last_record_of_a_file_that_has_ended",
    }),
    9: Fault("rotation in any way", {
        GROWING: "test_rename_rotation_loses_and_doubles_nothing test_copy_and_truncate "
        "test_a_rename_while_files_are_listed_loses_and_doubles_nothing "
        "test_regrowth_behind_an_equal_head_is_noticed test_a_file_in_place_of_another_is_new_even_with_its_inode",
        GROWTH: "test_rotated_files_keep_their_ranges test_a_truncated_file_is_another_content",
        ALONE: "test_what_rotation_compresses_is_left_out_by_its_name",
        COPIED: "test_rotation_by_copy_and_truncate_is_exact_whenever_it_is_looked_at "
        "test_a_copy_whose_original_stays_is_a_file_of_its_own_in_the_end",
    }),
    10: Fault("odd times, links, files that vanish or are very many", {
        COMPLETE: "test_new_files_are_read_once_and_late_ones_too "
        "test_ten_thousand_files_are_compared_in_a_few_steps_each "
        "test_a_modified_file_stops_the_stream_unless_told_otherwise",
        GROWING: "test_a_touched_file_has_not_changed test_replaced_content_by_policy",
        ARRIVALS: "test_a_file_behind_a_younger_one_is_late_and_read",
        LISTING: "test_a_link_back_to_its_own_directory_ends_there "
        "test_directories_that_link_to_each_other_do_not_multiply "
        "test_what_vanishes_while_it_is_listed_is_an_error_or_skipped",
        ALONE: "test_a_directory_that_vanishes_is_an_error_and_comes_back",
    }),
    11: Fault("tasks that fail, executors and workers that are lost", {
        SPARK: FAILED, CLUSTER: f"{EXECUTORS} {SCALED}",
    }),
    12: Fault("exceptions in the scanner's thread, in commit, in partitions; stopping", {
        DIRECTORY: "test_a_failure_is_raised_once_where_somebody_asks test_a_stopped_scanner_leaves_no_thread "
        "test_a_slow_listing_does_not_hold_planning_up",
        SPARK: "test_what_fails_names_the_file_and_the_rule",
        ALONE: "test_a_commit_that_fails_is_logged_and_the_stream_goes_on",
    }),
    13: Fault("triggers; restarts within AvailableNow; nothing to do", {
        SPARK: "test_available_now_drains_in_windows_and_ends test_once_reads_all_as_one_window "
        f"test_what_fails_names_the_file_and_the_rule {FAILED}",
        COMPLETE: "test_what_is_frozen_is_drained_and_later_files_are_left test_idling_writes_nothing",
    }),
    14: Fault("thresholds, and what may change between runs", {
        COMPLETE: "test_the_threshold_is_exact_in_every_window test_the_block_size_may_change_and_holds_for_new_files "
        "test_what_positions_mean_must_not_change",
        PLANNING: "test_no_limit_is_exceeded_and_no_window_is_empty test_neither_a_huge_file_nor_small_ones_starve",
    }),
    15: Fault("a backlog that goes up and down", {
        SCALING: "test_readers_go_up_with_the_backlog_and_down_again", CLUSTER: SCALED,
        COMPLETE: "test_blocks_are_logged_with_their_tasks",
    }),
    16: Fault("brokers, topics and messages that come and go", {
        KAFKA: "test_brokers_that_go_and_come_back_lose_nothing test_a_window_that_failed_is_read_again_as_it_was "
        "test_messages_that_are_gone_end_the_stream_unless_that_is_allowed",
        MESSAGES: "test_a_new_partition_is_read_from_its_first_message test_a_partition_that_is_gone_is_a_loss "
        "test_nothing_new_is_the_offset_itself test_a_bounded_read_names_what_it_lacks",
        KAFKA_KILLED: "test_all_messages_come_once_each",
    }),
    17: Fault("a batch that is used several times, kept, or lost by its sink", {
        SPARK: f"test_a_batch_may_be_used_several_times_and_kept {FAILED}", KILLED: ANY_KILL,
    }),
    18: Fault("streams of paths", {
        ROWS: "test_both_operators_work_on_a_stream_of_manifests",
        SPARK: "test_manifests_are_followed_as_the_documentation_says",
        KAFKA: "test_a_topic_of_paths_is_split_and_read",
    }),
    19: Fault("another reader after a restart, or files that the one there is cannot read", {
        CONNECTOR: "test_a_checkpoint_goes_from_one_reader_to_the_other_and_back "
        "test_a_batch_that_failed_is_the_same_whoever_reads_it_again "
        "test_a_window_that_was_planned_and_never_told_of_is_the_next_one "
        "test_a_file_for_python_that_comes_later_is_read_after_a_restart", KILLED: ANY_KILL,
    }),
    20: Fault("planners of the connector that die, or would outlive their query", {
        CONNECTOR: "test_a_process_plans_where_no_driver_does_and_another_one_goes_on "
        "test_nothing_is_left_of_queries_that_end_fail_or_are_stopped",
    }),
}  # fmt: skip


def test_every_fault_is_there_once_and_in_order():
    assert list(FAULTS) == list(range(1, 21))


@pytest.mark.parametrize("number", FAULTS)
def test_every_fault_has_the_tests_that_it_names(number):
    for path, names in FAULTS[number].tests.items():
        assert set(names.split()) <= functions_of(path).keys(), (FAULTS[number].what, TESTS / path)
