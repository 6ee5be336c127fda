"""Requests in, answers out: the claim log behind its messages. No sockets, no threads; the clock is given."""

from __future__ import annotations

import time
from collections.abc import Callable

from splitscan.errors import SplitscanError
from splitscan.rebalance import messages
from splitscan.rebalance.claiming import ClaimLog
from splitscan.rebalance.messages import Message


class Answerer:
    """Answers one request after the other. A request that is none gets an error, and changes nothing.

    Args:
        log: The claim log.
        clock: Seconds that do not go back.
        epoch: Seconds since the epoch.

    Thread safety: none.
    """

    def __init__(
        self, log: ClaimLog, clock: Callable[[], float] = time.monotonic, epoch: Callable[[], float] = time.time
    ) -> None:
        self._log = log
        self._clock = clock
        self._epoch = epoch
        self._answers = {
            "next": self._next,
            "create": self._create,
            "scans": self._all_scans,
            "entries": self._entries,
            "record": self._record,
            "ping": self._ping,
        }

    def answer(self, line: bytes) -> bytes:
        """The answer to one line, as one line. Whatever goes wrong is an answer: others use this process too."""
        try:
            request = messages.decode(line)
            answer = self._answers.get(messages.text(request.get("op")))
            if answer is None:
                raise messages.bad_message("a request that this version does not know")
            return messages.encode(answer(request))
        except SplitscanError as error:
            return messages.encode(messages.encode_error(error))
        except Exception as error:
            failure = messages.bad_message(f"a request that cannot be answered ({type(error).__name__})")
            return messages.encode(messages.encode_error(failure))

    def _next(self, request: Message) -> Message:
        chunk = self._log.next(
            messages.text(request.get("scan")),
            messages.count(request.get("partition")),
            messages.count(request.get("index")),
            messages.decode_stats(request.get("stats")),
            self._clock(),
        )
        return {"end": True} if chunk is None else messages.encode_chunk(chunk)

    def _create(self, request: Message) -> Message:
        scan = messages.text(request.get("scan"))
        segments = messages.decode_segments(request.get("segments"))
        ranges = messages.decode_ranges(request.get("ranges"))
        return {"created": self._log.create(scan, segments, ranges, self._clock(), self._epoch())}

    def _all_scans(self, request: Message) -> Message:
        assert request
        return {"scans": self._log.scans()}

    def _entries(self, request: Message) -> Message:
        partition = messages.count(request.get("partition"))
        return {"entries": self._log.entries(messages.text(request.get("scan")), partition)}

    def _record(self, request: Message) -> Message:
        return messages.encode_record(self._log.record(messages.text(request.get("scan"))))

    @staticmethod
    def _ping(request: Message) -> Message:
        return {"pong": request.get("op") == "ping"}
