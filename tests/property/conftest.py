"""Fixtures of the laws."""

import pytest

from splitscan.reading import boundaries


@pytest.fixture(scope="module")
def short_looks():
    """Let little be seen before a block: of small files it tells nothing then, and guesses are wrong."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundaries, "LOOKS_BYTES", (8, 16))
        yield
