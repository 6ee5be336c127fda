from __future__ import annotations

import pickle

import pytest

from splitscan.errors import UsageError
from splitscan.formats.registry import parse_options
from splitscan.options import FileOptions, StorageOptions

SECRET = "hunter2"


@pytest.mark.parametrize(
    "value",
    [{"secret": SECRET, "n": {"token": SECRET}}, '{"secret": "hunter2", "n": {"token": "hunter2"}}'],
    ids=["mapping", "json"],
)
def test_settings_are_a_mapping_or_its_json(value):
    settings = parse_options("csv", {"storageOptions": value}).files.storage_options
    assert dict(settings) == {"secret": SECRET, "n": {"token": SECRET}}
    assert len(settings) == 2


def test_secrets_never_appear_when_options_are_shown():
    options = parse_options("csv", {"storageOptions": {"secret": SECRET, "client_kwargs": {"token": SECRET}}})
    for shown in (repr(options), str(options), repr(options.files), f"{options.files.storage_options}"):
        assert SECRET not in shown
    assert "StorageOptions(client_kwargs=***, secret=***)" in repr(options)


def test_secrets_of_directly_made_file_options_are_hidden_too():
    files = FileOptions(storage_options={"secret": SECRET})
    assert isinstance(files.storage_options, StorageOptions)
    assert SECRET not in repr(files)
    assert files.storage_options["secret"] == SECRET


@pytest.mark.parametrize(
    "value",
    [f'{{"secret": "{SECRET}"', f'["{SECRET}"]', SECRET, {"secret": SECRET, "x": object()}, {1: SECRET}, 5, [SECRET]],
    ids=["torn", "list text", "word", "object", "number as key", "number", "list"],
)
def test_settings_of_the_wrong_kind_are_refused_without_showing_them(value):
    with pytest.raises(UsageError, match="option storageOptions takes a JSON object or a dict") as caught:
        parse_options("csv", {"storageOptions": value})
    error: BaseException | None = caught.value
    assert caught.value.reason_code == "bad-option"
    assert SECRET not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__


def test_two_settings_that_differ_are_refused_without_showing_them():
    with pytest.raises(UsageError, match="are the same option with two values") as caught:
        parse_options("csv", {"storageOptions": {"secret": SECRET}, "storage_options": {"secret": "other"}})
    assert SECRET not in str(caught.value)
    assert "***" not in str(caught.value)


def test_equal_settings_in_two_spellings_are_one():
    raw = {"storageOptions": '{"a": 1, "b": 2}', "storage_options": {"b": 2, "a": 1}}
    assert parse_options("csv", raw).files.storage_options == StorageOptions({"a": 1, "b": 2})


def test_settings_travel_with_their_values():
    settings = StorageOptions({"secret": SECRET, "list": [1, None]})
    copy = pickle.loads(pickle.dumps(settings))
    assert copy == settings
    assert hash(copy) == hash(settings)
    assert copy["secret"] == SECRET


def test_settings_cannot_be_changed_through_what_they_hand_out():
    inner = {"a": [1]}
    settings = StorageOptions({"inner": inner})
    inner["a"].append(2)
    settings["inner"]["a"].append(3)
    assert settings["inner"] == {"a": [1]}


def test_settings_that_would_change_on_the_way_are_refused():
    for lossy in ({"a": (1, 2)}, {"a": {1: 2}}, {"a": b"x"}, {"a": {1, 2}}, {"a": float("nan")}):
        with pytest.raises(UsageError, match="takes texts as keys and JSON values"):
            StorageOptions(lossy)


def test_settings_differ_from_other_settings_and_from_dicts():
    assert StorageOptions({"a": 1}) != StorageOptions({"a": 2})
    assert StorageOptions({"a": 1}) != {"a": 1}
    assert "b" not in StorageOptions({"a": 1})
    with pytest.raises(KeyError, match="b"):
        StorageOptions({"a": 1})["b"]


@pytest.mark.parametrize("name", ["blockSize", "block_bytes", "block_size"])
def test_the_block_size_has_several_names(name):
    assert parse_options("csv", {name: "1 KiB"}).files.block_bytes == 1024


def test_every_file_option_reaches_its_field():
    raw = {
        "pathGlobFilter": "*.csv", "recursiveFileLookup": "true", "ignoreMissingFiles": True,
        "ignoreCorruptFiles": "true",
        "basePath": "/data", "onFileChange": "ignore", "taskSize": "1g", "openCostInBytes": "0", "minPartitionNum": "9",
    }  # fmt: skip
    files = parse_options("slices", raw).files
    assert (files.path_glob_filter, files.recursive_file_lookup, files.base_path) == ("*.csv", True, "/data")
    assert (files.ignore_missing_files, files.ignore_corrupt_files) == (True, True)
    assert (files.on_file_change.value, files.task_bytes) == ("ignore", 1 << 30)
    assert (files.open_cost_bytes, files.min_partitions) == (0, 9)
