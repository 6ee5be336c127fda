"""What an index page shows of the package: the metadata as a build reads it."""

import re
import tomllib
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

import splitscan

PROJECT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture
def metadata(monkeypatch):
    def build(url=None):
        monkeypatch.delenv("SPLITSCAN_URL", raising=False)
        if url is not None:
            monkeypatch.setenv("SPLITSCAN_URL", url)
        return ProjectMetadata(str(PROJECT), PluginManager()).core

    return build


def test_every_link_of_the_page_is_absolute_and_leads_to_a_file(metadata):
    core = metadata("https://host.example/owner/name/")
    links = LINK.findall(core.readme)
    base = "https://host.example/owner/name/blob/HEAD/"
    into = [link.removeprefix(base).partition("#")[0] for link in links if link.startswith(base)]
    assert len(into) > 10
    assert [name for name in into if not (PROJECT / name).exists()] == []
    assert [link for link in links if not link.startswith("https://")] == []
    assert core.urls["Issues"] == "https://host.example/owner/name/issues"


def test_without_an_address_the_page_has_no_link_that_leads_nowhere(metadata):
    core = metadata()
    assert [link for link in LINK.findall(core.readme) if not link.startswith("https://")] == []
    assert "# splitscan" in core.readme
    assert core.urls == {}


def test_the_classifiers_and_extras_are_known(metadata):
    core = metadata()
    assert "Typing :: Typed" in core.classifiers  # hatchling refuses one that no index knows
    assert {"spark", "s3", "gcs", "azure", "kafka", "codecs", "tables", "delta", "iceberg"} <= set(
        core.optional_dependencies
    )


def test_the_kernel_comes_along_in_the_same_version(metadata):
    core = metadata()
    kernel = tomllib.loads((PROJECT / "kernel" / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    assert core.version == kernel == splitscan.__version__
    assert f"splitscan-kernel=={kernel}" in core.dependencies
