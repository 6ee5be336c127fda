from __future__ import annotations

import pathlib
import typing

import pytest
from tools.option_signatures import signatures_module

import splitscan as ss
from splitscan.api import files
from splitscan.formats.registry import FORMATS, options_of
from splitscan.options import signatures


def test_the_types_of_options_are_up_to_date():
    written = pathlib.Path(signatures.__file__).read_text(encoding="utf-8")
    fix = "run: python -m tools.option_signatures > src/splitscan/options/signatures.py"
    assert written == signatures_module(), fix


@pytest.mark.parametrize("name", FORMATS)
def test_the_function_of_a_format_takes_each_of_its_options_in_both_spellings(name):
    keywords = getattr(signatures, "".join(map(str.capitalize, name.split("_"))) + "Keywords")
    known = set(typing.get_type_hints(keywords))
    asked = typing.get_type_hints(getattr(ss, f"scan_{name}"), vars(signatures) | vars(files), {"Unpack": list})
    assert asked["options"] == list[keywords]
    spellings = {spelling for option in options_of(name) for spelling in option.spellings()}
    own = {"recordlength", "record_length", "rowtag", "row_tag", "layout"}  # arguments
    never = own | {"copybook", "copybookcontents", "copybook_contents"}
    refused = {o.name.lower() for o in options_of(name) if o.kind.name == "none"}
    missing = spellings - {each.lower() for each in known} - never
    assert {each.replace("_", "") for each in missing} <= refused
    assert not {each.lower() for each in known} - spellings


def test_an_option_with_few_values_names_them():
    hints = typing.get_type_hints(signatures.CsvKeywords)
    assert "PERMISSIVE" in str(hints["mode"])
    assert "rfc4180" in str(hints["dialect"])
