from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

import splitscan as ss

PAGE = (Path(__file__).parents[2] / "docs/extending.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """Every Python block of the page, and what the page says that it prints."""
    return [(code, printed) for language, code, printed in BLOCK.findall(PAGE) if language == "python"]


def run(code: str, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/extending.md", "exec"), names)
    return printed.getvalue()


@pytest.mark.slow
def test_every_example_runs_and_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code, printed in examples():
        assert run(code, names) == printed, code


def test_no_block_of_the_page_is_left_out() -> None:
    assert PAGE.count("```python\n") == len(examples()) >= 8
    assert PAGE.count("```text\n") == sum(bool(printed) for _, printed in examples())
    assert PAGE.count("```") == 2 * (PAGE.count("```python\n") + PAGE.count("```text\n"))


@pytest.mark.parametrize(
    ("name", "most_lines"), [("WeatherReader", 20), ("ReportReader", 20), ("FastaContext", 30), ("EventFormat", 45)]
)
def test_the_examples_are_as_short_as_the_page_promises(name: str, most_lines: int) -> None:
    (code,) = [code for code, _ in examples() if f"class {name}" in code]
    lines = re.search(rf"^class {name}.*?(?=^\S|\Z)", code, re.MULTILINE | re.DOTALL)
    assert lines is not None
    assert len([line for line in lines[0].splitlines() if line.strip()]) <= most_lines


def test_a_wrong_line_in_an_example_is_noticed() -> None:
    (code,) = [code for code, _ in examples() if "class FastaContext" in code]
    (laws,) = [code for code, _ in examples() if "check_context_laws(FastaContext" in code]
    names: dict[str, Any] = {"EventFormat": object, "ss": ss}
    run(code.replace("start < self.stop", "start <= self.stop"), names)
    law = laws.splitlines()[0] + "\n" + next(line for line in laws.splitlines() if "(FastaContext" in line)
    with pytest.raises(ValueError, match=r"\[context-broken\]"):
        run(law, names)
