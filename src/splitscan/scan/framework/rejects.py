"""Rows and records that break a rule: reported, or in mode FAILFAST the end of the scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from splitscan.blocks import Reject
from splitscan.errors import RecordError, Where, quote_bytes
from splitscan.options import Mode
from splitscan.scan.framework.place import Place
from splitscan.scan.framework.plan import OnReject


class Rejects:
    """Takes the rejects of one reader.

    Args:
        mode: FAILFAST raises an error for the first one.
        place: Where the reader is at work.
        on_reject: Told of every reject.
    """

    def __init__(self, mode: Mode, place: Place, on_reject: OnReject | None) -> None:
        self._mode = mode
        self._place = place
        self._on_reject = on_reject

    def judge(self, reject: Reject, where: Callable[[], Where] | None = None) -> None:
        """Report a reject as the mode wants it.

        Args:
            reject: What is rejected.
            where: Finds what an error says of the place, if there is one; by default the offset of the reject.

        Raises:
            RecordError: In mode FAILFAST, with the reject's code.
        """
        if self._mode is Mode.FAILFAST:
            self._fail(reject, self._place.where(offset=reject.offset) if where is None else where())
        self.report(reject)

    def report(self, reject: Reject) -> None:
        """Report a reject in every mode."""
        if self._on_reject is not None:
            self._on_reject(reject)

    @staticmethod
    def _fail(reject: Reject, where: Where) -> NoReturn:
        raise RecordError(
            f"{reject.reason} (mode=FAILFAST)",
            where,
            seen=quote_bytes(reject.raw),
            fix="correct the record, or set mode=PERMISSIVE or DROPMALFORMED to go on without it",
            code=reject.code,
        )
