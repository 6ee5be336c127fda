"""A version of a table of any format, and what the formats share: refusals, new columns, settings of S3."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from splitscan.errors import IngestError, SchemaError, Where, quote_difference, quote_list
from splitscan.jobs.destination import FileState
from splitscan.jobs.ledger import WrittenFile
from splitscan.jobs.settings import Partitioning, SchemaEvolution

T = TypeVar("T")


_DELTA = {
    "key": "AWS_ACCESS_KEY_ID",
    "secret": "AWS_SECRET_ACCESS_KEY",
    "token": "AWS_SESSION_TOKEN",
    "endpoint": "AWS_ENDPOINT_URL",
    "region": "AWS_REGION",
}

_ICEBERG = {
    "key": "s3.access-key-id",
    "secret": "s3.secret-access-key",
    "token": "s3.session-token",
    "endpoint": "s3.endpoint",
    "region": "s3.region",
}


@dataclass(frozen=True)
class NewFile:
    """A data file that is about to be registered."""

    written: WrittenFile
    footer: pq.FileMetaData


@dataclass(frozen=True, slots=True)
class CommitStamp:
    """Stamp of a commit, by which the table names the job: its number, its identity, the SHA-256 of its ledger."""

    number: int
    job_id: str
    ledger_sha256: str


@dataclass(frozen=True, slots=True)
class CommitContext:
    """Schema, with field ids of the table, and partitioning that a job writes by; *is_new* if there was no table."""

    schema: pa.Schema
    partitioning: Partitioning
    evolution: SchemaEvolution
    is_new: bool = False


class TableSnapshot(ABC):
    """A table as it was when it was opened."""

    @abstractmethod
    def columns(self) -> pa.Schema:
        """The columns that it has."""

    @abstractmethod
    def partition_by(self) -> tuple[str, ...]:
        """The columns that it is partitioned by, each by its values as they are; ``[table-unfit]`` otherwise."""

    def with_field_ids(self, schema: pa.Schema) -> pa.Schema:
        """Give a schema the ids by which readers find columns in files, where the format has such."""
        return schema

    @abstractmethod
    def check(self, schema: pa.Schema, evolution: SchemaEvolution) -> None:
        """Make sure that files of this schema can be registered: ``[destination-schema]``, ``[table-unfit]`` if not."""

    @abstractmethod
    def number(self) -> int:
        """Number of the job that was committed last, 0 if there was none."""

    @abstractmethod
    def stamp(self, number: int) -> CommitStamp | None:
        """Read the stamp of the commit of a job; ``None`` if the table does not know it any more."""

    @abstractmethod
    def try_append(
        self, files: Sequence[NewFile], begun: CommitContext, stamp: CommitStamp, removed: Sequence[str] = ()
    ) -> bool:
        """Register files and remove those of these names in one commit on top of this version, after :meth:`check`.

        Its last job is the one before this. Columns that it does not have are added: in that commit, or in one of their
        own before it.

        Returns:
            Whether it was committed. If not, somebody else has committed meanwhile, or the catalog does not know
            whether it did: the caller opens the table again before anything else.
        """

    @abstractmethod
    def live(self) -> set[str]:
        """Names of all data files of the table, relative to it."""

    @abstractmethod
    def reduced(self) -> dict[str, FileState]:
        """Of live data files: those of which others have deleted rows, or may have, and left the file as it is."""

    @abstractmethod
    def removed(self, names: set[str]) -> dict[str, FileState]:
        """Look up the state of files that are not live any more."""


def is_failure(error: Exception) -> bool:
    """Return whether storage or a catalog has failed: by an error of the system, or of any other library.

    Catalogs are reached through libraries of many makers, each with errors of its own.
    """
    library = type(error).__module__.partition(".")[0]
    return isinstance(error, OSError) or library not in {"builtins", "splitscan"}


def new_columns(
    wanted: Mapping[str, T], there: Mapping[str, T], where: str, spell: Callable[[T], str] = str
) -> list[str]:
    """Names of columns that a table does not have; those that it has are of the same type.

    Raises:
        SchemaError: ``[destination-schema]`` if a type differs, or a name in case only.

    Example:
        >>> new_columns({"a": "long", "b": "string"}, {"a": "long"}, "out")
        ['b']
    """
    folded = {name.casefold(): name for name in there}
    new = []
    for name, kind in wanted.items():
        if name in there:
            if there[name] != kind:
                own, known = quote_difference(spell(kind), spell(there[name]))
                seen = f"column {name} is {own}, and {known} in the table"
                raise schema_error(where, seen, "give the column the table's type in the schema")
        elif name.casefold() in folded:
            seen = f"column {name}, and {folded[name.casefold()]} in the table"
            raise schema_error(where, seen, "spell the column as the table does")
        else:
            new.append(name)
    return new


def check_new_columns(new: Sequence[str], evolution: SchemaEvolution, there: Mapping[str, str], where: str) -> None:
    """Refuse columns that a table does not have, unless they are to be added: ``[destination-schema]``."""
    if new and evolution is not SchemaEvolution.ADD:
        columns = quote_list(f"{name} {kind}" for name, kind in there.items())
        raise schema_error(
            where, f"column {quote_list(new[:1])}\n         but the table has: {columns}",
            "add the column to the table (schema_evolution_mode='addNewColumns' does it), or leave it out",
        )  # fmt: skip


def schema_error(where: str, seen: str, fix: str) -> SchemaError:
    """The error for columns that do not fit those of a table."""
    return SchemaError(
        "the rows do not have the columns of the table", Where(path=where), seen, fix, "destination-schema"
    )


def unfit_error(where: str, seen: str) -> IngestError:
    """The error for a table whose rules cannot be kept by who registers finished files."""
    return IngestError(
        "the table has a feature that files written by splitscan do not follow", Where(path=where), seen,
        "ingest into a table without it, and copy the rows from there", "table-unfit",
    )  # fmt: skip


def delta_settings(options: Mapping[str, Any]) -> dict[str, str]:
    """Spell settings as those of the object store that ``deltalake`` brings.

    Names in capitals (``AWS_REGION``) are handed on as they are.

    Example:
        >>> delta_settings({"key": "k", "secret": "s", "endpoint_url": "http://127.0.0.1:5000"})
        ... # doctest: +NORMALIZE_WHITESPACE
        {'AWS_ACCESS_KEY_ID': 'k', 'AWS_SECRET_ACCESS_KEY': 's', 'AWS_ENDPOINT_URL': 'http://127.0.0.1:5000',
         'AWS_ALLOW_HTTP': 'true'}
    """
    found = {_DELTA[name]: value for name, value in _settings(options).items()}
    if found.get("AWS_ENDPOINT_URL", "").startswith("http:"):
        found["AWS_ALLOW_HTTP"] = "true"
    return found | {name: str(value) for name, value in options.items() if name.isupper()}


def iceberg_settings(options: Mapping[str, Any]) -> dict[str, str]:
    """Spell settings as properties of a catalog of ``pyiceberg``.

    Example:
        >>> iceberg_settings({"key": "k", "client_kwargs": {"region_name": "eu-west-1"}})
        {'s3.access-key-id': 'k', 's3.region': 'eu-west-1'}
    """
    return {_ICEBERG[name]: value for name, value in _settings(options).items()}


def options_of_iceberg(properties: Mapping[str, str]) -> dict[str, Any]:
    """Spell the properties of a catalog as settings of fsspec's S3 file system.

    Example:
        >>> options_of_iceberg({"type": "rest", "s3.endpoint": "http://127.0.0.1:5000", "s3.region": "us-east-1"})
        {'endpoint_url': 'http://127.0.0.1:5000', 'client_kwargs': {'region_name': 'us-east-1'}}
    """
    found = {name: properties[spelled] for name, spelled in _ICEBERG.items() if properties.get(spelled)}
    options: dict[str, Any] = {name: found[name] for name in ("key", "secret", "token") if name in found}
    if "endpoint" in found:
        options["endpoint_url"] = found["endpoint"]
    if "region" in found:
        options["client_kwargs"] = {"region_name": found["region"]}
    return options


def _settings(options: Mapping[str, Any]) -> dict[str, str]:
    client = options.get("client_kwargs") or {}
    found = {
        "key": options.get("key"),
        "secret": options.get("secret"),
        "token": options.get("token"),
        "endpoint": options.get("endpoint_url") or client.get("endpoint_url"),
        "region": client.get("region_name"),
    }
    return {name: str(value) for name, value in found.items() if value}
