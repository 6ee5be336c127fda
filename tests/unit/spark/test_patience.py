"""A server of Spark Connect that is gone is said to be gone within seconds, and given up after a minute."""

import logging

import grpc
import pytest
from pyspark.sql.connect.client.retries import Retrying

from splitscan.errors import SplitscanError
from splitscan.spark import patience
from splitscan.spark.patience import GIVE_UP_SECONDS, Patience, patience_with


class Gone(grpc.RpcError):
    def code(self):
        return grpc.StatusCode.UNAVAILABLE

    def trailing_metadata(self):
        return ()


class Clock:
    """Time that passes while somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Client:
    """Calls a server that answers until *dies*."""

    def __init__(self, clock: Clock, dies: float) -> None:
        self._clock, self._dies = clock, dies
        self._policies = ["the user's"]

    def get_retry_policies(self):
        return self._policies

    def set_retry_policies(self, policies):
        self._policies = policies

    def call(self):
        for attempt in Retrying(self._policies, sleep=self._clock.sleep):
            with attempt:
                if self._clock() >= self._dies:
                    raise Gone


class Session:
    def __init__(self, clock: Clock, dies: float) -> None:
        self.client = Client(clock, dies)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(patience, "Patience", lambda: Patience(clock))
    return clock


def job(session, clock, call_seconds):
    for _ in range(1000 // call_seconds):
        session.client.call()
        clock.sleep(call_seconds)


def test_row_19_a_server_that_dies_is_told_of_within_30_seconds_and_given_up_after_a_minute(clock, caplog):
    session, told = Session(clock, dies=200), []
    handler = logging.Handler()
    handler.emit = lambda record: told.append((clock(), record.getMessage()))
    logging.getLogger(patience.__name__).addHandler(handler)
    with pytest.raises(SplitscanError, match=r"is gone \[server-lost\]"), patience_with(session):
        job(session, clock, 10)
    logging.getLogger(patience.__name__).removeHandler(handler)
    assert [200 < when <= 230 for when, _ in told] == [True]
    assert "does not answer any more" in told[0][1]
    assert 200 + GIVE_UP_SECONDS <= clock() <= 200 + GIVE_UP_SECONDS + 10
    before = clock()
    with pytest.raises(Gone):
        session.client.call()  # to stop the session, say
    assert clock() == before


def test_a_server_that_answers_again_is_not_given_up_and_the_users_policy_comes_back(clock, caplog):
    session = Session(clock, dies=1e9)
    with patience_with(session):
        for start in (0, 100, 200):
            clock.seconds = max(clock.seconds, start)
            hiccup = Retrying(session.client.get_retry_policies(), sleep=clock.sleep)
            for attempt in hiccup:
                with attempt:
                    if clock() < start + GIVE_UP_SECONDS - 15:
                        raise Gone
    assert clock() >= 200
    assert session.client.get_retry_policies() == ["the user's"]


def test_other_errors_pass(clock):
    with pytest.raises(ZeroDivisionError), patience_with(Session(clock, dies=0)):
        _ = 1 / 0
