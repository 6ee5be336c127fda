from __future__ import annotations

import ast
import doctest
import functools
import inspect
import io
import re
import shutil
import subprocess
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

import splitscan as ss
from splitscan.cli.program import app
from splitscan.formats.registry import FORMATS, describe_options
from splitscan.messages.spec import describe_kafka_options
from splitscan.options.sources import describe_table_options
from splitscan.reading.block_scan import open_reader
from splitscan.spark import operators

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
README = (PROJECT / "README.md").read_text(encoding="utf-8")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
MACHINE_PATH = re.compile(r"(?<![\w.~}])/(?:(?:root|work|farm)/|home/[a-z]\w*/|Users/[a-z]\w*/)")
REGISTRY = re.compile(r"pypi\.org|pythonhosted\.org|index[-_]url|find[-]links", re.IGNORECASE)


def project_files() -> list[Path]:
    """Every file that is, or could be, committed."""
    git = shutil.which("git")
    assert git is not None
    command = [git, "-C", str(PROJECT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return [path for name in sorted(set(names)) if name and (path := PROJECT / name).is_file()]


def test_nothing_lies_beside_the_folders_of_the_project_by_accident() -> None:
    """An example that somebody runs at the root writes its files there."""
    folders = {".ci", ".github", "bench", "connector", "demo", "docs", "examples", "kernel", "src", "tests", "tools"}
    files = {
        ".gitignore", ".pre-commit-config.yaml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md",
        "SECURITY.md", "constraints.txt", "hatch_build.py", "mkdocs.yml", "mkdocs_hook.py", "pyproject.toml",
    }  # fmt: skip
    assert {name_of(path).split("/")[0] for path in project_files()} <= folders | files


def pages() -> list[Path]:
    return [path for path in project_files() if path.suffix == ".md"]


def name_of(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def anchors_of(text: str) -> set[str]:
    """The anchors that a page offers: its headings in lower case, without punctuation, hyphens for spaces."""
    headings = HEADING.findall(FENCED.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    broken = []
    for link in LINK.findall(FENCED.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and anchor not in anchors_of(file.read_text(encoding="utf-8"))):
            broken.append(link)
    return broken


def test_every_link_leads_somewhere() -> None:
    assert {name_of(page): broken for page in pages() if (broken := broken_links(page))} == {}


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `two`-Three\n[a](page.md) [b](#one-two-three) [c](page.md#four) [d](gone.md) [e](https://x.y)\n"
    )
    assert broken_links(page) == ["page.md#four", "gone.md"]


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(page.read_text(encoding="utf-8"), {}, name_of(page), None, 0)
    report = io.StringIO()
    result = doctest.DocTestRunner(verbose=False).run(example, out=report.write)
    assert result.failed == 0, report.getvalue()


PYTHON = re.compile(r"^( *)```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|`|\$ |# or: )splitscan ([a-z]+(?:-[a-z]+)*)((?: [^`\n#|]*)?)", re.MULTILINE)


def snippets(page: Path) -> list[ast.Module]:
    """The Python of a page that is not run as it stands, because it needs Spark or somebody's files."""
    found = [textwrap.dedent(code) for _, code in PYTHON.findall(page.read_text(encoding="utf-8"))]
    return [ast.parse(code) for code in found if not code.lstrip().startswith(">>>")]


@functools.cache
def option_names() -> set[str]:
    """Every option, in both spellings."""
    described = [*describe_table_options(), *describe_kafka_options()]
    described += [option for name in FORMATS for option in describe_options(name)]
    return {name for option in described for name in (option.name, option.python_name, *option.aliases)}


def unknown_names(tree: ast.Module) -> list[str]:
    """What a snippet takes from splitscan that is not there: functions, and arguments of these."""
    wrong = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "ss" and not hasattr(ss, node.attr):
            wrong.append(ast.unparse(node))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("ss."):
            name = ast.unparse(node.func).removeprefix("ss.")
            function = getattr(operators, name, getattr(ss, name, None))  # there the arguments are spelled out
            if inspect.isroutine(function):
                known = {*inspect.signature(function).parameters, *option_names()}
                wrong += [f"{name}({each.arg}=)" for each in node.keywords if each.arg not in known]
    return wrong


def test_what_snippets_take_from_splitscan_is_there() -> None:
    trees = [(name_of(page), tree) for page in pages() for tree in snippets(page)]
    assert len(trees) > 40
    assert [(name, wrong) for name, tree in trees if (wrong := unknown_names(tree))] == []


def test_a_name_that_is_not_there_is_found() -> None:
    code = "import splitscan as ss\nss.scan_csv('a', headr=True, header=True)\nss.scan_cvs('a')"
    assert unknown_names(ast.parse(code)) == ["scan_csv(headr=)", "ss.scan_cvs"]


def flags_of_commands() -> dict[str, set[str]]:
    group: Any = typer.main.get_command(app)
    context = group.make_context("splitscan", [], resilient_parsing=True)
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {
        name: {"--help", "--debug", *(flag for each in command.params for flag in (*each.opts, *each.secondary_opts))}
        for name, command in commands.items()
    }


def test_every_command_of_a_page_exists_with_its_flags() -> None:
    known = flags_of_commands()
    shown = [
        (name_of(page), name, flag)
        for page in pages()
        for code in CODE.findall(page.read_text(encoding="utf-8"))
        for name, rest in COMMAND.findall(code)
        for flag in ("", *re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest))
    ]
    assert len(shown) > 100
    assert [each for each in shown if each[1] not in known or (each[2] and each[2] not in known[each[1]])] == []


def test_a_module_of_more_than_400_lines_says_why() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in (PROJECT / "src").rglob("*.py")}
    is_long = {path: len(text.splitlines()) > 400 for path, text in texts.items()}
    assert {path for path in texts if is_long[path] != ("\n# Over 400 lines: " in texts[path])} == set()


def test_lines_of_pages_have_at_most_120_characters() -> None:
    long = []
    for page in pages():
        text = FENCED.sub("", page.read_text(encoding="utf-8"))
        lines = [line for line in text.splitlines() if len(line) > 120]
        long += [
            (name_of(page), line) for line in lines if not line.startswith(("|", "Measured on ")) and " " in line[4:]
        ]
    assert long == []


def test_pages_and_docstrings_have_the_words_of_the_field() -> None:
    avoided = re.compile(
        r"\b(dear|anew|roads?|judge[sd]?|judging|shar(?:es|ed) out|those that are those)\b", re.IGNORECASE
    )
    files = [path for path in project_files() if path.suffix in {".md", ".py"} and "tests" not in path.parts]
    found = {name_of(path): words for path in files if (words := avoided.findall(path.read_text(encoding="utf-8")))}
    assert found == {}


def test_the_site_navigates_to_every_page_and_its_index_lists_each() -> None:
    navigated = set(
        re.findall(r"^ +- .+: (\S+\.md)$", (PROJECT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    )
    names = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    listed = {link.partition("#")[0] for link in LINK.findall((DOCS / "index.md").read_text(encoding="utf-8"))}
    assert navigated == names
    assert sorted(names - listed - {"index.md"}) == []


def test_the_results_in_the_readme_are_those_of_the_performance_page() -> None:
    shown = re.findall(r"^\|.*x \|.*$", README, re.MULTILINE)
    page = (DOCS / "performance.md").read_text(encoding="utf-8").splitlines()
    assert shown
    assert [row for row in shown if row not in page] == []


def test_the_readme_has_examples_that_run() -> None:
    assert len(doctest.DocTestParser().get_examples(README)) >= 3


def test_every_make_target_that_a_page_names_exists() -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    commands = re.compile(r"(?:^|`)make ([a-z][a-z-]*)", re.MULTILINE)
    named = {name for page in pages() for name in commands.findall(page.read_text(encoding="utf-8"))}
    assert {"demo", "check"} <= named
    assert sorted(named - targets) == []


def test_no_file_names_a_path_of_one_machine_or_a_package_registry() -> None:
    named = {}
    for path in project_files():
        text = path.read_bytes().decode("utf-8", "replace")
        if found := [*MACHINE_PATH.findall(text), *REGISTRY.findall(text)]:
            named[name_of(path)] = found
    assert named == {}


def test_paths_of_machines_and_registries_are_recognised() -> None:
    for text in ("/" + "home/anna/x", "'/" + "Users/anna/x'", "/" + "root/x"):
        assert MACHINE_PATH.search(text), text
    assert not MACHINE_PATH.search("s3://bucket/home/anna/x, docs/" + "work/x")
    assert REGISTRY.search("pypi" + ".org")


def test_constraints_are_exact_versions_and_nothing_else() -> None:
    lines = (PROJECT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"#.*|[\w.-]+==[\w.+]+", line)] == []


def test_constraints_name_every_direct_dependency() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(name for some in project["optional-dependencies"].values() for name in some)]
    names = {re.match(r"[\w.-]+", text)[0].lower() for text in wanted if not text.startswith("splitscan")}  # type: ignore[index]
    pinned = {line.partition("==")[0].lower() for line in (PROJECT / "constraints.txt").read_text().splitlines()}
    assert sorted(names - pinned) == []


def test_the_changelog_knows_this_version() -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[?{re.escape(version)}\b", changelog, re.MULTILINE)


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [path.name[:4] for path in sorted((DOCS / "decisions").glob("*.md"))]
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]


def test_every_test_that_a_page_names_exists() -> None:
    there = {
        name
        for path in (PROJECT / "tests").rglob("*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
    }
    named = {name for page in pages() for name in re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8"))}
    assert len(named) > 40
    assert named <= there, sorted(named - there)


def test_the_functions_that_check_the_laws_exist() -> None:
    named = set(re.findall(r"`(check_\w+)`", (DOCS / "exactly-once.md").read_text(encoding="utf-8")))
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (PROJECT / "src/splitscan/testing").glob("*.py")]
    defined = {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert named
    assert sorted(named - defined) == []


def test_each_fault_of_a_table_has_the_tests_that_are_named() -> None:
    text = (DOCS / "exactly-once.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 21))
    for _, cell in rows:
        named = re.findall(r"`([^`]+)::(\w+)`", cell)
        assert len(named) == len(cell.split(", "))
        for name, test in named:
            path = PROJECT / (name if "/" in name else f"tests/unit/jobs/tables/{name}")
            assert f"\ndef {test}(" in path.read_text(encoding="utf-8"), cell


@pytest.mark.parametrize(
    ("heading", "container"),
    [
        ("Rooms", "splitscan"),
        ("Inside scans", "splitscan.scans"),
        ("Inside reading", "splitscan.reading"),
        ("Inside the content", "splitscan.content"),
        ("Inside the formats", "splitscan.formats"),
    ],
)
def test_the_rooms_are_those_of_the_import_contract(heading: str, container: str) -> None:
    tools = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    contracts = tools["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract.get("containers") == [container])
    section = (DOCS / "architecture.md").read_text(encoding="utf-8").partition(f"## {heading}\n")[2]
    shown = re.findall(r"^(\w+(?: \| \w+)*)(?:  |$)", section.split("```")[1], re.MULTILINE)

    rooms = [set(layer.split(" | ")) for layer in layers if layer != "__main__"]
    assert [set(layer.split(" | ")) for layer in shown] == rooms


@pytest.mark.parametrize("room", ["jobs", "streaming", "tables"])
def test_every_module_that_is_shown_inside_a_room_is_there(room: str) -> None:
    section = (DOCS / "architecture.md").read_text(encoding="utf-8").partition(f"## Inside {room}\n")[2]
    shown = [
        name
        for names in re.findall(r"^(\w+(?:, \w+)*)  ", section.split("```")[1], re.MULTILINE)
        for name in names.split(", ")
    ]
    there = {path.stem for path in (PROJECT / "src/splitscan" / room).iterdir()}

    assert shown
    assert sorted(set(shown) - there) == []


def test_the_figure_of_records_and_blocks_is_true(tmp_path: Path) -> None:
    figure = (DOCS / "architecture.md").read_text(encoding="utf-8")
    lines = dict(re.findall(r"^(file|starts|cuts) +(.*)$", figure, re.MULTILINE))
    owned = re.search(r"^ {9}(owns .*)$", figure, re.MULTILINE)
    assert owned is not None
    file = tmp_path / "figure.csv"
    file.write_text(lines["file"].replace("↵", "\n"), encoding="utf-8", newline="")

    cuts = [int(cut) for cut in lines["cuts"].split()]
    options = {"multi_line": True, "block_size": cuts[1], "metadata_columns": ["record_offset"]}
    scan = ss.scan_csv(str(file), schema="number int, text string", **options)
    blocks = [[row for batch in open_reader(scan.spec, block) for row in batch.to_pylist()] for block in scan.plan()]
    offsets = [row["record_offset"] for block in blocks for row in block]

    assert cuts == [0, 14, 28, file.stat().st_size]
    assert lines["starts"].split() == [str(offset) for offset in [*offsets, file.stat().st_size]]
    assert all(lines["starts"][offset:].startswith(str(offset)) for offset in offsets)
    numbers = ["owns " + ", ".join(str(row["number"]) for row in block) for block in blocks]
    assert re.split(r"  +", owned[1]) == numbers
