"""Iceberg tables of catalogs that pyiceberg's own settings name, and tables in an object store."""

from collections import Counter
from types import SimpleNamespace

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.utils.config import Config

from splitscan.content.storage import open_storage
from splitscan.errors import IngestError, SplitscanError, UsageError
from splitscan.jobs import verify
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, plan_ingest, run_ingest

from .conftest import die_at

ADDRESS = "iceberg://house/sales.orders"


@pytest.fixture
def configure(monkeypatch):
    """Say in the environment what the catalog ``house`` is."""

    def set_properties(**properties):
        for name, value in properties.items():
            monkeypatch.setenv(f"PYICEBERG_CATALOG__HOUSE__{name.upper()}", value)
        monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())

    return set_properties


def sql_local(request, configure):
    folder = request.getfixturevalue("tmp_path")
    configure(type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    return ADDRESS, None


def sql_with_own_settings(request, configure):
    """The catalog says how its object store is reached."""
    folder, options = request.getfixturevalue("tmp_path"), request.getfixturevalue("s3_options")
    configure(
        type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=request.getfixturevalue("s3_root"),
        s3__endpoint=options["endpoint_url"], s3__access_key_id="test", s3__secret_access_key="test",
    )  # fmt: skip
    return ADDRESS, None


def sql_with_given_options(request, configure):
    """The user says how the object store is reached, as for any destination."""
    folder = request.getfixturevalue("tmp_path")
    configure(type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=request.getfixturevalue("s3_root"))
    return ADDRESS, request.getfixturevalue("s3_options")


def glue(request, configure):
    endpoint = request.getfixturevalue("s3_options")["endpoint_url"]
    configure(
        type="glue", glue__endpoint=endpoint, glue__region="us-east-1", glue__access_key_id="test",
        glue__secret_access_key="test", warehouse=request.getfixturevalue("s3_root"),
    )  # fmt: skip
    catalog = request.getfixturevalue("s3_root").removeprefix("s3://").replace("-", "")  # the server is shared
    return f"iceberg://house/{catalog}.orders", request.getfixturevalue("s3_options")


def delta(request, configure):
    return f"{request.getfixturevalue('s3_root')}/orders", request.getfixturevalue("s3_options")


REMOTE = {
    place: pytest.param(place, marks=pytest.mark.slow)  # to start an object store takes seconds
    for place in (delta, sql_with_own_settings, sql_with_given_options, glue)
}
PLACES = [sql_local, *REMOTE.values()]


@pytest.fixture(params=PLACES, ids=lambda place: place.__name__)
def place(request, configure, runner):
    """A table in each place: ingest into it, and read its rows."""
    where, options = request.param(request, configure)

    def ingest(scan, chosen=None, **settings):
        table = "delta" if request.param is delta else None
        asked = FileSource(scan), IngestTarget(where, IngestSettings(**settings), options, table=table)
        return run_ingest(*asked, chosen or runner())

    def rows():
        if request.param is delta:
            client = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_ALLOW_HTTP": "true",
                      "AWS_ENDPOINT_URL": options["endpoint_url"], "AWS_REGION": "us-east-1"}  # fmt: skip
            found = DeltaTable(where, storage_options=client).to_pyarrow_table()
        else:
            s3 = {"s3.endpoint": options["endpoint_url"], "s3.access-key-id": "test",
                  "s3.secret-access-key": "test"} if options else {}  # fmt: skip
            found = load_catalog("house", **s3).load_table(where.rpartition("/")[2]).scan().to_arrow()
        return Counter((row["id"], row["text"]) for row in found.to_pylist())

    return SimpleNamespace(where=where, options=options, ingest=ingest, rows=rows)


def expected(scan):
    return Counter((row["id"], row["text"]) for row in scan.to_arrow().to_pylist())


def test_rows_arrive_once_and_verify_agrees(place, make_scan):
    assert place.ingest(make_scan(["a"], rows=4, bad=1), partition_by=("id",)).rejects == 1
    assert place.ingest(make_scan(["a"])).nothing_to_do
    assert place.ingest(make_scan(["a", "b"], rows=4)).files_skipped == 1
    assert place.rows() == expected(make_scan(["a", "b"]))
    report = verify(place.where, deep=True, storage_options=place.options)
    assert (report.problems, report.notes, report.jobs, report.rows) == ((), (), 2, 9)


@pytest.mark.parametrize(
    "place", [sql_local, REMOTE[delta], REMOTE[glue]], indirect=True, ids=lambda place: place.__name__
)
@pytest.mark.parametrize("step", ["table", "ledger"])
def test_a_commit_that_dies_is_finished(monkeypatch, place, make_scan, step):
    die_at(monkeypatch, place.ingest, make_scan(["a"], rows=10), step)
    assert place.ingest(make_scan(["a"])).nothing_to_do == (step == "ledger")
    assert place.rows() == expected(make_scan(["a"]))
    assert verify(place.where, deep=True, storage_options=place.options).problems == ()


def test_a_table_of_others_is_written_where_it_is(configure, request, make_scan, runner, tmp_path):
    sql_local(request, configure)
    catalog = load_catalog("house")
    catalog.create_namespace(("deep", "down"))
    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("more", pa.string())])
    table = catalog.create_table("deep.down.orders", schema, location=f"file://{tmp_path}/elsewhere")
    table.append(pa.table({"id": [-1], "text": ["theirs"], "more": ["x"]}, schema=schema))
    run_ingest(FileSource(make_scan(["a"])), IngestTarget("iceberg://house/deep.down.orders"), runner())
    found = catalog.load_table("deep.down.orders").scan().to_arrow()
    assert (found.num_rows, found["more"].null_count) == (101, 100)
    assert (tmp_path / "elsewhere/_splitscan/ledger/00000001.jsonl").exists()
    assert verify("iceberg://house/deep.down.orders", deep=True).ok


def test_a_dry_run_creates_nothing_and_says_where_the_table_would_be(configure, request, make_scan, tmp_path):
    sql_local(request, configure)
    plan = plan_ingest(FileSource(make_scan(["a"])), IngestTarget(ADDRESS))
    assert plan.destination == f"{tmp_path}/warehouse/sales/orders"
    assert not (tmp_path / "warehouse").exists()
    assert load_catalog("house").list_namespaces() == []


def test_a_catalog_table_is_known_by_its_catalog_only(configure, request, make_scan, run, tmp_path):
    sql_local(request, configure)
    run(make_scan(["a"]), ADDRESS)
    with pytest.raises(IngestError, match=r"the table is gone(.|\n)*iceberg://CATALOG") as caught:
        run(make_scan(["a", "b"]), tmp_path / "warehouse/sales/orders")
    assert caught.value.reason_code == "table-behind"
    load_catalog("house").drop_table("sales.orders")
    assert [problem.code for problem in verify(ADDRESS).problems] == ["table-behind"]


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("iceberg://house", "the address of a table"),
        ("iceberg://house/orders", "the address of a table"),
        ("iceberg://nobody/sales.orders", "URI missing"),
        ("iceberg://house/sales.orders", "has a location"),
    ],
)
def test_addresses_that_lead_nowhere_are_refused(configure, make_scan, run, tmp_path, address, seen):
    configure(type="sql", uri=f"sqlite:///{tmp_path}/catalog.db")
    with pytest.raises(UsageError, match=seen) as caught:
        run(make_scan(["a"]), address)
    assert caught.value.reason_code == "bad-path"


NOWHERE = "127.0.0.1:1"
FAILING = {
    "a library that is not installed": ({"type": "hive", "uri": f"thrift://{NOWHERE}"}, "no-table-format", "hive"),
    "another one": ({"type": "bigquery", "uri": "x"}, "no-table-format", "bigquery"),
    "a driver that is not installed": (
        {"type": "sql", "uri": f"postgresql+psycopg2://u:hunter2@{NOWHERE}/db"}, "no-table-format", "sql-postgres",
    ),
    "a database that is none": ({"type": "sql", "uri": "nodb://u:hunter2@h/db"}, "destination-failed", "nodb"),
    "an address of a database that is none": ({"type": "sql", "uri": "hunter2"}, "destination-failed", "URL"),
    "a folder that is not there": ({"type": "sql", "uri": "sqlite:////none/c.db"}, "destination-failed", "unable"),
    "a file that is no database": (
        {"type": "sql", "uri": "sqlite:///{file}"}, "destination-failed", "not a database",
    ),
    "a server that does not answer": ({"type": "rest", "uri": f"http://{NOWHERE}/"}, "destination-failed", "refused"),
    "a server that is reached by a password": (
        {"type": "rest", "uri": f"http://u:hunter2@{NOWHERE}/", "token": "hunter2"}, "destination-failed", "refused",
    ),
    "a cloud without a region": ({"type": "glue", "uri": "x"}, "destination-failed", "region"),
    "another cloud without a region": ({"type": "dynamodb", "uri": "x"}, "destination-failed", "region"),
    "a host that is none": ({"uri": "http://[::1"}, "bad-path", "not a valid host"),
    "a kind that is none": ({"type": "odd", "uri": "x"}, "bad-path", "odd"),
    "no address": ({"type": "sql"}, "bad-path", "URI missing"),
}  # fmt: skip


@pytest.mark.thin(4)
@pytest.mark.parametrize(("properties", "code", "seen"), FAILING.values(), ids=FAILING)
def test_a_catalog_that_fails_is_an_error_that_says_so(
    configure, make_scan, run, tmp_path, monkeypatch, properties, code, seen
):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    (tmp_path / "file").write_bytes(b"no database at all " * 100)
    configure(**{name: value.format(file=tmp_path / "file") for name, value in properties.items()})
    for ask in (lambda: run(make_scan(["a"]), ADDRESS), lambda: verify(ADDRESS)):
        with pytest.raises(SplitscanError, match=seen) as caught:
            ask()
        assert caught.value.reason_code == code
        assert caught.value.__cause__ is None
        assert "hunter2" not in str(caught.value)


def test_a_catalog_that_breaks_between_two_runs_is_an_error_that_says_so(configure, request, make_scan, run, tmp_path):
    address, _ = sql_local(request, configure)
    run(make_scan(["a"]), address)
    (tmp_path / "catalog.db").write_bytes(b"no database at all " * 100)
    for ask in (lambda: run(make_scan(["a", "b"]), address), lambda: verify(address)):
        with pytest.raises(IngestError, match="not a database") as caught:
            ask()
        assert caught.value.reason_code == "destination-failed"


class ServiceError(Exception):
    """As a library of a catalog raises it, without a parent that anybody knows."""


def test_whatever_a_library_of_a_catalog_raises_is_named_and_a_mistake_of_the_code_is_not(
    configure, request, make_scan, run, monkeypatch
):
    address, _ = sql_local(request, configure)
    monkeypatch.setattr(ServiceError, "__module__", "cloud.errors")
    for raised, expected in ((ServiceError("throttled"), IngestError), (TypeError("a mistake"), TypeError)):

        def fail(*_arguments, raised=raised, **_named):
            raise raised

        with monkeypatch.context() as patch:
            patch.setattr(SqlCatalog, "commit_table", fail)
            with pytest.raises(expected, match=str(raised)):
                run(make_scan(["a"]), address)
    assert run(make_scan(["a"]), address).blocks_resumed > 0


def test_an_address_is_no_table_of_another_format(make_scan, runner):
    with pytest.raises(UsageError, match="names a table of a catalog of Iceberg"):
        run_ingest(FileSource(make_scan(["a"])), IngestTarget(ADDRESS, table="delta"), runner())


def test_a_catalog_of_its_own_is_local(make_scan, runner, s3_root, s3_options):
    with pytest.raises(UsageError, match=r"iceberg://CATALOG/NAMESPACE\.TABLE"):
        run_ingest(
            FileSource(make_scan(["a"])),
            IngestTarget(f"{s3_root}/out", destination_options=s3_options, table="iceberg"),
            runner(),
        )
    assert open_storage(s3_root, s3_options).list_names() == []
