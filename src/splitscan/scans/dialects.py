"""Options and the data: the dialect of the files of a scan, and options that are probably not meant."""

from __future__ import annotations

import logging
import re
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.codecs.formats import container_of
from splitscan.content.storage import ByteSource, redact
from splitscan.errors import Advice, SchemaError, SourceError, Where
from splitscan.formats.contract import Contradiction, spread
from splitscan.formats.csv.options import FOUND, DialectChoice
from splitscan.formats.csv.sniffing.detection import find_dialect, sep_line
from splitscan.formats.csv.sniffing.found import ATTRIBUTES, Confidence, Dialect, RawSample, Setting, as_option, shown
from splitscan.formats.registry import DEFAULT_FORMAT, finds_dialect, format_of, parse_options, record_format
from splitscan.options import ReadOptions
from splitscan.options.table import declared_options
from splitscan.reading.contents import open_file, refuse_no_text
from splitscan.scans.files import FileSet, Paths, as_paths
from splitscan.scans.finding_format import about_beginning, about_name, check_beginning, lenient, misread, separator_of
from splitscan.sizes import KIB, MIB

_LOG = logging.getLogger("splitscan")

HEAD_BYTES = 64 * KIB
"""Of the beginning of a file."""

_LONGER_HEADS = (512 * KIB, 4 * MIB)  # where a record is longer: quotes may be open at its end

_LINE_BYTES = 64  # of the beginning, for a first line sep=;
_WINDOW_BYTES, _WINDOWS = 32 * KIB, 4  # of the middle and the end of a file, and how many of both
_SAMPLED_FILES = 8


def pin_dialect(paths: Paths, format: object, raw: Mapping[str, Any]) -> tuple[dict[str, Any], Dialect | None]:
    """Replace ``dialect=auto`` and ``dialect=excel`` by the options that the files show.

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
    options = _while_open(str(format), others)
    files = FileSet.of(as_paths(paths), options.files).files
    if said == DialectChoice.EXCEL.value:
        return {**others, **_of_excel(options, files)}, None
    found = sniff_files(options, files)
    if not found.is_clear:
        raise unclear(found, files[0].path if len(files) == 1 else None)
    return {**others, **_pins(found, options.given)}, found


def tell_guesses(paths: Paths, found: Dialect | None, *, has_schema: bool) -> None:
    """Log what is not certain of a dialect that was found."""
    for each in found.guesses(has_schema=has_schema).values() if found is not None else ():
        _LOG.warning("%s: %s", redact(as_paths(paths)[0]), Advice(each))


def needed_options(paths: Paths, format: object, raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options that samples of files need and nobody gave, where the format can tell: see :func:`contradiction`."""
    options = parse_options(str(format), raw)
    if not format_of(options).advises:
        return {}  # and nothing is listed for it
    files, needed = FileSet.of(as_paths(paths), options.files).files, dict[str, Any]()
    while (found := contradiction(options, files)) is not None:
        needed |= found[1].options
        options = parse_options(str(format), {**raw, **needed})
        _ = record_format(options)  # which refuses what cannot be read together
    return needed


def sniff(paths: Paths, raw: Mapping[str, Any]) -> Dialect:
    """Find the dialect of files; see :func:`sniff_files`."""
    options = _while_open(DEFAULT_FORMAT, raw)
    return sniff_files(options, FileSet.of(as_paths(paths), options.files).files)


def _while_open(format: str, raw: Mapping[str, Any]) -> ReadOptions:
    """The options while nobody knows the dialect: no default of Spark's is checked against what was given."""
    has_dialect = any(str(name).lower() == "dialect" for name in raw)
    return parse_options(format, raw if has_dialect else {**raw, "dialect": DialectChoice.RFC4180.value})


def unclear(found: Dialect, path: str | None, *, is_read: bool = True) -> SchemaError:
    """The error for a dialect that samples leave open; if the file *is read*, Spark's defaults will do."""
    seen = " ".join(found.doubts) + "".join(f"\n         {candidate}" for candidate in found.candidates)
    others = "; or dialect=spark" if is_read else ""
    return SchemaError(
        "the dialect of the files is not clear",
        Where(path),
        seen=Advice(seen),
        fix=f"give the options that are right, such as sep, quote, escape, header and encoding{others}",
        code="dialect-unclear",
    )


def sniff_files(options: ReadOptions, files: Sequence[FileMetadata]) -> Dialect:
    """Find the dialect that files share, by a look at up to eight; options that were given are taken as they are."""
    given = _known(options)
    found = [(file, _sniff(options, file, given)) for file in spread(files, _SAMPLED_FILES)]
    return _merged([(file, each) for file, each in found if each.columns or each.doubts]) if found else _nothing(given)


def _of_dialect(options: ReadOptions, names: Container[str]) -> dict[str, Any]:
    """Those of the named options that make a dialect, by Spark's names."""
    own = options.format
    declared = [option for option in declared_options(type(own)) if option.name in names]
    return {option.name: getattr(own, option.attribute) for option in declared}


def _known(options: ReadOptions) -> dict[str, Any]:
    """Options of the user that narrow the search for a dialect."""
    names = {*ATTRIBUTES, "lineSep"} & options.given
    known: dict[str, Any] = {"header": False} if "columnsArray" in options.given else {}
    known |= _of_dialect(options, names)
    return known | {
        name: True for name in ("columnsArray", "enforceSchema", "rescuedDataColumn") if name in options.given
    }


def _sniff(options: ReadOptions, file: FileMetadata, given: Mapping[str, Any]) -> Dialect:
    samples = _samples(options, file, HEAD_BYTES)
    check_beginning(file.path, samples[0].data)
    named = separator_of(file.path)
    found = find_dialect(samples, given, named)
    if not found.encoding or container_of(samples[0].data) is not None:
        refuse_no_text(file.path, record_format(options), samples[0].data)
    for head_bytes in _LONGER_HEADS:
        if not found.is_cut or samples[0].is_end:
            break
        samples = _samples(options, file, head_bytes)
        found = find_dialect(samples, given, named)
    return found


def _samples(options: ReadOptions, file: FileMetadata, head_bytes: int) -> list[RawSample]:
    """The beginning of a file, and of a plain one parts of its middle and its end."""
    with closing(open_file(file, options.files, record_format(options))) as source:
        head = bytes(source.read_at(0, head_bytes + 1))
        samples = [RawSample(head[:head_bytes], 0, is_end=len(head) <= head_bytes)]
        last = file.size_bytes - _WINDOW_BYTES
        if file.compression is None and file.size_bytes > head_bytes:
            middle = [head_bytes + (last - head_bytes) * i // _WINDOWS for i in range(1, _WINDOWS) if last > head_bytes]
            for offset in (each // 4 * 4 for each in (*middle, last)):  # where a character begins
                data = bytes(source.read_at(offset, _WINDOW_BYTES + 4))
                samples.append(RawSample(data, offset, is_end=offset + len(data) >= file.size_bytes))
        return samples


def _merged(found: Sequence[tuple[FileMetadata, Dialect]]) -> Dialect:
    """Dialect of all files; marks that only some of them show are taken from those."""
    if not found:
        return _nothing({})
    first = found[0][1]
    settings, doubts = dict(first.settings), [doubt for _, each in found for doubt in each.doubts]
    for name in ATTRIBUTES:
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
    return replace(first, **Dialect.attributes(settings), settings=settings, doubts=tuple(dict.fromkeys(doubts)))


_OPEN = (Confidence.ASSUMED, Confidence.UNSURE)


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
            found |= {"sep": sep, "skipRows": 1, "foundOptions": "skipRows"}
    return found


def _pins(found: Dialect, given: frozenset[str]) -> dict[str, Any]:
    """Every setting as an option, so that no default has a say."""
    values = {**found.values(), "ignoreLeadingWhiteSpace": found.ignore_leading_white_space or None}  # not of others
    pins = {name: value for name, value in values.items() if name not in given and value is not None}
    found_options = [name for name in FOUND if pins.get(name) or (name == "header" and name in pins)]
    return {**pins, "foundOptions": ",".join(found_options)} if found_options else pins


_LEAST_LINES = 10  # that tell something
_ADVICE_BYTES = 16 * KIB  # every scan pays for a look at them, however short its files are


def advise(
    options: ReadOptions, files: Sequence[FileMetadata], *, has_schema: bool, by_name: frozenset[str] | None = None
) -> str | None:
    """Look at the head and the end of the first file, and log what its text probably needs and the options do not say.

    Text in another encoding, with another separator, escape (Spark's default is a backslash) or line ends in quotes is
    read as other rows. With a schema, lines of units and second headers are rejects, and are not looked for.
    """
    first = next((file for file in files if file.size_bytes), None)
    encoding = options.format.text_encoding
    if first is None or encoding is None:
        return None
    try:
        with closing(open_file(first, options.files, record_format(options))) as source:
            head = bytes(source.read_at(0, HEAD_BYTES))
            has_end = options.format.finds_dialect and first.compression is None and not has_schema
            samples = _brief_samples(source, first, head) if has_end else [_shown(head, first.size_bytes)]
    except SourceError:
        return None  # whoever reads the file decides what that means
    advice = about_beginning(options.record_format, head, encoding, options.given)
    if advice is None and by_name is not None:
        advice = about_name(first.path, head, options.record_format, is_end=first.size_bytes <= len(head))
    if advice is None:
        named = separator_of(first.path) if by_name and "sep" in by_name else None
        advice = _about_options(options, head, samples, named, has_schema)
    if advice is None:
        return None
    _LOG.warning("%s %s", redact(first.path), Advice(advice))
    return f"{redact(first.path)} {advice}"


def _brief_samples(source: ByteSource, file: FileMetadata, head: bytes) -> list[RawSample]:
    """So much of the beginning and the end of a file."""
    begin = _shown(head, file.size_bytes)
    if begin.is_end:
        return [begin]
    start = max(len(begin.data), file.size_bytes - _ADVICE_BYTES) // 4 * 4  # where a character begins
    data = bytes(source.read_at(start, _ADVICE_BYTES + 4))
    return [begin, RawSample(data, start, is_end=start + len(data) >= file.size_bytes)]


def _shown(head: bytes, size_bytes: int) -> RawSample:
    """So much of the head of a file as every scan looks at."""
    is_short = head.count(b"\n", 0, _ADVICE_BYTES) > _LEAST_LINES
    shown = head[:_ADVICE_BYTES] if is_short else head
    return RawSample(shown, 0, is_end=size_bytes <= len(shown))


def _about_options(
    options: ReadOptions, head: bytes, samples: Sequence[RawSample], named: str | None, has_schema: bool
) -> str | None:
    """All that the head and the end of a file say of the options: one advice does not take the place of another."""
    text = head.decode(lenient(options.format.text_encoding or "utf-8"), "replace")
    own = format_of(options).advice(options.format, text)
    told = {"escape"} if own else frozenset[str]()
    notes = _about_dialect(options, samples, named, has_schema, told) if options.format.finds_dialect else []
    return "; ".join(filter(None, (own, *notes))) or None


def _about_dialect(
    options: ReadOptions, samples: Sequence[RawSample], named: str | None, has_schema: bool, told: Set[str]
) -> Iterator[str]:
    """Notes of all that samples show against the options, and of those that nobody gave and they leave open.

    Nothing is said of options that were *told* of.
    """
    own, head = options.format, samples[0]
    read = _of_dialect(options, ATTRIBUTES)
    is_even = "header" in options.given and _is_even(own, head)
    if is_even and (has_schema or not read["header"]):
        return
    known = {**(read if is_even else _known(options)), "encoding": own.text_encoding}
    if named is not None:
        known.pop("sep", None)
    found = _find_once(tuple(samples), named, tuple(known.items()))
    if not found.columns and not head.is_end:  # the first record is longer than the head
        found = _find_once((replace(head, is_end=True),), named, tuple(known.items()))
    if found.objections:
        yield f"contradicts the options: {' '.join(found.objections)}"
    if is_even or not found.columns:
        return
    if not found.is_clear:
        if not has_schema:
            yield f"may be read wrong: {found.doubts[0]}"
        return
    others = {
        name: each
        for name, each in found.settings.items()
        if each.value != read[name] and each.is_shown and name not in told
    }
    said = ", ".join(f"{name}={as_option(setting.value)}" for name, setting in others.items())
    because = "; ".join(setting.evidence for setting in others.values())
    if others:
        yield f"probably wants option{'s' * (len(others) > 1)} {said} ({because})"
    passed = {*others, *told}
    if has_schema:
        passed.add("sep")  # records that do not fit a schema are rejects, which are told
    yield from () if has_schema else found.about_given_sep()
    yield from _about_first_array(samples, known) if "columnsArray" in known else ()
    guesses = found.read_with(read).guesses(has_schema=has_schema)
    yield from (note for name, note in guesses.items() if name not in passed)


def _about_first_array(samples: Sequence[RawSample], known: Mapping[str, Any]) -> Iterator[str]:
    """Note of a first record that names columns, where each record is an array of fields and none is a header."""
    others = tuple((name, value) for name, value in known.items() if name not in {"header", "columnsArray"})
    header = _find_once(tuple(samples), None, others).settings.get("header")
    if header is not None and header.value and header.confidence not in _OPEN:
        rows = known.get("skipRows", 0) + 1
        yield f"begins with a record that is probably a header, and is read as data: skipRows={rows} leaves it out"


@lru_cache(maxsize=16)
def _find_once(samples: tuple[RawSample, ...], named: str | None, known: tuple[tuple[str, Any], ...]) -> Dialect:
    """The dialect of samples: the queries of a session ask for that of the same file again and again."""
    return find_dialect(samples, dict(known), named)


def _is_even(own: Any, sample: RawSample) -> bool:
    """True if all records have as many separators, and quotes stand where a careful writer puts them: a cheap look."""
    head = sample.data
    head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]  # the last line may be cut
    if own.quote is not None and (quote := own.quote.encode()) in head:
        if own.escape not in {None, own.quote} and own.escape.encode() in head:
            return False
        opened, closing = _careful_quotes(own)
        head = re.sub(opened + closing, b"", head)
        cut = re.search(opened + rb"\Z", head) if own.multi_line and not sample.is_end else None
        if cut is not None:  # inside quotes
            head = head[: head.rfind(b"\n", 0, cut.start()) + 1]
        if quote in head:
            return False
    sep = re.compile(own.sep_pattern.encode())
    widths = {len(sep.findall(line)) for line in head.splitlines() if line}
    return len(widths) == 1 and 0 not in widths


def _careful_quotes(own: Any) -> tuple[bytes, bytes]:
    """Patterns of a quoted value up to its end, and of the quote that closes it: both stand at delimiters."""
    quote, sep = re.escape(own.quote.encode()), own.sep_pattern.encode()
    inside = rb"[^" + quote + (rb"]" if own.multi_line else rb"\r\n]")
    body = rb"(?:" + inside + (rb"|" + quote * 2 if own.escape == own.quote else b"") + rb")*+"
    return rb"(?:\A|(?<=" + sep + rb")|(?<=[\r\n]))" + quote + body, quote + rb"(?=" + sep + rb"|[\r\n])"


def contradiction(options: ReadOptions, files: Sequence[FileMetadata]) -> tuple[str, Contradiction] | None:
    """Path and contradiction of a sample (beginning, middle and end of a few files) with the options; else ``None``."""
    format, encoding = format_of(options), options.format.text_encoding
    if encoding is None or not format.advises:
        return None
    for file in spread(files, _SAMPLED_FILES):
        for offset, sample in _parts(options, file):
            other = None if offset or "encoding" in options.given else misread(encoding, sample)
            if other is not None:
                return file.path, other
            text = sample.decode(lenient(encoding), "replace")
            found = format.contradiction(options.format, options.given, text, is_start=not offset)
            if found is not None:
                return file.path, found
    return None


def _parts(options: ReadOptions, file: FileMetadata) -> Iterator[tuple[int, bytes]]:
    """The beginning, the middle and the end of a file; the beginning up to the end of its first line, in bounds."""
    last = 0 if file.compression is not None else max(0, file.size_bytes - HEAD_BYTES)
    try:
        with closing(open_file(file, options.files, record_format(options))) as source:
            yield 0, _head(source)
            for offset in sorted({last // 2 // 4 * 4, last // 4 * 4} - {0}):
                yield offset, bytes(source.read_at(offset, HEAD_BYTES))
    except SourceError:
        return  # whoever reads the file decides what that means


def _head(source: ByteSource) -> bytes:
    """The beginning of a file: more of it where the first line is longer."""
    head = b""
    for length_bytes in (HEAD_BYTES, *_LONGER_HEADS):
        head = bytes(source.read_at(0, length_bytes))
        if len(head) < length_bytes or b"\n" in head:
            break
    return head
