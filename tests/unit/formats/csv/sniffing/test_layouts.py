"""Layouts of real files: read right without an option, or refused with what to do."""

import pytest
from tests.dialects.answers import ASKED, RIGHT
from tests.dialects.layouts import rebuilt_files

MOST_BYTES = 4096


@pytest.mark.thin(50)
@pytest.mark.parametrize("file", rebuilt_files(), ids=lambda file: file.layout)
def test_file_of_a_known_layout_is_read_right_or_refused_with_its_hint(tmp_path, file):
    path = tmp_path / file.name
    path.write_bytes(file.data)
    assert len(file.data) <= MOST_BYTES
    word, why = file.answer.outcome(path)
    assert word == (ASKED if file.answer.hint else RIGHT), why
