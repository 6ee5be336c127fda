from __future__ import annotations

import pytest

from splitscan.cli import main


def complete(monkeypatch, capfd, words):
    """What a shell is told after these words; the last one is not finished."""
    monkeypatch.setenv("_SPLITSCAN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    return capfd.readouterr().out.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("splitscan co", ["count", "convert"]),
        ("splitscan head --hea", ["--header"]),
        ("splitscan ingest a.csv out --format j", ["json"]),
        ("splitscan count a.csv -o multi", ["multiLine="]),
        ("splitscan count a.c", []),  # a file: the shell knows them
    ],
)
def test_commands_flags_formats_and_options_are_completed(monkeypatch, capfd, words, offered):
    assert complete(monkeypatch, capfd, words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_the_command(monkeypatch, capfd, shell):
    monkeypatch.setenv("_SPLITSCAN_COMPLETE", f"source_{shell}")
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert "_SPLITSCAN_COMPLETE=complete_" in capfd.readouterr().out
