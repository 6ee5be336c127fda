from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from splitscan.errors import InvariantError
from splitscan.scan.framework.contract import Machine
from splitscan.scan.framework.lifecycle import READER_TABLE, ReaderEvent, ReaderState
from splitscan.scan.framework.loader import LOADER_TABLE, LoaderState
from splitscan.scan.framework.operator import SCAN_TABLE, ScanState

PAGE = (Path(__file__).parents[4] / "docs/scan-framework.md").read_text(encoding="utf-8")
TABLES = [(SCAN_TABLE, ScanState.START), (READER_TABLE, ReaderState.NEW), (LOADER_TABLE, LoaderState.IDLE)]


def draw(table: Mapping[tuple[Any, Any], Any], start: enum.Enum) -> str:
    """A table as a Mermaid state diagram: the states with what they mean, then the arrows in the order of the table."""
    lines = ["stateDiagram-v2"]
    lines += [f"    {state.name} : {state.name}: {state.value}" for state in type(start)]
    lines.append(f"    [*] --> {start.name}")
    lines += [f"    {state.name} --> {table[state, event].name} : {event.value}" for state, event in table]
    return "\n".join(lines)


@pytest.mark.parametrize(("table", "start"), TABLES, ids=["scan", "reader", "loader"])
def test_the_figures_of_the_page_are_drawn_from_the_tables(table: Mapping[Any, Any], start: enum.Enum) -> None:
    assert f"```mermaid\n{draw(table, start)}\n```" in PAGE


@pytest.mark.parametrize(("table", "start"), TABLES, ids=["scan", "reader", "loader"])
def test_every_state_can_be_reached_and_closed(table: Mapping[Any, Any], start: enum.Enum) -> None:
    reached = {start}
    for _ in range(len(table)):
        reached |= {following for (state, _), following in table.items() if state in reached}
    assert reached == set(type(start))
    closing = {state for (state, event) in table if event.name == "CLOSE"}
    assert {state for state in type(start) if state.name not in {"NEW", "CLOSED"}} <= closing


def test_a_reader_is_never_closed_twice() -> None:
    machine = Machine(READER_TABLE, ReaderState.NEW)
    machine.move(ReaderEvent.NOTHING)
    machine.move(ReaderEvent.CLOSE)
    with pytest.raises(InvariantError, match="CLOSE must not happen in state CLOSED of a ReaderState"):
        machine.move(ReaderEvent.CLOSE)
