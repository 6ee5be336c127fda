"""Words on a terminal: harmless texts, notes, and how far an ingest is. Progress is always on standard error.

A terminal has a bar for it, anything else a line now and then.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING, Self, TextIO

from splitscan.redaction import redact
from splitscan.sizes import count_of, show_bytes

if TYPE_CHECKING:
    from splitscan.jobs.reports import IngestProgress

C0, C1 = range(0x20), range(0x7F, 0xA0)  # characters that steer terminals, DEL among the second
_REORDERING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # invisible, they make text look like another
_CONTROLS = {
    **{code: f"\\u{code:04x}" for code in (*C1, *_REORDERING)},
    **{code: chr(0x2400 + code) for code in C0},
    0x7F: "␡",
}  # pictures where there are any
_PICTURES = {**_CONTROLS, ord("\n"): "⏎"}
_KEEP_LINES = {code: picture for code, picture in _CONTROLS.items() if code != ord("\n")}
_LINE_SECONDS = 5.0
_BAR_CHARS = (10, 40)
_TEXT_CHARS = 74  # what stands beside the bar


def show_values(name: str, *values: object) -> str | None:
    """Values of one option for a message; ``None`` if one may be a secret, or hold some."""
    texts = [f"?{name}={value}" for value in values]
    is_plain = all(redact(text) == text and "{" not in text for text in texts)
    return " and ".join(map(repr, values)) if is_plain else None


def show_name(text: str) -> str:
    """The name that a setting begins with, for messages: what comes after it may be a secret.

    Example:
        >>> show_name("header"), show_name("spark.secret.key: abc")
        ("'header'", "'spark.secret.key...'")
    """
    name = re.match(r"[A-Za-z.]*", text)
    return repr(text if name is None or name[0] == text else f"{name[0]}...")


def write_anything(stream: object) -> None:
    r"""Make *stream* write every text: what its encoding does not have, and bytes of names that are no UTF-8, as codes.

    ``é`` is ``\xe9`` where output is ASCII. Streams that are no text files, as in tests, are left as they are.
    """
    if isinstance(stream, TextIOWrapper) and (not has_unicode(stream) or stream.errors == "strict"):
        stream.reconfigure(errors="backslashreplace")


def has_unicode(stream: object) -> bool:
    """Return whether a stream can write every text."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")


def show_text(text: str, *, keep_lines: bool = False) -> str:
    r"""Make any text harmless for a terminal: control characters become pictures or codes, a line break becomes ⏎.

    Example:
        >>> show_text("two\nlines, \x1b[31mred")
        'two⏎lines, ␛[31mred'
    """
    return text.translate(_KEEP_LINES if keep_lines else _PICTURES)


def fold(line: str, width: int, indent: str) -> str:
    """Break a line between words where a terminal would break inside one; paths and other long words stay whole.

    Example:
        >>> print(fold("  fix:   set mode, or leave it out", 20, " " * 9))
          fix:   set mode,
                 or leave it
                 out
    """
    shown: list[str] = []
    room = width
    while len(line) > room:
        blank = line.rfind(" ", 1 if shown else len(indent), room + 1)
        blank = line.find(" ", room) if blank < 0 else blank
        if blank < 0:
            break
        shown.append(line[:blank])
        line = line[blank + 1 :]
        room = width - len(indent)
    return f"\n{indent}".join([*shown, line])


def write_note(text: str) -> None:
    """Write a sentence to standard error, on a terminal without words that its edge breaks."""
    shown = show_text(text)
    if sys.stderr.isatty():
        shown = fold(shown, shutil.get_terminal_size().columns, "")
    sys.stderr.write(f"{shown}\n")


def write_line(*parts: tuple[str, str]) -> None:
    """Write one line of texts, each with its style, to standard output; only a terminal has styles."""
    shown = [(show_text(text), style) for text, style in parts]
    if not sys.stdout.isatty():
        sys.stdout.write("".join(text for text, _ in shown) + "\n")
        return
    from rich.console import Console  # noqa: PLC0415 -- only a terminal pays for it
    from rich.text import Text  # noqa: PLC0415

    Console(highlight=False).print(Text.assemble(*shown), soft_wrap=True)


class _Advice(logging.Handler):
    """Hands what the library logs to whoever shows progress."""

    def __init__(self, progress: ShowsProgress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        """Show one message."""
        self._progress.advise(record.getMessage())


class Pace:
    """Speed and time left, from how far the reading is. What an earlier run had read does not count as speed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: float | None = None
        self._first_bytes = 0
        self._left_bytes = 0
        self.speed: float | None = None
        """Bytes per second, when something was finished last; ``None`` as long as nothing is known."""

    def update(self, bytes_done: int, bytes_total: int) -> None:
        """Take note of how far it is."""
        now = self._clock()
        if self._began is None:
            self._began, self._first_bytes = now, bytes_done
        elif now > self._began and bytes_done > self._first_bytes:
            self.speed = (bytes_done - self._first_bytes) / (now - self._began)
        self._left_bytes = bytes_total - bytes_done

    @property
    def seconds_left(self) -> float | None:
        """How long it will still take at this speed."""
        return None if self.speed is None else self._left_bytes / self.speed


def describe_progress(progress: IngestProgress, pace: Pace, *, records: bool = True) -> str:
    """Render what is known, for bar and line alike; how many records only where that is known before the end."""
    parts = [show_bytes(progress.bytes_done, of=progress.bytes_total)]
    if records:
        parts.append(count_of(progress.rows, "record"))
    if progress.rejects:
        parts.append(count_of(progress.rejects, "reject"))
    if pace.speed is not None and pace.seconds_left is not None:
        parts += [f"{show_bytes(round(pace.speed))}/s", f"{format_seconds(pace.seconds_left)} left"]
    return ", ".join(parts)


def format_seconds(seconds: float) -> str:
    """Render a duration for people.

    Example:
        >>> format_seconds(4.2), format_seconds(125), format_seconds(7380)
        ('4 s', '2:05 min', '2:03 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02} h"


class ShowsProgress:
    """Tells how far an ingest is; by itself it shows warnings only. After it nothing is left on the terminal."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""

    def announce(self, doing: str) -> None:
        """Say what is being done while nothing can be counted."""

    def advise(self, text: str) -> None:
        """Tell the user something that is no error."""

    def warn(self, text: str) -> None:
        """Tell the user of lost or broken data, also where nothing else is told."""
        sys.stderr.write(f"splitscan: {text}\n")

    def rest(self, text: str) -> None:
        """Say that there is nothing to do for now; a log has a line when there is something to do."""

    def show(self, progress: IngestProgress) -> None:
        """Show how far it is."""


class ProgressLines(ShowsProgress):
    """Plain lines: one for each new phase, then one every few seconds. No control characters.

    With *windows*, of a service that does one small ingest after the other, only what takes long has lines of its own.
    """

    def __init__(
        self,
        stream: TextIO,
        every_seconds: float = _LINE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        *,
        records: bool = True,
        windows: bool = False,
    ) -> None:
        self._stream = stream
        self._records = records
        self._windows = windows
        self._every_seconds = every_seconds
        self._clock = clock
        self._pace = Pace(clock)
        self._phase: str | None = None
        self._next = 0.0
        self._announced = False

    def announce(self, doing: str) -> None:
        self._announced = True
        self._pace = Pace(self._clock)
        self._phase = None
        self._write(doing)

    def advise(self, text: str) -> None:
        self._write(text)

    warn = advise

    def show(self, progress: IngestProgress) -> None:
        phase = progress.phase.value
        counting = phase == "reading"
        if self._windows:
            if not counting:
                self._phase = None
                return
            self._announced = True
            if self._phase is None:
                self._phase, self._next, self._pace = phase, self._clock() + self._every_seconds, Pace(self._clock)
        if counting and not self._announced and not progress.bytes_done:
            return  # Spark has not even started
        if counting:
            self._pace.update(progress.bytes_done, progress.bytes_total)
        if phase == "done" or (phase == self._phase and not (counting and self._clock() >= self._next)):
            return
        self._phase, self._next = phase, self._clock() + self._every_seconds
        self._write(f"{phase}: {describe_progress(progress, self._pace, records=self._records)}" if counting else phase)

    def _write(self, text: str) -> None:
        self._stream.write(f"splitscan: {text}\n")
        self._stream.flush()


class ProgressBar(ShowsProgress):
    """A bar that vanishes when it is done."""

    def __init__(self, stream: TextIO, *, records: bool = True) -> None:
        from rich.console import Console  # noqa: PLC0415 -- only a terminal needs it
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

        self._records = records
        console = Console(file=stream, force_terminal=True)
        least, most = _BAR_CHARS
        width = max(least, min(most, console.width - _TEXT_CHARS))
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=width),
            TextColumn("{task.fields[detail]}", markup=False),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("planning", total=None, detail="")
        self._pace = Pace()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def announce(self, doing: str) -> None:
        self._pace = Pace()
        self._bar.update(self._task, description=doing, total=None, detail="")

    def advise(self, text: str) -> None:
        self._bar.console.print(f"splitscan: {text}", markup=False, highlight=False, soft_wrap=True)

    warn = advise

    def rest(self, text: str) -> None:
        self._bar.update(self._task, description=text, total=1, completed=0, detail="")

    def show(self, progress: IngestProgress) -> None:
        phase = progress.phase.value
        if not progress.bytes_total:
            self.announce(phase)
            return
        if phase == "reading":
            self._pace.update(progress.bytes_done, progress.bytes_total)
        self._bar.update(
            self._task,
            description=phase,
            total=progress.bytes_total,
            completed=progress.bytes_done,
            detail=describe_progress(progress, self._pace, records=self._records),
        )


@contextmanager
def choose_progress(*, quiet: bool, windows: bool = False, records: bool = True) -> Iterator[ShowsProgress]:
    """A bar where standard error is a terminal, lines where it is not, nothing where quiet."""
    if quiet:
        with _hearing(ShowsProgress()) as progress:
            yield progress
        return
    stream = _own_stream()
    try:
        shown: ShowsProgress = (
            ProgressBar(stream, records=records)
            if stream.isatty()
            else ProgressLines(stream, records=records, windows=windows)
        )
        with shown, _hearing(shown) as progress:
            yield progress
    finally:
        if stream is not sys.stderr:
            stream.close()


@contextmanager
def _hearing(progress: ShowsProgress) -> Iterator[ShowsProgress]:
    """Let *progress* show what the library logs, and nobody else."""
    log, handler = logging.getLogger("splitscan"), _Advice(progress)
    log.addHandler(handler)
    before, log.propagate = log.propagate, False
    try:
        yield progress
    finally:
        log.propagate = before
        log.removeHandler(handler)


def _own_stream() -> TextIO:
    """Standard error under another number: number 2 belongs to Spark while Spark starts."""
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # replaced by something that is no file
        return sys.stderr
    return os.fdopen(descriptor, "w", encoding=sys.stderr.encoding, errors="replace")
