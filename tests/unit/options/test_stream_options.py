"""Options of a stream that contradict each other; what a stream does with the others is tested where it does it."""

import pytest

from splitscan.errors import UsageError
from splitscan.options.stream import parse_stream_options


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"cleanSource": "archive"}, "cleanSource=archive, sourceArchiveDir=None"),
        ({"sourceArchiveDir": "/old"}, "cleanSource=off, sourceArchiveDir=/old"),
        ({"cleanSource": "delete", "fileMode": "append"}, "cleanSource=delete, fileMode=append"),
        ({"windowLog": "none", "stateLocation": "/state"}, "windowLog=none, and a stateLocation"),
        ({"minReaders": 3, "maxReaders": 2}, "minReaders=3, maxReaders=2"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, seen):
    with pytest.raises(UsageError) as refused:
        parse_stream_options(options)
    assert (refused.value.seen, refused.value.reason_code) == (seen, "bad-option")


@pytest.mark.parametrize(
    "options",
    [
        {"cleanSource": "archive", "sourceArchiveDir": "/old"},
        {"cleanSource": "delete", "fileMode": "complete"},
        {"fileMode": "append"},
        {"windowLog": "none"},
        {"stateLocation": "/state"},
        {"minReaders": 2, "maxReaders": 2},
        {"minReaders": 9},
        {"maxReaders": 1},
    ],
)
def test_what_goes_together_is_taken(options):
    assert parse_stream_options({**options, "header": "true"})[1] == {"header": "true"}
