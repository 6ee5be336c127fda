from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from tools.options_page import options_page

from splitscan.formats.registry import FORMATS, options_of
from splitscan.options.spark_only import (
    ACCEPTED_UNUSED,
    KAFKA_ACCEPTED_UNUSED,
    KAFKA_REFUSED,
    KAFKA_REFUSED_IF_TRUE,
    REFUSED,
    REFUSED_IF_TRUE,
)
from splitscan.options.table import python_twin

DOCS = pathlib.Path(__file__).parents[3] / "docs"


def test_the_page_of_options_is_up_to_date():
    written = (DOCS / "options.md").read_text(encoding="utf-8")
    assert written == options_page(), "run: python -m tools.options_page > docs/options.md"


@pytest.mark.slow
def test_the_module_prints_the_page():
    printed = subprocess.run([sys.executable, "-m", "tools.options_page"], capture_output=True, text=True, check=True)
    assert printed.stdout == options_page()


def test_the_page_names_every_option_with_its_aliases_and_twin():
    page = options_page()
    for record_format in FORMATS:
        for option in options_of(record_format):
            cells = ", ".join(f"`{name}`" for name in (option.name, *option.aliases))
            assert f"| {cells} | `{python_twin(option.name)}` |" in page
    of_kafka = (*KAFKA_ACCEPTED_UNUSED, *KAFKA_REFUSED, *KAFKA_REFUSED_IF_TRUE)
    for name in (*ACCEPTED_UNUSED, *REFUSED, *REFUSED_IF_TRUE, *of_kafka):
        assert f"| `{name}` |" in page


def test_every_row_of_every_table_has_the_width_of_its_heading():
    width = 0
    for line in options_page().splitlines():
        if line.startswith("| option |"):
            width = line.count(" | ")
        elif line.startswith("| `"):
            assert line.count(" | ") == width, line


def test_differences_are_documented_for_every_restricted_option():
    page = (DOCS / "differences.md").read_text(encoding="utf-8")
    for name in (
        "unescapedQuoteHandling",
        "charToEscapeQuoteEscaping",
        "locale",
        "wholetext",
        "timeZone",
        "maxRecordBytes",
    ):
        assert f"`{name}" in page
