"""How long a job waits for a server of Spark Connect that is silent: PySpark waits ten minutes, and says nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import DefaultPolicy, RetryPolicy, RetryPolicyState

from splitscan.errors import SplitscanError

GIVE_UP_SECONDS = 60
_SAID_AFTER_SECONDS = 3  # a hiccup is nobody's concern
_MOST_PAUSE_MS = 5_000
_log = logging.getLogger(__name__)


@contextmanager
def patience_with(spark: SparkSession) -> Iterator[None]:
    """In the ``with`` block, calls of the server are tried again for a minute, and the log says so.

    A session whose server was given up stays impatient: whatever it is asked afterwards, to stop too, fails at once.

    Args:
        spark: A session of Spark Connect.

    Raises:
        SplitscanError: ``[server-lost]`` if the server did not answer for so long.
    """
    patience, before = Patience(), spark.client.get_retry_policies()
    spark.client.set_retry_policies([patience])
    try:
        yield
    except Exception as error:
        if not patience.gave_up:
            raise
        raise SplitscanError(
            "the server of Spark Connect is gone", seen=f"no answer for {GIVE_UP_SECONDS} seconds",
            fix="start it again, or see what ended it; then run again with a new session: an ingest keeps the tasks "
            "that are finished, and nothing was published", code="server-lost",
        ) from error  # fmt: skip
    finally:
        if not patience.gave_up:
            spark.client.set_retry_policies(before)


class Patience(RetryPolicy):
    """PySpark's policy, for a bounded time. Every call of the server has a time of its own.

    Args:
        clock: Seconds that pass.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.clock = clock
        self.gave_up = False

    def to_state(self) -> RetryPolicyState:
        """How it goes with one call."""
        return RetryPolicyState(_OneCall(self))


class _OneCall(DefaultPolicy):
    def __init__(self, patience: Patience) -> None:
        super().__init__(max_retries=None, max_backoff=_MOST_PAUSE_MS)
        self._patience = patience
        self._since: float | None = None
        self._is_said = False

    def can_retry(self, e: BaseException) -> bool:
        """True if the server may still answer."""
        if self._patience.gave_up or not super().can_retry(e):
            return False
        now = self._patience.clock()
        self._since = now if self._since is None else self._since
        silent = now - self._since
        if silent >= GIVE_UP_SECONDS:
            self._patience.gave_up = True
        elif silent >= _SAID_AFTER_SECONDS and not self._is_said:
            self._is_said = True
            _log.warning(
                "the server of Spark Connect does not answer any more; it is tried for %d seconds", GIVE_UP_SECONDS
            )
        return not self._patience.gave_up
