"""A plain folder of Parquet: its columns, its partitions, and commits in the layout that it has.

A killed commit leaves the destination as before or as after. What it prepared beside the destination is thrown away or
used again by the next run; what it had announced in a ledger is moved in by :meth:`FolderDestination.finish`.
"""

from __future__ import annotations

from contextlib import closing

import pyarrow as pa

from splitscan.content.storage import open_source
from splitscan.errors import (
    IngestError,
    SchemaError,
    SourceMissingError,
    UsageError,
    Where,
    bad_option,
    quote_difference,
)
from splitscan.jobs.destination import Announce, Destination
from splitscan.jobs.folder_layouts import LAYOUTS, appear, missing_error
from splitscan.jobs.history import History
from splitscan.jobs.ledger import Ledger, describe_columns, only_appends
from splitscan.jobs.ledger_files import check_ours, read_ledger
from splitscan.jobs.parquet import read_footer
from splitscan.jobs.settings import (
    IngestSettings,
    Layout,
    Partitioning,
    SchemaEvolution,
    carrier_name,
    choose_partitioning,
    first_of,
)
from splitscan.jobs.staging import Staging
from splitscan.jobs.workplace import DestinationStorage


class FolderDestination(Destination):
    """A folder of Parquet files, read as it is.

    The first job appears with its folder, by one rename; how every later one is published, the layout of the folder
    says. What that costs depends on the new files only.
    """

    def columns(self, history: History) -> pa.Schema | None:
        """The columns of all jobs: those of any file, and those that the folders of partitions hold."""
        if not history.jobs:
            return None
        own = pa.schema([])
        for sequence in range(history.last, 0, -1):  # the first job has a file, and most have
            ledger = read_ledger(self.place.destination, sequence)
            if files := [each.name for each in ledger.data_files if each.name not in history.removed]:
                own = self._schema_of(files[0])
                break
        there = {column.name: column for column in own}
        return pa.schema([
            there.get(each.name) or pa.field(each.name, pa.type_for_alias(each.type), each.nullable)
            for each in history.columns
        ])  # fmt: skip

    def _schema_of(self, name: str) -> pa.Schema:
        path = self.place.destination.path_of(name)
        try:
            with closing(open_source(path, self.place.storage_options)) as source:
                return read_footer(source.read_at, source.size_bytes).schema.to_arrow_schema()
        except SourceMissingError as error:  # somebody removed it
            raise missing_error(name, self.place.destination.root) from error

    def check(self, schema: pa.Schema, history: History, settings: IngestSettings) -> Partitioning:
        if not history.jobs:
            check_ours(self.place.destination)
            if settings.layout is Layout.JOBS and not self.place.is_local:
                raise self._no_rename()
            partitioning = Partitioning(settings.partition_by or (), layout=settings.layout or Layout.FLAT)
            partitioning.check(schema)
            return partitioning
        self._check_no_table(history)
        if settings.layout not in {None, history.partitioning.layout}:
            raise self._mixed(settings.layout, history.partitioning.layout)
        columns = describe_columns(schema)
        grows = settings.schema_evolution_mode is SchemaEvolution.ADD and only_appends(history.columns, columns)
        if grows or history.columns == columns:
            partitioning = choose_partitioning(settings.partition_by, history.partitioning, self.place.destination.root)
            partitioning.check(schema)
            return partitioning
        there, new = quote_difference(", ".join(map(str, history.columns)), ", ".join(map(str, columns)))
        raise SchemaError(
            "all jobs of one destination write the same columns, in the same order; new ones are added after them",
            Where(path=self.place.destination.root),
            f"{new}\n         but the destination has: {there}",
            "give the destination's schema, or ingest into another destination; schema_evolution_mode='addNewColumns' "
            "adds columns that may hold nulls", "destination-schema",
        )  # fmt: skip

    def carriers(self, history: History, ledger: Ledger) -> list[str]:
        """A file without rows where there is no other, and one before all others where columns are new.

        Most readers take the columns of the file that they find first for those of all. Old files are never written
        again, and later jobs write all columns; so the first file has them all.
        """
        partitioning = ledger.partitioning
        layout = LAYOUTS[partitioning.layout]
        names = first_of([*history.first, *(written.name for written in layout.placed(ledger).data_files)])
        is_first_left = not {each.name for each in ledger.removed}.isdisjoint(history.first)
        if names and not is_first_left and (not history.jobs or history.columns == ledger.columns):
            return []
        folders = {name[: name.rfind("/") + 1] for name in names}
        nulls = partitioning.folder_of([None] * len(partitioning.columns))
        carriers = [carrier_name(folder, ledger.sequence) for folder in sorted(folders or {nulls})]
        return [layout.waits_as(name, ledger.sequence) for name in carriers]

    def commit(self, staging: Staging, ledger: Ledger, announce: Announce) -> Ledger:
        layout = LAYOUTS[ledger.partitioning.layout]
        ledger = layout.placed(ledger)
        if ledger.sequence == 1 and self.place.is_beside and not self.place.destination.list_names():
            appear(self.place, layout, staging, ledger, announce)
        else:
            layout.add(self.place, staging, ledger, announce)
        return ledger

    def unfinished(self, history: History) -> list[int]:
        self._check_no_table(history)
        return LAYOUTS[history.partitioning.layout].unfinished(self.place, history)

    def finish(self, number: int, history: History) -> None:
        LAYOUTS[history.partitioning.layout].finish(self.place, number, history)

    def _no_rename(self) -> UsageError:
        return bad_option(
            "layout=jobs makes a job visible by renaming its folder, and only a mounted file system does that in one "
            "step: an object store copies file after file",
            self.place.destination.root,
            "ingest into a table, with table='delta' or table='iceberg', whose commits are one step on object "
            "stores too; or leave layout out",
        )

    def _mixed(self, wanted: Layout | None, there: Layout) -> IngestError:
        return IngestError(
            "all jobs of one destination lie in it in the same layout: engines that find folders pass over the files "
            "beside them", Where(path=self.place.destination.root),
            f"layout={wanted.value if wanted else None}, but the destination has: {there.value}",
            "leave out layout, or ingest into another destination", "destination-layout",
        )  # fmt: skip

    def _check_no_table(self, history: History) -> None:
        """Refuse what is left of a table: its files without its metadata are no folder of rows."""
        if history.table:
            raise IngestError(
                f"the ledgers are those of a table of format {history.table}, and the table is gone",
                Where(path=self.place.destination.root), "neither a _delta_log nor an iceberg.db",
                "restore the table's metadata from a backup, or ingest into a new destination; "
                "a table of a catalog is written as iceberg://CATALOG/NAMESPACE.TABLE", "table-behind",
            )  # fmt: skip


def open_table(place: DestinationStorage) -> FolderDestination:
    """Open a plain folder, as the modules of table formats open a table; it need not be there."""
    return FolderDestination(place)
