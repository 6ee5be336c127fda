"""Rows for people (a table), for pipes (lines of tab-separated text), and for programs (JSON lines)."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

_CELL_CHARS = 40  # a longer value is cut in a table
_CONTROLS = {code: chr(0x2400 + code) for code in range(32)} | {127: "␡"}  # pictures: text must not steer the terminal
_PICTURES = {**_CONTROLS, ord("\n"): "⏎"}
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_KEEP_LINES = {code: picture for code, picture in _CONTROLS.items() if code != ord("\n")}


def write_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    as_json: bool = False,
    most_in_table: int | None = None,
    right: Sequence[str] = (),
) -> None:
    r"""Write rows to standard output.

    To a terminal goes a table, to anything else tab-separated lines with a header: tab, line break and backslash are
    written as ``\t``, ``\n``, ``\r`` and ``\\``, null as ``\N``.

    Args:
        columns: Their names.
        rows: Values, in the order of *columns*; consumed lazily except for a table.
        as_json: Write one JSON object per row instead.
        most_in_table: Most rows in a table; a line behind it tells that there are more.
        right: Names of the columns that a table aligns to the right.
    """
    if as_json:
        for row in rows:
            write_json(dict(zip(columns, row, strict=True)))
    elif sys.stdout.isatty():
        _write_table(columns, iter(rows), most_in_table, right)
    else:
        sys.stdout.write("\t".join(name.translate(_ESCAPES) for name in columns) + "\n")
        for row in rows:
            sys.stdout.write("\t".join(_tsv_cell(value) for value in row) + "\n")


def write_json(value: Mapping[str, Any], indent: int | None = None) -> None:
    """Write one JSON object to standard output. Bytes are base64; dates and decimals are texts."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=_json_value, indent=indent) + "\n")


def show_text(text: str, *, most_chars: int | None = None, keep_lines: bool = False) -> str:
    r"""Make any text harmless for a terminal: control characters become pictures, a line break becomes ⏎.

    Example:
        >>> show_text("two\nlines, \x1b[31mred"), show_text("long text", most_chars=5)
        ('two⏎lines, ␛[31mred', 'long…')
    """
    if most_chars is not None and len(text) > most_chars:
        text = f"{text[: most_chars - 1]}…"
    return text.translate(_KEEP_LINES if keep_lines else _PICTURES)


def _write_table(columns: Sequence[str], rows: Iterator[Sequence[Any]], most: int | None, right: Sequence[str]) -> None:
    from rich import box  # noqa: PLC0415 -- pipes never pay for it
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(Text(show_text(name)), justify="right" if name in right else "left", overflow="fold")
    for row in islice(rows, most):
        table.add_row(*(_table_cell(value) for value in row))
    console.print(table)
    if next(rows, None) is not None:
        console.print(f"... and more: only {most:,} rows are shown here. Pipe the output, or use --json, for all.")


def _table_cell(value: Any) -> Any:
    from rich.text import Text  # noqa: PLC0415

    if value is None:
        return Text("null", style="dim")
    text = repr(value) if isinstance(value, bytes) else str(value)
    return Text(show_text(text, most_chars=_CELL_CHARS))


def _tsv_cell(value: Any) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, bytes):
        return f"\\\\x{value.hex()}"
    return str(value).translate(_ESCAPES)


def _json_value(value: Any) -> Any:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else str(value)
