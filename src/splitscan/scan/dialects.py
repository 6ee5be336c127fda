"""The dialect of the files of a scan: found in samples of some of them, before anything else is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.errors import SchemaError, Where
from splitscan.formats.contract import spread
from splitscan.formats.csv.options import DialectChoice
from splitscan.formats.csv.sniffing.detection import find_dialect, sep_line
from splitscan.formats.csv.sniffing.found import Confidence, Dialect, RawSample, Setting, shown
from splitscan.formats.parsing import finds_dialect, parse_options
from splitscan.formats.registry import DEFAULT_FORMAT, record_format
from splitscan.options import ReadOptions
from splitscan.options.table import declared_options
from splitscan.read.contents import open_file
from splitscan.scan.file_set import FileSet, Paths, as_paths
from splitscan.scan.kinds import check_beginning
from splitscan.sizes import KIB

HEAD_BYTES = 64 * KIB
"""Of the beginning of a file."""

_LINE_BYTES = 64  # of the beginning, for a first line sep=;
_WINDOW_BYTES = 32 * KIB  # of the middle and the end
_WINDOWS = 4  # of a file: in its middle, and at its end
_SAMPLED_FILES = 8
_SETTINGS = ("sep", "quote", "escape", "header", "skipRows", "comment", "multiLine", "encoding")


def pin_dialect(paths: Paths, format: object, raw: Mapping[str, Any]) -> tuple[dict[str, Any], Dialect | None]:
    """Replace ``dialect=auto`` and ``dialect=excel`` by the options that the files show.

    Args:
        paths: Of the scan.
        format: Its record format.
        raw: Its options, as the user wrote them; those of the dialect narrow the search.

    Returns:
        The options, and what was found where files were looked at.

    Raises:
        SchemaError: ``[dialect-unclear]`` if samples leave it open, or files differ.
        UsageError: For an option that has no meaning.
        SourceError: If a file cannot be read.
    """
    named = next((name for name in raw if str(name).lower() == "dialect"), None)
    said = str(getattr(raw[named], "value", raw[named])).strip().lower() if named is not None else ""
    looked_for = {choice.value for choice in (DialectChoice.AUTO, DialectChoice.EXCEL)}
    if said not in looked_for or not finds_dialect(format):
        return dict(raw), None
    others = {name: value for name, value in raw.items() if name != named}
    options = parse_options(str(format), others)
    files = FileSet.of(as_paths(paths), options.files).files
    if said == DialectChoice.EXCEL.value:
        return {**others, **_of_excel(options, files)}, None
    found = sniff_files(options, files)
    if not found.is_clear:
        raise unclear(found, files[0].path if len(files) == 1 else None)
    return {**others, **_pins(found, options.given)}, found


def sniff(paths: Paths, raw: Mapping[str, Any]) -> Dialect:
    """Find the dialect of files; see :func:`sniff_files`.

    Args:
        paths: Of the files.
        raw: Options of CSV, as the user wrote them.
    """
    options = parse_options(DEFAULT_FORMAT, raw)
    return sniff_files(options, FileSet.of(as_paths(paths), options.files).files)


def unclear(found: Dialect, path: str | None) -> SchemaError:
    """The error for a dialect that samples leave open."""
    seen = " ".join(found.doubts) + "".join(f"\n         {candidate}" for candidate in found.candidates)
    return SchemaError(
        "the dialect of the files is not clear",
        Where(path),
        seen=seen,
        fix="give the options that are right, such as sep, quote, escape, header and encoding; or dialect=spark",
        code="dialect-unclear",
    )


def sniff_files(options: ReadOptions, files: Sequence[FileMetadata]) -> Dialect:
    """Find the dialect that files share, by looking at up to eight of them.

    Args:
        options: Of the scan; those of the dialect that were given are taken as they are.
        files: Of the scan.

    Raises:
        SourceError: If a file cannot be read.
    """
    own = options.format
    given = {
        option.name: getattr(own, option.attribute)
        for option in declared_options(type(own))
        if option.name in options.given and option.name in _SETTINGS
    }
    found = [(file, _sniff(options, file, given)) for file in spread(files, _SAMPLED_FILES)]
    return _merged([(file, each) for file, each in found if each.columns or each.doubts]) if found else _nothing(given)


def _sniff(options: ReadOptions, file: FileMetadata, given: Mapping[str, Any]) -> Dialect:
    samples = _samples(options, file)
    check_beginning(file.path, samples[0].data)
    return find_dialect(samples, given)


def _samples(options: ReadOptions, file: FileMetadata) -> list[RawSample]:
    """The beginning of a file, and of a plain one parts of its middle and its end."""
    with closing(open_file(file, options.files, record_format(options))) as source:
        head = bytes(source.read_at(0, HEAD_BYTES + 1))
        samples = [RawSample(head[:HEAD_BYTES], 0, is_end=len(head) <= HEAD_BYTES)]
        last = file.size_bytes - _WINDOW_BYTES
        if file.compression is None and last > HEAD_BYTES:
            for i in range(1, _WINDOWS + 1):
                offset = (HEAD_BYTES + (last - HEAD_BYTES) * i // _WINDOWS) // 4 * 4  # where a character begins
                data = bytes(source.read_at(offset, _WINDOW_BYTES + 4))
                samples.append(RawSample(data, offset, is_end=offset + len(data) >= file.size_bytes))
        return samples


def _merged(found: Sequence[tuple[FileMetadata, Dialect]]) -> Dialect:
    """What all files have; what only some of them show is taken from those."""
    if not found:
        return _nothing({})
    first = found[0][1]
    settings, doubts = dict(first.settings), [doubt for _, each in found for doubt in each.doubts]
    for name in _SETTINGS:
        known = [(file, each.settings[name]) for file, each in found if name in each.settings]
        # text that is ASCII alone is no UTF-16, however little it tells of the rest
        sure = [(file, setting) for file, setting in known if setting.confidence not in _OPEN or name == "encoding"]
        if not sure:
            continue
        settings[name] = sure[0][1]
        other = next((each for each in sure if each[1].value != sure[0][1].value), None)
        if other is not None:
            sides = (f"{file.name} has {name} {shown(str(setting.value))}" for file, setting in (sure[0], other))
            doubts.append(f"Files differ: {', '.join(sides)}.")
    if len(found) > 1 and settings.get("header") is not None and settings["header"].confidence is Confidence.UNSURE:
        records = {each.first_record for _, each in found}
        if len(records) == 1:
            settings["header"] = Setting(True, Confidence.LIKELY, "all files begin with the same record")
    return _with_settings(first, settings, tuple(dict.fromkeys(doubts)))


_OPEN = (Confidence.ASSUMED, Confidence.UNSURE)


def _with_settings(dialect: Dialect, settings: Mapping[str, Setting], doubts: tuple[str, ...]) -> Dialect:
    if not settings:
        return replace(dialect, doubts=doubts)
    return replace(
        dialect,
        sep=settings["sep"].value,
        quote=settings["quote"].value,
        escape=settings["escape"].value,
        header=bool(settings["header"].value),
        skip_rows=int(settings["skipRows"].value),
        comment=settings["comment"].value,
        multi_line=bool(settings["multiLine"].value),
        encoding=settings["encoding"].value,
        settings=settings,
        doubts=doubts,
    )


def _nothing(given: Mapping[str, Any]) -> Dialect:
    """Of no file, or of files without a byte."""
    return find_dialect([RawSample(b"", 0, is_end=True)], given)


def _of_excel(options: ReadOptions, files: Sequence[FileMetadata]) -> dict[str, Any]:
    """The options of Excel's files that were not given; a first line ``sep=;`` of the first file counts for all."""
    found: dict[str, Any] = {"dialect": DialectChoice.RFC4180.value}
    first = next((file for file in spread(files, 1)), None)
    if first is not None and not {"sep", "skipRows"} & options.given:
        with closing(open_file(first, options.files, record_format(options))) as source:
            sep = sep_line(RawSample(bytes(source.read_at(0, _LINE_BYTES)), 0, is_end=False))
        if sep is not None:
            found |= {"sep": sep, "skipRows": 1}
    return found


def _pins(found: Dialect, given: frozenset[str]) -> dict[str, Any]:
    """Every setting as an option, so that no default has a say."""
    values = {
        "sep": found.sep,
        "quote": found.quote or "",
        "escape": found.escape or "",
        "header": found.header,
        "skipRows": found.skip_rows,
        "comment": found.comment,
        "multiLine": found.multi_line,
        "encoding": found.encoding,
    }
    return {name: value for name, value in values.items() if name not in given and value is not None}
