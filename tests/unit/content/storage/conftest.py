from __future__ import annotations

import pytest

from splitscan.content.storage import contract


@pytest.fixture(autouse=True)
def waits():
    """Pauses before another attempt, in seconds: noted and not made."""
    noted = []
    with pytest.MonkeyPatch.context() as patch:  # of its own: what a test patches is restored before its files are gone
        patch.setattr(contract, "sleep", noted.append)
        yield noted
