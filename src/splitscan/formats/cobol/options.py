"""Options of the record format ``cobol``: the copybook, how records are found, and how values are written."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

from splitscan.errors import bad_option
from splitscan.formats.cobol.copybook import parse_copybook
from splitscan.formats.cobol.layout import MOST_BYTES, ItemRules, RecordLayout, lay_out
from splitscan.formats.cobol.nodes import Leaf
from splitscan.formats.cobol.notation import CodePage, code_page
from splitscan.options.read import RecordOptions, line_separator
from splitscan.options.table import (
    FLAG,
    PATHS,
    REQUIRED,
    TEXT,
    OptionKind,
    ValueRefusedError,
    option,
    read_json,
    refuse_contradictions,
    show_text,
    whole,
)

MOST_COPYBOOK_BYTES = 16 * 1024 * 1024
_IS_TEXT = re.compile(r"\s*[0-9]{1,2}\s+\S|.*[\r\n]", re.DOTALL)


def _read_copybook(value: Any) -> str:
    """The text of a copybook that is given as it is, or by its path."""
    if isinstance(value, str) and _IS_TEXT.match(value):
        return value
    try:
        path = value if isinstance(value, str) else value.__fspath__()
        with open(path.removeprefix("file://"), "rb") as file:  # noqa: PTH123 - pathlib is slow to import
            data = file.read(MOST_COPYBOOK_BYTES + 1)
    except (OSError, AttributeError, TypeError, ValueError) as error:
        raise ValueRefusedError(f"give a local path that can be read, or the text of the copybook: {error}") from None
    if not data or len(data) > MOST_COPYBOOK_BYTES:
        raise ValueRefusedError("the file is empty, or larger than 16 MiB")
    return data.decode("utf-8", "replace")


def _kind(name: str, allowed: str, parse: Callable[[Any], Any]) -> OptionKind:
    return OptionKind(name, allowed, parse, show_text)


def _parse_code_page(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueRefusedError
    return code_page(value).name


_COPYBOOK = _kind("copybook", "a path, or the text of a copybook", _read_copybook)
_CODE_PAGE = _kind("code page", "a code page such as cp037, cp500 or ASCII", _parse_code_page)


def _parse_segments(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if isinstance(value, str):
        pairs = [part.partition("=>") for part in value.split(";") if part.strip()]
        value = {group.strip(): kinds.split(",") for group, _, kinds in pairs}
    if not isinstance(value, Mapping):
        raise ValueRefusedError('write it like "COMPANY => 1; PERSON => 2,3"')
    found = tuple((str(group), tuple(str(kind).strip() for kind in kinds)) for group, kinds in value.items())
    if not all(group and kinds and all(kinds) for group, kinds in found):
        raise ValueRefusedError('write it like "COMPANY => 1; PERSON => 2,3"')
    return found


def _show_segments(value: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    return show_text("; ".join(f"{group} => {','.join(kinds)}" for group, kinds in value))


_SEGMENTS = OptionKind("mapping", "groups, each with kinds of records", _parse_segments, _show_segments)


def _parse_lengths(value: Any) -> tuple[tuple[str, int], ...]:
    said = 'write it like {"A": 100, "_": 40}'
    found = read_json(value, said, says_why=True)
    if not isinstance(found, Mapping) or not found or not all(_is_length(length) for length in found.values()):
        raise ValueRefusedError(f"{said}, with positive whole numbers")
    return tuple((str(text), int(length)) for text, length in found.items())


def _is_length(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_BYTES


_LENGTHS = OptionKind(
    "mapping", "texts, each with a number of bytes", _parse_lengths, lambda value: show_text(json.dumps(dict(value)))
)


def _parse_mappings(value: Any) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    said = 'write it like {"ITEMS": {"A": 0, "B": 2}}'
    found = read_json(value, said, says_why=True)
    if not isinstance(found, Mapping) or not all(isinstance(each, Mapping) for each in found.values()):
        raise ValueRefusedError(said)
    pairs = {str(name): tuple((str(text), items) for text, items in each.items()) for name, each in found.items()}
    if not all(type(items) is int and items >= 0 for each in pairs.values() for _, items in each):
        raise ValueRefusedError(f"{said}, with whole numbers")
    return tuple(pairs.items())


_MAPPINGS = OptionKind(
    "mapping", "lists, each with texts and numbers of items", _parse_mappings,
    lambda value: show_text(json.dumps({name: dict(each) for name, each in value})),
)  # fmt: skip
_LENGTH = re.compile(r"\s*@?(?P<name>[\w:#$-]*[A-Za-z][\w:#$-]*)(?:\s*\*\s*(?P<factor>[0-9]{1,9}))?"
                     r"\s*(?P<more>(?:\+|(?<=[\s0-9])-)\s*[0-9]{1,9})?\s*")  # fmt: skip
"""An item, what it is multiplied by, and what is added."""


_NUMBERED = "use metadataColumns=record_offset, which orders records: all in front of one would tell its number"
_NO_CLASSES = "leave it out: no class of Java is loaded"
_REFUSED = {
    **dict.fromkeys(("segmentIdRoot", "segmentIdPrefix", *(f"segmentIdLevel{i}" for i in range(10))), _NUMBERED),
    "generateRecordId": _NUMBERED,
    **dict.fromkeys(("recordExtractor", "recordHeaderParser", "ebcdicCodePageClass"), _NO_CLASSES),
}


class Trimming(enum.Enum):
    """Which blanks of texts are dropped."""

    BOTH = "both"
    LEFT = "left"
    RIGHT = "right"
    NONE = "none"
    KEEP_ALL = "keep_all"


class Floats(enum.Enum):
    """How COMP-1 and COMP-2 are stored."""

    IBM = "IBM"
    IEEE = "IEEE754"
    IBM_LITTLE = "IBM_little_endian"
    IEEE_LITTLE = "IEEE754_little_endian"


class Root(enum.Enum):
    """Fate of the outermost group."""

    COLLAPSE = "collapse_root"
    KEEP = "keep_original"


class Occurring(enum.Enum):
    """How many bytes a list has."""

    MOST = "max_size"
    SHIFT = "shift_record"


class Debug(enum.Enum):
    """How the bytes of items are shown."""

    NONE = "none"
    HEX = "hex"
    RAW = "raw"
    TEXT = "string"


_DEBUG = {Debug.HEX: "hex", Debug.RAW: "bytes", Debug.TEXT: "text"}


class Recfm(enum.Enum):
    """How records lie in a file; names are those of data sets."""

    FIXED = "F"
    FIXED_BLOCKED = "FB"
    VARIABLE = "V"
    VARIABLE_BLOCKED = "VB"
    LINES = "D"


@dataclass(frozen=True, slots=True, kw_only=True)
class CobolOptions(RecordOptions):
    """Options of records that a copybook describes."""

    has_columns: ClassVar[bool] = True
    ignores_case: ClassVar[bool] = True
    says_columns: ClassVar[bool] = True
    refused: ClassVar[Mapping[str, str]] = MappingProxyType(_REFUSED)

    copybook: str = option(_COPYBOOK, "Path of the copybook, or its text.", REQUIRED, "copybookContents")
    recfm: Recfm = option(
        Recfm, "How records lie in a file: of a fixed length, behind their lengths, or lines.", Recfm.FIXED
    )
    record_length: int | None = option(whole(1), "Bytes in each record; those of the copybook if not given.", None)
    record_length_field: str | None = option(
        TEXT, "Item that says how many bytes a record has, as it is or like `ITEM * 10 + 4`.", None
    )
    record_length_map: tuple[tuple[str, int], ...] = option(
        _LENGTHS, "Bytes of a record by the text of that item, as JSON; `_` is for all others.", ()
    )
    is_rdw_big_endian: bool | None = option(
        FLAG, "Byte order of the lengths in front of records; if not given, each tells it.", None
    )
    is_rdw_part_of_record_length: bool = option(FLAG, "Whether these lengths count their own four bytes.", False)
    rdw_adjustment: int = option(whole(-65_536), "Bytes that a record has more than its length says.", 0)
    is_bdw_big_endian: bool | None = option(
        FLAG, "Byte order of the lengths in front of blocks; if not given, each tells it.", None
    )
    bdw_adjustment: int = option(whole(-65_536), "Bytes that a block has more than its length says.", 0)
    line_sep: str | None = line_separator()
    segment_field: str | None = option(TEXT, "Item that says of which kind a record is.", None)
    segment_filter: tuple[str, ...] = option(PATHS, "Kinds of records that are read, as texts; all if not given.", ())
    redefine_segment_id_map: tuple[tuple[str, tuple[str, ...]], ...] = option(
        _SEGMENTS, "Groups and the kinds of records that have them: `A => 1,2; B => 3`.", ()
    )
    segment_children: tuple[tuple[str, tuple[str, ...]], ...] = option(
        _SEGMENTS, "Groups and those that are lists in them, of the records that follow: `A => B,C; B => D`.", ()
    )
    record_start_offset: int = option(whole(0), "Bytes in each record in front of the copybook's.", 0)
    record_end_offset: int = option(whole(0), "Bytes in each record after the copybook's.", 0)
    file_start_offset: int = option(whole(0), "Bytes in front of the first record of a file.", 0)
    file_end_offset: int = option(whole(0), "Bytes after the last record of a file.", 0)
    encoding: str = option(
        _CODE_PAGE, "Code page of texts and of DISPLAY numbers.", "cp037", "charset", "ebcdicCodePage"
    )
    floating_point_format: Floats = option(Floats, "How COMP-1 and COMP-2 are stored.", Floats.IBM)
    string_trimming_policy: Trimming = option(Trimming, "Which blanks of texts are dropped.", Trimming.BOTH)
    improved_null_detection: bool = option(FLAG, "Reads a text whose bytes are all 0 as null.", True)
    strict_sign_overpunching: bool = option(FLAG, "Refuses a plus in the digits of a number without a sign.", True)
    strict_integral_precision: bool = option(FLAG, "Reads whole numbers as decimals of as many digits.", False)
    variable_size_occurs: Occurring = option(
        Occurring, "Bytes of lists: of the most items that there may be, or of those that there are.", Occurring.MOST
    )
    occurs_mappings: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = option(
        _MAPPINGS, "Numbers of items by the texts that lists depend on: JSON of names of lists and such numbers.", ()
    )
    non_terminals: tuple[str, ...] = option(PATHS, "Groups that are read as texts as well, named with `_NT`.", ())
    debug: Debug = option(Debug, "Adds the bytes of each item, as a column named with `_debug`.", Debug.NONE)
    schema_retention_policy: Root = option(Root, "Whether the outermost group is a column.", Root.COLLAPSE)
    drop_value_fillers: bool = option(FLAG, "Reads no FILLER with a picture; else it is a column FILLER_P1 ...", True)
    drop_group_fillers: bool = option(FLAG, "Reads no FILLER that is a group; else it is a column FILLER_1 ...", False)
    truncate_comments: bool = option(FLAG, "Reads only some columns of the copybook's lines.", True)
    comments_lbound: int = option(whole(0), "Columns in front of the copybook's lines that are no text.", 6)
    comments_ubound: int = option(whole(1), "The last column of the copybook's lines that is text.", 72)

    @property
    def layout(self) -> RecordLayout:
        """The columns, and their places."""
        return self._laid_out(self.segment_children)

    def _laid_out(self, children: _Groups) -> RecordLayout:
        first = self.comments_lbound if self.truncate_comments else None
        rules = ItemRules(
            hex_floats=self.floating_point_format in {Floats.IBM, Floats.IBM_LITTLE},
            little_floats=self.floating_point_format in {Floats.IBM_LITTLE, Floats.IEEE_LITTLE},
            exact_integers=self.strict_integral_precision,
            drop_values=self.drop_value_fillers,
            drop_groups=self.drop_group_fillers,
            keeps_root=self.schema_retention_policy is Root.KEEP,
            shifts=self.variable_size_occurs is Occurring.SHIFT,
            debug=_DEBUG.get(self.debug),
            texts=self.non_terminals,
            counts=self.occurs_mappings,
        )
        return _layout(self.copybook, first, self.comments_ubound, rules, self.redefine_segment_id_map, children)

    @property
    def segment(self) -> Leaf | None:
        """The item that says of which kind a record is."""
        if self.segment_field is None:
            return None
        return self.layout.find(self.segment_field)

    @property
    def length_field(self) -> tuple[Leaf, int, int] | None:
        """The item that says how long a record is, what it is multiplied by, and what is added."""
        said = _LENGTH.fullmatch(self.record_length_field or "")
        if said is None:
            return None
        leaf = self.layout.find(said["name"])
        more = (said["more"] or "0").replace(" ", "")
        return None if leaf is None else (leaf, int(said["factor"] or 1), int(more) + self.rdw_adjustment)

    @property
    def page(self) -> CodePage:
        """The code page."""
        return code_page(self.encoding)

    @property
    def length(self) -> int:
        """Bytes of each record."""
        return self.record_length or self.record_start_offset + self.layout.length + self.record_end_offset

    @property
    def has_headers(self) -> bool:
        """True if a record has its length in front."""
        return self.recfm in {Recfm.VARIABLE, Recfm.VARIABLE_BLOCKED}

    @property
    def fixed_length(self) -> tuple[str, int] | None:
        is_fixed = self.recfm in {Recfm.FIXED, Recfm.FIXED_BLOCKED} and self.record_length_field is None
        is_fixed = is_fixed and (not self.layout.pieces or self.record_length is not None)
        is_fixed = is_fixed and not self.segment_children
        return ("recordLength", self.length) if is_fixed else None

    @property
    def about_files(self) -> str | None:
        return "fileStartOffset" if self.file_start_offset else "fileEndOffset" if self.file_end_offset else None

    def __post_init__(self) -> None:
        needed, recfm, mark = self.record_start_offset + self.layout.length, self.recfm, self.line_sep
        is_lines = recfm is Recfm.LINES
        in_front = (self.segment, None if self.length_field is None else self.length_field[0])
        has_item = self.record_length_field is not None
        of_headers = (
            self.is_rdw_big_endian is not None or self.is_rdw_part_of_record_length
            or bool(self.rdw_adjustment and not has_item)
        )  # fmt: skip
        of_blocks = self.is_bdw_big_endian is not None or bool(self.bdw_adjustment)
        is_nested = bool(self.segment_children)
        of_segments = bool(self.segment_filter or self.redefine_segment_id_map or is_nested)
        contradictions = {
            "lengths in front of records are those of recfm=V and VB": of_headers and not self.has_headers,
            "lengths in front of blocks are those of recfm=VB": of_blocks and recfm is not Recfm.VARIABLE_BLOCKED,
            "recordLength is for records of a fixed length": self.record_length is not None and not self.fixed_length,
            "recordLengthField is for recfm=F": has_item and recfm is not Recfm.FIXED,
            "recordLengthMap needs recordLengthField": bool(self.record_length_map) and not has_item,
            "lineSep is for recfm=D": mark is not None and not is_lines,
            "a file of lines has no header and no trailer": is_lines and self.about_files is not None,
            "lines of EBCDIC need lineSep": is_lines and mark is None and self.page.signs_inside,
            "segmentChildren is for recfm=F, FB and V": is_nested and recfm in {Recfm.LINES, Recfm.VARIABLE_BLOCKED},
            "segmentChildren needs all kinds of records": bool(self.segment_filter) and is_nested,
            "records with children have lists of max_size": bool(self.layout.pieces) and is_nested,
            "kinds of records need segmentField": self.segment_field is None and of_segments,
        }
        unknown = [group for group, _ in self.redefine_segment_id_map if not self._laid_out(()).has_group(group)]
        refuse_contradictions(
            (self.record_length is not None and self.record_length < needed,
             "option recordLength leaves no room for all of the copybook",
             f"recordLength={self.record_length}, and the copybook ends at byte {needed}",
             "correct recordLength or the copybook"),
            *((is_broken, f"options contradict each other: {rule}", f"recfm={recfm.value}",
               "correct recfm, or leave the other option out") for rule, is_broken in contradictions.items()),
            (any(letter not in self.page.characters for letter in mark or ""),
             "option lineSep has no such characters in the code page", repr(mark), "correct lineSep or encoding"),
            (self.segment_field is not None and self.segment is None,
             "option segmentField names a text or a whole number that is in no list", str(self.segment_field),
             "correct the name"),
            (has_item and self.length_field is None,
             "option recordLengthField names a text or a whole number that is in no list, like ITEM or ITEM * 10 + 4",
             str(self.record_length_field), "correct the name, or the numbers"),
            (bool(self.layout.unknown),
             "options nonTerminals and occursMappings name groups, and lists, of the copybook",
             ", ".join(self.layout.unknown), "correct the names"),
            (any(leaf is not None and leaf.at + leaf.size > self.layout.fixed_bytes for leaf in in_front)
             and bool(self.layout.pieces),
             "lengths and kinds of records are told in front of lists that have only the items that there are",
             "variableSizeOccurs=shift_record", "use variableSizeOccurs=max_size, or leave the other option out"),
            (bool(unknown), "option redefineSegmentIdMap names groups that are columns", ", ".join(unknown),
             "correct the names"),
        )  # fmt: skip


_Groups: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


@cache
def _layout(
    copybook: str, first: int | None, last: int, rules: ItemRules, segments: _Groups, children: _Groups
) -> RecordLayout:
    found = lay_out(parse_copybook(copybook, first, last), rules).with_segments(dict(segments))
    if not children:
        return found
    try:
        return found.with_children(dict(children))
    except ValueError as error:
        raise bad_option(
            f"option segmentChildren is no hierarchy: {error}", _show_segments(children),
            "name each group of redefineSegmentIdMap but the root once, like COMPANY => DEPT; DEPT => PERSON",
        ) from None  # fmt: skip
