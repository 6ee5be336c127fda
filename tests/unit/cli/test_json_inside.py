"""Records inside one object: every command says where they are, and how they are read."""

import pytest

DOCUMENT = '{"fields": [], "data": [[1, 2], [3, 4]]}\n'


@pytest.mark.parametrize("command", ["sniff", "count", "head", "convert", "ingest"])
def test_every_command_tells_where_the_records_are(run, tmp_path, command, caplog):
    path, out = tmp_path / "a.json", tmp_path / "out.parquet"
    path.write_text(DOCUMENT)
    code, _, said = run(command, path, *([out] if command in ("convert", "ingest") else []))
    told = said + caplog.text
    assert code == 0
    assert "around the array 'data' of arrays" in told
    assert "-o 'recordPath=$.data[*]'" in told
