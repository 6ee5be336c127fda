"""Destinations in an object store: one object, the ledger, makes a job visible; its files are moved in after it."""

import pytest

from splitscan.content.storage import open_storage
from splitscan.errors import IngestError
from splitscan.jobs import verify
from splitscan.jobs.folder import FolderDestination
from splitscan.jobs.ledger_files import ledger_name, read_ledgers


class Death(BaseException):
    """The process ends here."""


@pytest.fixture
def bucket(s3_root, s3_options):
    return f"{s3_root}/out", s3_options


def names(bucket):
    storage = open_storage(*bucket)
    return [name for name in storage.list_names() if name.endswith(".parquet")]


def test_an_ingest_into_an_object_store_is_complete_and_verifies(bucket, make_scan, run):
    uri, options = bucket
    report = run(make_scan(bad=1), uri, destination_options=options)
    assert report.rows == 202
    assert len(names(bucket)) == report.data_files
    checked = verify(uri, deep=True, storage_options=options)
    assert checked.ok
    assert checked.digests_checked == report.blocks
    assert open_storage(*bucket).list_names("_splitscan") == ["ledger/", "rejects/"]
    assert run(make_scan(), uri, destination_options=options).nothing_to_do


@pytest.mark.parametrize("survives", [0, 1, 2, 4])
def test_a_commit_that_dies_is_before_or_after_by_its_ledger(bucket, make_scan, run, monkeypatch, survives):
    uri, options = bucket
    steps = []

    original = FolderDestination.commit

    def dying(sink, staging, ledger, announce):
        def mortal(step):
            steps.append(step)
            if len(steps) > survives:
                raise Death

        original(sink, staging, ledger, mortal)

    with monkeypatch.context() as patched:
        patched.setattr(FolderDestination, "commit", dying)
        with pytest.raises(Death):
            run(make_scan(), uri, destination_options=options)
    committed = len(read_ledgers(open_storage(*bucket)))
    assert committed == (survives > 0)
    if committed:
        assert verify(uri, storage_options=options).ok  # rolls it forward
    report = run(make_scan(), uri, destination_options=options)
    assert report.nothing_to_do == bool(committed)
    assert report.blocks_resumed == report.blocks
    assert verify(uri, deep=True, storage_options=options).ok
    assert open_storage(*bucket).list_names("_splitscan") == ["ledger/"]


def test_of_two_ingests_at_the_same_time_only_one_takes_the_number(bucket, make_scan, run, runner):
    uri, options = bucket
    scan = make_scan(["a"])

    def overtaken(reports):
        run(make_scan(["a", "b"]), uri, destination_options=options)
        return reports

    with pytest.raises(IngestError) as caught:
        run(scan, uri, runner(spoil=overtaken), destination_options=options)
    assert caught.value.reason_code == "destination-busy"
    assert verify(uri, deep=True, storage_options=options).rows == 200
    assert run(make_scan(["a", "b"]), uri, destination_options=options).nothing_to_do
    assert open_storage(*bucket).exists(ledger_name(1))
    assert not open_storage(*bucket).exists(ledger_name(2))
