import subprocess
import sys
from pathlib import Path

import pytest

from splitscan.cli.documentation import cli_page

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"


def test_the_page_is_what_the_commands_say():
    assert PAGE.read_text(encoding="utf-8") == cli_page(), "run: python -m splitscan.cli.documentation > docs/cli.md"


def test_the_page_does_not_depend_on_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert PAGE.read_text(encoding="utf-8") == cli_page()


@pytest.mark.slow
def test_the_module_writes_the_page():
    command = [sys.executable, "-m", "splitscan.cli.documentation"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=300)
    assert done.stdout.decode() == cli_page()
