import os
import pickle
import re
import subprocess
import sys

import pytest
import typer
from pyspark import cloudpickle

import splitscan
from splitscan.api.files import Scan
from splitscan.cli import main, reading
from splitscan.cli.program import OUTPUT_CLOSED, app
from splitscan.errors import InvariantError

COMMANDS = ["ingest", "verify", "count", "head", "schema", "blocks", "options", "index"]
HEAVY = {"pyspark", "pandas", "fsspec", "duckdb", "polars", "s3fs", "rich", "pyarrow.parquet", "splitscan.jobs.steps"}


def in_a_process(*args, **options):
    command = [sys.executable, "-m", "splitscan", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)


def test_the_version_is_printed(run):
    assert run("--version") == (0, f"splitscan {splitscan.__version__}\n", "")


def test_help_names_every_command_and_every_exit_code(run):
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    for command in COMMANDS:
        assert f"\n  {command} " in out
    for known in ("0", "1", "2", "3", "4", "5", "70", "130", "141", "143"):
        assert f"\n    {known:>3}  " in out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_examples_and_fits_the_terminal(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "Examples:\n" in out
    assert f"    splitscan {command}" in out
    assert "\x1b" not in out
    prose = out.partition("Examples:")[0]
    assert max(len(line) for line in prose.splitlines()) <= 80


GROUP = typer.main.get_command(app)
OPTION = re.compile(r"^ {2}(-[a-z], )?--[a-z-]+", re.MULTILINE)


@pytest.mark.parametrize("command", GROUP.list_commands(GROUP.make_context("splitscan", [], resilient_parsing=True)))
def test_the_first_help_of_a_command_shows_at_most_fifteen_options(run, command):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    shown = [
        match[0].split()[-1] for match in OPTION.finditer(re.split(r"^\S.*:\n", out, maxsplit=1, flags=re.MULTILINE)[1])
    ]
    assert 0 < len(shown) <= 15
    if "--help-all" in shown:
        code, everything, _ = run(command, "--help-all")
        names = {match[0].split()[-1] for match in OPTION.finditer(everything)}
        flags = [param for param in GROUP.get_command(None, command).params if param.param_type_name == "option"]
        assert code == 0
        assert all(names.intersection(param.opts) for param in flags if not param.hidden)
        assert set(shown) < names


def test_without_a_command_the_help_goes_to_standard_error(run):
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: splitscan")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["cuont"], "error: No such command 'cuont'"),
        (["--nope"], "error: No such option: --nope"),
        (["count"], "error: Missing argument 'SRC...'"),
        (["head", "a.csv", "-n", "many"], "error: Invalid value for '--limit' / '-n'"),
        (["ingest", "out"], "error: Missing argument 'DEST'"),
    ],
)
def test_mistakes_on_the_command_line_are_told_like_all_others(run, args, message):
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert err.startswith(message)
    assert "[usage]\n  fix:   see splitscan" in err
    assert "Traceback" not in err


def test_an_error_is_told_in_four_facts_without_a_traceback(run, tmp_path):
    missing = tmp_path / "nope.csv"
    assert run("count", missing) == (
        3,
        "",
        f"error: Path does not exist: {missing} [path-not-found]\n"
        f"  where: {missing}\n"
        "  seen:  no such file or directory\n"
        "  fix:   check the spelling, and that this machine can see the storage\n",
    )


@pytest.mark.parametrize("args", [["--debug", "count"], ["count", "--debug"]])
def test_debugging_shows_the_traceback_too(run, tmp_path, monkeypatch, args):
    monkeypatch.setenv("SPLITSCAN_DEBUG", "0")
    code, _, err = run(*args, tmp_path / "nope.csv")
    assert code == 3
    assert err.startswith("Traceback")
    assert "\nerror: Path does not exist" in err
    assert os.environ["SPLITSCAN_DEBUG"] == "1"


def test_behind_two_dashes_everything_is_a_path(run):
    code, _, err = run("count", "--", "--debug")
    assert code == 3
    assert "--debug [path-not-found]" in err
    assert "Traceback" not in err


def test_an_error_that_nobody_raised_on_purpose_asks_for_a_report(run, basic, monkeypatch):
    def fail(self, on_bytes):
        raise KeyError("oops")

    monkeypatch.setattr(Scan, "count_rows", fail)
    assert run("count", basic, "-o", "dialect=spark") == (
        1,
        "",
        "error: unexpected KeyError [error]\n  seen:  'oops'\n"
        "  fix:   run again with --debug and report what it prints\n",
    )


def test_a_broken_law_has_its_own_exit_code(run, basic, monkeypatch):
    def fail(self, on_bytes):
        raise InvariantError("two and two are four")

    monkeypatch.setattr(Scan, "count_rows", fail)
    assert run("count", basic)[0] == 70


def test_control_characters_in_an_error_do_not_reach_the_terminal(run):
    _, _, err = run("count", "no\x1bpe.csv")
    assert "\x1b" not in err
    assert "no␛pe.csv" in err


def test_interrupting_a_command_is_no_traceback(run, basic, monkeypatch):
    def interrupt(self, on_bytes):
        raise KeyboardInterrupt

    monkeypatch.setattr(Scan, "count_rows", interrupt)
    assert run("count", basic, "-o", "dialect=spark") == (130, "", "interrupted\n")


@pytest.mark.slow
def test_a_reader_of_the_output_that_goes_away_is_no_error(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("".join(f"{number},text\n" for number in range(100_000)))
    command = [sys.executable, "-m", "splitscan", "head", str(path), "--no-header", "-n", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"_c0\t_c1\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(300) == OUTPUT_CLOSED


@pytest.mark.slow
def test_quick_commands_import_nothing_heavy(basic):
    program = f"""
import sys
from splitscan.cli import main
for args in (["--help"], ["ingest", "--help"], ["count", "basic.csv", "--header", "-o", "multiLine=true"],
             ["blocks", "basic.csv"]):
    main(args)
    sys.stderr.write(repr(sorted({HEAVY!r} & set(sys.modules))))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=basic.parent, timeout=300)
    assert done.stderr == "[]" * 4


@pytest.mark.slow
@pytest.mark.parametrize("command", ["head", "count", "schema", "sniff"])
def test_a_command_on_a_csv_file_imports_no_other_command_format_or_source(basic, command):
    program = f"""
import sys
from splitscan.cli import main
main([{command!r}, "basic.csv"])
rooms = [name for name in sys.modules if name.startswith("splitscan.")]
sys.stderr.write("\\n" + " ".join(sorted(rooms)))
"""
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=basic.parent, timeout=300)
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "splitscan.formats.csv.format" in loaded
    others = ("cli.ingesting", "cli.runs", "formats.json.format", "formats.xml.format", "ingest", "streaming",
              "rebalance", "tables", "messages", "spark", "options.database", "options.kafka",
              "options.stream")  # fmt: skip
    assert not loaded & {f"splitscan.{name}" for name in others}


@pytest.mark.slow
def test_a_look_at_a_small_file_of_every_type_loads_no_pandas(tmp_path):
    pytest.importorskip("pandas")
    path = tmp_path / "types.csv"
    path.write_text(
        "id,name,price,day,at,sure,big\n1,ann,1.5,2020-01-01,2020-01-01 10:00:00,true,12345678901234567890123\n"
        '+2,"b, ob",NaN,2020-01-02,2020-01-01T10,false,1\n3,,1e3,,,,\n'
    )
    program = f"""
import sys
from splitscan.cli import main
main(["sniff", {str(path)!r}])
sys.stderr.write(repr(sorted({HEAVY!r} & set(sys.modules))))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    types = "id int, name string, price double, day date, at timestamp, sure boolean, big decimal(23,0)"
    assert f"schema:  {types}\n" in done.stdout
    assert done.stderr == "[]"


@pytest.mark.slow
def test_the_module_is_the_program_and_the_exit_code_reaches_the_shell(basic, tmp_path):
    done = in_a_process("count", basic, tmp_path / "nope.csv")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: Path does not exist")


def test_every_public_name_is_there_whether_it_is_imported_early_or_late():
    assert set(splitscan.__all__) <= set(dir(splitscan))
    assert all(getattr(splitscan, name) is not None for name in splitscan.__all__)
    assert callable(splitscan.scan)
    with pytest.raises(AttributeError, match="module 'splitscan' has no attribute 'scan_tables'"):
        splitscan.scan_tables  # noqa: B018 -- looking is what fails


def test_a_function_that_uses_the_package_goes_to_tasks():
    sent = cloudpickle.loads(cloudpickle.dumps(lambda: splitscan.scan))
    assert sent() is splitscan.scan
    assert pickle.loads(pickle.dumps(splitscan)) is splitscan


def test_every_command_is_a_function_with_a_docstring():
    assert all(getattr(reading, name).__doc__ for name in COMMANDS[2:])
    assert main.__doc__


@pytest.mark.slow
@pytest.mark.parametrize("debug", [False, True])
def test_a_warning_is_a_sentence_and_with_debug_as_usual(tmp_path, debug):
    (tmp_path / "splitscan_kernel.py").write_text("raise ImportError('no such library')\n")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = in_a_process("count", tmp_path / "a.csv", "--header", *["--debug"] * debug, env=environment)
    assert (done.returncode, done.stdout) == (0, "1\n")
    said = [line for line in done.stderr.splitlines() if "the native kernel is not used" in line]
    assert len(said) == 1
    assert said[0].startswith("warning: the native kernel") is not debug
    assert ("SlowEngineWarning" in done.stderr) is debug
