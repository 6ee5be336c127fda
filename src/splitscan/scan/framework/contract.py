"""What a reader is: three methods. Schema, projection, batch sizes and clean failure come from the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from splitscan.scan.framework.loader import ResultSetLoader
    from splitscan.scan.framework.negotiator import SchemaNegotiator


@runtime_checkable
class ManagedReader(Protocol):
    """Reads one file, or one block of it, and hands rows to a loader.

    Every file or block gets a reader of its own, made just before it is opened, and closed before the next is made.
    A reader gives whatever columns it has, in batches of whatever size suits it; the framework projects, casts, fills
    in what is missing and cuts.

    Optional attributes, looked up by name:

    * ``name``: what messages call the reader; by default its class.
    * ``schema``, DDL text or an Arrow schema: the columns, known before any file is opened.
    * ``splittable = True``: a reader may get a part of a file, ``negotiator.split``, and reads the records whose first
      byte lies in it: ``split.start <= first byte < split.stop``. Otherwise it gets whole files.

    Pickling: before ``open``, so that Spark can send it to its workers.
    """

    def open(self, negotiator: SchemaNegotiator) -> bool:
        """Open what is to be read, and declare its columns if they are known.

        Args:
            negotiator: Says what to read and what is wanted; takes the reader's schema.

        Returns:
            True to be read. False if there is nothing here: the reader is closed and skipped.

        Raises:
            Exception: Fails the scan. The reader is closed all the same.
        """

    def next(self, loader: ResultSetLoader) -> bool:
        """Append some rows: best until ``loader.full``, which bounds memory; none is allowed too.

        Args:
            loader: Takes the rows.

        Returns:
            Whether to call again. Rows that come with False count, and ``next`` is not called any more.

        Raises:
            Exception: Fails the scan.
        """

    def close(self) -> None:
        """Release what ``open`` took. Called exactly once, whatever happened, also behind an ``open`` that failed."""
