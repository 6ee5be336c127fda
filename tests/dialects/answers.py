"""The right answer for a file, found without splitscan, and what splitscan makes of the file when nothing is given."""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import splitscan as ss
from splitscan.errors import SplitscanError

SEPARATORS = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "pipe": "|",
    "colon": ":",
    "blank": " ",
    "none": None,
    "blanks": r"\s+",
}
RIGHT, ASKED, HEADER_AS_DATA = "read right", "refused, as it must be", "header taken as data"
REFUSED, WRONG = "refused with a hint", "read wrong"
_UNPACKED = {".gz": gzip.decompress, ".bz2": bz2.decompress}

Rows = list[list[str]]


@dataclass(frozen=True)
class RightAnswer:
    """How a file is written.

    Attributes:
        sep: Name of the separator.
        header: ``yes``, ``no``, or ``either`` where nobody can tell: then it may be asked for.
        skip: Lines before the table.
        comment: What comments begin with, if anything.
        encoding: Character set, by Python's name.
        columns: Fields of a record; of others, the last fields are missing or not read. ``None`` counts the first.
        hint: A word of the refusal, where only a refusal is right.
        quote: What stands around values.
    """

    sep: str = "comma"
    header: str = "yes"
    skip: int = 0
    comment: str = ""
    encoding: str = "utf-8-sig"
    columns: int | None = None
    hint: str = ""
    quote: str = '"'

    def table(self, data: bytes) -> tuple[list[str] | None, Rows]:
        """Names and records as Python's csv module reads them."""
        lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", data.decode(self.encoding))[self.skip :]
        text = "".join(line for line in lines if not (self.comment and line.startswith(self.comment)))
        sep = SEPARATORS[self.sep]
        rows = [[line] for line in re.split(r"\r\n|\n|\r", text)] if sep is None else _csv_rows(text, sep, self.quote)
        rows = [row for row in rows if row not in ([], [""])]
        columns = self.columns or len(rows[0])
        names = rows.pop(0) if self.header == "yes" else None
        return names, [cut(row, columns) for row in rows]

    def outcome(self, path: Path) -> tuple[str, str]:
        """What becomes of the file, read as ``splitscan ingest FILE OUT`` does: one of five words, and why."""
        try:
            scan = ss.scan_csv(path, dialect="auto")
            names = list(scan.schema.names)
            found = [[row[name] or "" for name in names] for row in scan.to_arrow().to_pylist()]
        except SplitscanError as error:
            hint = "header" if self.header == "either" else self.hint
            is_right = bool(hint) and hint in str(error).partition("fix:")[0]
            return (ASKED if is_right else REFUSED if error.reason_code == "dialect-unclear" else WRONG), str(error)
        if self.hint:
            return WRONG, f"read, and should be refused: names {names[:4]}, first record {found[:1]}"
        return self._compared(names, found, *self.table(unpacked(path)))

    def _compared(self, names: list[str], found: Rows, header: list[str] | None, records: Rows) -> tuple[str, str]:
        has_names = names != [f"_c{number}" for number in range(len(names))]
        if header is not None and _same(found, [cut(header, len(names)), *records]):
            return (WRONG, f"names {names[:4]}") if has_names else (HEADER_AS_DATA, f"{header}")
        if self.header == "either" and has_names:
            found = [[re.sub(r"\A_c\d+\Z", "", name) for name in names], *found]
        if not _same(found, records):
            pairs = enumerate(zip(found, records, strict=False))
            seen = next((f"record {n}: {a} and not {b}" for n, (a, b) in pairs if a != b), "")
            return WRONG, f"{len(found)} records and not {len(records)}; {seen}"[:400]
        if header is not None and not _same_names(names, header):
            return WRONG, f"names {names[:6]} and not {header[:6]}"
        if self.header == "no" and has_names:
            return WRONG, f"the first record is taken as names: {names[:4]}"
        return RIGHT, ""


def _csv_rows(text: str, sep: str, quote: str) -> Rows:
    csv.field_size_limit(1 << 30)
    if sep == SEPARATORS["blanks"]:
        lines = "".join(line.strip(" \t\r\n") + "\n" for line in re.split(r"\r\n|\n|\r", text))
        return list(csv.reader(io.StringIO(re.sub(r"[ \t]+", " ", lines)), delimiter=" ", quotechar=quote))
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=sep, quotechar=quote))


def cut(record: Sequence[str], columns: int) -> list[str]:
    """A record with so many fields."""
    return [*record, *[""] * columns][:columns]


def digest(names: Sequence[str] | None, records: Rows) -> str:
    """The first digits of a digest of names and values.

    Quotes do not count: readers differ in what is left of those that are damaged.
    """
    found = hashlib.sha256(json.dumps(names).encode())
    for record in records:
        found.update(json.dumps(record).replace('\\"', "").encode())
    return found.hexdigest()[:16]


def _same(found: Rows, right: Rows) -> bool:
    return len(found) == len(right) and digest(None, found) == digest(None, right)


def _same_names(names: Sequence[str], header: Sequence[str]) -> bool:
    """Whether names are those of a header; names that are empty or come again are made up."""
    counts = Counter(name.lower() for name in header)
    pairs = zip(names, header, strict=False)
    return len(names) >= len(header) and all(a == b or not b or counts[b.lower()] > 1 for a, b in pairs)


def unpacked(path: Path) -> bytes:
    """The bytes of a file, without its compression."""
    return _UNPACKED.get(path.suffix, bytes)(path.read_bytes())
