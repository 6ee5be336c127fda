"""Files that are read ahead and decoded together give what each gives when it is read alone."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import splitscan as ss
from splitscan.blocks import BlockMetadata, Reject
from splitscan.errors import SourceChangedError, SourceMissingError, SplitscanError
from splitscan.scan import BlockScan
from splitscan.scan.readers import files_ahead
from splitscan.scan.readers.files_ahead import FilesAhead

_RECORDS = [
    "1,a\n", "1,a\n", "2,b\r\n", "x,b\n", "2\n", "3,c,d\n", '4,"e\nf"\n', '5,"g""h"\n', '6,"i"j\n', "\n", " 7 , k \n",
    '8,"open\n', "9,é", "10,l\r", "#11,m\n", "0x1F,n\n", "-,\n", ',"-"\n', "99999999999,o\n",
]  # fmt: skip
_HEADERS = ["", "", "a,b\n", "a,b\n", "A,B\r\n", "b,a\n", "a,c\n", "\ufeffa,b\n"]
_FILES = st.lists(
    st.tuples(st.sampled_from(_HEADERS), st.lists(st.sampled_from(_RECORDS), max_size=6).map("".join)).map("".join),
    min_size=2,
    max_size=6,
)
_OPTIONS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]),
        "multi_line": st.booleans(),
        "escape": st.sampled_from(['"', '"', "\\"]),
        "header": st.sampled_from([None, "position", "name", "ignored"]),
        "line_sep": st.sampled_from([None, None, "\n"]),
        "comment": st.sampled_from([None, None, "#"]),
        "ignore_leading_white_space": st.booleans(),
        "null_value": st.sampled_from(["", "-"]),
        "encoding": st.sampled_from(["UTF-8", "UTF-8", "UTF-16LE", "ISO-8859-1"]),
        "metadata_columns": st.sampled_from([None, "file_name,record_offset,record_length"]),
        "max_record_bytes": st.sampled_from([None, 6]),
    }
)
_SCHEMAS = ["a int, b string", "a int, b string, _corrupt_record string", "a int not null, b string"]


def _scan(folder: Path, files: list[str], schema: str, asked: dict[str, Any]) -> ss.Scan:
    for number, text in enumerate(files):
        (folder / f"{number}.csv").write_bytes(text.encode(asked["encoding"], "replace"))
    header = asked.pop("header")
    if header is not None:
        asked |= {"header": True, "enforce_schema": header == "ignored"}
    if header == "name":
        asked["header_mapping"] = "byName"
    return ss.scan_csv(str(folder), schema, **{name: value for name, value in asked.items() if value is not None})


def _read(scan: ss.Scan, blocks: list[BlockMetadata], ahead: FilesAhead | None) -> list[Any]:
    """Rows, rejects and report, or the error, of each file."""
    results: list[Any] = []
    for block in blocks:
        rejects: list[Reject] = []
        read = BlockScan(scan.spec, block, on_reject=rejects.append, with_digest=True, ahead=ahead)
        try:
            rows = [row for batch in read for row in batch.to_pylist()]
            results.append((rows, rejects, read.report))
        except SplitscanError as error:
            results.append((type(error), str(error), rejects))
    return results


@given(files=_FILES, asked=_OPTIONS, schema=st.sampled_from(_SCHEMAS))
def test_a_file_gives_what_it_gives_alone(files: list[str], asked: dict[str, Any], schema: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scan = _scan(Path(folder), files, schema, dict(asked))
        blocks = scan.plan()
        alone = _read(scan, blocks, None)
        assert _read(scan, blocks, FilesAhead(scan.spec, blocks, with_digest=True)) == alone
        event(f"mode {asked['mode']}, {'an error' if any(isinstance(each[0], type) for each in alone) else 'rows'}")


def _folder(tmp_path: Path, files: int, rows: int = 3) -> ss.Scan:
    for number in range(files):
        (tmp_path / f"{number:03}.csv").write_text("".join(f"{row},x{number}\n" for row in range(rows)))
    return ss.scan_csv(str(tmp_path), "a int, b string")


def test_files_are_decoded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[int] = []
    together = files_ahead._decode_together
    monkeypatch.setattr(
        files_ahead, "_decode_together", lambda one, files: (joined.append(len(files)), together(one, files))
    )
    assert _folder(tmp_path, 10).to_arrow().num_rows == 30
    assert joined == [10]


def test_no_more_is_held_than_a_mebibyte(tmp_path: Path) -> None:
    scan = _folder(tmp_path, 30, 10_000)
    blocks = scan.plan()
    ahead = FilesAhead(scan.spec, blocks)
    for block in blocks:
        ahead.take(block)
        held = sum(len(step.data) for _, read in ahead._ready if read is not None for step in read.steps)
        assert held <= files_ahead._AHEAD_BYTES


def test_a_file_that_vanishes_or_changes_before_its_turn_fails_in_its_turn(tmp_path: Path) -> None:
    scan = _folder(tmp_path, 5)
    blocks = scan.plan()
    (tmp_path / "002.csv").unlink()
    (tmp_path / "003.csv").write_text("another version\n")
    ahead = _read(scan, blocks, FilesAhead(scan.spec, blocks, with_digest=True))
    assert [each[0] if isinstance(each[0], type) else len(each[0]) for each in ahead] == [
        3, 3, SourceMissingError, SourceChangedError, 3,
    ]  # fmt: skip
    assert ahead == _read(scan, blocks, None)


def test_rows_come_before_the_error_of_a_later_file(tmp_path: Path) -> None:
    scan = _folder(tmp_path, 5)
    scan.files()
    (tmp_path / "003.csv").unlink()
    rows: list[int] = []
    with pytest.raises(SourceMissingError):
        rows.extend(batch.num_rows for batch in scan.to_batches())
    assert sum(rows) == 9


def test_a_limit_opens_no_file_that_it_does_not_need(tmp_path: Path) -> None:
    scan = _folder(tmp_path, 5)
    scan.files()
    (tmp_path / "003.csv").unlink()
    assert sum(batch.num_rows for batch in scan.limit(9).to_batches()) == 9


def test_small_batches_of_several_files_become_one(tmp_path: Path) -> None:
    scan = _folder(tmp_path, 50).select("file_name", "a", "b")
    batches = list(scan.to_batches())
    assert [batch.num_rows for batch in batches] == [150]
    expected = [{"file_name": f"{n:03}.csv", "a": row, "b": f"x{n}"} for n in range(50) for row in range(3)]
    assert batches[0].to_pylist() == expected
