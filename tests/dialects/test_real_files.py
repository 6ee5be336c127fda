"""Real files of packages: read right, or refused with what to do; never read wrong."""

import pytest
from tests.dialects.answers import ASKED, REFUSED, RIGHT, WRONG
from tests.dialects.real import compare, real_files

ENOUGH = 300
pytestmark = pytest.mark.large


def test_no_real_file_is_read_wrong_and_97_of_100_are_read_right_or_refused_as_they_must_be(tmp_path):
    outcomes, lines = compare(tmp_path)
    seen = outcomes.total()
    if seen < ENOUGH:
        pytest.skip(f"{seen} of {len(real_files())} files could be had from the registries")
    assert not [line for line in lines if line.startswith(WRONG)]
    assert sum(count for (_, word), count in outcomes.items() if word in (RIGHT, ASKED)) >= 0.97 * seen, "\n".join(
        lines
    )
    assert all(word in line for line in lines if line.startswith(REFUSED) for word in ("dialect-unclear", "fix:"))
