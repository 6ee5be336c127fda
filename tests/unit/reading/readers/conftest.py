"""What tests of users' own readers ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: bytes, name: str = "a.log") -> str:
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return str(path)

    return write_file
