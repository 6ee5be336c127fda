"""Where an Iceberg table is registered: in a catalog of its own folder, or in one that pyiceberg's settings name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import Table

from splitscan.content.storage import redact
from splitscan.errors import UsageError, Where
from splitscan.sinks.table_contract import iceberg_settings, options_of_iceberg
from splitscan.sinks.workplace import Workplace, open_workplace

CATALOG_NAME = "iceberg.db"
"""The catalog of a folder that is a destination of its own."""

_NAMESPACE, _TABLE = "splitscan", "records"
_ADDRESS = re.compile(r"iceberg://(?P<catalog>[^/]+)/(?P<namespace>[^/]+)\.(?P<table>[^/.]+)")
_NO_PATH = "%#?"  # pyiceberg reads local paths as URIs, in which these have a meaning


@dataclass(frozen=True)
class Registration:
    """A table's entry in a catalog; neither need be there.

    Attributes:
        place: The folder of the table.
        identifier: Namespace and name.
        named: The catalog, if pyiceberg's settings name it; ``None`` for that in the folder.
    """

    place: Workplace
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


def register_in(place: Workplace) -> Registration:
    """The entry of a destination in the catalog of its own folder.

    Raises:
        UsageError: ``[bad-path]`` if the folder is not local, or its path has a character that URIs give a meaning.
    """
    root = place.destination.root
    if not place.is_local or any(character in root for character in _NO_PATH):
        raise UsageError(
            "an Iceberg table with its own catalog lies in a local folder without %, # and ? in its path",
            Where(path=root), fix="name another folder, or a table of a catalog: iceberg://CATALOG/NAMESPACE.TABLE",
            code="bad-path",
        )  # fmt: skip
    return Registration(place, (_NAMESPACE, _TABLE))


def find_registered(address: str, storage_options: Mapping[str, Any]) -> Registration:
    """Look up a table by its address, ``iceberg://CATALOG/NAMESPACE.TABLE``.

    Args:
        address: It names a catalog of pyiceberg's own settings.
        storage_options: Settings of fsspec's file system. They hold for the catalog too; without any, those of the
            catalog hold for both.

    Raises:
        UsageError: ``[bad-path]`` if there is no such catalog, or nothing says where a table of it is to lie.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise _bad(address, "the address of a table in a catalog", "write iceberg://CATALOG/NAMESPACE.TABLE")
    try:
        catalog = load_catalog(match["catalog"], **iceberg_settings(storage_options))
    except (ValueError, KeyError) as error:
        raise _bad(
            address, redact(str(error))[:300], "name a catalog in ~/.pyiceberg.yaml or in the environment"
        ) from None
    identifier = (*match["namespace"].split("."), match["table"])
    options = {**options_of_iceberg(catalog.properties), **storage_options}
    place = open_workplace(_location(catalog, identifier, address), options)
    if place.is_local and any(character in place.destination.root for character in _NO_PATH):
        raise _bad(address, place.destination.root, "let it lie in a folder without %, # and ? in its path")
    return Registration(place, identifier, catalog)


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
