"""A stream of complete files against a simple model: what was begun is read once, whatever happens in between."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from splitscan.testing import check_replay_law

from ..unit.streaming.following import Stream, write

NAMES = st.sampled_from(["a", "b", "c", "d/e"])


class FollowedDirectory(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.source = self.folder / "in"
        self.source.mkdir()
        self.versions = {}  # name -> lines of the version that is there
        self.begun = {}  # first line of a version -> all its lines
        self.written = 0

    @initialize(threshold=st.none() | st.integers(1, 3))
    def start(self, threshold):
        self.stream = Stream(self.source, self.folder / "state", blockSize=8, blocksThreshold=threshold,
                             onModified="reread", recursiveFileLookup=True)  # fmt: skip

    def is_at_rest(self, name):
        """Nothing of the file is planned, or all of it is read: replacing it takes nothing from a window."""
        lines = self.versions.get(name)
        if not lines or lines[0] not in self.begun:
            return True
        read = Counter(self.stream.values())
        return self.pending_window() is None and all(read[line] for line in lines)

    def pending_window(self):
        number = self.stream.position.window + 1
        log = self.stream.log
        return log.read(number) if log.has(number) else None

    @rule(name=NAMES, count=st.integers(0, 6))
    def write_file(self, name, count):
        if self.is_at_rest(name):
            lines = [f"{self.written}-{number}" for number in range(count)]
            self.written += 1
            write(self.source / name, "".join(f"{line}\n" for line in lines).encode())
            self.versions[name] = lines

    @rule(name=NAMES)
    def delete_file(self, name):
        if name in self.versions and self.is_at_rest(name):
            (self.source / name).unlink()
            del self.versions[name]

    @rule()
    def plan_and_crash(self):
        """A window is durable, and Spark never hears of it."""
        self.stream.plan()
        self.note_begun()
        self.stream.restart()

    @rule()
    def crash(self):
        self.stream.restart()

    @rule(threshold=st.none() | st.integers(1, 3), block_size=st.sampled_from([4, 8, 100]))
    def restart_with_other_options(self, threshold, block_size):
        self.stream.restart(blocksThreshold=threshold, blockSize=block_size)

    @rule()
    def micro_batch(self):
        self.stream.plan()
        self.note_begun()
        self.stream.step()

    @precondition(lambda self: self.pending_window() is not None)
    @rule()
    def batch_that_fails_and_runs_again(self):
        end = self.stream.offset(self.stream.position.window + 1)
        first = self.stream.read(end)
        self.stream.restart()
        assert self.stream.read(end) == first

    def note_begun(self):
        window = self.pending_window()
        for planned in window.files if window is not None else ():
            lines = self.versions[planned.file.relative_path]
            self.begun[lines[0]] = lines

    @invariant()
    def nothing_is_read_twice(self):
        if hasattr(self, "stream"):
            assert not [line for line, times in Counter(self.stream.values()).items() if times > 1]

    def teardown(self):
        try:
            if hasattr(self, "stream"):
                self.finish()
        finally:
            shutil.rmtree(self.folder)

    def finish(self):
        for _ in range(500):
            self.stream.plan()
            self.note_begun()
            if not self.stream.step():
                break
        else:
            raise AssertionError("the stream never ends")
        assert sorted(self.stream.values()) == sorted(line for lines in self.begun.values() for line in lines)
        assert all(not lines or lines[0] in self.begun for lines in self.versions.values())
        planner = self.stream.planner

        def read_window(number):
            return planner.windows(self.stream.offset(number - 1), self.stream.offset(number))[0]

        check_replay_law(read_window, range(1, self.stream.position.window + 1), self.stream.restart)
        self.stream.planner.close()


TestFollowedDirectory = FollowedDirectory.TestCase
TestFollowedDirectory.settings = settings(max_examples=settings().max_examples // 3, stateful_step_count=25)
