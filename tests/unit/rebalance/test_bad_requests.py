"""Requests and answers that are none: each is an error of ours, and costs nobody else anything."""

import json

import pytest

from splitscan.errors import RebalanceError
from splitscan.rebalance import ClaimLog, Claims, CoordinatorAddress, messages
from splitscan.rebalance.client import Connection
from splitscan.rebalance.coordinator.server import Answerer

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
