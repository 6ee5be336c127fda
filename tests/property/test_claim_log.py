"""The claim log against an adversary, and protocols that look as good and are wrong, against the same one."""

import os
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

import pytest
from hypothesis import settings

from splitscan.rebalance import claims
from splitscan.rebalance.claims import ClaimLog

from .claim_adversary import (
    ClaimLogOverBadNetwork,
    LogBehindMessages,
    LogWithGiveBack,
    Setting,
    SplitOfRunningReaders,
    log_keyed_by_stage,
    play,
)

SETTINGS = (
    Setting("everything"),
    Setting("crashes", kill=0.25, launch=0.35, attempts=12),
    Setting("zombies and limits", kill=0.0, limit=0.3, attempts=10),
    Setting("bad network", lose=0.4, repeat=0.4),
    Setting("files that cannot be split", indivisible=0.4, partitions=4),
    Setting("more readers than positions", partitions=6, positions=8, attempts=10),
)
SHORT = [replace(setting, positions=min(setting.positions, 12)) for setting in SETTINGS]  # quicker to the end
RUNS = 34_000  # of each setting: 204,000, by `make test-large`
SHARE = 1_000  # of them at a time in one process
AS_MANY = settings().max_examples  # as hypothesis tries of anything else


def verdicts(make, setting, runs):
    return verdicts_of(make, setting, range(runs))


def verdicts_of(make, setting, seeds):
    return Counter(play(random.Random(seed), setting, make)[0] for seed in seeds)


@pytest.mark.thin(2)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_row_is_delivered_once_whatever_happens(setting):
    assert verdicts(ClaimLogOverBadNetwork, setting, 10 * AS_MANY).keys() == {None}


@pytest.mark.parametrize("part", [0.0001, 0.5], ids=["all can be split", "half of them cannot"])
def test_every_row_is_delivered_once_where_cuts_move_to_edges(monkeypatch, part):
    monkeypatch.setattr(claims, "LONG_POSITIONS", 2)
    assert verdicts(ClaimLogOverBadNetwork, Setting("edges", indivisible=part), 10 * AS_MANY).keys() == {None}


class AskedInJson(ClaimLogOverBadNetwork):
    def __init__(self, rng, setting):
        super().__init__(rng, setting)
        self.log = LogBehindMessages(self.log)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_row_is_delivered_once_through_messages(setting):
    assert verdicts(AskedInJson, setting, AS_MANY).keys() == {None}


@pytest.fixture(scope="module")
def processes():
    """A process for each core."""
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        yield pool


@pytest.mark.large
@pytest.mark.parametrize("setting", SHORT, ids=lambda setting: setting.name)
def test_every_row_is_delivered_once_in_very_many_runs(setting, processes):
    shares = [range(start, min(start + SHARE, RUNS)) for start in range(0, RUNS, SHARE)]
    found = processes.map(partial(verdicts_of, ClaimLogOverBadNetwork, setting), shares)
    assert sum(found, Counter()) == {None: RUNS}


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "setting", dict.fromkeys([*SETTINGS, *SHORT]), ids=lambda setting: f"{setting.name}, {setting.positions} positions"
)
def test_the_adversary_makes_ranges_move_and_logs_replay(setting):
    protocols = [play(random.Random(seed), setting, ClaimLogOverBadNetwork)[1] for seed in range(100)]
    records = [protocol.log.record("scan") for protocol in protocols]
    assert sum(bool(record.steals) for record in records) > 50
    assert sum(any(partition.replays for partition in record.partitions) for record in records) > 50


def test_a_log_for_each_stage_is_wrong():
    assert verdicts(log_keyed_by_stage, Setting("all"), 200)["two attempts of a partition differ"] > 50


def test_giving_back_what_somebody_else_holds_is_wrong():
    assert verdicts(LogWithGiveBack, Setting("all"), 200)["two attempts of a partition differ"] > 50


def test_giving_back_what_nobody_else_holds_would_be_right():
    assert verdicts(partial(LogWithGiveBack, careful=True), Setting("all"), 20 * AS_MANY).keys() == {None}


def test_splitting_running_readers_is_wrong():
    assert verdicts(partial(SplitOfRunningReaders, fenced=False), Setting("all"), 200)[None] < 150


def test_splitting_fenced_readers_is_wrong_where_limits_meet_zombies():
    assert verdicts(partial(SplitOfRunningReaders, fenced=True), Setting("all"), 500)["a LIMIT took rows twice"] > 20


def test_splitting_fenced_readers_would_be_right_without_limits():
    assert verdicts(partial(SplitOfRunningReaders, fenced=True), Setting("all", limit=0.0), 20 * AS_MANY).keys() == {
        None
    }


class LogThatForgets(ClaimLog):
    """Wrong: a request for the latest chunk claims another one, as if every message arrived once."""

    def next(self, scan, partition, index, stats=None, now=0.0):
        return super().next(scan, partition, len(self.entries(scan, partition)), stats, now)


def test_a_log_that_is_not_idempotent_is_wrong():
    class Forgetful(ClaimLogOverBadNetwork):
        def __init__(self, rng, setting):
            super().__init__(rng, setting)
            self.log = LogThatForgets()

    assert verdicts(Forgetful, Setting("all"), 100)[None] < 20
