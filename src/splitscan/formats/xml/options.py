"""Options of the record format ``xml``, with Spark's names, defaults and meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from splitscan.options.read import TypedOptions, most_variant_bytes
from splitscan.options.table import ANY_TEXT, FLAG, TEXT, OptionKind, ValueRefusedError, option, show_text

DECLARED = "declared"
"""The encoding of a file that says it itself."""

_LONGEST_TAG = 1000  # a cut looks back over the longest mark
_NAME = re.compile(r"[A-Za-z_:\u0080-\U0010ffff][-.\w:\u0080-\U0010ffff]*")


def _parse_tag(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueRefusedError("give the name alone, without angle brackets")
    if len(value) > _LONGEST_TAG:
        raise ValueRefusedError(f"give a name of at most {_LONGEST_TAG} characters")
    return value


def _refused(instead: str, fix: str) -> OptionKind:
    """The kind of options of Spark that are not supported."""

    def parse(value: Any) -> None:
        raise ValueRefusedError(fix)

    return OptionKind("none", f"no value: {instead}", parse)


_ROW_TAG = OptionKind("name", "the name of an element", _parse_tag, show_text)
_XSD = _refused("records are not validated against an XSD", "validate the files before they are read")
_WILDCARD = _refused("XML keeps no column of unknown elements", "name the elements to read in the schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class XmlOptions(TypedOptions):
    """Which elements are records, and how they become columns."""

    values_are_texts: ClassVar[bool] = True
    has_variants: ClassVar[bool] = True

    row_tag: str = option(_ROW_TAG, "Name of the elements that are records, with its prefix.")
    attribute_prefix: str = option(ANY_TEXT, "What the names of columns made of attributes begin with.", "_")
    value_tag: str = option(TEXT, "Name of the text of an element that has attributes or children.", "_VALUE")
    exclude_attribute: bool = option(FLAG, "Attributes are no columns.", False)
    ignore_namespace: bool = option(FLAG, "Prefixes of names are left out.", False)
    ignore_surrounding_spaces: bool = option(FLAG, "White space around values is left out.", True)
    null_value: str | None = option(ANY_TEXT, "Text that stands for null.", None)
    row_validation_xsd_path: None = option(
        _XSD, "Records are not validated against an XSD.", None, name="rowValidationXSDPath"
    )
    wildcard_col_name: None = option(_WILDCARD, "Elements without a column are not kept.", None)
    prefer_date: bool = option(FLAG, "Schema inference makes dates; with `false` they are timestamps.", True)
    prefers_decimal: bool = option(FLAG, "Schema inference makes fractions decimals where they fit.", False)
    single_variant_column: str | None = option(
        TEXT, "Each record is one variant in the column of this name: an object of its parts, or its text.", None
    )
    max_variant_bytes: int = most_variant_bytes()
    multi_line: bool = option(FLAG, "Without effect: records span lines in any case.", True)
    encoding: str = option(
        TEXT, "Character set of the file; `declared` is that of its XML declaration, else UTF-8.", DECLARED, "charset"
    )

    @property
    def says_columns(self) -> bool:
        return self.single_variant_column is not None

    @property
    def text_encoding(self) -> str:
        """The character set; UTF-8 where each file may say another one."""
        return "UTF-8" if self.reads_declaration else self.encoding

    @property
    def reads_declaration(self) -> bool:
        """True if the XML declaration of each file says its encoding."""
        return self.encoding == DECLARED
