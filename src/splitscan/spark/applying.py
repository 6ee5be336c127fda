"""A user's function inside the tasks that read, so that what it costs is known where records are divided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from splitscan.errors import SchemaError, UsageError

BatchFunction: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterable[pa.RecordBatch]]
"""From the batches of a task to others, as for ``mapInArrow``."""


@dataclass(frozen=True)
class Applied:
    """A function over batches, and what it returns.

    Attributes:
        function: Called once in each task.
        schema: Of every batch that it returns.

    Pickling: if *function* can be pickled, or is one that Spark pickles.
    """

    function: BatchFunction
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches that the function makes of others.

        Raises:
            SchemaError: If one has not the schema that was promised; Spark looks at the first one only.
        """
        for batch in self.function(batches):
            found = batch.schema if isinstance(batch, pa.RecordBatch) else None
            if found is None or not found.equals(self.schema):
                raise SchemaError(
                    "the function of apply returns batches of apply_schema",
                    seen=type(batch).__name__ if found is None else str(found),
                    fix=f"return record batches of: {self.schema}",
                    code="bad-schema",
                )
            yield batch


def as_applied(function: BatchFunction | None, schema: pa.Schema | None, limit: int | None) -> Applied | None:
    """Function and schema of ``apply`` and ``apply_schema``.

    Raises:
        UsageError: ``[bad-option]`` if one is given without the other, or beside a limit.
    """
    if function is None and schema is None:
        return None
    if function is None or schema is None:
        raise UsageError(
            "apply and apply_schema belong together",
            seen="apply_schema alone" if function is None else "apply alone",
            fix='pass both, as in to_spark(spark, apply=score, apply_schema="id long, score double")',
            code="bad-option",
        )
    if limit is not None:
        raise UsageError(
            "a limit counts the records that are read, and which of them apply makes rows of is not known",
            seen=f"limit {limit} and apply",
            fix="leave the limit out of the scan, and limit the DataFrame",
            code="bad-option",
        )
    return Applied(function, schema)
