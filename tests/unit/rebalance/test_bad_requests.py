"""Requests and answers that are none: each is an error of ours, and costs nobody else anything."""

import json
import time

import pytest

from splitscan.errors import RebalanceError, UsageError
from splitscan.rebalance import messages
from splitscan.rebalance.claim_values import ChunkStats, Segment
from splitscan.rebalance.claims import ClaimLog
from splitscan.rebalance.client import Claims, Connection
from splitscan.rebalance.coordinator import Answerer
from splitscan.rebalance.messages import CoordinatorAddress

MOST = (1 << 63) - 1


@pytest.fixture
def ask():
    answerer = Answerer(ClaimLog())

    def call(**request):
        return json.loads(answerer.answer(json.dumps(request).encode()))

    return call


def test_more_positions_than_there_can_be_are_an_error(ask):
    plan = {"segments": [[MOST, "a", 0], [MOST, "b", 0]], "ranges": [[0, MOST]]}
    assert ask(op="create", scan="s", **plan)["error"]["code"] == "bad-message"
    assert ask(op="scans") == {"scans": []}


@pytest.mark.parametrize(
    ("index", "code"),
    [(MOST, "claim-protocol"), (MOST + 1, "bad-message"), (-1, "bad-message"), (True, "bad-message")],
)
def test_a_count_has_63_bits(ask, index, code):
    ask(op="create", scan="s", segments=[[100, "a", 0]], ranges=[[0, 100]])
    assert ask(op="next", scan="s", partition=0, index=index)["error"]["code"] == code


@pytest.mark.parametrize("scan", ["", None, 5, ["s"]])
def test_a_name_is_a_text(ask, scan):
    assert ask(op="next", scan=scan, partition=0, index=0)["error"]["code"] == "bad-message"


@pytest.mark.parametrize("seconds", [-0.5, 1e12, "1", None, True])
def test_what_is_no_number_of_seconds_is_an_error_and_the_next_request_is_answered(ask, seconds):
    ask(op="create", scan="s", segments=[[100, "a", 0]], ranges=[[0, 100]])
    assert ask(op="next", scan="s", partition=0, index=0)["chunk"][0] == 0
    asked = {"op": "next", "scan": "s", "partition": 0, "index": 1}
    assert ask(**asked, stats=[seconds, 1, 1, 0])["error"]["code"] == "bad-message"
    assert "error" not in ask(**asked, stats=[0.5, 1, 1, 0])


@pytest.mark.parametrize("text", ["", "@h:1", "t@:1", "t@h", "t@h:", "t@h:x", "th:1", "t@h1"])
def test_what_is_no_address_is_refused_and_not_shown(text):
    assert CoordinatorAddress.from_option("t@h:1") == CoordinatorAddress("h", 1, "t")
    with pytest.raises(UsageError, match="bad-option") as refused:
        CoordinatorAddress.from_option(text)
    assert not text or text not in str(refused.value)


def test_whatever_a_request_breaks_is_an_answer(monkeypatch):
    def fail(_):
        raise ZeroDivisionError

    monkeypatch.setattr(ClaimLog, "scans", fail)
    error = json.loads(Answerer(ClaimLog()).answer(b'{"op": "scans"}'))["error"]
    assert (error["code"], error["seen"]) == ("bad-message", "a request that cannot be answered (ZeroDivisionError)")


def test_half_a_surrogate_pair_is_a_text_like_any_other(ask):
    half = "\ud800"
    assert ask(op="next", scan=half, partition=0, index=0)["error"]["code"] == "unknown-scan"
    assert ask(op=half)["error"]["code"] == "bad-message"
    assert not messages.proves(half, "token", "client", "nonce")
    assert messages.proves(messages.proof("token", "client", half), "token", "client", half)


def test_another_chunk_than_the_one_that_was_asked_for_is_not_read(monkeypatch):
    monkeypatch.setattr(Connection, "call", lambda _, request: {"chunk": [7, 0, 10, [[0, 0, 10, "a"]]]})
    claims = Claims(CoordinatorAddress("127.0.0.1", 1, "t"), "s", 0)
    assert claims.next(7).number == 7
    with pytest.raises(RebalanceError, match=r"\[bad-message\](?s:.)*another chunk than"):
        claims.next(6)


def test_a_reader_tells_how_long_it_waited_for_a_chunk(monkeypatch):
    log = ClaimLog()
    log.create("s", [Segment(1000, "a")], [(0, 1000)])
    answerer = Answerer(log)
    monkeypatch.setattr(
        Connection, "call", lambda _, request: json.loads(answerer.answer(json.dumps(request).encode()))
    )
    claims = Claims(CoordinatorAddress("127.0.0.1", 1, "t"), "s", 0)
    before = time.perf_counter()
    claims.next(0)
    waited = time.perf_counter() - before
    claims.next(1, ChunkStats(1.0, wait_seconds=7.0))
    (partition,) = log.record("s").partitions
    assert 0 < partition.wait_seconds <= waited
