"""Rows for people (a table), for pipes (lines of tab-separated text), and for programs (JSON lines)."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from splitscan.cli.terminal import C0, C1, has_unicode, show_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_LEAST_COLUMN_CHARS = 10  # where columns would be narrower, each gets a line of its own
_GAP_CHARS = 3  # between two columns
_MOST_CELL_CHARS = 2000  # a table has no place for more
_ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*C0, *C1)},
    **str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}),
}
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in C1}  # what JSON itself lets stand


def write_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    as_json: bool = False,
    most_in_table: int | None = None,
    one_line: bool = False,
    right: Sequence[str] = (),
) -> None:
    r"""Write rows to standard output.

    To a terminal goes a table, to anything else tab-separated lines with a header: tab, line break and backslash are
    written as ``\t``, ``\n``, ``\r`` and ``\\``, null as ``\N``, and other control characters as ``\x1b``: whatever
    the data holds, no output of it steers a terminal at the end of the pipe.

    Args:
        rows: Values, in the order of *columns*; consumed lazily except for a table.
        most_in_table: Most rows in a table; a line after it tells that there are more.
        one_line: Each row takes one line of a table: long values are cut.
        right: Names of the columns that a table aligns to the right.
    """
    if as_json:
        for row in rows:
            write_json(dict(zip(columns, row, strict=True)))
    elif sys.stdout.isatty():
        _write_table(columns, iter(rows), most_in_table, one_line, right)
    else:
        sys.stdout.write("\t".join(name.translate(_ESCAPES) for name in columns) + "\n")
        for row in rows:
            sys.stdout.write("\t".join(_tsv_cell(value) for value in row) + "\n")


def write_json(value: Mapping[str, Any], indent: int | None = None) -> None:
    """Write one JSON object to standard output. Bytes are base64; dates and decimals are texts."""
    text = json.dumps(value, ensure_ascii=not has_unicode(sys.stdout), default=_json_value, indent=indent)
    sys.stdout.write(text.translate(_JSON_ESCAPES) + "\n")


def _write_table(
    columns: Sequence[str], rows: Iterator[Sequence[Any]], most: int | None, one_line: bool, right: Sequence[str]
) -> None:
    from rich.console import Console  # noqa: PLC0415 -- pipes never pay for it

    console = Console(highlight=False)
    shown = list(islice(rows, most))
    if one_line and len(columns) * _LEAST_COLUMN_CHARS > console.width:
        for number, row in enumerate(shown, start=1):
            console.print(_record(columns, row, number, console.width), soft_wrap=True)
    else:
        console.print(_table(columns, shown, one_line, right))
    if next(rows, None) is not None:
        console.print(f"... and more: only {most:,} rows are shown here. Pipe the output, or use --json, for all.")


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], one_line: bool, right: Sequence[str]) -> Table:
    """A table; with *one_line*, one whose rows take one line each, because texts are cut to fit.

    A number that is cut is another one: where there is room, they stay whole.
    """
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        heading = Text(show_text(name), no_wrap=one_line, overflow="ellipsis" if one_line else None)
        table.add_column(
            heading, justify="right" if name in right else "left", no_wrap=name in right,
            overflow="ellipsis" if one_line else "fold",
        )  # fmt: skip
    for row in rows:
        cells = [_table_cell(value) for value in row]
        for cell in cells:
            cell.no_wrap = one_line or None
        table.add_row(*cells)
    return table


def _record(columns: Sequence[str], row: Sequence[Any], number: int, width: int) -> Text:
    """A row of many columns: one line for each of them."""
    from rich.text import Text  # noqa: PLC0415

    names = max(len(name) for name in columns)
    text = Text.assemble((f"row {number}\n", "bold"))
    for name, value in zip(columns, row, strict=True):
        cell = _table_cell(value)
        cell.truncate(max(width - names - _GAP_CHARS - 2, _LEAST_COLUMN_CHARS), overflow="ellipsis")
        text = Text.assemble(text, (f"  {show_text(name):<{names}}  ", "dim"), cell, "\n")
    return text


def _table_cell(value: Any) -> Text:
    from rich.text import Text  # noqa: PLC0415

    if value is None:
        return Text("null", style="dim")
    text = repr(value) if isinstance(value, bytes) else _plain(value)
    return Text(show_text(text[:_MOST_CELL_CHARS]))


def _tsv_cell(value: Any) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, bytes):
        return f"\\\\x{value.hex()}"
    return _plain(value).translate(_ESCAPES)


def _plain(value: Any) -> str:
    """A value as Spark shows it: ``true`` and ``false``."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _json_value(value: Any) -> Any:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else str(value)
