"""Files that a reader of chunks opens."""

import pytest

from splitscan.errors import SourceChangedError
from splitscan.rebalance.reading import parts
from splitscan.scan import ScanPlanner


def test_a_file_that_is_not_the_one_that_was_planned_is_closed(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("1,a\n2,b\n")
    scan = ScanPlanner.of(str(path), "csv", "id long, text string")
    (planned,) = scan.files()
    closed = []

    def open_source(*given):
        source = right(*given)
        close = source.close
        monkeypatch.setattr(source, "close", lambda: (closed.append(source), close()), raising=False)
        return source

    right = parts.open_listed
    monkeypatch.setattr(parts, "open_listed", open_source)
    path.write_text("1,a\n2,b\n3,c\n")
    with pytest.raises(SourceChangedError):
        parts.Entries(scan.spec).open(planned).lend()
    assert len(closed) == 1
