"""Records inside one object: every command says where they are, and how they are read."""

import pytest

DOCUMENT = '{"fields": [], "data": [[1, 2], [3, 4]]}\n'


@pytest.mark.parametrize("command", ["sniff", "count", "head", "convert", "ingest"])
def test_every_command_tells_where_the_records_are(run, tmp_path, command, caplog, without_spark):
    path, out = tmp_path / "a.json", tmp_path / "out.parquet"
    path.write_text(DOCUMENT)
    code, _, said = run(command, path, *([out] if command in ("convert", "ingest") else []))
    told = said + caplog.text
    assert code == 0
    assert "around the array 'data' of arrays" in told
    assert "-o 'recordPath=$.data[*]'" in told


def test_the_options_that_are_named_read_a_row_of_each_array(run, tmp_path, without_spark):
    (tmp_path / "a.json").write_text(DOCUMENT)
    options = ["-o", "recordPath=$.data[*]", "--schema", "_corrupt_record string", "-o", "mode=PERMISSIVE"]
    assert run("head", tmp_path / "a.json", *options)[:2] == (0, "_corrupt_record\n[1, 2]\n[3, 4]\n")
    assert run("convert", tmp_path / "a.json", tmp_path / "b.csv", *options)[0] == 0
    assert (
        run("ingest", tmp_path / "a.json", tmp_path / "out", *options, "--max-reject-ratio", "1")[0] == 8
    )  # all are rejects, too
