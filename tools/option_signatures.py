"""The keyword options of the ``scan_...`` functions as types, from the declarations.

``python -m tools.option_signatures > src/splitscan/options/signatures.py``
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from splitscan.formats.registry import FORMATS, options_of
from splitscan.options.files import FileOptions
from splitscan.options.read import ReadingOptions, SchemaOptions, TypedOptions
from splitscan.options.sources import TableOptions
from splitscan.options.table import REQUIRED, Option, OptionKind, declared_options, python_twin

_HEAD = '''\
"""The options of the ``scan_...`` functions, so that editors complete them and type checkers know them.

Written by `python -m tools.option_signatures > src/splitscan/options/signatures.py`; a test compares. What each
option means is in ``docs/options.md``. ``None`` means that it was not given.
"""

# Over 400 lines: each option of each format.

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, TypedDict

Flag: TypeAlias = bool | str | None
Text: TypeAlias = str | None
Whole: TypeAlias = int | str | None
Size: TypeAlias = int | str | None
Names: TypeAlias = list[str] | tuple[str, ...] | str | None
Moment: TypeAlias = dt.datetime | str | None
Settings: TypeAlias = Mapping[str, Any] | str | None
'''
_TYPES = {
    "bool": "Flag",
    "int": "Whole",
    "size": "Size",
    "names": "Names",
    "timestamp": "Moment",
    "mapping": "Settings",
}
_NEVER = "none"  # kind of options that are refused whatever their value
_ARGUMENTS = frozenset({"url", "dbtable", "key_column"})  # of scan_table, by these names


def signatures_module() -> str:
    """Return the whole module, ending in a newline."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _HEAD
    shared = (*declared_options(ReadingOptions), *declared_options(FileOptions))
    columns = declared_options(SchemaOptions)
    yield from _class("ScanKeywords", "TypedDict, total=False", "Options of every record format.", shared)
    yield from _class("ColumnKeywords", "ScanKeywords, total=False", "Options of formats with columns, too.", columns)
    known, typed = {option.name for option in (*shared, *columns)}, declared_options(TypedOptions)
    typed_names = {option.name for option in typed}
    yield from _class("TypedKeywords", "ColumnKeywords, total=False", "Options of text with columns, too.", typed)
    for name, found in FORMATS.items():
        is_typed = issubclass(found.options_class, TypedOptions)
        base = "TypedKeywords" if is_typed else "ColumnKeywords" if found.options_class.has_columns else "ScanKeywords"
        own = [option for option in options_of(name) if option.name not in (known | typed_names if is_typed else known)]
        called = "".join(part.capitalize() for part in name.split("_"))
        yield from _class(f"{called}Keywords", f"{base}, total=False", f"Options of ``scan_{name}``.", own)
    yield from _class(
        "TableKeywords", "TypedDict, total=False", "Options of ``scan_table``.", declared_options(TableOptions)
    )


def _class(name: str, bases: str, meaning: str, options: Iterable[Option]) -> Iterator[str]:
    yield f'\nclass {name}({bases}):\n    """{meaning}"""'
    names = [
        f"    {spelling}: {_type(option.kind)}"
        for option in options
        if option.kind.name != _NEVER and option.default is not REQUIRED
        for spelling in _spellings(option)
        if spelling not in _ARGUMENTS
    ]
    yield from ("", *names) if names else ()
    yield ""


def _spellings(option: Option) -> Iterable[str]:
    return dict.fromkeys(each for name in (option.name, *option.aliases) for each in (python_twin(name), name))


def _type(kind: OptionKind) -> str:
    if kind.choices:
        values = ", ".join(f'"{value}"' for value in kind.choices)
        return f"Literal[{values}] | Text"
    return _TYPES.get(kind.name, "Text")


if __name__ == "__main__":
    sys.stdout.write(signatures_module())
