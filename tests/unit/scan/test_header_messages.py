"""What a message says about a header that disagrees with the schema."""

from __future__ import annotations

from pathlib import Path

import pytest

import splitscan as ss
from splitscan.errors import SchemaError


def test_a_header_that_is_data_is_quoted_on_one_line_and_cut(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('"a\nb' + "x" * 1000 + '",b\n1,2\n')
    with pytest.raises(SchemaError) as caught:
        ss.scan_csv(str(file), "a int, b int", header=True, multiLine=True).to_arrow()
    assert "seen:  column 1 is a\\nbxxx" in str(caught.value)
    assert "; schema a, b" in str(caught.value)
    assert len(caught.value.seen or "") < 300


def test_a_header_that_is_too_short_or_too_long_says_so(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(SchemaError, match="column 2 is b, not there"):
        ss.scan_csv(str(file), "a int", header=True).to_arrow()
    with pytest.raises(SchemaError, match="column 3 is missing, not c"):
        ss.scan_csv(str(file), "a int, b int, c int", header=True).to_arrow()
