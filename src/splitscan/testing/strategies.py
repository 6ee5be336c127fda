"""Hypothesis strategies for files, cuts and deliveries that hurt. Needs the package ``hypothesis``."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

MESSY_WORDS = (
    "a", "bc", "\n", "\r", "\r\n", "\\", "\\\\", "|", "||", ",", '"', '""', " ", "\t", "\0", "é", "☃", "𝄞", "\ufeff",
)  # fmt: skip


def messy_texts(words: Sequence[str] = MESSY_WORDS, max_words: int = 30) -> st.SearchStrategy[str]:
    """Texts of few different words, so that terminators, escapes and wide characters meet often."""
    return st.lists(st.sampled_from(list(words)), max_size=max_words).map("".join)


def files_of(words: Sequence[bytes], max_words: int = 30) -> st.SearchStrategy[bytes]:
    """Files of few different byte strings, in any order; runs of one of them are frequent."""
    run = st.tuples(st.sampled_from(list(words)), st.integers(1, 5)).map(lambda pair: [pair[0]] * pair[1])
    return st.lists(run, max_size=max_words).map(
        lambda runs: b"".join([word for run in runs for word in run][:max_words])
    )


def delimiters(alphabet: str = "ab|\r\n") -> st.SearchStrategy[bytes]:
    """Delimiters of one to five ASCII characters of a small alphabet, so that many overlap themselves."""
    return st.text(alphabet, min_size=1, max_size=5).map(str.encode)


def cuts(size: int, max_cuts: int = 6) -> st.SearchStrategy[list[int]]:
    """Sorted offsets in ``[0, size]`` to cut a file at; equal ones make empty blocks."""
    return st.lists(st.integers(0, size), max_size=max_cuts).map(sorted)


def deliveries(max_chunk_bytes: int = 17) -> st.SearchStrategy[list[int]]:
    """Sizes of the chunks in which bytes arrive, one after the other, for the chunking law."""
    return st.lists(st.integers(1, max_chunk_bytes), min_size=1, max_size=8)
