"""The file that the rebalanced scans of this folder read."""

from dataclasses import dataclass

import pytest
from tests.clusters.records import Content, offsets_of, write_records

RECORDS = 6000


@dataclass(frozen=True)
class Source:
    """A file, what it holds, and where its records start."""

    path: str
    content: Content
    offsets: list[int]


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "a.csv"
    return Source(str(path), write_records(path, RECORDS), offsets_of(str(path)))
