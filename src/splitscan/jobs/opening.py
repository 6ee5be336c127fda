"""Open a destination: which format it has, or is to have."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from splitscan.errors import IngestError, UsageError, Where
from splitscan.jobs.destination import Destination
from splitscan.jobs.folder import FolderDestination
from splitscan.jobs.ledger import OUR_FOLDER
from splitscan.jobs.ledger_files import announced_table
from splitscan.jobs.workplace import DestinationStorage, open_destination_storage

PLAIN = "none"
CATALOG_SCHEME = "iceberg://"
"""What the address of a table in a catalog begins with."""

_ICEBERG = "iceberg"
_MODULES = {"delta": ("splitscan.jobs.delta", "deltalake"), _ICEBERG: ("splitscan.jobs.iceberg", "pyiceberg")}
TABLE_FORMATS = (*_MODULES, PLAIN)
"""What a user may name; without a name a destination is what it already is, or a plain folder."""

_MARKS = {"_delta_log/": "delta", "iceberg.db": _ICEBERG}  # what stands in the folder of a table


def open_destination(
    destination: str | os.PathLike[str], table: str | None = None, storage_options: Mapping[str, Any] | None = None
) -> Destination:
    """Open a destination. Nothing is created.

    Args:
        destination: Local path or URI of a folder that need not exist; or ``iceberg://CATALOG/NAMESPACE.TABLE``, a
            table of a catalog that pyiceberg's own settings name.
        table: ``"delta"``, ``"iceberg"`` or ``"none"`` (a plain folder of Parquet). ``None`` for what is there; a plain
            folder if nothing is.
        storage_options: Settings of a remote file system.

    Raises:
        UsageError: ``[bad-option]`` if *table* has no meaning, ``[no-table-format]`` if its library is not installed.
        IngestError: ``[not-a-destination]`` if something of another format is there.
    """
    if table is not None and table not in TABLE_FORMATS:
        raise UsageError(
            "table names the format of the destination", seen=repr(table)[:80],
            fix=f"give one of {', '.join(TABLE_FORMATS)}", code="bad-option",
        )  # fmt: skip
    if isinstance(destination, str) and destination.startswith(CATALOG_SCHEME):
        return _open_registered(destination, table, storage_options or {})
    place = open_destination_storage(destination, storage_options)
    there = _recognise(place)
    wanted = table or there or PLAIN
    if there is not None and wanted != there:
        raise IngestError(
            f"the destination is a table of format {there}", Where(path=place.destination.root), f"table={wanted}",
            f"leave table out, or say table={there}; a folder into which no ingest has ended may also be removed",
            "not-a-destination",
        )  # fmt: skip
    return FolderDestination(place) if wanted == PLAIN else _open_table(wanted, place)


def _recognise(place: DestinationStorage) -> str | None:
    names = place.destination.list_names()
    marked = next((kind for mark, kind in _MARKS.items() if mark in names), None)
    return marked or (announced_table(place.destination) if f"{OUR_FOLDER}/" in names else None)


def _open_registered(address: str, table: str | None, storage_options: Mapping[str, Any]) -> Destination:
    if table not in {None, _ICEBERG}:
        raise UsageError(
            f"{CATALOG_SCHEME} names a table of a catalog of Iceberg", seen=f"table={table}", fix="leave table out",
            code="bad-option",
        )  # fmt: skip
    with _library(_ICEBERG) as module:
        opened: Destination = module.open_registered(address, storage_options)
    return opened


def _open_table(table_format: str, place: DestinationStorage) -> Destination:
    with _library(table_format) as module:
        opened: Destination = module.open_table(place)
    return opened


@contextmanager
def _library(table_format: str) -> Iterator[Any]:
    """The module of a table format, which is imported when it is first needed."""
    module, library = _MODULES[table_format]
    try:
        yield importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a table of format {table_format} is written by {library}, which is not installed", seen=str(error),
            fix=f'pip install "splitscan[{table_format}]", on the driver; workers do without', code="no-table-format",
        ) from error  # fmt: skip
