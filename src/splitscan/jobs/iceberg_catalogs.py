"""Catalogs of Iceberg tables: one in the folder of the table, or one that pyiceberg's settings name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, NotInstalledError
from pyiceberg.table import Table

from splitscan.content.storage import redact
from splitscan.errors import IngestError, SplitscanError, UsageError, Where
from splitscan.jobs.table_format import iceberg_settings, is_failure, options_of_iceberg
from splitscan.jobs.workplace import DestinationStorage, open_destination_storage

CATALOG_NAME = "iceberg.db"
"""The catalog of a folder that is a destination of its own."""

_NAMESPACE, _TABLE = "splitscan", "records"
_ADDRESS = re.compile(r"iceberg://(?P<catalog>[^/]+)/(?P<namespace>[^/]+)\.(?P<table>[^/.]+)")
_NO_PATH = "%#?"  # pyiceberg reads local paths as URIs, in which these have a meaning


@dataclass(frozen=True)
class Registration:
    """A table's entry in the catalog that pyiceberg's settings name, or in that of its folder; it need not be there."""

    place: DestinationStorage
    identifier: tuple[str, ...]
    named: Catalog | None = None

    @property
    def uri(self) -> str:
        """The folder, as a URI."""
        root = self.place.destination.root
        return f"file://{root}" if self.place.is_local else root

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog, opened once: to open it costs more than to ask it. That of the folder is created if missing."""
        if self.named is not None:
            return self.named
        folder = self.place.destination.root
        return SqlCatalog("splitscan", uri=f"sqlite:///{folder}/{CATALOG_NAME}", warehouse=self.uri)

    def load(self) -> Table | None:
        """The table as it is, ``None`` if it is not there."""
        if self.named is None and not self.place.destination.exists(CATALOG_NAME):
            return None
        try:
            return self.catalog.load_table(self.identifier)
        except NoSuchTableError:
            return None


def register_in(place: DestinationStorage) -> Registration:
    """The entry of a destination in the catalog of its own folder; ``[bad-path]`` if it cannot have one."""
    root = place.destination.root
    if not place.is_local or any(character in root for character in _NO_PATH):
        raise UsageError(
            "an Iceberg table with its own catalog lies in a local folder without %, # and ? in its path",
            Where(path=root), fix="name another folder, or a table of a catalog: iceberg://CATALOG/NAMESPACE.TABLE",
            code="bad-path",
        )  # fmt: skip
    return Registration(place, (_NAMESPACE, _TABLE))


def find_registered(address: str, storage_options: Mapping[str, Any]) -> Registration:
    """Look up a table by its address, ``iceberg://CATALOG/NAMESPACE.TABLE``; pyiceberg's own settings name the catalog.

    *storage_options* of fsspec's file system hold for the catalog too; without any, those of the catalog hold for both.

    Raises:
        UsageError: ``[bad-path]`` if there is no such catalog, or nothing says where a table of it is to lie;
            ``[no-table-format]`` if a library that it needs is not installed.
        IngestError: ``[destination-failed]`` if it does not answer, or refuses.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise _bad(address, "the address of a table in a catalog", "write iceberg://CATALOG/NAMESPACE.TABLE")
    identifier = (*match["namespace"].split("."), match["table"])
    with _translating_errors(address, storage_options):
        catalog = load_catalog(match["catalog"], **iceberg_settings(storage_options))
        location = _location(catalog, identifier, address)
    options = {**options_of_iceberg(catalog.properties), **storage_options}
    place = open_destination_storage(location, options)
    if place.is_local and any(character in place.destination.root for character in _NO_PATH):
        raise _bad(address, place.destination.root, "let it lie in a folder without %, # and ? in its path")
    return Registration(place, identifier, catalog)


@contextmanager
def _translating_errors(address: str, storage_options: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except SplitscanError:
        raise
    except Exception as error:
        shown = redact(f"{type(error).__name__}: {error}", storage_options)[:300]
        if isinstance(error, (ImportError, NotInstalledError)):
            raise UsageError(
                "the catalog is reached by a library that is not installed", Where(path=address), shown,
                "install the extra of pyiceberg that it belongs to, on the driver", "no-table-format",
            ) from None  # fmt: skip
        if isinstance(error, (ValueError, KeyError)):
            raise _bad(address, shown, "name a catalog in ~/.pyiceberg.yaml or in the environment") from None
        if not is_failure(error):
            raise
        raise IngestError(
            "the catalog does not answer, or refuses", Where(path=address), shown,
            "look at its settings in ~/.pyiceberg.yaml or in the environment, and whether it runs; then run again",
            "destination-failed",
        ) from None  # fmt: skip


def _location(catalog: Catalog, identifier: tuple[str, ...], address: str) -> str:
    try:
        return catalog.load_table(identifier).location()
    except NoSuchTableError:
        *namespace, table = identifier
    try:
        own = catalog.load_namespace_properties(tuple(namespace)).get("location")
    except NoSuchNamespaceError:
        own = None
    if own:
        return f"{own.rstrip('/')}/{table}"
    warehouse = catalog.properties.get("warehouse", "")
    if "://" in warehouse or warehouse.startswith("/"):
        return "/".join((warehouse.rstrip("/"), *namespace, table))
    raise _bad(
        address, "neither namespace nor catalog has a location", "create the table, or give the catalog a warehouse"
    )


def _bad(address: str, seen: str, fix: str) -> UsageError:
    return UsageError("no table of a catalog can be found by this address", Where(path=address), seen, fix, "bad-path")
