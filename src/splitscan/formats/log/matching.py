"""Patterns matched by RE2, which PyArrow has: in time linear in the text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def begins(pattern: str, texts: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Flags of the texts that begin with what a pattern matches.

    Raises:
        ValueError: If the pattern has no meaning; it says why.

    Example:
        >>> begins("[0-9]", ["1a", "a1"]).tolist()
        [True, False]
    """
    try:
        found = pc.match_substring_regex(pa.array(texts, pa.string()), rf"\A(?:{pattern})")
    except pa.ArrowInvalid as error:
        raise ValueError(str(error).partition(": ")[2] or str(error)) from None
    flags: npt.NDArray[np.bool_] = found.to_numpy(zero_copy_only=False).astype(bool)
    return flags
