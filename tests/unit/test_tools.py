"""The shell scripts that the Makefile calls, run with nothing on PATH but what a test puts there."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
PLACES = ("/usr/lib/jvm", "/opt/java", "/Library/Java", "/opt/homebrew", "/usr/local/opt")
SHELLS = [["/bin/sh"], *([[found, "--posix"]] if (found := shutil.which("bash")) else [])]  # macOS: sh is a bash
NEEDED = ("sed", "mktemp", "rm", "cat", "sh", "id", "sleep", "env")

JAVA = """#!/bin/sh
echo "    java.home = {home}" >&2
echo "    java.specification.version = {version}" >&2
exit {code}
"""
PYTHON = """#!/bin/sh
case "$2" in
    *ensurepip*) exit {no_venv} ;;
    *exit*) exit {too_old} ;;
    *) echo {version} ;;
esac
"""


@pytest.fixture
def bin_folder(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NEEDED:
        (folder / name).symlink_to(shutil.which(name))
    return folder


@pytest.fixture(params=SHELLS)
def run(tmp_path, bin_folder, request):
    """Run a tool without what this machine has: neither its PATH, nor the places where Java is looked for."""

    def call(tool, *args, **environment):
        text = (TOOLS / tool).read_text()
        for place in PLACES:
            text = text.replace(f" {place}", f" {tmp_path}{place}")
        (tmp_path / tool).write_text(text)
        plain = {"PATH": str(bin_folder), "HOME": str(tmp_path / "home"), **environment}
        return subprocess.run(
            [*request.param, str(tmp_path / tool), *args],
            env=plain,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return call


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def java(path, version, home="/the/home", code=0):
    program(path, JAVA.format(version=version, home=home, code=code))


# ------------------------------------------------------------------ Java


def test_without_java_one_sentence_says_what_to_install(run):
    done = run("find-java")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Spark needs Java 17 or newer, and there is none: install a JRE")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("version", ["17", "21", "25"])
def test_the_java_on_the_path_is_taken_if_it_is_new_enough(run, bin_folder, version):
    java(bin_folder / "java", version)
    assert run("find-java").stdout == "/the/home\n"


@pytest.mark.parametrize(("version", "code"), [("1.8", 0), ("11", 0), ("17", 1), ("", 0)])
def test_a_java_that_is_old_or_does_not_run_is_none(run, bin_folder, version, code):
    java(bin_folder / "java", version, code=code)
    assert run("find-java").returncode == 1


@pytest.mark.parametrize(
    "place",
    [
        "usr/lib/jvm/java-17-openjdk",
        "Library/Java/JavaVirtualMachines/Some Vendor 21.jdk/Contents/Home",
        "home/Library/Java/JavaVirtualMachines/corretto-17/Contents/Home",
        "home/.sdkman/candidates/java/21.0.2-tem",
        "opt/homebrew/opt/openjdk@17",
    ],
)
def test_java_is_found_where_systems_put_it(run, tmp_path, bin_folder, place):
    java(bin_folder / "java", "11")
    java(tmp_path / place / "bin/java", "17", home=tmp_path / place)
    assert run("find-java").stdout == f"{tmp_path / place}\n"


def test_java_home_comes_first_and_a_wrong_one_is_named(run, tmp_path, bin_folder):
    java(bin_folder / "java", "17", home="/on/the/path")
    java(tmp_path / "my java/bin/java", "21", home=tmp_path / "my java")
    assert run("find-java", JAVA_HOME=str(tmp_path / "my java")).stdout == f"{tmp_path / 'my java'}\n"
    assert run("find-java", JAVA_HOME="/nowhere").stdout == "/on/the/path\n"
    (bin_folder / "java").unlink()
    assert "JAVA_HOME=/nowhere is none" in run("find-java", JAVA_HOME="/nowhere").stderr


def test_an_installer_that_leaves_no_java_ends_in_the_same_sentence(run, bin_folder):
    program(bin_folder / "brew", "#!/bin/sh\necho said by brew\n")
    done = run("find-java")
    assert (done.returncode, done.stdout) == (1, "")
    assert "installing openjdk@17 with Homebrew\nsaid by brew\nSpark needs Java 17" in done.stderr


def test_what_an_installer_says_is_not_taken_for_the_home(run, bin_folder):
    install = (
        f"#!/bin/sh\necho done\ncat > {bin_folder}/java <<'END'\n{JAVA.format(home='/new', version=17, code=0)}END\n"
    )
    program(bin_folder / "brew", install + f"{shutil.which('chmod')} 755 {bin_folder}/java\n")
    assert run("find-java").stdout == "/new\n"


# ------------------------------------------------------------------ Python


def python(path, version, *, too_old=0, no_venv=0):
    program(path, PYTHON.format(version=version, too_old=too_old, no_venv=no_venv))


def test_the_first_python_that_is_new_enough_is_taken(run, bin_folder):
    python(bin_folder / "python3.13", "3.13", no_venv=1)
    python(bin_folder / "python3", "3.12")
    assert run("find-python").stdout == f"{bin_folder}/python3\n"


def test_a_named_python_comes_first_even_with_a_space_in_its_path(run, tmp_path, bin_folder):
    python(bin_folder / "python3", "3.12")
    python(tmp_path / "my python/python3", "3.11")
    named = str(tmp_path / "my python/python3")
    assert run("find-python", PYTHON=named).stdout == f"{named}\n"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({}, "there is none on PATH"),
        ({"version": "3.9", "too_old": 1}, "python3 is Python 3.9"),
        ({"version": "3.12", "no_venv": 1}, "python3 is Python 3.12 without venv"),
    ],
)
def test_without_a_python_one_sentence_says_why(run, bin_folder, made, said):
    if made:
        python(bin_folder / "python3", **made)
    done = run("find-python")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"splitscan needs Python 3.11 or newer with venv; {said}")
    assert done.stderr.count("\n") == 1


# ------------------------------------------------------------------ all at once


def test_commands_run_at_the_same_time_and_their_output_comes_in_order(run, tmp_path):
    wait = f"while ! [ -e {tmp_path}/last ]; do sleep 0.05; done"  # ends only if the last one runs meanwhile
    done = run("all-of", f"{wait}; echo one", "echo two >&2", f": > {tmp_path}/last; echo three")
    assert (done.returncode, done.stdout) == (0, "one\ntwo\nthree\n")


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_one_that_fails_fails_all_and_the_others_are_shown(run, failing):
    commands = [f"echo {number}" for number in range(3)]
    commands[failing] += "; exit 3"
    done = run("all-of", *commands)
    assert (done.returncode, done.stdout) == (1, "0\n1\n2\n")


def test_the_tools_keep_to_what_every_shell_has():
    for tool in (path for path in TOOLS.iterdir() if path.is_file() and path.suffix not in {".py", ".java"}):
        text = tool.read_text()
        assert text.startswith("#!/bin/sh\n")
        assert os.access(tool, os.X_OK)
        assert subprocess.run(["/bin/sh", "-n", str(tool)], check=False).returncode == 0
        for beyond in ("[[", "$'", "<<<", "local ", "readlink -f", "sed -i", "sed -r", "grep -P", "date -d", "nproc"):
            assert beyond not in text, (tool.name, beyond)
